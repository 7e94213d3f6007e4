#include "raw/writer.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <bit>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/exit_status.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"

namespace gosym::raw {

namespace {

// Measured on samples of 40 frames: level 1 leaves 44 bytes each at 200 MB/s, level 3 leaves 42
// at 130 MB/s.
constexpr int kCompressionLevel = 1;

template <class Header>
void append(const Header& header, std::string& out) {
  auto raw = std::bit_cast<std::array<char, sizeof(Header)>>(header);
  out.append(raw.data(), raw.size());
}

}  // namespace

void Writer::FreeContext::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

Writer::Writer(OutputFile output) : output_(std::move(output)), zstd_(ZSTD_createCCtx()) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(2)
}

Writer::~Writer() = default;

Writer::Clocks Writer::clocks_now() {
  return {monotonic_ns(), clock_ns(CLOCK_REALTIME)};
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string& path,
                                               const RecordingInfo& info,
                                               const Clocks& clocks) {
  auto output = open_output(path);
  if (!output)
    return std::move(output).error();
  std::unique_ptr<Writer> writer(new Writer(*std::move(output)));

  auto begun = writer->write_header(clocks);
  if (begun)
    begun = writer->write_chunk(ChunkType::kInfo, encode(info));
  if (begun)
    return writer;
  if (writer->output_.is_ours)
    ::unlink(path.c_str());  // nothing can be read from it
  return std::move(begun).error().with_exit_status(kFailure);
}

Result<std::unique_ptr<Writer>> Writer::append_to(const std::string& path,
                                                  const Recording& recording) {
  auto output = open_to_append(path);
  if (!output)
    return std::move(output).error();
  struct stat status {};
  bool is_known = fstat(output->fd.get(), &status) == 0;
  if (!is_known || static_cast<uint64_t>(status.st_size) != recording.file_size)
    return errorf("cannot write {}: it has changed since it was read", output->name);
  if (recording.chunks_end > recording.file_size &&
      ftruncate(output->fd.get(), static_cast<off_t>(recording.chunks_end)) != 0)
    return system_error("cannot write " + output->name, errno);
  std::unique_ptr<Writer> writer(new Writer(*std::move(output)));
  writer->bytes_written_ = recording.chunks_end;
  writer->sequence_ = recording.next_sequence;
  return writer;
}

Result<> Writer::write_image(const RecordedImage& image) {
  return write_chunk(ChunkType::kImage, encode(image));
}

Result<> Writer::write_events(std::span<const Event> events) {
  std::string payload;
  for (const Event& event : events) {
    append(event, payload);
    if (payload.size() < kUsualPayloadSize)
      continue;
    if (auto done = write_chunk(ChunkType::kEvents, payload); !done)
      return done;
    payload.clear();
  }
  return payload.empty() ? Ok{} : write_chunk(ChunkType::kEvents, payload);
}

Result<> Writer::write_samples(const SampleBatch& batch) {
  return write_chunk(ChunkType::kSamples, batch.encode(*stacks_));
}

Result<> Writer::write_vdso(std::string_view image) {
  return write_chunk(ChunkType::kVdso, encode_contents(image));
}

Result<> Writer::write_kernel_symbols(std::string_view kallsyms) {
  return write_chunk(ChunkType::kKernelSymbols, encode_contents(kallsyms));
}

Result<> Writer::write_perf_map(const RecordedPerfMap& map) {
  return write_chunk(ChunkType::kPerfMap, encode(map));
}

Result<> Writer::write_piece(const ImagePiece& piece) {
  return write_chunk(ChunkType::kImageContents, encode(piece));
}

Result<> Writer::write_stats(const RecordingStats& stats) {
  return write_chunk(ChunkType::kStats, encode(stats));
}

Result<> Writer::write_end(uint64_t time) {
  if (auto done = write_chunk(ChunkType::kEnd, encode_end(time)); !done)
    return done;
  struct stat status {};
  if (output_.is_ours && fstat(output_.fd.get(), &status) == 0 && status.st_nlink == 0) {
    failure_ =
        errorf("{} was removed while it was recorded", output_.name).with_exit_status(kPartial);
    return *failure_;
  }
  // Some file systems say only now that there was no room.
  if (output_.is_ours && fsync(output_.fd.get()) != 0)
    return fail(errno);
  return Ok{};
}

Result<> Writer::write_header(const Clocks& clocks) {
  FileHeader header;
  header.monotonic_ns = clocks.monotonic_ns;
  header.realtime_ns = clocks.realtime_ns;
  if (getentropy(header.id.data(), header.id.size()) != 0)
    return system_error("cannot get random bytes", errno);
  uint32_t first_tree = 0;
  std::memcpy(&first_tree, header.id.data(), sizeof(first_tree));
  stacks_ = std::make_unique<StackTreeWriter>(first_tree);
  header.checksum = checksum(header);
  std::string text;
  append(header, text);
  return write(text);
}

Result<> Writer::write_chunk(ChunkType type, std::string_view payload) {
  if (failure_)
    return *failure_;
  if (uint32_t limit = max_payload_size(type); payload.size() > limit)
    return errorf("cannot write {}: a payload of {} bytes, where {} are allowed", output_.name,
                  payload.size(), limit);

  std::string_view stored = compress(payload);
  ChunkHeader header;
  header.type = type;
  header.flags = stored.size() < payload.size() ? kZstdFlag : 0;
  header.stored_size = static_cast<uint32_t>(stored.size());
  header.raw_size = static_cast<uint32_t>(payload.size());
  header.sequence = sequence_;
  header.payload_checksum = checksum(as_bytes(stored));
  header.header_checksum = checksum(header);

  chunk_.clear();
  append(header, chunk_);
  chunk_ += stored;
  chunk_.resize(padded(chunk_.size()));
  auto done = write(chunk_);
  if (done)
    sequence_++;
  return done;
}

// The payload as it shall be stored: compressed only if that is smaller.
std::string_view Writer::compress(std::string_view payload) {
  compressed_.resize(payload.size());  // zstd gives up where that is not enough
  size_t size = ZSTD_compressCCtx(zstd_.get(), compressed_.data(), compressed_.size(),
                                  payload.data(), payload.size(), kCompressionLevel);
  if (ZSTD_isError(size) || size >= payload.size())
    return payload;
  return std::string_view(compressed_).substr(0, size);
}

Result<> Writer::write(std::string_view data) {
  std::string_view rest = data;
  while (!rest.empty()) {
    ssize_t count = ::write(output_.fd.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return fail(count == 0 ? EIO : errno);
    rest.remove_prefix(static_cast<size_t>(count));
  }
  bytes_written_ += data.size();
  return Ok{};
}

Error Writer::fail(int cause) {
  // If this fails as well, the reader finds a chunk that is cut short, and knows what to do.
  if (output_.is_ours && ftruncate(output_.fd.get(), static_cast<off_t>(bytes_written_)) != 0)
    errno = 0;
  failure_ = system_error("cannot write " + output_.name, cause).with_exit_status(kPartial);
  return *failure_;
}

}  // namespace gosym::raw
