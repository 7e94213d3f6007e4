#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "record/sampler.h"

struct sampler_bpf;

namespace gosym {

class Keeper;

// CPU time that the kernel charged to whom a scope names, up to now since some time before:
// what counts is the difference between two calls. Of all processes it is that of these CPUs
// which they were not idle; of cgroups their own account; of processes and threads that of
// their threads, with that of the ones that have ended, which the BPF program notes. None: the
// kernel does not tell, or the scope names several of these, which may be the same.
std::optional<uint64_t> charged_time(const Scope& scope, const std::vector<uint32_t>& cpus,
                                     const sampler_bpf& bpf, Keeper& keeper);

}  // namespace gosym
