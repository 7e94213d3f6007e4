#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/exit_status.h"
#include "raw/messages.h"
#include "raw/reader.h"
#include "raw_files.h"

namespace gosym::raw_writer_test {
using raw::Writer;
namespace fs = std::filesystem;

namespace {

void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path) << text;
}

std::string create_error(const std::string& path) {
  auto writer = Writer::create(path, some_info());
  REQUIRE_FALSE(writer);
  CHECK(writer.error().exit_status() == kFailure);
  return writer.error().message();
}

// While it lives, files of this process cannot grow beyond `size`: a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t size) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    set({size, old_.rlim_max});
  }
  ~FileSizeLimit() {
    set(old_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
  static void set(const rlimit& limit) { REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0); }

  void (*handler_)(int);
  rlimit old_{};
};

// While it lives, a standard stream is the file at `path`.
class Redirection {
public:
  Redirection(int stream, const std::string& path, int flags)
      : stream_(stream), saved_(dup(stream)) {
    UniqueFd file(open(path.c_str(), flags | O_CLOEXEC));
    REQUIRE(dup2(file.get(), stream_) == stream_);
  }
  ~Redirection() { dup2(saved_.get(), stream_); }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

private:
  int stream_;
  UniqueFd saved_;
};

// They borrow from the file.
std::vector<raw::Chunk> chunks_of(std::string_view file) {
  raw::Input input{std::string(file)};
  std::vector<raw::Chunk> result;
  raw::Chunks chunks(input, sizeof(raw::FileHeader));
  while (auto chunk = chunks.next()) {
    chunk->stored = as_bytes(file).subspan(chunk->offset, chunk->stored.size());
    result.push_back(*chunk);
  }
  return result;
}

}  // namespace

TEST_CASE("raw output: a new file is private, an existing one is kept as .old") {
  TemporaryDirectory directory;
  std::string path = directory / "cpu.raw";
  write_text(path, "newer");
  write_text(path + ".old", "older");
  write_some(path);
  CHECK(contents(path + ".old") == "newer");
  CHECK(raw::read(path));
  CHECK((fs::status(path).permissions() & ~fs::perms::owner_all) == fs::perms::none);
}

TEST_CASE("raw output: what has ended without samples is taken away, and nothing else") {
  TemporaryDirectory directory;
  std::string path = directory / "cpu.raw";
  auto made = [&](bool has_end) {
    auto writer = Writer::create(path, some_info());
    REQUIRE(writer);
    if (has_end)
      CHECK((*writer)->write_end(1));
    return *raw::new_file(path, (*writer)->output());
  };
  raw::NewFile first = made(true);
  CHECK(raw::withdraw(first) == raw::Withdrawn::kRemoved);
  CHECK_FALSE(fs::exists(path));
  CHECK(raw::withdraw(first) == raw::Withdrawn::kNot);

  write_text(path, "before");
  write_text(path + ".old", "older");
  raw::NewFile second = made(true);
  CHECK(contents(path + ".old") == "before");
  CHECK(raw::withdraw(second) == raw::Withdrawn::kReplaced);
  CHECK(contents(path) == "before");
  CHECK_FALSE(fs::exists(path + ".old"));

  raw::NewFile third = made(false);  // samples may still come
  CHECK(raw::withdraw(third) == raw::Withdrawn::kNot);
  CHECK(fs::exists(path));
  raw::NewFile other = made(true);
  other.number++;
  CHECK(raw::withdraw(other) == raw::Withdrawn::kNot);
  CHECK(fs::exists(path));
}

TEST_CASE("raw output: a link is not followed to a file") {
  TemporaryDirectory directory;
  std::string link = directory / "cpu.raw";
  write_text(directory / "precious", "precious");
  fs::create_symlink("precious", link);
  auto writer = Writer::create(link, some_info());
  REQUIRE_FALSE(writer);
  CHECK(writer.error().message() == fmt::format("'{}' is a symbolic link", link));
  CHECK(writer.error().hint() == "name the file itself");
  CHECK(contents(directory / "precious") == "precious");
  CHECK(fs::is_symlink(link));

  fs::remove(directory / "precious");
  CHECK(create_error(link) == fmt::format("'{}' is a symbolic link", link));
  CHECK_FALSE(fs::exists(directory / "precious"));
}

TEST_CASE("raw output: devices and FIFOs are written to, also through a link") {
  TemporaryDirectory directory;
  std::string link = directory / "null";
  fs::create_symlink("/dev/null", link);
  CHECK(Writer::create("/dev/null", some_info()));
  CHECK(Writer::create(link, some_info()));
  CHECK(fs::is_symlink(link));
  CHECK(fs::is_character_file("/dev/null"));

  std::string fifo = directory / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  CHECK(Writer::create(fifo, some_info()));
  auto text = read_file(reader.get(), 65536);
  REQUIRE(text);
  CHECK(raw::parse(as_bytes(*text))->info.host == some_info().host);
}

TEST_CASE("raw output: what cannot be written says so") {
  TemporaryDirectory directory;
  CHECK(create_error(directory / ".") ==
        fmt::format("cannot write '{}': Is a directory", directory / "."));
  CHECK(create_error(directory / "no/cpu.raw") ==
        fmt::format("cannot create '{}': No such file or directory", directory / "no/cpu.raw"));
  CHECK(create_error("/dev/full") == "cannot write '/dev/full': No space left on device");

  write_text(directory / "a", "");
  fs::create_directory(directory / "a.old");
  CHECK(create_error(directory / "a") ==
        fmt::format("cannot rename '{0}' to '{0}.old': Is a directory", directory / "a"));
}

TEST_CASE("raw writer: a full disk leaves the chunks before, and fails for good") {
  TemporaryDirectory directory;
  std::string path = directory / "cpu.raw";
  auto created = Writer::create(path, some_info());
  REQUIRE(created);
  Writer& writer = **created;
  REQUIRE(writer.write_image(some_image()));
  std::string whole = contents(path);
  std::string expected = fmt::format("cannot write '{}': File too large", path);
  {
    // Room for a part of the next chunk: its write is a short one first.
    FileSizeLimit limit(whole.size() + 40);
    auto failed = writer.write_events(some_events());
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message() == expected);
    CHECK(failed.error().exit_status() == kPartial);
    CHECK(contents(path) == whole);
  }
  auto again = writer.write_end(1);
  REQUIRE_FALSE(again);
  CHECK(again.error().message() == expected);
  CHECK(contents(path) == whole);
  CHECK(writer.bytes_written() == whole.size());
}

TEST_CASE("raw writer: no file remains when there is no room for its first chunk") {
  TemporaryDirectory directory;
  for (rlim_t room : {0, 63, 64, 100}) {
    FileSizeLimit limit(room);
    CHECK(create_error(directory / "cpu.raw") ==
          fmt::format("cannot write '{}': File too large", directory / "cpu.raw"));
    CHECK_FALSE(fs::exists(directory / "cpu.raw"));
  }
}

TEST_CASE("raw writer: standard output is appended to and never cut") {
  TemporaryDirectory directory;
  std::string path = directory / "out";
  write_text(path, "before");
  {
    Redirection redirection(STDOUT_FILENO, path, O_WRONLY | O_APPEND);
    auto writer = Writer::create("-", some_info());
    REQUIRE(writer);
    REQUIRE((*writer)->write_image(some_image()));
    FileSizeLimit limit(6 + (*writer)->bytes_written() + 5);
    auto failed = (*writer)->write_events(some_events());
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message() == "cannot write standard output: File too large");
  }
  std::string text = contents(path);
  CHECK(text.starts_with("before"));
  auto recording = raw::parse(as_bytes(text).subspan(6));
  REQUIRE(recording);
  CHECK(recording->images.size() == 1);
  CHECK(recording->damaged_bytes == 5);
}

TEST_CASE("raw writer: chunks are numbered, aligned, and compressed where that helps") {
  TemporaryDirectory directory;
  std::vector<uint64_t> ends = write_some(directory / "cpu.raw");
  std::string file = contents(directory / "cpu.raw");
  uint64_t begin = sizeof(raw::FileHeader);
  for (size_t i = 0; i < ends.size(); i++) {
    raw::ChunkHeader header;
    std::memcpy(&header, file.data() + begin, sizeof header);
    CHECK(header.sequence == i);
    CHECK(ends[i] - begin == raw::padded(sizeof header + header.stored_size));
    begin = ends[i];
  }
  std::vector<raw::Chunk> chunks = chunks_of(file);
  REQUIRE(chunks.size() == 10);
  CHECK(chunks[3].type == raw::ChunkType::kSamples);
  CHECK(chunks[3].is_compressed);
  CHECK(chunks[9].type == raw::ChunkType::kEnd);
  CHECK_FALSE(chunks[9].is_compressed);
  CHECK(as_text(chunks[9].stored) == raw::encode_end(201));
}

TEST_CASE("raw writer: many events take several chunks, none takes no chunk") {
  TemporaryDirectory directory;
  std::string path = directory / "cpu.raw";
  std::vector<Event> events;
  for (uint64_t i = 0; i < 20'000; i++)
    events.emplace_back(MapEvent{i, 1, i << 12, 0x1000, 0, {}, "//anon"});
  auto writer = Writer::create(path, some_info());
  REQUIRE(writer);
  REQUIRE((*writer)->write_events({}));
  REQUIRE((*writer)->write_events(events));

  std::string file = contents(path);
  std::vector<raw::Chunk> chunks = chunks_of(file);
  CHECK(chunks.size() > 2);
  for (const raw::Chunk& chunk : chunks)
    CHECK(chunk.raw_size < raw::kUsualPayloadSize + 100);
  auto recording = raw::read(path);
  REQUIRE(recording);
  REQUIRE(recording->events.size() == events.size());
  for (size_t i = 0; i < events.size(); i++)
    REQUIRE(time_of(recording->events[i]) == i);
}

TEST_CASE("raw writer: a recording is added to, behind its end and all that is damaged") {
  TemporaryDirectory directory;
  std::string path = directory / "cpu.raw";
  write_some(path);
  uint64_t cut = 0;
  SUBCASE("whole") {}
  SUBCASE("cut in the payload of its end") {
    cut = 6;
  }
  SUBCASE("cut in the header of its end") {
    cut = 12;
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - cut);
  auto before = raw::read(path);
  REQUIRE(before);
  {
    auto writer = Writer::append_to(path, *before);
    REQUIRE(writer);
    REQUIRE((*writer)->write_piece(some_piece()));
  }
  auto after = raw::read(path);
  REQUIRE(after);
  CHECK(after->piece_chunks.size() == before->piece_chunks.size() + 1);
  CHECK((after->damaged_bytes > 0) == (cut > 0));
  CHECK(after->damaged_bytes >= before->damaged_bytes);
  CHECK(after->file_size > before->file_size);
  CHECK(after->end_time == before->end_time);
  CHECK(after->next_sequence == before->next_sequence + 1);
}

TEST_CASE("raw writer: what is being recorded, or is another file by now, is not added to") {
  TemporaryDirectory directory;
  std::string path = directory / "cpu.raw";
  auto error = [&](const raw::Recording& recording) {
    auto writer = Writer::append_to(path, recording);
    REQUIRE_FALSE(writer);
    return writer.error().message();
  };
  auto writer = Writer::create(path, some_info());
  REQUIRE(writer);
  auto recording = raw::read(path);
  REQUIRE(recording);
  CHECK(error(*recording) == fmt::format("cannot write '{}': it is being recorded", path));
  writer->reset();
  CHECK(Writer::append_to(path, *recording));
  recording->file_size++;
  CHECK(error(*recording) ==
        fmt::format("cannot write '{}': it has changed since it was read", path));
  std::filesystem::rename(path, path + ".old");
  std::filesystem::create_symlink(path + ".old", path);
  CHECK(error(*recording) == fmt::format("'{}' is a symbolic link", path));
}

TEST_CASE("raw writer: a payload larger than a reader takes is refused") {
  TemporaryDirectory directory;
  std::string path = directory / "cpu.raw";
  auto writer = Writer::create(path, some_info());
  REQUIRE(writer);
  auto refused = (*writer)->write_kernel_symbols(std::string(raw::kMaxPayloadSize, 'x'));
  REQUIRE_FALSE(refused);
  CHECK(
      refused.error().message() ==
      fmt::format("cannot write '{}': a payload of 67108869 bytes, where 67108864 are allowed",
                  path));
  CHECK((*writer)->write_end(1));
}

TEST_CASE("raw reader: a file that cannot be read is named") {
  TemporaryDirectory directory;
  auto error = [](const std::string& path) { return raw::read(path).error().message(); };
  CHECK(error(directory / "no") ==
        fmt::format("'{}': No such file or directory", directory / "no"));
  CHECK(error(directory / ".") == fmt::format("'{}': Is a directory", directory / "."));
  write_text(directory / "text", "text");
  CHECK(error(directory / "text") ==
        fmt::format("'{}': not a gosym recording", directory / "text"));
}

TEST_CASE("raw reader: reads standard input") {
  TemporaryDirectory directory;
  write_some(directory / "cpu.raw");
  {
    Redirection redirection(STDIN_FILENO, directory / "cpu.raw", O_RDONLY);
    auto recording = raw::read("-");
    REQUIRE(recording);
    CHECK(recording->end_time == 201);
  }
  Redirection redirection(STDIN_FILENO, "/dev/null", O_RDONLY);
  CHECK(raw::read("-").error().message() == "standard input: not a gosym recording");
}

}  // namespace gosym::raw_writer_test
