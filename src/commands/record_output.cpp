#include "commands/record_output.h"

#include <utility>

#include "base/clock.h"
#include "base/print.h"
#include "base/text.h"
#include "raw/writer.h"
#include "record/watch.h"

namespace gosym {

namespace {

// From one look at what a flight recorder waits for to the next.
constexpr uint64_t kTimeBetweenLooks = 1'000'000'000;

}  // namespace

Result<RecordOutput> RecordOutput::prepare(const RecordOptions& options,
                                           const RecordPlan& plan) {
  RecordOutput output(options, plan);
  if (plan.rotate_ns == 0 && plan.last_ns == 0)
    return output;
  auto directory = RecordingDirectory::open(options.output);
  if (!directory)
    return std::move(directory).error();
  // Before the lock: whoever sees that may send SIGUSR2 at once, which would end this process.
  Watch::take_requests();
  auto kind = plan.last_ns != 0 ? RecorderKind::kFlight : RecorderKind::kRotating;
  if (auto locked = directory->lock(kind); !locked)
    return std::move(locked).error();
  output.directory_ = std::make_unique<RecordingDirectory>(*std::move(directory));
  return output;
}

Result<> RecordOutput::create(const RecordingInfo& info) {
  if (directory_)
    return begin_in_directory(info);
  auto writer = raw::Writer::create(options_->output, info);
  if (!writer)
    return std::move(writer).error();
  // Another process stays able to remove the file: this one gives up the right to
  // (confine_recorder()).
  remover_ = std::make_unique<Remover>();
  if (auto started = remover_->start(options_->output, (*writer)->output()); !started)
    return started;
  sink_ = std::make_unique<FileSink>(*std::move(writer));
  return Ok{};
}

Result<> RecordOutput::begin_in_directory(const RecordingInfo& info) {
  // Files of the directory are made and removed by a process that is started now: this one
  // gives up the right to (confine_recorder()).
  storer_ = std::make_unique<Storer>();
  if (auto started = storer_->start(*directory_, keep_); !started)
    return started;
  if (last_ns_ != 0) {
    auto window = std::make_unique<FlightWindow>(info, last_ns_, options_->output, *storer_);
    flight_ = window.get();
    sink_ = std::move(window);
    return Ok{};
  }
  auto tell = [options = options_](const std::string& what) { warn(*options, "{}", what); };
  auto sink = std::make_unique<RotatingSink>(info, options_->output, *storer_, tell);
  rotating_ = sink.get();
  sink_ = std::move(sink);
  next_ = monotonic_ns() + rotate_ns_;
  return rotating_->begin();
}

Result<> RecordOutput::step(Recorder& recorder, bool is_asked) {
  uint64_t now = monotonic_ns();
  if (!directory_ || (now < next_ && !is_asked))
    return Ok{};
  if (rotating_) {
    // A machine that was too busy, or slept, skips what it has missed. Who asks by SIGUSR2 gets
    // a new file at once, and the others come when they would have.
    while (next_ <= now)
      next_ += rotate_ns_;
    return rotate(recorder);
  }
  next_ = now + kTimeBetweenLooks;
  look_for_reason(now);
  if (is_asked)
    reason_ += reason_.empty() ? "somebody asked for it" : "; somebody asked for it";
  // A reason soon after a snapshot waits, so that its file has a whole span. It waits a look
  // less than that: until the next look, samples right behind the last file would leave the
  // window.
  bool is_soon = snapshot_at_ != 0 && now + kTimeBetweenLooks < snapshot_at_ + last_ns_;
  return reason_.empty() || (is_soon && !is_asked) ? Ok{} : take_snapshot(recorder);
}

Result<> RecordOutput::end(Recorder& recorder) {
  return reason_.empty() ? Ok{} : take_snapshot(recorder);
}

Result<> RecordOutput::rotate(Recorder& recorder) {
  // Rings are emptied into the file that ends, so that no sample is of the next one's time.
  if (auto ended = recorder.end_part(); !ended)
    return ended;
  return rotating_->rotate();
}

// Each is looked at each time, for has_happened() compares with the look before. While a reason
// waits, it speaks for those that come.
void RecordOutput::look_for_reason(uint64_t now) {
  std::string reason;
  for (Trigger& trigger : when_)
    if (trigger.has_happened(now))
      reason += (reason.empty() ? "" : "; ") + trigger.reason();
  if (reason_.empty())
    reason_ = std::move(reason);
}

// A flight recorder whose disk is full waits for the next reason. Rings are emptied first, or
// the last samples would be missing.
Result<> RecordOutput::take_snapshot(Recorder& recorder) {
  std::string reason = std::exchange(reason_, {});
  if (auto ended = recorder.end_part(); !ended)
    return ended;
  auto name = flight_->take_snapshot();
  if (!name) {
    warn(*options_, "{}: {}", reason, name.error().message());
    return Ok{};
  }
  snapshot_at_ = monotonic_ns();
  if (!options_->is_quiet)
    print(stderr, "gosym: {}: {}\n", reason, *name);
  return Ok{};
}

uint64_t RecordOutput::file_count() const {
  return rotating_ ? rotating_->file_count() : flight_ ? flight_->file_count() : 1;
}

std::string RecordOutput::finish(const Recorder::Summary& summary) {
  std::string size = human_size(summary.file_size);
  if (rotating_)
    return fmt::format("{} -> {} in {}", size, count_text(rotating_->file_count(), "file"),
                       printable(options_->output));
  if (flight_)
    return fmt::format("{} made of it in {}", count_text(flight_->file_count(), "file"),
                       printable(options_->output));
  // A recording without samples would take the place of the one before. create() has started
  // the remover, as this is no directory.
  raw::Withdrawn withdrawn = summary.samples == 0 ? remover_->remove() : raw::Withdrawn::kNot;
  std::string name = options_->output == "-" ? "standard output" : printable(options_->output);
  if (withdrawn == raw::Withdrawn::kNot)
    return fmt::format("{} -> {}", size, name);
  return withdrawn == raw::Withdrawn::kRemoved
             ? fmt::format("{} is not kept", name)
             : fmt::format("not kept: {} is the recording before again", name);
}

}  // namespace gosym
