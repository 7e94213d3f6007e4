#include "record/sampler.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/file_tree.h"
#include "proc/process.h"
#include "record/bpf/bpf_sampler.h"
#include "record/perf/call_chain_sampler.h"

namespace gosym {

namespace {

// Why neither way is open. What mends the first is what the user is told to do: it gives more.
Error neither(const Error& bpf, const Error& perf) {
  return errorf("{}; and without BPF: {}", bpf.message(), perf.message())
      .with_hint(bpf.hint())
      .with_exit_status(perf.exit_status());
}

// On single CPUs perf_event tells only there what a process maps and executes: its code would
// be named by what it ran before.
Result<> check_cpus(const SamplerOptions& options) {
  if (options.scope.cpus.empty())
    return Ok{};
  return Error("--cpu needs the BPF sampler").with_exit_status(kUsage);
}

// The smallest recording takes 30 descriptors for BPF's programs and maps, the output and
// whatever is looked at, and 4 a CPU. Without this check libbpf would say that the BPF program
// is wrong.
Result<> check_file_limit() {
  uint64_t least = 30 + 4 * proc::online_cpus().size();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= least)
    return Ok{};
  return errorf("{} open files are allowed, and it takes {}", limit.rlim_cur, least)
      .with_hint("raise the limit of open files: ulimit -n 65536")
      .with_exit_status(kUnsupported);
}

// perf_event knows when a thread leaves a CPU, not for how long.
bool needs_bpf(const SamplerOptions& options) {
  return std::ranges::any_of(options.events, [](const EventType& event) {
    return event.source == EventSource::kOffCpu;
  });
}

Result<> check_events(const SamplerOptions& options) {
  if (!needs_bpf(options))
    return Ok{};
  if (options.kind == SamplerKind::kPerf)
    return Error("off-cpu needs the BPF sampler").with_exit_status(kUsage);
  if (!options.scope.cpus.empty())
    return Error("off-cpu: a thread that waits is on no CPU, so that --cpu cannot choose it")
        .with_exit_status(kUsage);
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<Sampler>> Sampler::open(const SamplerOptions& options, Keeper& keeper) {
  // A process may have thousands of threads and CPUs, each with its event.
  raise_file_limit();
  if (auto enough = check_file_limit(); !enough)
    return std::move(enough).error();
  if (auto checked = check_events(options); !checked)
    return std::move(checked).error();
  // Samples carry the kernel's clock and /proc that of the namespace: without the offset
  // between the two nothing could be put in order.
  if (!monotonic_offset_of("/proc/self"))
    return Error(
               "the kernel's clock is not known: this process has another time namespace "
               "than its children")
        .with_hint("start gosym as a child of what made the namespace: unshare --fork")
        .with_exit_status(kUnsupported);
  auto has_all_cpus = check_cpus(options);
  if (options.kind == SamplerKind::kPerf && !has_all_cpus)
    return std::move(has_all_cpus).error();
  if (options.kind == SamplerKind::kPerf)
    return CallChainSampler::open(options, "");
  // The perf sampler takes over only where BPF is unsupported, not where it failed, and only
  // for what it can do: given processes or threads, all CPUs, and no option that takes BPF.
  auto bpf = BpfSampler::open(options, keeper);
  if (bpf || bpf.error().exit_status() != kUnsupported || options.kind == SamplerKind::kBpf ||
      (options.scope.pids.empty() && options.scope.tids.empty()) || !has_all_cpus ||
      needs_bpf(options))
    return bpf;
  // The reason is kept, for the report says which sampler it was and why.
  auto perf = CallChainSampler::open(options, bpf.error().message());
  if (!perf)
    return neither(bpf.error(), perf.error());
  return perf;
}

}  // namespace gosym
