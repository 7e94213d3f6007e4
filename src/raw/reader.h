#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "model/recording.h"

namespace gosym::raw {

// The bytes of a recording, of which only what is asked for need be in memory. They are read
// and not mapped: a file may be cut while we look at it.
class Input {
public:
  // Says how much of a stream is read, by some kilobytes that it begins with, or by all of it.
  using StreamLimit = std::function<uint64_t(std::string_view begin)>;
  // All of a recording. Of what is none the start is enough to say so: it may have no end.
  static uint64_t limit_of_recording(std::string_view begin);

  // "-" is standard input, which is copied to a file without a name that takes no memory, and
  // so is a FIFO. An error does not repeat the path.
  static Result<std::shared_ptr<const Input>> open(
      const std::string& path, const StreamLimit& limit = limit_of_recording);
  explicit Input(std::string memory) : memory_(std::move(memory)), size_(memory_.size()) {}

  // Size of the file when it was opened.
  uint64_t size() const { return size_; }

  // Fills `out` from this place on. Returns how many bytes the file had.
  size_t read(uint64_t offset, std::span<char> out) const;

private:
  Input(UniqueFd file, uint64_t size) : file_(std::move(file)), size_(size) {}

  UniqueFd file_;  // none: it is in memory
  std::string memory_;
  uint64_t size_;
};

class SampleBatch;      // sample_batch.h
class StackTreeReader;  // likewise

// A recording, of which the samples and the pieces of files stay where they are until they are
// asked for one chunk at a time (read_samples, read_piece).
struct Recording {
  uint16_t major = 0;
  uint16_t minor = 0;
  uint64_t monotonic_ns = 0;  // both clocks at the same instant, near the start
  uint64_t realtime_ns = 0;
  RecordingInfo info;
  std::vector<RecordedImage> images;
  // Events that the samples need, in the order of the file, not of time.
  std::vector<Event> events;
  std::string kernel_symbols;  // lines of /proc/kallsyms; empty: not recorded
  std::string vdso;            // the vdso's ELF image; empty: not recorded
  std::vector<RecordedPerfMap> perf_maps;
  RecordingStats stats;      // the last ones written
  std::vector<Loss> losses;  // where there were any, in order of time
  uint64_t begin_time = 0;   // of CLOCK_MONOTONIC, when sampling began
  uint64_t end_time = 0;     // likewise, when it was ended; 0: the recording has no end chunk

  struct StoredChunk {
    std::shared_ptr<const Input> file;
    uint64_t offset = 0;  // of the payload
    uint32_t stored_size = 0;
    uint32_t raw_size = 0;
    bool is_compressed = false;
  };
  std::vector<StoredChunk> event_chunks;  // until their events have been read
  std::vector<StoredChunk> sample_chunks;
  std::vector<StoredChunk> piece_chunks;

  // Bytes that all that is made of the recording may take, and that this structure takes.
  uint64_t memory_budget = 0;
  uint64_t memory = 0;

  // Offset and number of a chunk that is appended: behind all that is damaged.
  uint64_t chunks_end = 0;
  uint64_t next_sequence = 0;

  // Counts of what could not be read; all 0 for a whole file.
  uint64_t file_size = 0;
  uint64_t damaged_bytes = 0;   // in chunks cut short, or whose checksum is wrong
  uint64_t damaged_chunks = 0;  // whole ones whose payload does not decode
  // Samples of others that are beyond the limits of the format, counted as they are read, and
  // what is wrong with one.
  uint64_t damaged_samples = 0;
  std::string sample_problem;
  // More to say of one that was made of another file, a clause each.
  std::vector<std::string> notes;
};

// Memory that a report may take for a recording of so many bytes, besides the tables of the
// programs that it names code by and some 200 MB of the chunk at work. Recordings of real hosts
// take up to two hundred times their size, those that say the same thousands of times over
// less; a few bytes that were made for it could ask for any amount.
uint64_t memory_budget(uint64_t file_size);
Error out_of_budget(const Recording& recording);

// Reads a whole recording from a file, or from standard input for "-". Chunks that are damaged
// or cut short cost only themselves and are counted. An error: not a recording at all, a newer
// major version, no first chunk, several recordings in one file, more than the memory budget.
Result<Recording> read(const std::string& path);
Result<Recording> parse(std::shared_ptr<const Input> file);
Result<Recording> parse(std::shared_ptr<const Input> file, uint64_t memory_budget);
Result<Recording> parse(Bytes file);  // which is copied

// Leaves the first samples, whole chunks of so many bytes or more, for a first look: the
// duration stays, and what was lost is not known of a part. Gives their share, 1 if all are
// left.
double keep_first_samples(Recording& recording, uint64_t size);

// When sampling began, since 1970.
uint64_t start_realtime_ns(const Recording& recording);
// From then to the end, as far as is known without the samples.
uint64_t duration_ns(const Recording& recording);

// Takes the next counts of a recording, which are those since its start: they become its last
// ones, and what was lost since the ones before becomes a Loss.
void add_counts(RecordingStats counts, Recording& recording);
// The difference of the counts to those before. Where one of the two does not know what the
// kernel charged, neither does the difference.
RecordingStats counted_since(RecordingStats counts, const RecordingStats& before);

// Decodes chunks of samples in their order, with one tree for all.
Result<SampleBatch> read_samples(const Recording::StoredChunk& chunk, StackTreeReader& stacks);

// Decodes chunks of samples in their order, with one tree for all: ahead of who asks, on a
// thread of its own, where there may be several (base/workers.h).
class SampleReader {
public:
  // The chunks must outlive this.
  explicit SampleReader(std::span<const Recording::StoredChunk> chunks);
  ~SampleReader();
  SampleReader(const SampleReader&) = delete;
  SampleReader& operator=(const SampleReader&) = delete;

  // The next one; none behind the last.
  std::optional<Result<SampleBatch>> next();
  // The tree's size in bytes when the last one had been decoded: however far this is ahead.
  uint64_t memory() const { return memory_; }

private:
  struct Ahead;
  struct Decoded;
  Decoded decode_next();

  std::span<const Recording::StoredChunk> chunks_;  // that are to be decoded
  size_t left_;                                     // chunks that have not been asked for
  std::unique_ptr<StackTreeReader> stacks_;
  uint64_t memory_ = 0;
  std::unique_ptr<Ahead> ahead_;  // null: chunks are decoded when they are asked for
};

Result<ImagePiece> read_piece(const Recording::StoredChunk& chunk);
Result<std::string> read_payload(const Recording::StoredChunk& chunk);

// Reads the events of a recording that its samples need: those of the kernel and of cgroups,
// and of processes and threads that have samples or are ancestors of such. Of a host where
// millions of processes come and go few have any, and what the others did costs no memory.
//
// `memory` is what is taken already; an error if that and the events come to more than the
// budget of the recording. Chunks that do not decode are counted as damaged.
Result<> read_events(Recording& recording, uint64_t& memory);

}  // namespace gosym::raw
