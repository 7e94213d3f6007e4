#include "record/bpf/stack_pieces.h"

#include <algorithm>
#include <cstring>

namespace gosym {

std::vector<gosym_piece> pieces_in(Bytes record) {
  std::vector<gosym_piece> pieces(record.size() / sizeof(gosym_piece));
  if (!pieces.empty())
    std::memcpy(pieces.data(), record.data(), pieces.size() * sizeof(gosym_piece));
  return pieces;
}

std::vector<PassedCaller> passed_callers_in(Bytes record) {
  std::vector<PassedCaller> found;
  for (; record.size() >= sizeof(gosym_passed); record = record.subspan(sizeof(gosym_passed))) {
    gosym_passed passed;
    std::memcpy(&passed, record.data(), sizeof(passed));
    found.push_back({passed.frame, passed.address});
  }
  return found;
}

std::vector<StackPiece> with_words(std::span<const gosym_piece> pieces) {
  std::vector<StackPiece> found;
  for (const gosym_piece& piece : pieces)
    if (piece.offset != GOSYM_NO_WORDS)
      found.push_back({piece.place, piece.offset});
  return found;
}

uint64_t frame_offset(uint64_t frame, const StackTop& top) {
  uint64_t offset = top.offset_of(frame);
  // Beyond the words that were taken of the stack of the leaf.
  if (offset == kNoFrame)
    offset = frame - top.stack_pointer;
  return offset <= kMaxFrameDistance && offset % 8 == 0 ? offset : kNoFrame;
}

uint32_t index_of(uint32_t number, uint32_t missing) {
  // A walk numbers all frames. So many of them are missing behind the inner ones, and the
  // frames beyond have moved up to those.
  if (missing == 0 || number <= GOSYM_INNER_FRAMES)
    return number;
  return std::max<uint32_t>(number - std::min(number, missing), GOSYM_INNER_FRAMES);
}

std::vector<StackSwitch> switches_of(std::span<const gosym_piece> pieces,
                                     const gosym_sample& sample) {
  std::vector<StackSwitch> switches;
  for (const gosym_piece& piece : pieces) {
    uint64_t start = index_of(piece.start, sample.missing);
    uint64_t before = switches.empty() ? 0 : switches.back().start;
    // A switch at the frame of the one before, or behind what was kept, tells nothing.
    if (start <= before || start >= sample.user_depth)
      continue;
    // A stack whose words were not taken is told without a place.
    if (piece.offset >= kMaxWordOffset) {
      switches.push_back({.start = start});
      continue;
    }
    uint64_t frame = piece.offset + (piece.frame - piece.place);
    bool is_frame = piece.frame >= piece.place && frame <= kMaxFrameDistance && frame % 8 == 0;
    switches.push_back({start, piece.offset, is_frame ? frame : kNoFrame});
  }
  return switches;
}

}  // namespace gosym
