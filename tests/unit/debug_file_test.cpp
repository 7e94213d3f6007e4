#include <doctest/doctest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <fstream>

#include "base/file_tree.h"
#include "elf/image.h"
#include "image_builder.h"
#include "images/debug_file.h"
#include "temporary_directory.h"

namespace gosym::debug_file_test {
namespace fs = std::filesystem;

namespace {

// Name, padding, CRC.
std::string debug_link(std::string_view name, uint32_t crc,
                       ByteOrder order = ByteOrder::kLittle) {
  ByteWriter out(order);
  out.text(name).u8(0);
  return out.pad_to((out.out.size() + 3) / 4 * 4).u32(crc).out;
}

std::string image_with(const std::string& section, const std::string& contents,
                       ByteOrder order = ByteOrder::kLittle) {
  ImageSpec spec;
  spec.order = order;
  spec.parts.push_back({.name = section, .contents = contents});
  return build_image(spec);
}

Result<std::optional<elf::DebugLink>> read_link(const std::string& image) {
  return elf::read_debug_link(*elf::parse(as_bytes(image)));
}

Result<std::optional<elf::AlternateLink>> read_alternate(const std::string& image) {
  return elf::read_alternate_link(*elf::parse(as_bytes(image)));
}

}  // namespace

TEST_CASE("debug link: the name, and the CRC in the order of the image") {
  for (ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig})
    for (std::string name : {"abc", "abcd", "a.debug"}) {
      CAPTURE(name);
      std::string image =
          image_with(".gnu_debuglink", debug_link(name, 0x12345678, order), order);
      auto link = read_link(image);
      REQUIRE(link);
      REQUIRE(*link);
      CHECK((*link)->name == name);
      CHECK((*link)->crc == 0x12345678);
    }
  CHECK_FALSE(*read_link(image_with(".text", "")));
}

TEST_CASE("debug link: every prefix is refused") {
  std::string whole = debug_link("a.debug", 1);
  for (size_t size = 0; size < whole.size(); size++) {
    CAPTURE(size);
    auto link = read_link(image_with(".gnu_debuglink", whole.substr(0, size)));
    REQUIRE_FALSE(link);
    CHECK(link.error().message().starts_with("debug link: malformed or cut short at byte "));
  }
}

TEST_CASE("debug link: a path is not the name of a file") {
  for (std::string name : {"../../x", "/x", "a/b", ".", "..", ""}) {
    auto link = read_link(image_with(".gnu_debuglink", debug_link(name, 1)));
    REQUIRE_FALSE(link);
    CHECK(link.error().message() == "debug link: '" + name + "' is not the name of a file");
  }
}

TEST_CASE("alternate link: a path, and all the rest is the build id") {
  std::string contents("../.dwz/x\0\x12\x00\x34", 13);
  std::string image = image_with(".gnu_debugaltlink", contents);
  auto link = read_alternate(image);
  REQUIRE(link);
  REQUIRE(*link);
  CHECK((*link)->name == "../.dwz/x");
  CHECK((*link)->build_id == contents.substr(10));
  CHECK_FALSE(*read_alternate(image_with(".text", "")));

  for (size_t size = 0; size <= 10; size++) {
    auto cut = read_alternate(image_with(".gnu_debugaltlink", contents.substr(0, size)));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().message() ==
          (size == 10 ? "alternate debug link: no name or no build id"
                      : fmt::format("alternate debug link: malformed or cut short at byte 0x0 "
                                    "of {:#x}",
                                    size)));
  }
}

namespace {

void write_file(const std::string& path, const std::string& contents) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << contents;
}

uint32_t crc_of(const std::string& contents) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(contents.data()), uInt(contents.size())));
}

// An image or a debug file; what is empty is left out.
struct Parts {
  std::string build_id = {};
  std::string link = {};
  std::string alternate = {};
  uint64_t code_size = 0;  // at 0x401000
};

std::string build(const Parts& parts) {
  ImageSpec spec;
  spec.parts.push_back({.name = ".text", .contents = "code"});
  if (parts.code_size != 0)
    spec.parts.push_back({.name = ".init",
                          .contents = std::string(parts.code_size, 'c'),
                          .address = 0x401000,
                          .segment_flags = PF_R | PF_X});
  if (!parts.build_id.empty())
    spec.parts.push_back({.name = ".note.gnu.build-id",
                          .type = SHT_NOTE,
                          .contents = build_note("GNU", 3, parts.build_id)});
  if (!parts.link.empty())
    spec.parts.push_back({.name = ".gnu_debuglink", .contents = parts.link});
  if (!parts.alternate.empty())
    spec.parts.push_back({.name = ".gnu_debugaltlink", .contents = parts.alternate});
  return build_image(spec);
}

// A folder with usr/bin/program, and the debug file that is found for it.
class Installed {
public:
  explicit Installed(const Parts& program) : program_(build(program)) {
    options.debug_dirs = {path("debug")};
    write("usr/bin/program", program_);
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& contents) {
    write_file(path(name), contents);
  }

  // The path in the folder; "none", or the reason why there is none.
  std::string find(const std::string& program = "/usr/bin/program") {
    std::string from = options.symfs.empty() ? folder_ / program.substr(1) : program;
    return text_of(open_debug_file(*elf::parse(as_bytes(program_)), from, options));
  }
  std::string find_alternate(const std::string& debug_file, const std::string& from) {
    return text_of(
        open_alternate_file(*elf::parse(as_bytes(debug_file)), folder_ / from, options));
  }

  DebugFileOptions options;

private:
  std::string text_of(const Result<std::optional<DebugFile>>& found) const {
    std::string text = "none";
    if (!found)
      text = found.error().message();
    else if (*found)
      text = (*found)->path;
    for (size_t at; (at = text.find(folder_ / "")) != std::string::npos;)
      text.erase(at, (folder_ / "").size());
    return text;
  }

  TemporaryDirectory folder_;
  std::string program_;
};

}  // namespace

TEST_CASE("debug file: by build id, in each debug directory in turn") {
  Installed tree({.build_id = "\x12\xab\xcd"});
  CHECK(tree.find() == "none");
  tree.write("debug/.build-id/12/abcd.debug", build({.build_id = "\x12\xab\xcd"}));
  CHECK(tree.find() == "debug/.build-id/12/abcd.debug");
  tree.options.debug_dirs.insert(tree.options.debug_dirs.begin(), tree.path("first"));
  CHECK(tree.find() == "debug/.build-id/12/abcd.debug");
  tree.write("first/.build-id/12/abcd.debug", build({.build_id = "\x12\xab\xcd"}));
  CHECK(tree.find() == "first/.build-id/12/abcd.debug");
}

TEST_CASE("debug file: by debug link, in each place in turn") {
  std::string debug_file = build({});
  Installed tree({.link = debug_link("program.debug", crc_of(debug_file))});
  CHECK(tree.find() == "none");
  std::string global = "debug" + tree.path("usr/bin/program.debug");
  for (std::string place :
       {global.c_str(), "usr/bin/.debug/program.debug", "usr/bin/program.debug"}) {
    tree.write(place, debug_file);
    CHECK(tree.find() == (place == global ? "debugusr/bin/program.debug" : place));
  }
}

TEST_CASE("debug file: beside the binary itself, not beside a link to it") {
  std::string debug_file = build({});
  Installed tree({.link = debug_link("program.debug", crc_of(debug_file))});
  tree.write("usr/bin/program.debug", debug_file);
  fs::create_symlink("usr/bin/program", tree.path("link"));
  CHECK(tree.find("/link") == "usr/bin/program.debug");
}

TEST_CASE("debug file: another build id or another CRC is another file") {
  Installed by_id({.build_id = "id", .link = debug_link("x", 0)});
  by_id.write("debug/.build-id/69/64.debug", build({.build_id = "ie"}));
  CHECK(by_id.find() == "debug file 'debug/.build-id/69/64.debug': build id is 6965, not 6964");
  by_id.write("usr/bin/x", build({}));  // the first reason is the one that is told
  CHECK(by_id.find() == "debug file 'debug/.build-id/69/64.debug': build id is 6965, not 6964");
  by_id.write("usr/bin/.debug/x", build({.build_id = "id"}));  // the CRC does not matter
  CHECK(by_id.find() == "usr/bin/.debug/x");

  std::string other = build({});
  Installed by_crc({.link = debug_link("x", 1)});
  by_crc.write("usr/bin/x", other);
  CHECK(by_crc.find() ==
        fmt::format("debug file 'usr/bin/x': CRC is {:#x}, not 0x1", crc_of(other)));

  Installed without_id({.build_id = "id", .link = debug_link("x", crc_of(other))});
  without_id.write("usr/bin/x", other);
  CHECK(without_id.find() == "debug file 'usr/bin/x': build id is none, not 6964");
}

TEST_CASE("debug file: with the same build id, but other code, is another file") {
  Installed tree({.build_id = "id", .code_size = 16});
  for (uint64_t code_size : {0, 15, 17}) {
    tree.write("debug/.build-id/69/64.debug",
               build({.build_id = "id", .code_size = code_size}));
    CHECK(tree.find() == "debug file 'debug/.build-id/69/64.debug': its code lies elsewhere");
  }
  tree.write("debug/.build-id/69/64.debug", build({.build_id = "id", .code_size = 16}));
  CHECK(tree.find() == "debug/.build-id/69/64.debug");
}

TEST_CASE("debug file: one that is cut short is told, and the search goes on") {
  std::string debug_file = build({.build_id = "id", .code_size = 16});
  Installed tree({.build_id = "id", .link = debug_link("x", 0)});
  tree.write("debug/.build-id/69/64.debug", debug_file.substr(0, debug_file.size() - 1));
  CHECK(tree.find() == "debug file 'debug/.build-id/69/64.debug': it is cut short");
  tree.write("usr/bin/x", debug_file);
  CHECK(tree.find() == "usr/bin/x");
}

TEST_CASE("debug file: one without sections is the file all the same") {
  std::string debug_file = build({.code_size = 16});
  debug_file.replace(offsetof(Elf64_Ehdr, e_shoff), sizeof(Elf64_Off), sizeof(Elf64_Off), 0);
  debug_file.replace(offsetof(Elf64_Ehdr, e_shnum), 4, 4, 0);  // and e_shstrndx
  Installed tree({.link = debug_link("x", crc_of(debug_file))});
  tree.write("usr/bin/x", debug_file);
  CHECK(tree.find() == "usr/bin/x");
}

TEST_CASE("debug file: what is not a file of ELF is told, and the search goes on") {
  std::string debug_file = build({.build_id = "id"});
  Installed tree({.build_id = "id", .link = debug_link("x", 0)});
  std::string first = "debug/.build-id/69/64.debug";
  auto replace = [&](auto make) {
    fs::remove_all(tree.path(first));
    make(tree.path(first));
    return tree.find();
  };
  tree.write(first, "");
  CHECK(replace([&](const std::string& path) { fs::create_directory(path); }) ==
        "debug file '" + first + "': Is a directory");
  CHECK(replace([&](const std::string& path) { mkfifo(path.c_str(), 0600); }) ==
        "debug file '" + first + "': not a regular file");
  CHECK(replace([&](const std::string& path) { fs::create_symlink("64.debug", path); }) ==
        "debug file '" + first + "': Too many levels of symbolic links");
  CHECK(replace([&](const std::string& path) { fs::create_symlink("nowhere", path); }) ==
        "none");
  CHECK(replace([&](const std::string& path) { write_file(path, "text"); }) ==
        "debug file '" + first + "': not an ELF file");
  tree.write("usr/bin/x", debug_file);
  CHECK(tree.find() == "usr/bin/x");
}

TEST_CASE("debug file: a malformed link does not hide a file with the build id") {
  Installed tree({.build_id = "id", .link = debug_link("../../x", 0)});
  CHECK(tree.find() == "debug link: '../../x' is not the name of a file");
  tree.write("debug/.build-id/69/64.debug", build({.build_id = "id"}));
  CHECK(tree.find() == "debug/.build-id/69/64.debug");
}

TEST_CASE("debug file: an image that names itself has none") {
  Installed tree({.build_id = "id", .link = debug_link("program", 0)});
  CHECK(tree.find() == "none");
}

TEST_CASE("debug file: a file that is holes for the most part is not read") {
  std::string debug_file = build({});
  Installed tree({.link = debug_link("x", crc_of(debug_file))});
  tree.write("usr/bin/x", debug_file);
  fs::resize_file(tree.path("usr/bin/x"), (uint64_t{2} << 30) + 1);
  CHECK(tree.find() ==
        "debug file 'usr/bin/x': nearly all of it is missing: 4.0 KiB of 2.0 GiB are there");
}

TEST_CASE("debug file: build ids of any size do no harm") {
  CHECK(Installed({.build_id = "i"}).find() == "none");
  CHECK(Installed({.build_id = std::string(4096, 'i')}).find() == "none");
}

TEST_CASE("debug file: with --symfs nothing outside is looked at") {
  std::string debug_file = build({.build_id = "id"});
  Installed tree({.build_id = "id", .link = debug_link("x", 0)});
  tree.options.debug_dirs = {"/usr/lib/debug", "/../../debug"};
  tree.options.symfs = tree.path("root");
  tree.write("usr/bin/x", debug_file);
  tree.write("debug/.build-id/69/64.debug", debug_file);
  tree.write("usr/lib/debug/.build-id/69/64.debug", debug_file);
  CHECK(tree.find() == "none");

  tree.write("root/usr/bin/program", "");
  fs::create_symlink("../../../usr/bin/x", tree.path("root/usr/bin/x"));
  CHECK(tree.find() == "debug file '/usr/bin/x': Too many levels of symbolic links");
  fs::remove(tree.path("root/usr/bin/x"));
  fs::create_symlink(tree.path("usr/bin/x"), tree.path("root/usr/bin/x"));
  CHECK(tree.find() == "none");

  tree.write("root/real/64.debug", debug_file);
  fs::create_directories(tree.path("root/usr/lib/debug/.build-id/69"));
  fs::create_symlink("/real/64.debug", tree.path("root/usr/lib/debug/.build-id/69/64.debug"));
  CHECK(tree.find() == "/real/64.debug");
}

TEST_CASE("alternate file: beside the debug file, in .dwz, or by its build id") {
  std::string debug_file = build({.alternate = std::string("../../.dwz/pkg\0alt", 18)});
  std::string alternate = build({.build_id = "alt"});
  Installed tree({});
  std::string from = "usr/lib/debug/a/b.debug";
  CHECK(tree.find_alternate(build({}), from) == "none");
  CHECK(tree.find_alternate(debug_file, from) ==
        "alternate debug file '../../.dwz/pkg': not found");
  tree.write("debug/.build-id/61/6c74.debug", alternate);
  CHECK(tree.find_alternate(debug_file, from) == "debug/.build-id/61/6c74.debug");
  tree.write("debug/.dwz/pkg", alternate);
  CHECK(tree.find_alternate(debug_file, from) == "debug/.dwz/pkg");
  tree.write(from, "");  // or there would be no folder to go up from
  tree.write("usr/lib/.dwz/pkg", build({.build_id = "other"}));
  CHECK(tree.find_alternate(debug_file, from) == "debug/.dwz/pkg");
  tree.write("usr/lib/.dwz/pkg", alternate);
  CHECK(tree.find_alternate(debug_file, from) == "usr/lib/.dwz/pkg");
}

}  // namespace gosym::debug_file_test
