#include "live/rotation.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/overloaded.h"
#include "base/text.h"
#include "raw/reader.h"
#include "raw/sample_batch.h"

// A file begins with what is known of the kernel; processes follow when an event or a sample
// of theirs comes (introduce()). All writes go through put(), which survives a full disk: the
// file is given up, and a new one is tried each second or as soon as something could be
// removed.

namespace gosym {

namespace {

constexpr uint64_t kTimeBetweenTries = 1'000'000'000;

// Room for the next files, when the disk is full and old ones go: not each write has to make
// some.
constexpr uint64_t kRoomForFiles = 16 << 20;

bool is_lack_of_room(int cause) {
  return cause == ENOSPC || cause == EDQUOT;
}

}  // namespace

// A file begins where the one before has ended, however long its end took to be written.
raw::Writer::Clocks clocks_at(uint64_t time) {
  raw::Writer::Clocks clocks = raw::Writer::clocks_now();
  uint64_t ago = time == 0 ? 0 : clocks.monotonic_ns - std::min(time, clocks.monotonic_ns);
  return {clocks.monotonic_ns - ago, clocks.realtime_ns - std::min(ago, clocks.realtime_ns)};
}

RotatingSink::RotatingSink(RecordingInfo info, std::string directory, RotationFiles& files,
                           Tell tell, HasEnded has_ended)
    : info_(std::move(info)),
      directory_(std::move(directory)),
      files_(files),
      store_(files),
      tell_(std::move(tell)),
      has_ended_(std::move(has_ended)) {}

RotatingSink::~RotatingSink() = default;

Result<> RotatingSink::begin() {
  if (auto begun = begin_file(); !begun)
    return begun;
  if (!writer_)
    return errorf("'{}': no room for a recording on this disk", printable(directory_));
  return Ok{};
}

// Leaves writer_ null if there is no room, and then succeeds: whoever writes next tries again
// (try_again()). An error if there will never be a file.
Result<> RotatingSink::begin_file() {
  // All of this is of the file before.
  introduced_.clear();
  sampled_.clear();
  written_images_.clear();
  next_try_ = monotonic_ns() + kTimeBetweenTries;
  UniqueFd file = files_.begin_recording(0);
  if (!file && is_lack_of_room(errno)) {
    tell_once(fmt::format("'{}': {}: samples are lost until a file can be written",
                          printable(directory_), std::strerror(errno)));
    return Ok{};
  }
  if (!file && errno == ENOENT)
    return errorf("the directory '{}' is gone: it was removed while it was recorded into",
                  printable(directory_));
  if (!file)
    return system_error(fmt::format("cannot record into '{}'", printable(directory_)), errno);

  // Nobody else writes this file, and no older one gave way to it (raw::OutputFile).
  raw::OutputFile output{.fd = std::move(file),
                         .name = fmt::format("a file in '{}'", printable(directory_)),
                         .is_ours = true,
                         .has_set_aside = false};
  // Before the first counts the time is 0, by which clocks_at() takes that of now.
  auto writer = raw::Writer::create(std::move(output), info_, clocks_at(stats_.time));
  if (!writer) {
    files_.drop();
    // Whatever the cause is, it is taken for want of room: nothing else is known to fail here.
    give_up(writer.error(), ENOSPC);
    return Ok{};
  }
  // From its header on a file can be read, and so gets its name.
  name_ = files_.publish();
  if (name_.empty())
    return system_error(fmt::format("cannot name a recording in '{}'", printable(directory_)),
                        errno);
  // Counts of this file are those since now.
  before_ = stats_;
  file_count_++;
  writer_ = *std::move(writer);
  if (auto begun = write_begin(*writer_); !begun) {
    give_up(begun.error(), writer_->failure_cause());
    return Ok{};
  }
  if (std::exchange(is_full_, false))
    tell_(fmt::format("'{}': recording goes on; {} lost", printable(directory_),
                      count_text(dropped_, "sample")));
  return Ok{};
}

// The first counts tell when the file began; of the first file the recorder gives them.
Result<> RotatingSink::write_begin(raw::Writer& writer) {
  if (stats_.time != 0)
    if (auto done = writer.write_stats({.time = stats_.time}); !done)
      return done;
  if (!vdso_.empty())
    if (auto done = writer.write_vdso(vdso_); !done)
      return done;
  std::vector<Event> events;
  // Without processes: introduce() tells of each when something of it comes.
  past_.append_to(events, {});
  if (!events.empty())
    if (auto done = writer.write_events(events); !done)
      return done;
  return kernel_symbols_.empty() ? Ok{} : writer.write_kernel_symbols(kernel_symbols_);
}

// Writes into the file; succeeds as well if that fails for now. Without a file `write` is
// dropped: state is told anew by the next one (introduce()), samples are counted by
// write_samples().
Result<> RotatingSink::put(const Write& write) {
  if (!writer_)
    return Ok{};
  if (auto done = write(*writer_); !done)
    give_up(done.error(), writer_->failure_cause());
  return Ok{};
}

// Begins a file if there is none: before all that a call writes, for a file that began in the
// middle of that would lack the images and the state that come first.
Result<> RotatingSink::try_again() {
  // Before begin() there is no recording yet that could go on.
  if (writer_ || file_count_ == 0 || monotonic_ns() < next_try_)
    return Ok{};
  return begin_file();
}

// The part of the file that was written stays. If anything can be removed, there is room at
// once.
void RotatingSink::give_up(const Error& error, int cause) {
  bool had_file = writer_ != nullptr;
  if (had_file)
    bytes_before_ += writer_->bytes_written();
  writer_.reset();
  bool has_room = is_lack_of_room(cause) && files_.make_room(kRoomForFiles);
  tell_once(fmt::format("{}: {}", error.message(),
                        has_room ? "the oldest recordings were removed to make room"
                                 : "samples are lost until a file can be written"));
  // A file that could not even be begun waits for its second (begin_file() has set it), or this
  // would go round.
  if (has_room && had_file)
    next_try_ = 0;
}

void RotatingSink::tell_once(const std::string& what) {
  if (!std::exchange(is_full_, true))
    tell_(what);
}

Result<> RotatingSink::rotate() {
  if (writer_)
    end_file(*writer_, stats_.time);
  // By the samples of the file that has ended, which begin_file() forgets.
  forget_ended();
  return begin_file();
}

// A file that was removed meanwhile is no reason to end: the next one tells whether the
// directory is.
void RotatingSink::end_file(raw::Writer& writer, uint64_t time) {
  if (auto ended = writer.write_end(time); !ended)
    tell_(ended.error().message());
  bytes_before_ += writer.bytes_written();
  dropped_ = 0;
  writer_.reset();
}

// Processes that have ended and had no sample in the file that was written: late ones may
// still come of the others.
void RotatingSink::forget_ended() {
  past_.forget([&](uint32_t pid) { return !sampled_.contains(pid) && has_ended_(pid); });
  past_.forget_gone_cgroups([](uint64_t) { return false; });
}

Result<> RotatingSink::write_image(const RecordedImage& image) {
  images_[image.id] = image;
  return Ok{};
}

Result<> RotatingSink::put_image(ImageId id) {
  auto image = images_.find(id);
  if (image == images_.end() || !written_images_.insert(id).second)
    return Ok{};
  // From now on this recording needs its file, which is kept in the store as long as one does.
  store_.use(image->second);
  return put([&](raw::Writer& writer) { return writer.write_image(image->second); });
}

void RotatingSink::introduce(uint32_t pid, std::vector<Event>& events) {
  if (introduced_.insert(pid).second)
    past_.append_process(pid, events);
}

// Before an event changes it, the state that it had is told; and that of a parent, after which
// its child is named.
void RotatingSink::introduce_those_of(const Event& event, std::vector<Event>& events) {
  std::visit(Overloaded{[&](const ForkEvent& fork) {
                          introduce(fork.parent_pid, events);
                          introduce(fork.pid, events);
                        },
                        [](const KernelCodeEvent&) {}, [](const CgroupEvent&) {},
                        [&](const auto& one) { introduce(one.pid, events); }},
             event);
}

Result<> RotatingSink::put_events(const std::vector<Event>& events) {
  for (const Event& event : events)
    // Images come before the events that name them.
    if (const auto* mapping = std::get_if<MapEvent>(&event))
      if (auto done = put_image(mapping->image); !done)
        return done;
  if (events.empty())
    return Ok{};
  return put([&](raw::Writer& writer) { return writer.write_events(events); });
}

Result<> RotatingSink::write_events(std::span<const Event> events) {
  if (auto tried = try_again(); !tried)
    return tried;
  std::vector<Event> written;
  for (const Event& event : events) {
    introduce_those_of(event, written);
    written.push_back(event);
    past_.apply(event);
  }
  return put_events(written);
}

Result<> RotatingSink::write_samples(const raw::SampleBatch& batch) {
  if (batch.empty())
    return Ok{};
  if (auto tried = try_again(); !tried)
    return tried;
  // The file has of a process what comes from here on, so its state is told before.
  std::vector<Event> events;
  for (const auto& row : batch.rows()) {
    sampled_.insert(row.pid);
    introduce(row.pid, events);
  }
  if (auto done = put_events(events); !done)
    return done;
  // put() succeeds without a file as well: only what it calls tells that samples are written.
  bool is_written = false;
  auto done = put([&](raw::Writer& writer) {
    auto written = writer.write_samples(batch);
    is_written = bool{written};
    return written;
  });
  if (!is_written) {
    // A file that begins before the counts that have these samples has none of them: they are
    // counted as lost there, and once.
    stats_.samples += batch.rows().size();
    dropped_ += batch.rows().size();
    all_dropped_ += batch.rows().size();
  }
  return done;
}

Result<> RotatingSink::write_kernel_symbols(std::string_view kallsyms) {
  if (auto tried = try_again(); !tried)
    return tried;
  kernel_symbols_ += kallsyms;
  return put([&](raw::Writer& writer) { return writer.write_kernel_symbols(kallsyms); });
}

Result<> RotatingSink::write_perf_map(const RecordedPerfMap& map) {
  if (auto tried = try_again(); !tried)
    return tried;
  // A map of a process without samples in this file would name nothing in it.
  if (!sampled_.contains(map.pid))
    return Ok{};
  return put([&](raw::Writer& writer) { return writer.write_perf_map(map); });
}

Result<> RotatingSink::write_piece(const ImagePiece& piece) {
  if (auto tried = try_again(); !tried)
    return tried;
  auto image = images_.find(piece.image);
  if (image != images_.end() && store_.take(piece, image->second))
    return Ok{};
  if (auto done = put_image(piece.image); !done)
    return done;
  return put([&](raw::Writer& writer) { return writer.write_piece(piece); });
}

Result<> RotatingSink::write_vdso(std::string_view image) {
  if (auto tried = try_again(); !tried)
    return tried;
  vdso_ = image;
  return put([&](raw::Writer& writer) { return writer.write_vdso(vdso_); });
}

RecordingStats RotatingSink::stats_of_file() const {
  // Counts since the recording began, less those at the beginning of the file. Samples that
  // were dropped count as lost in the file that comes next.
  RecordingStats stats = raw::counted_since(stats_, before_);
  stats.lost_samples += dropped_;
  return stats;
}

Result<> RotatingSink::write_stats(const RecordingStats& stats) {
  // First, for a file that begins now has none of what was counted up to here.
  stats_ = stats;
  if (auto tried = try_again(); !tried)
    return tried;
  return put([&](raw::Writer& writer) { return writer.write_stats(stats_of_file()); });
}

Result<> RotatingSink::write_end(uint64_t time) {
  store_.finish();
  if (writer_)
    end_file(*writer_, time);
  return Ok{};
}

uint64_t RotatingSink::bytes_written() const {
  return bytes_before_ + (writer_ ? writer_->bytes_written() : 0);
}

}  // namespace gosym
