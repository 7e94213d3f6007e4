#include "live/recording_window.h"

#include <algorithm>

#include "raw/messages.h"
#include "raw/sample_batch.h"

// Samples are kept as encoded chunks, with the times and processes that they have, so that a
// window of minutes takes what its file would. Events are kept as they are, until the window
// moves past them: then they become part of the state before it. A recording is made of both
// at any time, with chunks taken apart only where the window begins within one.

namespace gosym {

namespace {

// Samples of about a minute of 64 busy CPUs at 999 Hz. Beyond it the window begins later.
constexpr uint64_t kMaxSampleBytes = 256 << 20;
// Events take some hundred bytes each. Beyond it the window begins later as well.
constexpr size_t kMaxEvents = 500'000;
// Code and tables of deleted files, and of those that containers have. They are kept for good:
// what comes beyond it is refused (write_piece()).
constexpr uint64_t kMaxPieceBytes = 256 << 20;
constexpr uint64_t kMaxPerfMapBytes = 64 << 20;

// Each process is asked for in /proc.
constexpr uint64_t kSweepTime = 10'000'000'000;

raw::Recording::StoredChunk stored(std::string payload) {
  auto size = static_cast<uint32_t>(payload.size());
  return {.file = std::make_shared<const raw::Input>(std::move(payload)),
          .offset = 0,
          .stored_size = size,
          .raw_size = size};
}

// Without the samples before `begin`.
raw::SampleBatch from_time_on(const raw::SampleBatch& batch, uint64_t begin) {
  raw::SampleBatch rest;
  for (const auto& row : batch.rows())
    if (row.time >= begin)
      rest.add(batch.sample(row));
  return rest;
}

// Encodes a chunk with a tree of its own. Chunks that follow each other must not have one
// number, or the reader takes the second tree for the first one gone on. The writer may count
// its number on by one: so `tree` is doubled.
std::string encoded(const raw::SampleBatch& batch, uint32_t tree) {
  raw::StackTreeWriter alone(2 * tree);
  return batch.encode(alone);
}

}  // namespace

RecordingWindow::RecordingWindow(RecordingInfo info, uint64_t span, HasEnded has_ended)
    : info_(std::move(info)),
      span_(span),
      has_ended_(std::move(has_ended)),
      clocks_(raw::Writer::clocks_now()) {}

raw::Recording RecordingWindow::since(uint64_t time, const Images& has) const {
  std::lock_guard lock(mutex_);
  return make_since(time, has);
}

raw::Recording RecordingWindow::make_since(uint64_t time, const Images& has) const {
  uint64_t begin = std::max(begin_, time);
  std::vector<const Samples*> samples;
  for (const Samples& some : samples_)
    // A chunk is of the window if one of its samples is.
    if (some.last >= begin)
      samples.push_back(&some);
  return make(begin, samples, has);
}

raw::Recording RecordingWindow::take_new(const Images& has) {
  std::lock_guard lock(mutex_);
  std::vector<const Samples*> samples;
  for (Samples& some : samples_)
    if (!std::exchange(some.is_taken, true))
      samples.push_back(&some);
  // Samples that are a little older than the counts before them are not left out (has_older):
  // they came too late for the call before, and no later one has them.
  uint64_t begin = std::max(begin_, taken_until_);
  if (!stats_.empty())
    taken_until_ = stats_.back().time;
  return make(begin, samples, has, /*has_older=*/true);
}

raw::Recording RecordingWindow::make(uint64_t begin, const std::vector<const Samples*>& samples,
                                     const Images& has, bool has_older) const {
  raw::Recording recording;
  recording.major = raw::kMajorVersion;
  recording.minor = raw::kMinorVersion;
  recording.monotonic_ns = clocks_.monotonic_ns;
  recording.realtime_ns = clocks_.realtime_ns;
  recording.info = info_;
  recording.images = images_;
  recording.kernel_symbols = kernel_symbols_;
  recording.vdso = vdso_;
  recording.perf_maps = perf_maps_;
  for (const Piece& piece : pieces_)
    if (!has.contains(piece.image))
      recording.piece_chunks.push_back(piece.chunk);
  // The first samples may be a little older than the first counts, which tell when it began.
  recording.begin_time = std::max(begin, started_at_);
  uint32_t tree = tree_;
  for (const Samples* some : samples) {
    recording.file_size += some->chunk.raw_size;
    recording.sample_chunks.push_back(some->chunk);
    // Only a chunk that begins before the window has to be taken apart.
    if (has_older || some->first >= begin)
      continue;
    // The chunk was written by this process, so it can be read.
    raw::StackTreeReader stacks;
    auto batch = raw::read_samples(some->chunk, stacks);
    // Numbers above tree_ are those of no chunk that is kept.
    recording.sample_chunks.back() = stored(encoded(from_time_on(*batch, begin), ++tree));
  }
  recording.memory_budget = raw::memory_budget(recording.file_size);
  add_events(samples, recording);
  // Counts of 0 at the begin: what was lost is told from there on (raw::add_counts()).
  recording.stats.time = recording.begin_time;
  for (RecordingStats& counts : counts_since(recording.begin_time))
    raw::add_counts(std::move(counts), recording);
  return recording;
}

// Adds the state before the window of processes that have samples, and of their parents, those
// of these and so on, after which children are named; then all events of the window.
void RecordingWindow::add_events(const std::vector<const Samples*>& samples,
                                 raw::Recording& recording) const {
  std::set<uint32_t> pids;
  for (const Samples* some : samples)
    pids.insert(some->pids.begin(), some->pids.end());
  // Backwards the fork of a child comes before that of its parent; again for those that have
  // come out of order.
  for (size_t before = 0; before != pids.size();) {
    before = pids.size();
    for (auto event = events_.rbegin(); event != events_.rend(); ++event)
      if (const auto* fork = std::get_if<ForkEvent>(&*event); fork && pids.contains(fork->pid))
        pids.insert(fork->parent_pid);
  }
  past_.append_to(recording.events, pids);
  recording.events.insert(recording.events.end(), events_.begin(), events_.end());
}

// Counts from `begin` on, as often as they were taken.
std::vector<RecordingStats> RecordingWindow::counts_since(uint64_t begin) const {
  // Counts are sums since the start: those of the window are less what was counted before it.
  auto is_before = [&](const RecordingStats& stats) { return stats.time <= begin; };
  auto first = std::ranges::partition_point(stats_, is_before);
  RecordingStats before = first == stats_.begin() ? RecordingStats() : *std::prev(first);
  std::vector<RecordingStats> counts;
  for (; first != stats_.end(); ++first)
    counts.push_back(raw::counted_since(*first, before));
  return counts;
}

uint64_t RecordingWindow::end() const {
  std::lock_guard lock(mutex_);
  return stats_.empty() ? 0 : stats_.back().time;
}

RecordingWindow::Size RecordingWindow::size() const {
  std::lock_guard lock(mutex_);
  Size size = {.sample_bytes = sample_bytes_,
               .events = events_.size(),
               .processes = past_.process_count(),
               .file_bytes = piece_bytes_,
               .missed_samples = missed_samples_};
  for (const Samples& some : samples_)
    size.samples += some.count;
  return size;
}

Result<> RecordingWindow::write_image(const RecordedImage& image) {
  std::lock_guard lock(mutex_);
  images_.push_back(image);
  return Ok{};
}

Result<> RecordingWindow::write_events(std::span<const Event> events) {
  std::lock_guard lock(mutex_);
  events_.insert(events_.end(), events.begin(), events.end());
  return Ok{};
}

Result<> RecordingWindow::write_samples(const raw::SampleBatch& batch) {
  std::lock_guard lock(mutex_);
  if (batch.empty())
    return Ok{};
  Samples samples;
  // Each chunk has a tree of its own, so that it can be dropped when it leaves the window.
  samples.chunk = stored(encoded(batch, ++tree_));
  samples.first = UINT64_MAX;
  samples.count = batch.rows().size();
  for (const auto& row : batch.rows()) {
    samples.first = std::min(samples.first, row.time);
    samples.last = std::max(samples.last, row.time);
    samples.pids.insert(row.pid);
    samples.cgroups.insert(row.cgroup);
  }
  sample_bytes_ += samples.chunk.raw_size;
  samples_.push_back(std::move(samples));
  return Ok{};
}

Result<> RecordingWindow::write_kernel_symbols(std::string_view kallsyms) {
  std::lock_guard lock(mutex_);
  kernel_symbols_ += kallsyms;
  return Ok{};
}

Result<> RecordingWindow::write_perf_map(const RecordedPerfMap& map) {
  std::lock_guard lock(mutex_);
  perf_maps_.push_back(map);
  uint64_t bytes = 0;
  for (const RecordedPerfMap& known : perf_maps_)
    bytes += known.text.size();
  // The oldest maps go first.
  while (bytes > kMaxPerfMapBytes) {
    bytes -= perf_maps_.front().text.size();
    perf_maps_.erase(perf_maps_.begin());
  }
  return Ok{};
}

// Takes a piece, or where there is no room another in its place that says so: it tells a reader
// why the image is not whole. Pieces of it that came before stay.
Result<> RecordingWindow::write_piece(const ImagePiece& piece) {
  std::lock_guard lock(mutex_);
  bool has_room = piece_bytes_ + piece.bytes.size() <= kMaxPieceBytes;
  ImagePiece refused;
  refused.image = piece.image;
  refused.problem = "more files than are kept in memory";
  pieces_.push_back({piece.image, stored(raw::encode(has_room ? piece : refused))});
  // Room is counted by what is stored, refusals included.
  piece_bytes_ += pieces_.back().chunk.raw_size;
  return Ok{};
}

Result<> RecordingWindow::write_vdso(std::string_view image) {
  std::lock_guard lock(mutex_);
  vdso_ = image;
  return Ok{};
}

Result<> RecordingWindow::write_stats(const RecordingStats& stats) {
  std::lock_guard lock(mutex_);
  if (stats_.empty())
    started_at_ = stats.time;
  stats_.push_back(stats);
  move_on();
  return Ok{};
}

Result<> RecordingWindow::write_end(uint64_t) {
  return Ok{};
}

bool RecordingWindow::is_too_large() const {
  return sample_bytes_ > kMaxSampleBytes || events_.size() > kMaxEvents;
}

void RecordingWindow::move_on() {
  // Time goes by the counts: samples and events may come late, and none may come at all.
  uint64_t end = stats_.back().time;
  move_to(end - std::min(end, span_));
  // To leave out an eighth each time costs less than to look after each sample. It ends at the
  // latest when the window is empty.
  while (is_too_large() && begin_ < end)
    move_to(begin_ + std::max<uint64_t>((end - begin_) / 8, 1));
  // Looked at now and then: each process is asked about in /proc.
  if (end - swept_at_ >= kSweepTime) {
    swept_at_ = end;
    forget_ended();
  }
}

void RecordingWindow::move_to(uint64_t begin) {
  begin_ = std::max(begin_, begin);
  std::erase_if(samples_, [&](const Samples& some) {
    bool is_over = some.last < begin_;
    sample_bytes_ -= is_over ? some.chunk.raw_size : 0;
    missed_samples_ += is_over && !some.is_taken ? some.count : 0;
    return is_over;
  });
  // The last counts before the window stay: those of the window are differences to them.
  while (stats_.size() > 1 && stats_[1].time <= begin_)
    stats_.pop_front();

  // Events come late and out of order; the state needs them by time. One that comes when the
  // window is past it is applied at the next move: PastState goes by the times that events
  // bear.
  std::ranges::stable_sort(events_, {}, [](const Event& event) { return time_of(event); });
  auto rest = std::ranges::partition_point(
      events_, [&](const Event& event) { return time_of(event) < begin_; });
  for (auto event = events_.begin(); event != rest; ++event)
    past_.apply(std::move(*event));
  events_.erase(events_.begin(), rest);
}

// Forgets processes that neither have samples in the window nor run, and cgroups likewise. One
// that has ended may still have samples that are to be named.
void RecordingWindow::forget_ended() {
  std::set<uint32_t> sampled;
  std::set<uint64_t> sampled_cgroups;
  for (const Samples& some : samples_) {
    sampled.insert(some.pids.begin(), some.pids.end());
    sampled_cgroups.insert(some.cgroups.begin(), some.cgroups.end());
  }
  past_.forget_gone_cgroups([&](uint64_t id) { return sampled_cgroups.contains(id); });
  auto is_over = [&](uint32_t pid) { return !sampled.contains(pid) && has_ended_(pid); };
  past_.forget(is_over);
  std::erase_if(perf_maps_, [&](const RecordedPerfMap& map) {
    return map.time < begin_ && is_over(map.pid);
  });
}

namespace {

Result<> write_files(const raw::Recording& recording, raw::Writer& writer) {
  // Images come before the pieces that name them.
  for (const RecordedImage& image : recording.images)
    if (auto done = writer.write_image(image); !done)
      return done;
  for (const raw::Recording::StoredChunk& chunk : recording.piece_chunks) {
    auto piece = raw::read_piece(chunk);
    if (!piece)
      return std::move(piece).error();
    if (auto done = writer.write_piece(*piece); !done)
      return done;
  }
  for (const RecordedPerfMap& map : recording.perf_maps)
    if (auto done = writer.write_perf_map(map); !done)
      return done;
  return Ok{};
}

Result<> write_samples(const raw::Recording& recording, raw::Writer& writer) {
  raw::StackTreeReader stacks;
  for (const raw::Recording::StoredChunk& chunk : recording.sample_chunks) {
    auto batch = raw::read_samples(chunk, stacks);
    if (!batch)
      return std::move(batch).error();
    if (auto done = writer.write_samples(*batch); !done)
      return done;
  }
  return Ok{};
}

Result<> write_recording(const raw::Recording& recording,
                         const std::vector<RecordingStats>& counts, raw::Writer& writer) {
  // The first counts tell when it began.
  if (auto done = writer.write_stats({.time = recording.begin_time}); !done)
    return done;
  if (auto done = writer.write_vdso(recording.vdso); !done)
    return done;
  if (auto done = write_files(recording, writer); !done)
    return done;
  if (auto done = writer.write_events(recording.events); !done)
    return done;
  if (auto done = writer.write_kernel_symbols(recording.kernel_symbols); !done)
    return done;
  if (auto done = write_samples(recording, writer); !done)
    return done;
  for (const RecordingStats& some : counts)
    if (auto done = writer.write_stats(some); !done)
      return done;
  // The last counts tell when it ended.
  return writer.write_end(recording.stats.time);
}

}  // namespace

Result<> RecordingWindow::save(uint64_t time, const std::string& path) const {
  auto saved = save(time, [&](const RecordingInfo& info, const raw::Writer::Clocks& clocks) {
    return raw::Writer::create(path, info, clocks);
  });
  return saved ? Result<>(Ok{}) : std::move(saved).error();
}

Result<uint64_t> RecordingWindow::save(uint64_t time, const CreateWriter& create) const {
  std::unique_lock lock(mutex_);
  raw::Recording recording = make_since(time, {});
  std::vector<RecordingStats> counts = counts_since(recording.begin_time);
  // The file is written without the lock: the recorder need not wait for a disk.
  lock.unlock();
  auto writer = create(recording.info, {recording.monotonic_ns, recording.realtime_ns});
  if (!writer)
    return std::move(writer).error();
  if (auto written = write_recording(recording, counts, **writer); !written)
    return std::move(written).error();
  return (*writer)->bytes_written();
}

}  // namespace gosym
