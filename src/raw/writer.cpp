#include "raw/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "base/uninterrupted.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"

// The first half makes chunks and writes them; the second finds the file to write to without
// harm to what is there. Both keep one promise: at any instant the file under the given name
// is a recording that can be read, up to the last whole chunk.

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
  bool is_ours = output->is_ours;
  auto writer = create(*std::move(output), info, clocks);
  // A header without info is of no use, and the name is free again for another try.
  if (!writer && is_ours)
    ::unlink(path.c_str());  // nothing can be read from it
  return writer;
}

Result<std::unique_ptr<Writer>> Writer::create(OutputFile output, const RecordingInfo& info,
                                               const Clocks& clocks) {
  std::unique_ptr<Writer> writer(new Writer(std::move(output)));
  auto begun = writer->write_header(clocks);
  if (begun)
    begun = writer->write_chunk(ChunkType::kInfo, encode(info));
  if (!begun)
    return std::move(begun).error().with_exit_status(kFailure);
  return writer;
}

Result<std::unique_ptr<Writer>> Writer::append_to(const std::string& path,
                                                  const Recording& recording) {
  auto output = open_to_append(path);
  if (!output)
    return std::move(output).error();
  struct stat status {};
  bool is_known = fstat(output->fd.get(), &status) == 0;
  // The lock is held by now, so that the size does not change any more: other recorders
  // refuse.
  if (!is_known || static_cast<uint64_t>(status.st_size) != recording.file_size)
    return errorf("cannot write {}: it has changed since it was read", output->name);
  // A chunk that was cut short is filled up with zeros to the size that it claims, so that a
  // reader does not take what is appended for its rest.
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

// Writes a chunk whenever the events of one have come together, and one for the rest.
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
  // Nobody will find a file that has no name any more, however much was written to it.
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
  // A random number, by which a reader tells trees of this recording from others.
  uint32_t first_tree = 0;
  std::memcpy(&first_tree, header.id.data(), sizeof(first_tree));
  stacks_ = std::make_unique<StackTreeWriter>(first_tree);
  header.checksum = checksum(header);
  std::string text;
  append(header, text);
  return write(text);
}

Result<> Writer::write_chunk(ChunkType type, std::string_view payload) {
  // The file ends at the first chunk that did not fit: a later, smaller one would leave a gap
  // in the sequence that looks like damage.
  if (failure_)
    return *failure_;
  if (uint32_t limit = max_payload_size(type); payload.size() > limit)
    return errorf("cannot write {}: a payload of {} bytes, where {} are allowed", output_.name,
                  payload.size(), limit);

  std::string_view stored = compress(payload);
  ChunkHeader header;
  header.type = type;
  // A payload that does not become smaller is stored as it is: a reader need not unpack it.
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
  // One write for the whole chunk, so that a recorder that is killed leaves whole chunks. Only
  // what was written has a number: who appends to the file goes on behind it.
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
  if (!write_all(output_.fd.get(), data))
    return fail(errno);
  bytes_written_ += data.size();
  return Ok{};
}

Error Writer::fail(int cause) {
  // If this fails as well, the reader finds a chunk that is cut short, and knows what to do:
  // nothing is left to be done, but the compiler wants the result to be used.
  if (output_.is_ours && ftruncate(output_.fd.get(), static_cast<off_t>(bytes_written_)) != 0)
    errno = 0;
  failure_cause_ = cause;
  failure_ = system_error("cannot write " + output_.name, cause).with_exit_status(kPartial);
  return *failure_;
}

namespace {

bool is_stream(const struct stat& status) {
  return S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode);
}

std::string quoted(const std::string& path) {
  return fmt::format("'{}'", path);
}

Error is_link(const std::string& path) {
  return errorf("'{}' is a symbolic link", path).with_hint("name the file itself");
}

Result<OutputFile> open_standard_output() {
  UniqueFd fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!fd)
    return system_error("cannot write to standard output", errno);
  return OutputFile{std::move(fd), "standard output"};
}

// A recording that was ended in order, without a sample: nothing is lost with it. One that is
// damaged, or has more chunks than this looks at, passes for one with samples, and is kept.
bool is_without_samples(const UniqueFd& file) {
  constexpr int kMaxChunks = 4096;
  // Chunks begin right behind the header in what this program has written; of others nothing is
  // found there.
  uint64_t offset = sizeof(FileHeader);
  for (int i = 0; i < kMaxChunks; i++) {
    ChunkHeader header;
    if (read_at(file.get(), offset, std::as_writable_bytes(std::span(&header, 1))) !=
            sizeof(header) ||
        header.header_checksum != checksum(header) || header.type == ChunkType::kSamples)
      return false;
    if (header.type == ChunkType::kEnd)
      return true;
    offset += padded(sizeof(header) + header.stored_size);
  }
  return false;
}

std::string old_name(const std::string& path) {
  return path + ".old";
}

// Renames the file at `path` to PATH.old, unless somebody writes it. An older PATH.old is
// replaced, but not by a recording without samples. False: nothing was renamed.
Result<bool> set_aside(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT)
    return false;
  if (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return errorf("cannot create {}: another gosym records into it", quoted(path))
        .with_hint("name another file with -o");
  std::string old = old_name(path);
  // A recording without samples is thrown away rather than put in place of an older one that
  // has some.
  if (file && access(old.c_str(), F_OK) == 0 && is_without_samples(file))
    return ::unlink(path.c_str()) == 0 || errno == ENOENT
               ? Result<bool>(false)
               : system_error("cannot replace " + quoted(path), errno);
  if (::rename(path.c_str(), old.c_str()) == 0)
    return true;
  if (errno != ENOENT)
    return system_error(fmt::format("cannot rename '{}' to '{}'", path, old), errno);
  return false;
}

// It gets its name when it is locked: nobody finds it and takes it for one that is done.
Result<OutputFile> create(const std::string& path) {
  std::string draft = fmt::format("{}.{}", path, getpid());
  UniqueFd fd(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd)
    return system_error("cannot create " + quoted(path), errno);
  // The lock says that somebody writes, to set_aside() and `archive`. The kernel drops it with
  // the last descriptor, however the recorder ends.
  // The lock is on the open file, and therefore goes along when the file gets its name.
  flock(fd.get(), LOCK_EX | LOCK_NB);  // some file systems have no locks
  constexpr int kMaxTries = 100;
  Result<> done = Ok{};
  // Another recorder may put a file of its own in place between the two steps: then its file is
  // set aside as well, unless it is still locked.
  bool has_set_aside = false;
  for (int i = 0; done && i < kMaxTries; i++) {
    auto is_set_aside = set_aside(path);
    if (!is_set_aside) {
      done = std::move(is_set_aside).error();
      break;
    }
    has_set_aside |= *is_set_aside;
    if (rename_to_nothing(AT_FDCWD, draft, path))
      return OutputFile{std::move(fd), quoted(path), /*is_ours=*/true, has_set_aside};
    if (errno != EEXIST || i + 1 == kMaxTries)
      done = system_error("cannot create " + quoted(path), errno);
  }
  ::unlink(draft.c_str());
  return std::move(done).error();
}

// A FIFO waits for its reader. Nothing is lost while it does, so signals that the caller holds
// back end the program there.
UniqueFd open_with_signals(const std::string& path) {
  // All signals are let in while the call waits, and held back again after it; errno is kept
  // across both changes.
  sigset_t none;
  sigset_t held;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, &held);
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  int error = errno;
  sigprocmask(SIG_SETMASK, &held, nullptr);
  errno = error;
  return fd;
}

Result<OutputFile> open_stream(const std::string& path) {
  UniqueFd fd = open_with_signals(path);
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0)
    return system_error("cannot write " + quoted(path), errno);
  if (!is_stream(status))  // no longer what it was a moment ago
    return system_error("cannot write " + quoted(path), EEXIST);
  return OutputFile{std::move(fd), quoted(path)};
}

}  // namespace

Result<OutputFile> open_output(const std::string& path) {
  if (path == "-")
    return open_standard_output();

  struct stat link {};
  if (lstat(path.c_str(), &link) != 0)
    return errno == ENOENT ? create(path)
                           : system_error("cannot create " + quoted(path), errno);
  // Kinds are told by lstat(2): a link is never followed to a file that would be overwritten,
  // as anybody may put one into /tmp. Links to streams, such as /dev/stdout, are taken.
  if (S_ISREG(link.st_mode))
    return create(path);
  // In a sticky directory the owner of a link or FIFO may be somebody who waits for root.
  if (is_planted(path, link))
    return planted_error(path, link);

  struct stat target {};
  if (stat(path.c_str(), &target) == 0 && is_stream(target))
    return open_stream(path);
  if (S_ISLNK(link.st_mode))
    return is_link(path);
  if (S_ISDIR(link.st_mode))
    return system_error("cannot write " + quoted(path), EISDIR);
  return errorf("'{}' is neither a file nor a FIFO", path);
}

std::optional<NewFile> new_file(const std::string& path, const OutputFile& output) {
  struct stat status {};
  if (!output.is_ours || fstat(output.fd.get(), &status) != 0)
    return {};
  return NewFile{path, status.st_dev, status.st_ino, output.has_set_aside};
}

Withdrawn withdraw(const NewFile& file) {
  // The name may stand for another file by now: device and inode tell.
  UniqueFd found(::open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!found || fstat(found.get(), &status) != 0 || status.st_dev != file.device ||
      status.st_ino != file.number || !is_without_samples(found))
    return Withdrawn::kNot;
  if (file.has_set_aside && ::rename(old_name(file.path).c_str(), file.path.c_str()) == 0)
    return Withdrawn::kReplaced;
  return ::unlink(file.path.c_str()) == 0 ? Withdrawn::kRemoved : Withdrawn::kNot;
}

Result<OutputFile> open_to_append(const std::string& path) {
  // O_NONBLOCK keeps the call from waiting should somebody have put a FIFO there.
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd && errno == ELOOP)
    return is_link(path);
  if (!fd || fstat(fd.get(), &status) != 0)
    return system_error("cannot write " + quoted(path), errno);
  if (!S_ISREG(status.st_mode))
    return errorf("cannot write {}: not a regular file", quoted(path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return errorf("cannot write {}: it is being recorded", quoted(path));
  return OutputFile{std::move(fd), quoted(path), /*is_ours=*/true};
}

}  // namespace gosym::raw
