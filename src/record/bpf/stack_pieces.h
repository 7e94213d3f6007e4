#pragma once

#include <sample.h>

#include <span>
#include <vector>

#include "base/bytes.h"
#include "record/sampler.h"

namespace gosym {

// The pieces behind the words of a record of the BPF program: a multiple of the size of one.
std::vector<gosym_piece> pieces_in(Bytes record);

// The last that it has; likewise.
std::vector<PassedCaller> passed_callers_in(Bytes record);

// The pieces of which there are words.
std::vector<StackPiece> with_words(std::span<const gosym_piece> pieces);

// The place that the frame pointer leads to, from the stack pointer; kNoFrame if it is not to a
// stack of the sample.
uint64_t frame_offset(uint64_t frame, const StackTop& top);

// The index of a frame that was the n-th of a walk; of one that is missing that of the next.
uint32_t index_of(uint32_t number, uint32_t missing);

// The places where the user stack goes on on others that have frames.
std::vector<StackSwitch> switches_of(std::span<const gosym_piece> pieces,
                                     const gosym_sample& sample);

}  // namespace gosym
