#include "record/stacks/passed_callers.h"

#include <algorithm>

namespace gosym {

namespace {

// True if the last function of the stack so far, innermost first, has no frame where it is, so
// that its return address is what lies on top of its stack. There is one function at least.
bool is_frameless(const std::vector<uint64_t>& stack, const RuleOf& rule_of) {
  auto rule_at = [&](size_t i, bool is_return) { return rule_of(stack[i] - is_return); };
  size_t last = stack.size() - 1;
  // The address of a caller is that behind its call: the call itself is one byte before. The
  // leaf, and what a signal has interrupted, are at their address itself.
  auto callee = last > 0 ? rule_at(last - 1, last > 1) : std::nullopt;
  bool is_interrupted = last == 0 || (callee && callee->is_signal_frame);
  auto rule = rule_at(last, !is_interrupted);
  // The return address is on top, nothing was pushed, and the frame pointer is the caller's.
  return rule && rule->return_kind == UnwindRule::ReturnAddress::kOnStack &&
         rule->cfa == StackPlace{Anchor::kStackPointer, 8} &&
         rule->frame_kind == UnwindRule::FramePointer::kUnchanged;
}

// All that follows the address that was put in before this index lies one further. What begins
// right there moves, too: the passed caller is still of the stack before it. A gap or a start
// of 0 means that there is none.
void put_before(size_t index, RecordedSample& sample, std::vector<StackSwitch>& switches) {
  sample.gap += index <= sample.gap && sample.gap != 0;
  sample.goroutine_start += index <= sample.goroutine_start && sample.goroutine_start != 0;
  for (StackSwitch& at : switches)
    at.start += index <= at.start;
}

}  // namespace

void settle_passed_callers(RecordedSample& sample, std::span<const PassedCaller> passed,
                           const RuleOf& rule_of, SettledStack& settled) {
  if (passed.empty() || sample.user_stack.empty())
    return;
  // Frames are copied one by one, and a passed caller is put in before the frame of its index.
  std::vector<uint64_t>& stack = settled.frames;
  stack.clear();
  settled.switches.assign(sample.switches.begin(), sample.switches.end());
  auto next = passed.begin();
  for (size_t i = 0; i <= sample.user_stack.size(); i++) {
    // If one is nobody's, those above it are not either.
    bool is_wanted = true;
    for (; next != passed.end() && next->index <= i; ++next) {
      is_wanted = is_wanted && i > 0 && next->index == i && is_frameless(stack, rule_of);
      if (!is_wanted)
        continue;
      put_before(stack.size(), sample, settled.switches);
      stack.push_back(next->address);
    }
    if (i < sample.user_stack.size())
      stack.push_back(sample.user_stack[i]);
  }
  sample.user_stack = stack;
  sample.switches = settled.switches;
}

}  // namespace gosym
