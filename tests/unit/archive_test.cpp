#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "image_builder.h"
#include "record/files/archive.h"
#include "record/files/archived_parts.h"
#include "record/files/file_helper.h"
#include "temporary_directory.h"

namespace gosym::archive_test {

namespace {

ImageSpec some_program() {
  ImageSpec spec;
  spec.parts = {
      {.name = ".text",
       .contents = std::string(300, 'c'),
       .address = 0x401000,
       .segment_flags = PF_R | PF_X},
      {.name = ".data",
       .contents = std::string(30, 'd'),
       .address = 0x402000,
       .segment_flags = PF_R | PF_W},
      {.name = ".comment", .contents = std::string(400, 'x')},
      {.name = ".symtab", .type = SHT_SYMTAB, .contents = std::string(48, 's')},
      {.name = ".debug_info", .contents = std::string(500, 'i')},
      {.name = ".zdebug_str", .contents = std::string(60, 'z')},
      {.name = ".note.gnu.build-id", .type = SHT_NOTE, .contents = build_note("GNU", 3, "id")},
      {.name = ".gnu_debuglink", .contents = "a.debug"},
  };
  return spec;
}

ImageSpec some_go_program() {
  ImageSpec spec = some_program();
  spec.parts[1].name = ".gopclntab";
  return spec;
}

elf::Image parsed(std::string_view file) {
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  return *std::move(image);
}

std::string write_file(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

UniqueFd opened(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

ArchivedParts parts_of(const ImageSpec& spec, uint64_t limit = 1 << 20) {
  std::string file = build_image(spec);
  auto parts = archived_parts(parsed(file), limit);
  REQUIRE(parts);
  return *std::move(parts);
}

// The file that a reader makes of the pieces.
std::string rebuilt(const std::string& file, ArchivedData data = ArchivedData::kKept) {
  TemporaryDirectory folder;
  auto pieces = ImagePieces::open(ImageId{7}, opened(write_file(folder / "file", file)), data);
  REQUIRE(pieces);
  std::string result(file.size(), '\0');
  uint64_t total = 0;
  uint64_t sum = 0;
  while (auto piece = pieces->next()) {
    REQUIRE(*piece);
    CHECK((*piece)->image == ImageId{7});
    CHECK(((*piece)->total > 0) == (sum == 0));
    total += (*piece)->total;
    sum += (*piece)->bytes.size();
    result.replace((*piece)->offset, (*piece)->bytes.size(), (*piece)->bytes);
  }
  CHECK(sum == total);
  return result;
}

// The names of the sections that have contents.
std::string sections_of(const std::string& file) {
  std::string names;
  for (const elf::Section& section : parsed(file).sections)
    if (section.type != SHT_NOBITS)
      names += (names.empty() ? "" : " ") + std::string(section.name);
  return names;
}

}  // namespace

TEST_CASE("archived parts: what names code is kept, other sections have no contents then") {
  CHECK(sections_of(rebuilt(build_image(some_program()))) ==
        ".text .data .symtab .debug_info .zdebug_str .note.gnu.build-id .gnu_debuglink "
        ".shstrtab");
}

TEST_CASE("archived parts: initial data are left out, but not the record of Go's runtime") {
  ImageSpec plain = some_program();
  plain.parts[1].flags = SHF_WRITE;
  std::string kept = rebuilt(build_image(plain), ArchivedData::kLeftOut);
  CHECK(sections_of(kept) ==
        ".text .symtab .debug_info .zdebug_str .note.gnu.build-id .gnu_debuglink .shstrtab");
  CHECK(kept.find("dddd") == std::string::npos);
  ImageSpec spec = some_program();
  std::string data = "secret  " + std::string("\x00\x30\x40\0\0\0\0\0", 8) +
                     std::string(95 * 8, 'r') + "secret";
  spec.parts[1] = {.name = ".noptrdata",
                   .contents = data,
                   .address = 0x402000,
                   .segment_flags = PF_R | PF_W,
                   .flags = SHF_WRITE};
  spec.parts.push_back({.name = ".gopclntab",
                        .contents = std::string(80, 't'),
                        .address = 0x403000,
                        .segment_flags = PF_R});
  std::string file = build_image(spec);
  kept = rebuilt(file, ArchivedData::kLeftOut);
  CHECK(kept.find("secret") == std::string::npos);
  size_t record = file.find("secret  ") + 8;
  CHECK(kept.substr(record, 96 * 8) == file.substr(record, 96 * 8));
  CHECK(sections_of(kept).find("noptrdata") == std::string::npos);
}

TEST_CASE("archived parts: without section headers a file has no parts without data") {
  TemporaryDirectory folder;
  std::string file = build_image(some_program());
  constexpr size_t kSections = offsetof(Elf64_Ehdr, e_shoff);
  file.replace(kSections, sizeof(Elf64_Off), sizeof(Elf64_Off), '\0');
  file.replace(offsetof(Elf64_Ehdr, e_shnum), 2 * sizeof(Elf64_Half), 4, '\0');
  std::string path = write_file(folder / "file", file);
  CHECK(ImagePieces::open(ImageId{1}, opened(path)));
  auto pieces = ImagePieces::open(ImageId{1}, opened(path), ArchivedData::kLeftOut);
  REQUIRE_FALSE(pieces);
  CHECK(pieces.error().message() ==
        "without section headers nothing tells its data from the rest");
}

TEST_CASE("archived parts: debugging information of a Go program is left out") {
  CHECK(sections_of(rebuilt(build_image(some_go_program()))) ==
        ".text .gopclntab .symtab .note.gnu.build-id .gnu_debuglink .shstrtab");
  CHECK(parts_of(some_go_program()).problem.empty());
}

TEST_CASE("archived parts: debugging information of C code in a Go program is kept") {
  ImageSpec spec = some_go_program();
  spec.parts.push_back({.name = ".eh_frame", .contents = "frames"});
  CHECK(sections_of(rebuilt(build_image(spec))).find("debug_info") != std::string::npos);
}

TEST_CASE("archived parts: sections are hidden in files of any class and byte order") {
  for (uint8_t size : {uint8_t{4}, uint8_t{8}})
    for (ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      ImageSpec spec = some_go_program();
      spec.pointer_size = size;
      spec.order = order;
      CHECK(sections_of(rebuilt(build_image(spec))).find("debug_info") == std::string::npos);
    }
}

TEST_CASE("archived parts: what is kept is as it was") {
  for (const ImageSpec& spec : {some_program(), some_go_program()}) {
    std::string file = build_image(spec);
    std::string kept = rebuilt(file);
    elf::Image before = parsed(file);
    for (const elf::Section& section : parsed(kept).sections)
      if (section.type != SHT_NOBITS)
        CHECK(as_text(*before.contents(section.name)) ==
              std::string_view(kept).substr(section.offset, section.size));
  }
}

TEST_CASE("archived parts: a file that is too large loses debugging information first") {
  uint64_t whole = parts_of(some_program()).size;
  uint64_t least = parts_of(some_program(), whole - 1).size;
  CHECK(least == whole - 560);
  CHECK(parts_of(some_program(), whole).problem.empty());
  CHECK(parts_of(some_program(), least).problem ==
        "its debugging information: with it, it has more than 1.3 KiB");
  std::string file = build_image(some_program());
  auto refused = archived_parts(parsed(file), least - 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() ==
        "its code and its tables take 1.3 KiB, where 1.3 KiB are kept at most");
}

TEST_CASE("archived parts: headers that lie about places cost nothing beyond the file") {
  std::string file = build_image(some_program());
  elf::Image image = parsed(file);
  image.segments.assign(1000, {.type = PT_LOAD, .offset = 1, .file_size = UINT64_MAX});
  image.segments.push_back({.type = PT_LOAD, .offset = UINT64_MAX, .file_size = UINT64_MAX});
  image.sections[0].size = UINT64_MAX;
  image.sections[3].offset = file.size() + 1;
  auto parts = archived_parts(image, file.size());
  REQUIRE(parts);
  REQUIRE(parts->extents.size() == 1);
  CHECK(parts->size == file.size());
  CHECK(parts->hidden_types.size() == 2);
}

TEST_CASE("image pieces: a large part comes in several") {
  ImageSpec spec = some_go_program();
  spec.parts[0].contents = std::string((2 << 20) + 77, 'c');
  std::string file = build_image(spec);
  CHECK(rebuilt(file).substr(0, 2 << 20) == file.substr(0, 2 << 20));
}

TEST_CASE("image pieces: a file that was cut short is told") {
  TemporaryDirectory folder;
  std::string file = build_image(some_program());
  std::string path = write_file(folder / "file", file);
  auto pieces = ImagePieces::open(ImageId{1}, opened(path));
  REQUIRE(pieces);
  std::filesystem::resize_file(path, 100);
  auto piece = pieces->next();
  REQUIRE(piece);
  REQUIRE_FALSE(*piece);
  CHECK(piece->error().message() == "cut short at 0x64 while it was read");
}

TEST_CASE("image pieces: what is no ELF file has none") {
  TemporaryDirectory folder;
  auto error = [&](const std::string& contents) {
    auto pieces = ImagePieces::open(ImageId{1}, opened(write_file(folder / "file", contents)));
    REQUIRE_FALSE(pieces);
    return pieces.error().message();
  };
  CHECK(error("#!/bin/sh") == "not an ELF file");
  CHECK(error("") == "empty");
}

namespace {

// Files of one folder, each held under the number that is its name.
struct Held {
  TemporaryDirectory folder;
  FileHelper helper;
  Archive archive;
  std::map<uint32_t, Archive::Images> images;  // by process

  explicit Held(ArchiveMode mode) : archive({mode}, helper) {}

  void hold(uint32_t id, uint32_t pid) {
    std::string path = write_file(folder / std::to_string(id), build_image(some_program()));
    archive.hold(ImageId{id}, opened(path), path, true);
    archive.map(images[pid], ImageId{id});
  }
  void hold_each(uint32_t count, uint32_t pid) {
    for (uint32_t id = 1; id <= count; id++)
      hold(id, pid);
  }
  void remove(uint32_t id) { std::filesystem::remove(folder / std::to_string(id)); }

  // "1 2": the images of which there are pieces, and what is told of others.
  std::string chosen(uint64_t room = UINT64_MAX) {
    archive.choose();
    std::string text;
    while (auto piece = archive.next(room))
      if (piece->total > 0 || !piece->problem.empty())
        text += (text.empty() ? "" : " ") +
                std::to_string(static_cast<uint32_t>(piece->image)) +
                (piece->problem.empty() ? "" : ": " + piece->problem);
    return text;
  }
};

// Lets this process open so few files that an archive can have four of them.
class FewDescriptors {
public:
  FewDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = {16, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("archive: a file that stays where it is is left there") {
  Held held(ArchiveMode::kAuto);
  held.hold(1, 100);
  held.archive.want(held.images[100]);
  CHECK(held.chosen().empty());
}

TEST_CASE("archive: a file for which there is no room is told") {
  Held held(ArchiveMode::kAuto);
  held.hold(1, 100);
  held.remove(1);
  held.archive.want(held.images[100]);
  CHECK(held.chosen(10) == "1: no room for it below --max-size");
  CHECK(held.archive.problems().size() == 1);
  CHECK(held.chosen().empty());
}

TEST_CASE("archive: of each user's files, and of all, no more than a share is kept") {
  constexpr uint64_t kMiB = 1 << 20;
  auto nobody_is_4000 = [](const std::string& name) {
    return name == "nobody" ? std::optional<uid_t>(4000) : std::nullopt;
  };
  uid_t ours = getuid();
  for (uid_t user : {4000U, 5000U}) {
    ArchiveShares shares("", nobody_is_4000);
    CHECK(shares.take(user, 512 * kMiB));
    CHECK(shares.take(user, 1).error().message() ==
          fmt::format("with it more than 512.0 MiB of files of user {}", user));
    CHECK(shares.take(user + 1, 512 * kMiB));
    CHECK(shares.take(0, 1024 * kMiB));
    CHECK(shares.take(ours, 2048 * kMiB));
    CHECK(shares.take(0, 1).error().message() == "with it more than 4.0 GiB of files");
    CHECK_FALSE(shares.take(user + 2, UINT64_MAX));
    CHECK_FALSE(shares.take(ours, UINT64_MAX));
  }
  // Users of containers count as who may have them.
  ArchiveShares shares(
      "nobody:100000:65536\n6000:200000:10\nnone:300000:10\nwrong\n4000:-1:9\n"
      "6000:400000:18446744073709551615",
      nobody_is_4000);
  CHECK(shares.take(100'000, 300 * kMiB));
  CHECK(shares.take(165'535, 200 * kMiB));
  CHECK_FALSE(shares.take(4000, 100 * kMiB));
  CHECK(shares.take(165'536, 300 * kMiB));
  CHECK(shares.take(6000, 300 * kMiB));
  CHECK_FALSE(shares.take(200'009, 300 * kMiB));
  CHECK(shares.take(200'010, 300 * kMiB));
  CHECK(shares.take(300'000, 300 * kMiB));
  CHECK(shares.take(400'000, 300 * kMiB));
}

TEST_CASE("archive: a file that is deleted is kept once, as soon as its process has samples") {
  Held held(ArchiveMode::kAuto);
  held.hold(1, 100);
  held.hold(2, 200);
  held.remove(1);
  held.remove(2);
  CHECK(held.chosen().empty());
  held.archive.want(held.images[100]);
  CHECK(held.chosen() == "1");
  CHECK(held.chosen().empty());
}

TEST_CASE("archive: a file that is deleted after its process had samples is kept as well") {
  Held held(ArchiveMode::kAuto);
  held.hold(1, 100);
  held.archive.want(held.images[100]);
  CHECK(held.chosen().empty());
  held.images.erase(100);
  held.remove(1);
  CHECK(held.chosen() == "1");
}

TEST_CASE("archive: a file is kept that is not where its process sees it") {
  Held held(ArchiveMode::kAuto);
  std::string path = write_file(held.folder / "a", build_image(some_program()));
  std::string other = write_file(held.folder / "b", build_image(some_program()));
  held.archive.hold(ImageId{1}, opened(path), other, false);
  held.archive.hold(ImageId{2}, opened(path), held.folder / "nowhere", false);
  held.archive.hold(ImageId{3}, opened(path), path, true);
  for (uint32_t id : {1, 2, 3})
    held.archive.map(held.images[100], ImageId{id});
  held.archive.want(held.images[100]);
  CHECK(held.chosen() == "1 2");
}

TEST_CASE("archive: all or none") {
  Held all(ArchiveMode::kAll);
  all.hold(1, 100);
  all.hold(2, 200);
  all.archive.want(all.images[100]);
  CHECK(all.chosen() == "1");

  Held none(ArchiveMode::kNone);
  none.hold(1, 100);
  none.remove(1);
  none.archive.want(none.images[100]);
  CHECK(none.chosen().empty());
}

TEST_CASE("archive: it is told why a file is not kept") {
  Held held(ArchiveMode::kAll);
  std::string path = write_file(held.folder / "text", "#!/bin/sh");
  held.archive.hold(ImageId{1}, opened(path), path, true);
  held.archive.map(held.images[100], ImageId{1});
  held.hold(2, 100);
  held.archive.want(held.images[100]);
  CHECK(held.chosen() == "1: not an ELF file 2");
}

TEST_CASE("archive: with too many files the oldest that is still at its place is let go") {
  FewDescriptors few;
  Held held(ArchiveMode::kAuto);
  held.hold_each(5, 100);
  for (uint32_t id = 1; id <= 5; id++)
    held.remove(id);
  held.archive.want(held.images[100]);
  CHECK(held.chosen() == "2 3 4 5");
}

TEST_CASE("archive: a file that was let go is opened again where all are kept") {
  FewDescriptors few;
  Held held(ArchiveMode::kAll);
  held.hold_each(6, 100);
  held.remove(2);
  held.archive.want(held.images[100]);
  CHECK(held.chosen() == "1 2: more files than could be held open 3 4 5 6");
  std::string problem = "'" + (held.folder / "2") + "': more files than could be held open";
  CHECK(held.archive.problems() == std::vector{problem});
}

}  // namespace gosym::archive_test
