#pragma once

#include <cstdint>
#include <span>

#include "commands/annotate/annotated_code.h"
#include "profile/profile.h"

namespace gosym {

// Sets what samples of the profile each function has, each of its lines and each of its
// instructions, and what indirect calls called. The functions are of the image that has this
// index in the profile.
void count_samples(const Profile& profile, std::span<const SampleCount> samples, uint32_t image,
                   std::span<AnnotatedFunction> functions);

}  // namespace gosym
