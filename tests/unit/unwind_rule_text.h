#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "model/unwind_rule.h"

namespace gosym {

// A rule in words, or "none", or "evaluated":
//
//   CFA             sp+16; [fp-8] if it is the word that lies there
//   return address  cfa-8; link: in the link register; root, and then no more
//   frame pointer   cfa-16, same or lost
//   signal          for signal frames
inline std::string to_text(const StackPlace& place) {
  const char* anchor = place.anchor == Anchor::kStackPointer   ? "sp"
                       : place.anchor == Anchor::kFramePointer ? "fp"
                                                               : "cfa";
  return fmt::format("{}{:+}", anchor, place.offset);
}

inline std::string to_text(const std::optional<UnwindRule>& rule) {
  if (!rule)
    return "none";
  if (rule->return_kind == UnwindRule::ReturnAddress::kNone)
    return "root";
  if (rule->is_evaluated)
    return "evaluated";
  std::string cfa = to_text(rule->cfa);
  bool is_link = rule->return_kind == UnwindRule::ReturnAddress::kInRegister;
  std::string frame = rule->frame_kind == UnwindRule::FramePointer::kUnchanged ? "same"
                      : rule->frame_kind == UnwindRule::FramePointer::kLost
                          ? "lost"
                          : to_text(rule->frame_pointer);
  return fmt::format("{} {} {}{}", rule->is_cfa_loaded ? '[' + cfa + ']' : cfa,
                     is_link ? "link" : to_text(rule->return_address), frame,
                     rule->is_signal_frame ? " signal" : "");
}

}  // namespace gosym
