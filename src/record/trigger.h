#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gosym {

// A condition on this machine that somebody waits for:
//
//   cpu>80%                 so much of the time of all CPUs is used
//   psi.cpu.some>30%        tasks wait so much of the time: cpu, memory or io, some or full
//   cgroup:PATH.cpu>2       a cgroup uses so many CPUs
//   file:PATH               a file is there
//
// Each is what was so since the look before; a look a second costs some microseconds.
class Trigger {
public:
  // An error: it is nothing of that, or the kernel does not tell it.
  static Result<Trigger> open(std::string_view text);

  // True if it has begun to be so since the last look.
  bool has_happened(uint64_t now);

  // "cpu>80%, and was 93.4 %"
  std::string reason() const;

private:
  enum class Kind : uint8_t { kCpu, kPressure, kCgroup, kFile };
  // Sums that grow; their ratio is compared.
  struct Sums {
    uint64_t part = 0;
    uint64_t whole = 0;
  };
  static std::optional<Trigger> parse(std::string_view text);
  std::optional<Sums> look(uint64_t now) const;
  bool is_so(uint64_t now);

  Kind kind_ = Kind::kCpu;
  std::string text_;
  std::string path_;  // of the file that tells
  bool is_full_ = false;
  double limit_ = 0;  // as a fraction, or CPUs
  double last_ = 0;
  std::optional<Sums> before_;
  bool was_so_ = false;
};

// The microseconds of "some" or "full" in a file of /proc/pressure: "some avg10=0.00 avg60=0.00
// avg300=0.00 total=4711".
std::optional<uint64_t> parse_pressure(std::string_view text, bool is_full);

// The first line of /proc/stat: ticks that CPUs were used, and all. Nice, guests, interrupts
// and what a hypervisor took are used; idle and iowait are not.
struct CpuTicks {
  uint64_t used = 0;
  uint64_t all = 0;
  bool operator==(const CpuTicks&) const = default;
};
std::optional<CpuTicks> parse_cpu_ticks(std::string_view stat);

}  // namespace gosym
