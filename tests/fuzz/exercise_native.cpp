#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstring>

#include "dwarf/debug_info.h"
#include "elf/image.h"
#include "exercise.h"
#include "proc/perf_map.h"
#include "symbolize/image_symbols.h"
#include "symbolize/names.h"
#include "symbolize/symbol_source.h"

namespace gosym {

namespace {

// Number of addresses that a profile of a small program has.
constexpr uint64_t kAddresses = 256;

// A copy with nothing behind: a read past its end is a crash, also in a library that no
// sanitizer was built into.
class GuardedCopy {
public:
  explicit GuardedCopy(Bytes bytes) : size_(bytes.size()) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_size_ = (size_ + page - 1) / page * page + page;
    void* pages =
        mmap(nullptr, mapped_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(pages != MAP_FAILED);
    mapped_ = static_cast<std::byte*>(pages);
    std::byte* end = mapped_ + mapped_size_ - page;
    mprotect(end, page, PROT_NONE);
    start_ = end - size_;
    std::memcpy(start_, bytes.data(), size_);
  }
  ~GuardedCopy() { munmap(mapped_, mapped_size_); }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;

  Bytes bytes() const { return {start_, size_}; }

private:
  std::byte* mapped_ = nullptr;
  std::byte* start_ = nullptr;
  size_t mapped_size_ = 0;
  size_t size_;
};

// All over the code.
std::vector<ImageAddress> places(const elf::Image& image) {
  auto ranges = elf::code_ranges(image);
  uint64_t total = 0;
  for (const elf::AddressRange& range : ranges)
    total += range.end - range.begin;
  uint64_t step = std::max<uint64_t>(total / kAddresses, 1);
  std::vector<ImageAddress> result;
  auto range = ranges.begin();
  uint64_t passed = 0;
  for (uint64_t at = 0; at < total && result.size() < kAddresses; at += step) {
    for (; at - passed >= range->end - range->begin; ++range)
      passed += range->end - range->begin;
    result.push_back(ImageAddress{range->begin + (at - passed)});
  }
  return result;
}

void check_calls(const std::vector<Call>& calls) {
  assert(!calls.empty() && !calls.back().is_inlined);
  for (const Call& call : calls) {
    assert(!call.function.empty());
    (void)display_name(call.function, FrameSource::kDwarf, NameForm::kShort);
  }
}

// Returns the number of addresses that have names.
uint64_t exercise_debug_info(const elf::Image& image,
                             const std::vector<ImageAddress>& addresses) {
  auto info = dwarf::DebugInfo::open(image, {});
  if (!info)
    return 0;
  uint64_t named = 0;
  for (ImageAddress address : addresses) {
    std::vector<Call> calls;
    if (info->find(address, calls)) {
      check_calls(calls);
      named++;
    }
    (void)info->find_position(address);
  }
  return named;
}

void exercise_symbols(SymbolSource& source, const std::vector<ImageAddress>& addresses) {
  for (ImageAddress address : addresses) {
    std::vector<Call> calls;
    if (source.find(address, calls))
      check_calls(calls);
    if (auto guess = source.guess(address))
      assert(guess->address <= address);
  }
}

}  // namespace

uint64_t exercise_native(const elf::Image& image) {
  std::vector<ImageAddress> addresses = places(image);
  (void)elf::read_debug_link(image);
  (void)elf::read_alternate_link(image);
  for (auto* open : {open_symtab_source, open_dynsym_source, open_plt_source})
    if (auto source = open(image))
      exercise_symbols(*source, addresses);
  if (auto source = open_minidebuginfo_source(image); source && *source)
    exercise_symbols(**source, addresses);

  GuardedCopy copy(image.file);
  return exercise_debug_info(*elf::parse(copy.bytes()), addresses);
}

uint64_t exercise_program(const std::string& path) {
  auto symbols = ImageSymbols::open(path);
  if (!symbols)
    return 0;
  uint64_t named = 0;
  for (ImageAddress address : places((*symbols)->image())) {
    std::vector<Call> calls;
    auto source = (*symbols)->find(address, calls);
    if (source)
      check_calls(calls);
    named += source == FrameSource::kDwarf;
  }
  return named;
}

uint64_t exercise_perf_map(Bytes file) {
  std::string_view text = as_text(file);
  std::set<proc::PerfMapPlace> places;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (auto entry = proc::parse_perf_map_line(line))
      places.insert({{entry->start}, {entry->last}, {entry->last + 1}});
  }
  auto names = proc::find_in_perf_map(text, places);
  for (const auto& [place, name] : names) {
    assert(places.contains(place) && !name.empty());
    assert(name.data() >= text.data() &&
           name.data() + name.size() <= text.data() + text.size());
    (void)display_name(name, FrameSource::kPerfMap, NameForm::kShort);
  }
  return names.size();
}

}  // namespace gosym
