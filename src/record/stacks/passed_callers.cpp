#include "record/stacks/passed_callers.h"

#include <algorithm>

namespace gosym {

namespace {

bool is_marked(uint64_t address) {
  return (address & kPassedCaller) != 0;
}

// Of the stack so far, innermost first: whether its last function has no frame where it is, so
// that its return address is what lies on top of its stack.
bool is_frameless(const std::vector<uint64_t>& stack, const RuleOf& rule_of) {
  auto rule_at = [&](size_t i, bool is_return) { return rule_of(stack[i] - is_return); };
  size_t last = stack.size() - 1;
  auto callee = last > 0 ? rule_at(last - 1, last > 1) : std::nullopt;
  bool is_interrupted = last == 0 || (callee && callee->is_signal_frame);
  auto rule = rule_at(last, !is_interrupted);
  return rule && rule->return_kind == UnwindRule::ReturnAddress::kOnStack &&
         rule->cfa == StackPlace{Anchor::kStackPointer, 8} &&
         rule->frame_kind == UnwindRule::FramePointer::kUnchanged;
}

}  // namespace

void settle_passed_callers(RecordedSample& sample, const RuleOf& rule_of,
                           std::vector<uint64_t>& stack) {
  if (std::ranges::none_of(sample.user_stack, is_marked))
    return;
  stack.clear();
  size_t gap = sample.gap;
  size_t goroutine = sample.goroutine_start;
  bool is_wanted = false;  // those that are marked, behind the last that is not
  for (size_t i = 0; i < sample.user_stack.size(); i++) {
    uint64_t address = sample.user_stack[i];
    // The first is where the CPU was, wherever that is. Behind a gap nobody knows whose caller
    // it is.
    bool is_certain = i == 0 || !is_marked(address);
    is_wanted = is_certain || (is_wanted && i != gap && is_frameless(stack, rule_of));
    if (is_wanted) {
      stack.push_back(is_certain ? address : address & ~kPassedCaller);
      continue;
    }
    sample.gap -= i < gap;
    sample.goroutine_start -= i < goroutine;
  }
  sample.user_stack = stack;
}

}  // namespace gosym
