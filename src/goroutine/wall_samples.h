#pragma once

#include <functional>
#include <span>
#include <vector>

#include "goroutine/goroutines.h"
#include "goroutine/labels.h"
#include "model/recording.h"

namespace gosym {

// Makes samples of what the goroutines of one Go runtime do, look after look: each stands for
// so much time of its own, and for others that were not looked at. The runtime's own goroutines
// are left out.
class WallSamples {
public:
  // Tells of the code at an address.
  struct Owner {
    bool is_runtime = false;           // it is the runtime's
    bool is_start_of_runtime = false;  // so is a goroutine that begins there
  };
  using FindOwner = std::function<Owner(uint64_t address)>;
  // The spans of a sample live until the handler returns.
  using Take = std::function<void(const RecordedSample&)>;

  WallSamples(GoRuntime runtime, proc::ReadMemory read_memory, FindOwner find_owner);

  // A sample of each goroutine that is looked at. `base` has what all of them share, and as its
  // weight the time since the last look. False: there are no goroutines, or not any more.
  bool look(std::span<const double> random, const RecordedSample& base, const Take& take);

  // Stacks since the start that were cut, as a look may not take more (look_at_some()).
  uint64_t shortened() const { return shortened_; }

private:
  void hand_over(const SomeGoroutines& look, RecordedSample sample, const Take& take);
  bool is_of_runtime(const Goroutine& goroutine, std::span<const StackCall> stack) const;
  void set_stack(std::span<const StackCall> calls);
  void set_labels(std::span<const GoroutineLabel> labels);

  go::GoroutineLayout layout_;
  proc::ReadMemory read_memory_;
  FindOwner find_owner_;
  LookAtSome look_;
  uint64_t shortened_ = 0;
  // Parts of the sample that is handed over.
  std::vector<uint64_t> addresses_;
  std::vector<StackWord> words_;
  std::vector<Label> labels_;
};

}  // namespace gosym
