#include "goroutine/wall_samples.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "goroutine/go_runtime.h"

namespace gosym {

namespace {

// More text than a recording keeps of a label, and few maps of the largest size at a look.
constexpr LabelLimits kLabelsOfLook = {.text = 512, .all_texts = 1 << 20, .buckets = 4096};

// None of the runtime's own goroutines has so many calls.
constexpr size_t kMaxOfRuntime = 256;

// The time that a sample of one stands for.
uint64_t weight_of(uint64_t elapsed_ns, double goroutines) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(elapsed_ns) * goroutines));
}

}  // namespace

WallSamples::WallSamples(GoRuntime runtime, proc::ReadMemory read_memory, FindOwner find_owner)
    : layout_(runtime.layout),
      read_memory_(std::move(read_memory)),
      find_owner_(std::move(find_owner)),
      look_(look_at_some(std::move(runtime), read_memory_)) {}

bool WallSamples::look(std::span<const double> random, const RecordedSample& base,
                       const Take& take) {
  auto look = look_(random);
  if (!look || look->list_size == 0)
    return false;
  shortened_ += look->shortened;
  hand_over(*look, base, take);
  return true;
}

void WallSamples::hand_over(const SomeGoroutines& look, RecordedSample sample,
                            const Take& take) {
  uint64_t elapsed_ns = sample.weight;
  // Labels of all goroutines of a look are read together, in few system calls.
  auto labels = read_labels(look.all, layout_.runtime, read_memory_, kLabelsOfLook);
  for (size_t i = 0; i < look.all.size(); i++) {
    const Goroutine& goroutine = look.all[i];
    const std::vector<StackCall>& stack = look.stacks[goroutine.stack];
    if (is_of_runtime(goroutine, stack))
      continue;
    // A goroutine without a stack is told by the function that it began with. One that C code
    // entered has none, and nothing is known of where it runs.
    StackCall start = {.call = goroutine.start, .returns_to = goroutine.start};
    bool is_call_from_c = stack.empty() && goroutine.start == 0;
    set_stack(stack.empty() ? std::span(&start, is_call_from_c ? 0 : 1)
                            : std::span<const StackCall>(stack));
    set_labels(labels ? std::span((*labels)[i]) : std::span<GoroutineLabel>());
    sample.weight = weight_of(elapsed_ns, look.counts[i]);
    std::string state = state_text(goroutine, layout_.wait_reasons);
    // A goroutine that is on no thread is told under its process.
    sample.tid = goroutine.thread != 0 ? goroutine.thread : sample.pid;
    sample.goid = goroutine.number;
    sample.state = state;
    sample.user_stack = addresses_;
    sample.words = words_;
    sample.labels = labels_;
    bool is_whole = goroutine.stack_state == GoroutineStack::kWhole;
    // The creator is the caller of the outermost function: told only of a whole stack.
    sample.creator = is_whole ? goroutine.created_at : 0;
    sample.user_end = is_call_from_c ? StackEnd::kCallFromC
                      : is_whole     ? StackEnd::kRoot
                                     : StackEnd::kUnreadable;
    take(sample);
  }
}

// True if the runtime began it and it never left the runtime's code.
bool WallSamples::is_of_runtime(const Goroutine& goroutine,
                                std::span<const StackCall> stack) const {
  return stack.size() <= kMaxOfRuntime && find_owner_(goroutine.start).is_start_of_runtime &&
         std::ranges::all_of(
             stack, [&](const StackCall& at) { return find_owner_(at.call).is_runtime; });
}

// Stores the stack as a recording has it: with the words that lead from one call to the next.
void WallSamples::set_stack(std::span<const StackCall> calls) {
  addresses_.clear();
  words_.clear();
  for (const StackCall& call : calls) {
    // The first address is where it runs, which no word of the stack has led to. A recording
    // has words up to kMaxTopSize; what was in a register, with the place UINT64_MAX, is none.
    if (!addresses_.empty() && call.place < kMaxTopSize)
      words_.push_back({call.place, call.returns_to});
    addresses_.push_back(call.returns_to);
  }
}

void WallSamples::set_labels(std::span<const GoroutineLabel> labels) {
  labels_.clear();
  for (const GoroutineLabel& label : labels)
    labels_.push_back({label.key, label.value});
}

}  // namespace gosym
