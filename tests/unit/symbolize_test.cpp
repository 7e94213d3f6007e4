#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/file_tree.h"
#include "elf/image.h"
#include "pclntab_builder.h"
#include "proc/kallsyms.h"
#include "symbolize/image_symbols.h"
#include "symbolize/symbolizer.h"
#include "temporary_directory.h"

namespace gosym::symbolize_test {

TEST_CASE("kallsyms: a function reaches up to the next symbol") {
  Kallsyms symbols(
      "ffffffff81000000 T _text\n"
      "ffffffff81000010 t inner\n"
      "ffffffff81000010 T alias\n"
      "ffffffff81000018 d data\n"
      "ffffffffc0201000 w in_module\t[ext4]\n");
  CHECK_FALSE(symbols.find(0xffffffff80ffffff));
  CHECK(symbols.find(0xffffffff8100000f).value().name == "_text");
  CHECK(symbols.find(0xffffffff81000010).value().name == "inner");
  CHECK(symbols.find(0xffffffff81000020).value().name == "inner");
  CHECK(symbols.find(0xffffffffc0201001).value().name == "in_module");
  CHECK(symbols.find(0xffffffffc0201001).value().module == "ext4");
  CHECK_FALSE(symbols.find(0xffffffff91000010));  // too far to be the same function
}

TEST_CASE("kallsyms: hidden addresses and lines of another form give no symbols") {
  CHECK(Kallsyms("").empty());
  CHECK(Kallsyms("0000000000000000 T _text\n0000000000000000 t other\n").empty());
  CHECK(Kallsyms("not kallsyms\n\n123\nffffffff81000000 T\n-1 T name\n").empty());
}

TEST_CASE("kallsyms: every prefix has symbols of the whole text only") {
  std::string text = "ffffffff81000000 T first\nffffffffc0201000 t second\t[mod]\n";
  for (size_t size = 0; size < text.size(); size++) {
    CAPTURE(size);
    std::string prefix = text.substr(0, size);
    auto symbol = Kallsyms(prefix).find(0xffffffff81000001);
    if (symbol)
      CHECK(std::string_view("first").starts_with(symbol->name));
  }
}

namespace {

// A file of a Go program, and how it is recorded.
struct WrittenImage {
  std::string path;
  RecordedImage recorded;
};

RecordedImage record(const std::string& path) {
  auto file = MappedFile::open(path);
  REQUIRE(file);
  auto image = elf::parse((*file)->bytes());
  REQUIRE(image);
  elf::BuildIds ids = elf::build_ids(*image);
  RecordedImage recorded;
  recorded.id = ImageId{1};
  recorded.path = path;
  recorded.size = (*file)->bytes().size();
  recorded.mtime_ns = (*file)->mtime_ns();
  recorded.gnu_build_id = ids.gnu;
  recorded.go_build_id = ids.go;
  for (const elf::Segment& segment : image->segments)
    recorded.segments.push_back({segment.offset, segment.file_size, to_integer(segment.address),
                                 segment.memory_size, segment.flags});
  return recorded;
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

ImageSpec with_build_id(std::string_view id) {
  ImageSpec spec = BuiltGoProgram{}.image();
  spec.parts.push_back(
      {.name = ".note.gnu.build-id", .type = SHT_NOTE, .contents = build_note("GNU", 3, id)});
  return spec;
}

}  // namespace

TEST_CASE("recorded file: the same ids make it the same file, whatever its time") {
  TemporaryDirectory folder;
  std::string path = folder / "program";
  write_file(path, build_image(with_build_id("one")));
  RecordedImage image = record(path);
  image.mtime_ns -= 1;
  CHECK(open_recorded(image).symbols);

  write_file(path, build_image(with_build_id("two")));
  RecordedFile changed = open_recorded(image);
  CHECK_FALSE(changed.symbols);
  CHECK(changed.unnamed == Unnamed::kChanged);
  CHECK(changed.problem ==
        "not the file that was recorded: it has GNU build id 74776f, the recorded "
        "one had GNU build id 6f6e65");

  image.is_deleted = true;
  CHECK(open_recorded(image).unnamed == Unnamed::kDeleted);
}

TEST_CASE("recorded file: without ids, size and time tell") {
  TemporaryDirectory folder;
  std::string path = folder / "program";
  write_file(path, build_image(BuiltGoProgram{}.image()));
  RecordedImage image = record(path);
  CHECK(open_recorded(image).symbols);
  image.mtime_ns -= 1;
  CHECK(open_recorded(image).unnamed == Unnamed::kChanged);
  image.mtime_ns += 1;
  image.segments[0].file_size -= 1;
  CHECK(open_recorded(image).problem.ends_with("its segments differ, and it has no build id"));
  image.segments[0].file_size += 1;
  image.size -= 1;
  CHECK(open_recorded(image).problem.starts_with("not the file that was recorded: size is "));
}

TEST_CASE("recorded file: what lies in the place of a deleted file is not it without ids") {
  TemporaryDirectory folder;
  std::string path = folder / "program";
  write_file(path, build_image(BuiltGoProgram{}.image()));
  RecordedImage image = record(path);
  image.is_deleted = true;
  RecordedFile other = open_recorded(image);
  CHECK(other.unnamed == Unnamed::kDeleted);
  CHECK(other.problem ==
        "not the file that was recorded: that was deleted, and has no build id");
}

TEST_CASE("recorded file: one that is held open counts, not what has its path") {
  TemporaryDirectory folder;
  std::string path = folder / "program";
  write_file(path, build_image(BuiltGoProgram{}.image()));
  RecordedImage image = record(path);
  image.is_deleted = true;
  HeldFiles held;
  held[image.id] = find_file(path);
  std::filesystem::remove(path);
  CHECK(open_recorded(image, {}, held).symbols);
  write_file(path, build_image(with_build_id("two")));
  CHECK(open_recorded(image, {}, held).symbols);
  held[image.id] = find_file(path);
  CHECK(open_recorded(image, {}, held).unnamed == Unnamed::kDeleted);
}

TEST_CASE("recorded file: below --symfs, and nowhere else") {
  TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "root/usr");
  write_file(folder / "root/usr/program", build_image(with_build_id("one")));
  RecordedImage image = record(folder / "root/usr/program");
  image.path = "/usr/program";
  DebugFileOptions options;
  options.symfs = folder / "root";
  CHECK(open_recorded(image, options).symbols);

  std::filesystem::rename(folder / "root/usr/program", folder / "program");
  std::filesystem::create_symlink(folder / "program", folder / "root/usr/program");
  CHECK(open_recorded(image, options).unnamed == Unnamed::kMissing);
}

TEST_CASE("recorded file: the debug file will do where the binary is gone") {
  TemporaryDirectory folder;
  std::string path = folder / "program";
  write_file(path, build_image(with_build_id("one")));
  RecordedImage image = record(path);
  DebugFileOptions options;
  options.debug_dirs = {folder / "debug"};
  std::filesystem::create_directories(folder / "debug/.build-id/6f");
  std::filesystem::rename(path, folder / "debug/.build-id/6f/6e65.debug");
  CHECK(open_recorded(image, options).symbols);
  write_file(path, build_image(with_build_id("two")));
  CHECK(open_recorded(image, options).symbols);

  write_file(folder / "debug/.build-id/6f/6e65.debug", build_image(with_build_id("two")));
  RecordedFile other = open_recorded(image, options);
  CHECK(other.unnamed == Unnamed::kChanged);
  CHECK(other.problem.ends_with("build id is 74776f, not 6f6e65"));
}

TEST_CASE("recorded file: gone, unreadable and never identified are different answers") {
  TemporaryDirectory folder;
  RecordedImage image;
  image.path = folder / "nowhere";
  CHECK(open_recorded(image).unnamed == Unnamed::kMissing);
  CHECK(open_recorded(image).problem == "No such file or directory");
  image.is_deleted = true;
  CHECK(open_recorded(image).unnamed == Unnamed::kDeleted);
  image.problem = "permission denied";
  CHECK(open_recorded(image).unnamed == Unnamed::kUnidentified);

  RecordedImage no_elf;
  no_elf.path = folder / "text";
  write_file(no_elf.path, "text");
  CHECK(open_recorded(no_elf).unnamed == Unnamed::kChanged);
}

namespace {

// A profile with an image, mapped where it was linked, and the kernel.
Profile profile_of(const RecordedImage& image) {
  Profile profile;
  ProfileImage none{.kind = ProfileImage::Kind::kAnonymous, .file = {}};
  ProfileImage kernel{.kind = ProfileImage::Kind::kKernel, .file = {}};
  ProfileImage file{.kind = ProfileImage::Kind::kFile, .file = image};
  profile.images = {none, kernel, file};
  profile.mappings = {{}, {.image = 1}, {.image = 2, .start = 0x401000, .limit = 0x402000}};
  return profile;
}

void add_location(Profile& profile, uint64_t address, bool is_return, MappingId mapping) {
  Location location;
  location.mapping = mapping;
  location.address = RuntimeAddress{address};
  if (mapping == MappingId{2})
    location.image_address = ImageAddress{address};
  location.is_return = is_return;
  profile.locations.push_back(location);
}

std::string frames_text(const Profile& profile, size_t index) {
  std::string text;
  for (const Frame& frame : profile.frames_of(profile.locations[index]))
    text +=
        fmt::format("{}:{} ", profile.strings[profile.functions[to_index(frame.function)].name],
                    frame.line);
  return text;
}

}  // namespace

TEST_CASE("symbolize: a return address is looked up one before") {
  TemporaryDirectory folder;
  std::string path = folder / "program";
  write_file(path, build_image(BuiltGoProgram{}.image()));
  Profile profile = profile_of(record(path));
  add_location(profile, 0x401040, false, MappingId{2});
  add_location(profile, 0x401040, true, MappingId{2});
  add_location(profile, 0x401014, true, MappingId{2});
  add_location(profile, 0x401070, false, MappingId{2});
  add_location(profile, 0xffffffff81000010, true, kKernelMapping);
  add_location(profile, 0xffffffff80000000, true, kKernelMapping);
  add_location(profile, 0x10, true, kNoMapping);

  SymbolizerReport report = symbolize(
      profile, {.kernel = "ffffffff81000000 T caller\nffffffff81000010 T next\n", .vdso = {}},
      {.go = NameForm::kNone, .native = NameForm::kNone});
  CHECK(frames_text(profile, 0) == "main.leaf:30 ");
  CHECK(frames_text(profile, 1) == "main.caller:0 ");
  CHECK(frames_text(profile, 2) == "main.outer:22 main.caller:12 ");
  CHECK(profile.locations[3].unnamed == Unnamed::kNoSymbol);
  CHECK(frames_text(profile, 4) == "caller:0 ");
  CHECK(profile.locations[5].unnamed == Unnamed::kNoSymbol);
  CHECK(profile.locations[6].unnamed == Unnamed::kUnmapped);
  CHECK(report.locations_by_source[FrameSource::kPclntab] == 3);
  CHECK(report.locations_by_source[FrameSource::kKallsyms] == 1);
  CHECK(report.image_problems.empty());
}

TEST_CASE("symbolize: without kernel symbols the kernel says so") {
  Profile profile = profile_of({});
  add_location(profile, 0xffffffff81000010, false, kKernelMapping);
  symbolize(profile, {}, {.go = NameForm::kNone, .native = NameForm::kNone});
  CHECK(profile.unnamed_text(profile.locations[0]) == "[kernel 0xffffffff81000010]");
}

TEST_CASE("symbolize: the vdso by the image that was recorded") {
  ImageSpec spec;
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(64, '\x90'),
                        .address = 0x600,
                        .segment_flags = PF_R | PF_X});
  std::vector<SymbolSpec> symbols = {{.name = 1, .address = 0x610, .size = 0x10}};
  spec.parts.push_back({.name = ".dynsym",
                        .type = SHT_DYNSYM,
                        .contents = build_symbols(spec, symbols),
                        .link = 3});
  spec.parts.push_back(
      {.name = ".dynstr", .type = SHT_STRTAB, .contents = std::string("\0__vdso_time\0", 13)});
  std::string vdso = build_image(spec);

  Profile profile = profile_of({});
  profile.images.push_back({.kind = ProfileImage::Kind::kVdso, .file = {}});
  profile.mappings.push_back({.image = 3, .start = 0x7ffff7fc0000, .limit = 0x7ffff7fc2000});
  profile.mappings.push_back({.image = 3, .start = 0xf7fc0000, .limit = 0xf7fc2000});
  constexpr uint64_t kAddresses[] = {0x7ffff7fc0610, 0x7ffff7fc0620, 0xf7fc0610};
  for (uint64_t address : kAddresses) {
    bool is_64_bit = address > UINT32_MAX;
    add_location(profile, address, false, is_64_bit ? MappingId{3} : MappingId{4});
    profile.locations.back().image_address = ImageAddress{address & 0xfff};
  }
  symbolize(profile, {.kernel = {}, .vdso = vdso},
            {.go = NameForm::kNone, .native = NameForm::kNone});
  CHECK(frames_text(profile, 0) == "__vdso_time:0 ");
  CHECK(profile.locations[1].unnamed == Unnamed::kVdso);
  CHECK(profile.locations[2].unnamed == Unnamed::kVdso);  // another one, which we do not have
}

TEST_CASE("symbolize: code made at run time by the perf map of its process") {
  Profile profile = profile_of({});
  profile.images.push_back({.kind = ProfileImage::Kind::kAnonymous, .file = {}});
  for (uint32_t perf_map : {0, 1, 2, 3, 4})
    profile.mappings.push_back(
        {.image = 3, .start = 0x1000, .limit = 0x3000, .perf_map = perf_map});
  for (uint32_t mapping : {3, 4, 5, 6, 7})
    add_location(profile, 0x1010, false, MappingId{mapping});
  add_location(profile, 0x1010, true, MappingId{4});
  add_location(profile, 0x2000, false, MappingId{4});

  const RecordedPerfMap maps[] = {
      {.path = "a", .text = "1000 10 caller\n1010 10 JS:*f a.js:1:2\n", .problem = {}},
      {.path = "b", .text = "1000 100 other\n", .problem = "too large"},
      {.path = "c", .text = {}, .problem = "not used"}};
  SymbolizerReport report =
      symbolize(profile, {.kernel = {}, .vdso = {}, .perf_maps = maps}, NameForms{});
  CHECK(profile.locations[0].unnamed == Unnamed::kAnonymous);
  CHECK(frames_text(profile, 1) == "JS:*f a.js:1:2:0 ");
  CHECK(frames_text(profile, 2) == "other:0 ");
  CHECK(profile.locations[3].unnamed == Unnamed::kAnonymous);
  CHECK(profile.locations[4].unnamed == Unnamed::kAnonymous);  // a map that is not there
  CHECK(frames_text(profile, 5) == "caller:0 ");
  CHECK(profile.locations[6].unnamed == Unnamed::kUnlisted);
  CHECK(report.locations_by_source[FrameSource::kPerfMap] == 3);
  CHECK(report.image_problems ==
        std::map<std::string, std::string>{{"b", "too large"}, {"c", "not used"}});
}

TEST_CASE("symbolize: kernel code that came during the recording has its own name") {
  Profile profile = profile_of({});
  add_location(profile, 0xffffffffc0201010, false, kKernelMapping);
  add_location(profile, 0xffffffffc0201010, false, kKernelMapping);
  profile.locations[0].kernel_name = profile.strings.intern("bpf_prog_1");
  SymbolizerReport report = symbolize(
      profile, {.kernel = "ffffffffc0201000 t before\t[bpf]\n", .vdso = {}}, NameForms{});
  CHECK(frames_text(profile, 0) == "bpf_prog_1:0 ");
  CHECK(frames_text(profile, 1) == "before:0 ");
  CHECK(report.locations_by_source[FrameSource::kKernelCode] == 1);
}

TEST_CASE("image symbols: the Go table answers first, .symtab for what it does not know") {
  TemporaryDirectory folder;
  std::string path = folder / "program";
  ImageSpec spec = BuiltGoProgram{}.image();
  std::vector<SymbolSpec> symbols = {{.name = 1, .address = 0x401000, .size = 0x7c},
                                     {.name = 5, .address = 0x40107c}};
  spec.parts.push_back({.name = ".symtab",
                        .type = SHT_SYMTAB,
                        .contents = build_symbols(spec, symbols),
                        .link = 5});
  spec.parts.push_back(
      {.name = ".strtab", .type = SHT_STRTAB, .contents = std::string("\0all\0label\0", 11)});
  write_file(path, build_image(spec));
  auto image = ImageSymbols::open(path);
  REQUIRE(image);
  std::vector<Call> calls;
  CHECK((*image)->find(ImageAddress{0x401041}, calls) == FrameSource::kPclntab);
  CHECK(calls.back().function == "main.leaf");
  CHECK((*image)->find(ImageAddress{0x401070}, calls) == FrameSource::kSymtab);
  CHECK(calls.back().function == "all");
  CHECK((*image)->find(ImageAddress{0x40107c}, calls) == FrameSource::kLabel);
  CHECK(calls.back().function == "label");
  CHECK_FALSE((*image)->find(ImageAddress{0x401080}, calls));

  auto functions = (*image)->functions();
  REQUIRE(functions.size() == 2);
  CHECK(functions[0].name == "main.caller");
  CHECK(functions[0].size == 0x30);
  CHECK(functions[0].line == 10);
}

}  // namespace gosym::symbolize_test
