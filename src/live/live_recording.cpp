#include "live/live_recording.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"

// Two threads: that of the recording waits, collects and, when asked, writes into the window;
// the other asks, waits until that is done, and makes profiles of the window. `mutex_` guards
// the request and the end; the window has a mutex of its own, as profiles are made while the
// recording goes on.

namespace gosym {

LiveRecording::LiveRecording(Options options, std::unique_ptr<Sampler> sampler,
                             DebugFileOptions files)
    : options_(std::move(options)),
      files_(std::move(files)),
      sampler_(std::move(sampler)),
      info_(info_of(options_.sampler, *sampler_)),
      window_(info_, options_.window),
      recorder_(options_.sampler, *sampler_, window_, options_.archive) {}

LiveRecording::~LiveRecording() {
  stop();
  if (thread_.joinable())
    thread_.join();
}

void LiveRecording::run(Watch& watch) {
  thread_ = std::thread([this, &watch] { record(watch); });
}

void LiveRecording::record(Watch& watch) {
  auto stop = record_until_stopped(watch);
  auto finished = recorder_.finish();
  if (stop && !finished)
    stop = std::move(finished).error();
  std::lock_guard lock(mutex_);
  end_ = std::move(stop);
  changed_.notify_all();
}

Result<Stop> LiveRecording::record_until_stopped(Watch& watch) {
  while (!is_stopping_) {
    // None after 50 ms at the latest, so that stop() and catch_up() are heard.
    std::optional<Stop> stop = watch.wait(recorder_);
    if (auto collected = recorder_.collect(); !collected)
      return std::move(collected).error();
    if (stop)
      return *stop;
    // Collected samples go into the window when catch_up() asks for them, or when there are
    // enough (Recorder::collect()).
    std::lock_guard lock(mutex_);
    if (!is_behind_)
      continue;
    if (auto written = recorder_.write(); !written)
      return std::move(written).error();
    // Time goes on without samples, too.
    if (auto written = window_.write_stats(recorder_.counts()); !written)
      return std::move(written).error();
    is_behind_ = false;
    changed_.notify_all();
  }
  // The one who called stop() has had enough, as one who presses Ctrl-C.
  return Stop::kSignal;
}

// Until the window has what was sampled so far.
void LiveRecording::catch_up() {
  std::unique_lock lock(mutex_);
  is_behind_ = true;
  // The end satisfies the wait as well: nothing comes any more.
  changed_.wait(lock, [this] { return !is_behind_ || end_; });
}

bool LiveRecording::wait_until(uint64_t time) {
  uint64_t now = monotonic_ns();
  std::chrono::nanoseconds left(time - std::min(time, now));
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, left, [this] { return end_.has_value(); });
}

// The thread sets end_ as the last thing that it does.
Result<Stop> LiveRecording::finish() {
  thread_.join();
  return *std::move(end_);
}

uint64_t LiveRecording::begin_of(uint64_t span) {
  catch_up();
  uint64_t end = window_.end();
  return std::max(reset_at_, end - std::min(end, span));
}

Result<NamedProfile> LiveRecording::profile(uint64_t span) {
  // Files that the cache has from earlier profiles need not be put together again.
  return named(window_.since(begin_of(span), held_images()));
}

Result<NamedProfile> LiveRecording::named(raw::Recording recording) {
  auto profile =
      make_profile(recording, {}, options_.group_by, options_.names, files_, &cache_);
  // The heap keeps what the making took, though the next profile is seconds away.
  recording = {};
  malloc_trim(0);
  return profile;
}

RecordingWindow::Images LiveRecording::held_images() const {
  RecordingWindow::Images images;
  for (const auto& [image, file] : cache_.images.held)
    images.insert(image);
  return images;
}

Result<NamedProfile> LiveRecording::new_samples() {
  catch_up();
  return named(window_.take_new(held_images()));
}

void LiveRecording::reset() {
  // The present is the end of the window, once it has caught up.
  reset_at_ = begin_of(0);
  window_.take_new();
}

Result<> LiveRecording::save(uint64_t span, const std::string& path) {
  return window_.save(begin_of(span), path);
}

}  // namespace gosym
