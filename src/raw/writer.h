#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/recording.h"
#include "raw/messages.h"
#include "raw/reader.h"

namespace gosym::raw {

// The file, pipe or standard stream that a recording goes to.
struct OutputFile {
  UniqueFd fd;
  std::string name;  // for messages
  // A regular file that nobody else writes: it may be cut.
  bool is_ours = false;
  bool has_set_aside = false;  // what was there is PATH.old now
};

// A recorder often runs as root in a directory of somebody else, so what is at `path` is never
// overwritten, nor is a link followed to a place that was not named:
//
//   nothing         a new file, mode 0600
//   regular file    is renamed to PATH.old, replacing an older one; then as above. One without
//                   samples replaces no older one, and one that is being recorded is refused
//   device, FIFO    is written to, as with `>`; block devices are refused, and what others have
//                   put into a directory where everybody may write
//   symbolic link   is followed to a character device or FIFO (/dev/stdout may be one), else
//                   refused
//
// "-" is standard output.
Result<OutputFile> open_output(const std::string& path);

// A file that open_output() has made, as another process can know it again.
struct NewFile {
  std::string path;
  dev_t device = 0;
  ino_t number = 0;
  bool has_set_aside = false;
};
// None: it is not ours.
std::optional<NewFile> new_file(const std::string& path, const OutputFile& output);

// Takes such a file away if it is there, and has an end and no samples. What was set aside for
// it has its name again.
enum class Withdrawn : uint8_t { kNot, kRemoved, kReplaced };
Withdrawn withdraw(const NewFile& file);

// Opens a recording to add to it; fails while it is being recorded.
Result<OutputFile> open_to_append(const std::string& path);

}  // namespace gosym::raw

struct ZSTD_CCtx_s;

namespace gosym::raw {

class StackTreeWriter;
class SampleBatch;

// Appends chunks to a recording (gosym-raw(5) and raw.proto specify them). Each is compressed,
// goes out in one write(2), and leaves a file that reads up to there whatever happens next.
// Written images and events must come before the samples that need them.
//
// After the first failure, a full disk for one, the file ends at the last whole chunk, and
// every later call fails in the same way. Such an error ends the program with kPartial.
class Writer {
public:
  // Both clocks at an instant near the start of the recording, in nanoseconds.
  struct Clocks {
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
  };
  static Clocks clocks_now();

  // Opens `path` as open_output does: "-" is standard output, and an existing file is renamed
  // to PATH.old. Writes the header and the info chunk.
  static Result<std::unique_ptr<Writer>> create(const std::string& path,
                                                const RecordingInfo& info,
                                                const Clocks& clocks = clocks_now());

  // Likewise into a file that is open and empty.
  static Result<std::unique_ptr<Writer>> create(OutputFile output, const RecordingInfo& info,
                                                const Clocks& clocks = clocks_now());

  // Adds to a recording that has been read from there, behind its last whole chunk. No samples:
  // their tree of stacks is begun with the header.
  static Result<std::unique_ptr<Writer>> append_to(const std::string& path,
                                                   const Recording& recording);
  ~Writer();

  Result<> write_image(const RecordedImage& image);
  Result<> write_events(std::span<const Event> events);
  Result<> write_samples(const SampleBatch& batch);
  Result<> write_kernel_symbols(std::string_view kallsyms);
  // Its texts together have to fit into kMaxPayloadSize.
  Result<> write_perf_map(const RecordedPerfMap& map);
  Result<> write_piece(const ImagePiece& piece);
  Result<> write_vdso(std::string_view image);
  Result<> write_stats(const RecordingStats& stats);
  // The last chunk: the recording was ended in order, at this time of CLOCK_MONOTONIC.
  Result<> write_end(uint64_t time);

  uint64_t bytes_written() const { return bytes_written_; }
  // An errno value: why nothing more can be written; 0: nothing is known to be in the way.
  int failure_cause() const { return failure_cause_; }
  const OutputFile& output() const { return output_; }

private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  explicit Writer(OutputFile output);
  Result<> write_header(const Clocks& clocks);
  Result<> write_chunk(ChunkType type, std::string_view payload);
  std::string_view compress(std::string_view payload);
  Result<> write(std::string_view data);
  Error fail(int cause);

  OutputFile output_;
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> zstd_;
  std::string compressed_;  // these two are kept for their memory
  std::string chunk_;
  std::unique_ptr<StackTreeWriter> stacks_;
  uint64_t sequence_ = 0;
  uint64_t bytes_written_ = 0;
  std::optional<Error> failure_;
  int failure_cause_ = 0;
};

}  // namespace gosym::raw
