#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/recording.h"
#include "raw/reader.h"

// The payloads of all chunks but those of samples, as raw.proto specifies them.

namespace gosym::raw {

std::string encode(const RecordingInfo& info);
std::string encode(const RecordedImage& image);
std::string encode(const RecordedPerfMap& map);
std::string encode(const ImagePiece& piece);
std::string encode(const RecordingStats& stats);
std::string encode_contents(std::string_view contents);  // of a file that is kept as it is
std::string encode_end(uint64_t time);
// Any number of events make one payload.
void append(const Event& event, std::string& payload);

// Whole or not at all: an error if the payload is malformed.
Result<RecordingInfo> decode_info(Bytes payload);
Result<RecordedImage> decode_image(Bytes payload);
Result<RecordedPerfMap> decode_perf_map(Bytes payload);
Result<ImagePiece> decode_piece(Bytes payload);
Result<RecordingStats> decode_stats(Bytes payload);
Result<std::string> decode_contents(Bytes payload);
Result<uint64_t> decode_end(Bytes payload);
Result<std::vector<Event>> decode_events(Bytes payload);
// One by one, until false is given; of a malformed payload those before the fault as well.
using TakeEvent = std::function<bool(Event)>;
Result<> decode_events(Bytes payload, const TakeEvent& take);

// The frame of a cpu.raw file: a header and chunks, which gosym-raw(5) describes together with
// what is done about damage. raw.proto specifies what the chunks hold. Integers are
// little-endian, checksums are XXH32 with seed 0.

inline constexpr std::string_view kMagic = "GOSYMRAW";
inline constexpr uint16_t kMajorVersion = 2;  // that is written, and the newest that is read
inline constexpr uint16_t kOldestMajorVersion = 1;  // of those that are read
inline constexpr uint16_t kMinorVersion = 0;
inline constexpr uint32_t kByteOrderMark = 0x01020304;

struct FileHeader {
  std::array<char, 8> magic{'G', 'O', 'S', 'Y', 'M', 'R', 'A', 'W'};
  uint16_t major = kMajorVersion;
  uint16_t minor = kMinorVersion;
  uint32_t byte_order_mark = kByteOrderMark;
  uint32_t header_size = 64;  // where the chunks begin; a multiple of 8, at most kMaxHeaderSize
  uint32_t flags = 0;
  uint64_t monotonic_ns = 0;     // the clock of all times in chunks
  uint64_t realtime_ns = 0;      // at the same instant
  std::array<uint8_t, 16> id{};  // random
  uint32_t reserved = 0;
  uint32_t checksum = 0;  // of the bytes before
};
static_assert(sizeof(FileHeader) == 64);

inline constexpr std::string_view kChunkMagic = "CHNK";

// Named as the messages of raw.proto that are the payloads.
enum class ChunkType : uint16_t {
  kInfo = 1,
  kImage = 2,
  kEvents = 3,
  kSamples = 4,
  kKernelSymbols = 5,
  kPerfMap = 6,
  kStats = 7,
  kImageContents = 8,
  kEnd = 9,
  kVdso = 10,
};

inline constexpr uint16_t kZstdFlag = 1;  // the payload is one zstd frame

struct ChunkHeader {
  std::array<char, 4> magic{'C', 'H', 'N', 'K'};
  ChunkType type{};
  uint16_t flags = 0;
  uint32_t stored_size = 0;       // of the payload
  uint32_t raw_size = 0;          // uncompressed
  uint64_t sequence = 0;          // 0, 1, 2, ... in the order of writing
  uint32_t payload_checksum = 0;  // of the payload as stored
  uint32_t header_checksum = 0;   // of the bytes before
};
static_assert(sizeof(ChunkHeader) == 32);

inline constexpr size_t kAlignment = 8;
constexpr uint64_t padded(uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// A reader allocates this much on the word of a header. The text of /proc/kallsyms takes 5 to
// 15 MB with the kernels of distributions, the perf map of a large program as much; later types
// may be as large.
inline constexpr uint32_t kMaxPayloadSize = 64 << 20;

// A command line has 2 MiB at most by default (ARG_MAX), images are smaller. Events are written
// whenever kUsualPayloadSize of them have come together: large enough to compress well, small
// enough to lose.
inline constexpr uint32_t kMaxSmallPayloadSize = 4 << 20;
inline constexpr size_t kUsualPayloadSize = 256 << 10;

// Samples are written each second, or when what they could take at worst comes to this much.
// They mostly take a tenth of it: stacks of one thread have nearly all their words in common.
inline constexpr size_t kUsualSamplesSize = 9 << 18;

// Nodes of the tree of stacks: about 64 bytes each in a recorder, so these are 8 MB; a program
// under load has some hundred thousand after minutes. What a reader bears is more.
inline constexpr uint32_t kUsualTreeSize = 1 << 17;
inline constexpr uint32_t kMaxTreeSize = 1 << 20;

// Addresses of the stacks of a chunk, read from the tree: as many as a payload had room for
// when it held them itself. A chunk of a few bytes could otherwise have any number.
inline constexpr size_t kMaxStackAddresses = kMaxSmallPayloadSize;

// Addresses of a stack; twice as many as the first recorder writes. A compressed chunk of a few
// bytes could otherwise hold a stack of millions that each of its samples passes through.
inline constexpr uint32_t kMaxStackSize = 2048;

// Frames that are left out of a stack: stacks of 16 GiB have no more.
inline constexpr uint32_t kMaxMissing = 1 << 30;

// Bytes of a file that a recorder reads at a time: samples wait for a few milliseconds then.
inline constexpr size_t kUsualPieceSize = 1 << 20;

// Words of a stack: all of its top, and further up one for each frame that a sample has.
inline constexpr uint32_t kMaxTopWords = 4096 + kMaxStackSize;

// Words and registers of the stacks of a chunk, those that stacks share counted for each: 16
// bytes each in a reader. The writer's are a quarter of that at most, by kUsualSamplesSize.
inline constexpr size_t kMaxChunkWords = 1 << 20;

// More than the recorder takes. A chunk of a few bytes could otherwise hold a set of millions,
// or texts of megabytes, that each of its samples has.
inline constexpr size_t kMaxLabels = 64;
inline constexpr size_t kMaxLabelText = 256;

// A state, or a name with a number. As with labels: each sample has two of them.
inline constexpr size_t kMaxText = 256;

// The most that Linux can be built for; each such chunk is compared with the one before.
inline constexpr size_t kMaxCpus = 8192;

// Events of a recording.
inline constexpr uint32_t kMaxEvents = 64;

// Linux gives a thread's name 16 bytes (TASK_COMM_LEN); of a longer one the rest is not read.
inline constexpr size_t kMaxComm = 64;

bool is_known(ChunkType type);  // not of a later version
uint32_t max_payload_size(ChunkType type);

// Room for what a later minor version may add.
inline constexpr uint32_t kMaxHeaderSize = 4096;

uint32_t checksum(Bytes data);
uint32_t checksum(const FileHeader& header);   // of what precedes its checksum
uint32_t checksum(const ChunkHeader& header);  // likewise

// A chunk whose checksums are right.
struct Chunk {
  ChunkType type{};  // of this or any later version
  bool is_compressed = false;
  uint32_t raw_size = 0;
  uint64_t sequence = 0;
  uint64_t offset = 0;  // of the payload in the file
  uint64_t end = 0;     // where the next one begins
  Bytes stored;         // valid until the next one is asked for
};

// Walks the chunks of a file from `begin` on, past damage as gosym-raw(5) says. It holds one of
// them, or a part of the file that has several.
class Chunks {
public:
  Chunks(const Input& file, uint64_t begin) : file_(file), offset_(begin) {}

  std::optional<Chunk> next();
  // Bytes passed so far that belong to no good chunk.
  uint64_t damaged_bytes() const { return damaged_bytes_; }
  // The end that the last chunk would have, if its header is whole and the file lacks the rest;
  // 0: there is none.
  uint64_t end_of_cut_chunk() const { return end_of_cut_chunk_; }
  // Offset at which the header of another recording was found; 0: none was.
  uint64_t other_recording() const { return other_recording_; }

private:
  Bytes part(uint64_t offset, uint64_t size);
  std::optional<ChunkHeader> header_at(uint64_t offset);
  void skip_to_magic();
  void look_for_recording(uint64_t begin, uint64_t end);

  const Input& file_;
  std::string buffer_;         // what lies in the file
  uint64_t buffer_begin_ = 0;  // from here on
  uint64_t offset_;
  uint64_t damaged_bytes_ = 0;
  uint64_t end_of_cut_chunk_ = 0;
  uint64_t other_recording_ = 0;
};

// The payload; an error if it does not unpack to exactly `raw_size` bytes.
Result<std::string> unpack(Bytes stored, uint32_t raw_size, bool is_compressed);

}  // namespace gosym::raw
