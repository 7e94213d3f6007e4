#include "raw/reader.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <iterator>

#include "base/mapped_file.h"
#include "base/reader.h"
#include "raw/chunks.h"
#include "raw/format.h"
#include "raw/messages.h"

namespace gosym::raw {

namespace {

// Files are read into memory, where their samples are held a second time. With 64 busy CPUs and
// 99 samples a second, an hour takes about 240 MB.
constexpr size_t kMaxFileSize = size_t{2} << 30;

// What the payloads of all images, events and so on may come to, uncompressed, so that a small
// file cannot ask for all memory. 30 million events fit, which take about 35 bytes each.
constexpr uint64_t kMaxDecodedSize = uint64_t{1} << 30;

std::string_view hint_for(Bytes file) {
  static constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"PERFILE2", "a perf.data file: read it with perf"},
      {"\x1f\x8b", "a gzip file: if it is a pprof profile, read it with go tool pprof"},
      {"\x7f"
       "ELF",
       "an ELF file: gosym inspect tells what is in it"},
  };
  if (file.empty())
    return "the file is empty";
  for (auto [magic, hint] : kKnown)
    if (as_text(file).starts_with(magic))
      return hint;
  return {};
}

Result<FileHeader> parse_header(Bytes file) {
  FileHeader header;
  if (!as_text(file).starts_with(kMagic))
    return Error("not a gosym recording").with_hint(std::string(hint_for(file)));
  if (file.size() < sizeof header)
    return errorf("header: cut short at byte {:#x} of {:#x}", file.size(), sizeof header);
  std::memcpy(&header, file.data(), sizeof header);

  if (header.byte_order_mark != kByteOrderMark)
    return errorf("header: byte order mark is {:#010x}, not {:#010x}", header.byte_order_mark,
                  kByteOrderMark);
  if (header.major > kMajorVersion)
    return errorf("raw format {}.{} is newer than this gosym reads ({}.x)", header.major,
                  header.minor, kMajorVersion)
        .with_hint("use a newer gosym");
  if (header.major != kMajorVersion)
    return errorf("raw format {}.{} is unknown", header.major, header.minor);
  if (uint32_t sum = checksum(header); header.checksum != sum)
    return errorf("header: checksum is {:#010x}, not {:#010x}", header.checksum, sum);
  if (header.header_size < sizeof header || header.header_size > kMaxHeaderSize ||
      header.header_size % kAlignment != 0)
    return errorf("header: size is {:#x}", header.header_size);
  return header;
}

// Moves what was decoded to its place; the error says why it was not.
template <class T>
Result<> put(Result<T> decoded, T& place) {
  if (!decoded)
    return std::move(decoded).error();
  place = *std::move(decoded);
  return Ok{};
}

Result<> add_image(Result<RecordedImage> decoded, Recording& recording) {
  if (!decoded)
    return std::move(decoded).error();
  recording.images.push_back(*std::move(decoded));
  return Ok{};
}

Result<> add_events(Result<std::vector<Event>> decoded, Recording& recording) {
  if (!decoded)
    return std::move(decoded).error();
  std::ranges::move(*decoded, std::back_inserter(recording.events));
  return Ok{};
}

bool is_known(ChunkType type) {
  using enum ChunkType;
  return type == kInfo || type == kImage || type == kEvents || type == kSamples ||
         type == kKernelSymbols || type == kStats || type == kEnd;
}

Result<> decode(ChunkType type, Bytes payload, Recording& recording) {
  switch (type) {
    case ChunkType::kInfo:
      return put(decode_info(payload), recording.info);
    case ChunkType::kImage:
      return add_image(decode_image(payload), recording);
    case ChunkType::kEvents:
      return add_events(decode_events(payload), recording);
    case ChunkType::kKernelSymbols:
      return put(decode_kernel_symbols(payload), recording.kernel_symbols);
    case ChunkType::kStats:
      return put(decode_stats(payload), recording.stats);
    case ChunkType::kEnd:
      return put(decode_end(payload), recording.end_time);
    case ChunkType::kSamples:
      break;
  }
  assert(false);
  return Ok{};
}

Result<> add(const Chunk& chunk, Recording& recording) {
  if (chunk.type == ChunkType::kSamples) {
    recording.sample_chunks.push_back(
        {std::string(as_text(chunk.stored)), chunk.raw_size, chunk.is_compressed});
    return Ok{};
  }
  auto payload = unpack(chunk.stored, chunk.raw_size, chunk.is_compressed);
  if (!payload)
    return std::move(payload).error();
  return decode(chunk.type, as_bytes(*payload), recording);
}

}  // namespace

Result<Recording> parse(Bytes file) {
  auto header = parse_header(file);
  if (!header)
    return std::move(header).error();
  Recording recording;
  recording.major = header->major;
  recording.minor = header->minor;
  recording.monotonic_ns = header->monotonic_ns;
  recording.realtime_ns = header->realtime_ns;
  recording.file_size = file.size();

  bool has_info = false;
  uint64_t decoded_size = 0;
  Chunks chunks(file, header->header_size);
  while (auto chunk = chunks.next()) {
    if (!is_known(chunk->type))
      continue;
    if (chunk->type != ChunkType::kSamples)
      decoded_size += chunk->raw_size;
    if (decoded_size > kMaxDecodedSize)
      return errorf("more than {} bytes of images, events and symbols", kMaxDecodedSize);
    auto added = add(*chunk, recording);
    if (!added)
      recording.damaged_chunks++;
    has_info |= added && chunk->type == ChunkType::kInfo;
  }
  if (!has_info)
    return Error("first chunk: missing or damaged");
  recording.damaged_bytes = chunks.damaged_bytes();
  return recording;
}

Result<Recording> read(const std::string& path) {
  bool is_input = path == "-";
  std::string name = is_input ? "standard input" : fmt::format("'{}'", path);
  auto file = is_input ? read_file(STDIN_FILENO, kMaxFileSize) : read_file(path, kMaxFileSize);
  if (!file)
    return std::move(file).error().context(name);
  auto recording = parse(as_bytes(*file));
  if (!recording)
    return std::move(recording).error().context(name);
  return recording;
}

Result<SampleBatch> read_samples(const Recording::SampleChunk& chunk) {
  auto payload = unpack(as_bytes(chunk.stored), chunk.raw_size, chunk.is_compressed);
  if (!payload)
    return std::move(payload).error();
  return SampleBatch::decode(as_bytes(*payload));
}

}  // namespace gosym::raw
