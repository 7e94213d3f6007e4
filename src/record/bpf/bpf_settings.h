#pragma once

#include <bpf/libbpf.h>

#include <algorithm>
#include <memory>

#include "proc/process.h"
#include "record/rights.h"
#include "record/sampler.h"

namespace gosym {

// At most, on a CPU.
inline uint64_t samples_a_second(const SamplerOptions& options) {
  return std::max<uint64_t>(options.frequency, 1) * std::max<size_t>(options.events.size(), 1);
}

// Longest walk, in frames. The walks of a second share GOSYM_MAX_WALKS, as a walk of 100,000
// frames takes milliseconds.
inline uint32_t max_walk(const SamplerOptions& options) {
  uint64_t share = GOSYM_MAX_WALKS / samples_a_second(options);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(share, GOSYM_MAX_USER_FRAMES, GOSYM_MAX_WALK));
}

// Likewise how far up a stack return addresses are looked for: 512 KiB take 90 microseconds.
inline uint32_t max_word_offset(const SamplerOptions& options) {
  constexpr uint64_t kMaxRate = 2000;  // at which all of that is looked at
  uint64_t share = kMaxRate * GOSYM_MAX_WORD_OFFSET / samples_a_second(options);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(share, GOSYM_MAX_TOP_SIZE, GOSYM_MAX_WORD_OFFSET));
}

// Text of the kernel's verifier about the programs of a BPF object that is opened with the
// options; empty if it refuses none. It has to live as long as they are loaded.
struct VerifierLog {
  // The kernel wants all of it to fit; what is not written takes no memory.
  static constexpr uint32_t kSize = 16 << 20;

  std::unique_ptr<char[]> text = std::make_unique_for_overwrite<char[]>(kSize);
  bpf_object_open_opts options{};

  VerifierLog() {
    text[0] = '\0';
    options.sz = sizeof(options);
    options.kernel_log_buf = text.get();
    options.kernel_log_size = kSize;
  }

  // Why the object was not loaded; `what` is told where the verifier is not the reason.
  Error explain(std::string_view what, int cause) const {
    return text[0] != '\0' ? refused_by_verifier(text.get()) : denied_or_failed(what, cause);
  }
};

// Sets the constants that all BPF objects which take samples are loaded with: whom to sample,
// and how. `stack_mode` says how many words of a stack are taken. Where the chain of a
// goroutine's stack does not even begin, each mode takes all that the options allow: there
// would be no callers else.
template <class Settings>
void configure(Settings& settings, const SamplerOptions& options, uint32_t ring_size) {
  const Scope& scope = options.scope;
  settings.is_system_wide = scope.is_system_wide;
  settings.has_target_tids = !scope.tids.empty();
  settings.target_cgroup_count = static_cast<uint32_t>(scope.cgroups.size());
  settings.has_user = options.has_user;
  settings.has_kernel = options.has_kernel;
  settings.has_goroutines = options.has_goroutines;
  bool has_words_only = options.stack_mode == StackMode::kWords;
  bool has_chain_only = options.stack_mode == StackMode::kFramePointers;
  settings.max_walk = max_walk(options);
  settings.max_word_offset = max_word_offset(options);
  settings.trusts_chain = !has_words_only;
  settings.top_size = has_words_only ? options.stack_size : kLeafTopSize;
  settings.broken_top_size = has_chain_only ? kLeafTopSize : options.stack_size;
  settings.chainless_top_size = options.stack_size;
  std::ranges::copy(proc::fpu_state_sizes(GOSYM_FPU_SIZES), settings.fpu_sizes);
  settings.code_mask = proc::code_mask();
  settings.kernel_stack_size = proc::kernel_stack_size();
  settings.ring_size = ring_size;
  settings.cpu_count = static_cast<uint32_t>(libbpf_num_possible_cpus());
}

}  // namespace gosym
