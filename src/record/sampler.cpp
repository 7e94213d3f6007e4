#include "record/sampler.h"

#include "record/bpf_sampler.h"

namespace gosym {

Result<std::unique_ptr<Sampler>> Sampler::open(const SamplerOptions& options) {
  return BpfSampler::open(options);
}

}  // namespace gosym
