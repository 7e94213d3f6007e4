#pragma once

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "base/unique_fd.h"
#include "record/files/file_helper.h"
#include "record/memory_helper.h"
#include "record/sampler.h"

namespace gosym {

// The event "wall": what goroutines of some processes do, waiting included.
struct WallOptions {
  std::vector<uint32_t> pids = {};
  uint64_t frequency = 97;  // looks a second, on average
  size_t most = 32;         // goroutines of a process that are looked at each time; not 0
  uint64_t seed = 0;        // of the choice among them, and of the times of looks
  // It is of a command that was not started yet: there is no Go code to be found now.
  bool may_begin_later = false;
};

// Samples goroutines beside what another sampler samples, which may be none.
//
// At each look some goroutines of a process are read, and each stands for as many as were as
// likely to be: where 20 have moved of late and 10,000 have not, each of the 20 weighs the time
// since the last look, and each of 12 others that time times 10,000 / 12. So the weights of all
// samples come to what is to be known, goroutines times elapsed time, whenever the looks came
// and however many goroutines there were. The program runs on meanwhile: see read_goroutines().
// The runtime's own goroutines are left out.
//
// The choice is spread evenly over the list of goroutines, and over time: of each of its parts
// one place is looked at, the next time one that lies the golden section of the part further
// on. So each goroutine is looked at as often as any other that rests, or moves, as it does,
// but for a look or two.
//
// A goroutine that was running has no stack to be read: the sample has the function that it
// began with. A process that starts to run Go code, or another program, is noticed within a
// second.
class WallSampler : public Sampler {
public:
  // `inner` may be null. Fails if none of the processes runs Go code, or one may not be read.
  static Result<std::unique_ptr<Sampler>> open(std::unique_ptr<Sampler> inner,
                                               const WallOptions& options);
  ~WallSampler() override;

  void set_go_program(const GoProgram& program, const MapEvent& code) override;
  void forget_go_program(uint32_t pid) override;
  Result<> start() override;
  void stop() override;
  int poll_fd() const override { return poll_.get(); }
  void drain_samples(const Handler& handler) override;
  void drain_events(std::vector<SidebandRecord>& records) override;
  bool follow(uint32_t pid) override { return inner_ && inner_->follow(pid); }
  uint64_t lost_events() const override { return inner_ ? inner_->lost_events() : 0; }
  std::set<uint32_t> take_refused() override;
  Result<> follow_cpus(std::vector<SidebandRecord>& records) override;
  Counters counters() const override;
  uint64_t charged_ns() const override { return inner_ ? inner_->charged_ns() : 0; }
  std::string name() const override { return inner_ ? inner_->name() : "goroutines"; }
  std::string shortcomings() const override { return inner_ ? inner_->shortcomings() : ""; }
  bool sees_kernel() const override { return inner_ && inner_->sees_kernel(); }
  std::span<const EventType> events() const override { return events_; }
  uint32_t cpu_count() const override;

private:
  class Process;

  WallSampler(std::unique_ptr<Sampler> inner, const WallOptions& options);
  Result<> find_go_code();
  Result<> set_timer();
  void look(const Handler& handler);
  void choose();

  std::unique_ptr<Sampler> inner_;  // null: none
  bool may_begin_later_;            // see WallOptions
  std::vector<EventType> events_;   // its own, then this
  MemoryHelper memory_{MemoryHelper::kPatienceOfRecording};
  FileHelper files_;
  std::vector<std::unique_ptr<Process>> processes_;
  UniqueFd timer_;
  UniqueFd poll_;  // readable at the next look, or when there are samples of `inner_`
  std::mt19937_64 generator_;
  uint64_t period_ns_;                   // between looks, on average
  uint64_t due_at_ = 0;                  // the next look
  std::vector<double> random_;           // for each part of a list, out of [0, 1)
  uint64_t looked_at_ = 0;               // when; 0: sampling has not begun
  std::vector<SidebandRecord> records_;  // to be drained
  bool is_stopped_ = false;
  uint64_t sample_count_ = 0;
};

}  // namespace gosym
