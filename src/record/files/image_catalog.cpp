#include "record/files/image_catalog.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "elf/image.h"
#include "go/build_info.h"
#include "go/goroutine_layout.h"
#include "record/files/file_helper.h"

namespace gosym {

namespace {

// Files that are held open keep their place on the disk when they are deleted, and their file
// systems from being unmounted.
constexpr uint64_t kMaxHoldTime = 10'000'000'000;

// The programs and libraries of a host that are at work; others have a use for descriptors too.
size_t max_held() {
  constexpr rlim_t kMaxHeldFiles = 256;
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(kMaxHeldFiles, limit.rlim_cur / 8)
                                               : kMaxHeldFiles;
}

}  // namespace

// Most mappings are of the same few files: to look at each of them anew through the helper took
// more than half of a recorder's time.
void ImageCatalog::prepare(std::span<const SidebandRecord> records) {
  if (!helper_)
    return;
  if (uint64_t now = monotonic_ns(); now - held_since_ > kMaxHoldTime) {
    held_since_ = now;
    held_.clear();
  }
  // A file is asked for once: identify() finds it held for its later mappings, and answers that
  // nobody takes would make the helper drop those behind them.
  std::set<FileKey> asked;
  for (const SidebandRecord& record : records)
    if (const auto* mapping = std::get_if<RawMapping>(&record);
        mapping && mapping->file.inode != 0 && !held_.contains(mapping->file) &&
        asked.insert(mapping->file).second)
      helper_->ask_ahead(*mapping);
}

ImageCatalog::Identified ImageCatalog::identify(const RawMapping& mapping) {
  if (mapping.file.inode == 0)
    return {};
  if (auto held = find_held(mapping))
    return *std::move(held);
  auto opened = helper_ ? helper_->open_mapped(mapping) : look_at_mapped_file(mapping);
  if (!opened)
    return {identify_unopened(mapping, opened.error().message()), {}};

  // A file keeps its number under another path or mapping; one that was written anew gets
  // another. `latest_` is for later mappings of it, should it not be opened again.
  Version version{opened->device, opened->inode, opened->size, opened->mtime_ns};
  ImageId& id = known_[version];
  if (id != ImageId{}) {
    hold(mapping, version, opened->file, id);
    return {latest_[mapping.file] = id, std::move(opened->file)};
  }
  // It is new, so it is read: by the helper already, if that opened it.
  struct stat status {};
  if (!opened->contents && fstat(opened->file.get(), &status) == 0)
    opened->contents = read_contents(opened->file, status);
  FileContents contents = std::move(opened->contents).value_or(FileContents{});
  bool is_read = contents.image.problem.empty();
  latest_[mapping.file] = id = add(mapping, std::move(contents.image), opened->is_at_path);
  hold(mapping, version, opened->file, id);
  if (contents.go_program)
    go_programs_.emplace(id, *std::move(contents.go_program));
  return {id, is_read ? std::move(opened->file) : UniqueFd(), /*is_new=*/true,
          opened->is_at_path};
}

// Written anew it is another image; so its size and time are looked at each time.
std::optional<ImageCatalog::Identified> ImageCatalog::find_held(
    const RawMapping& mapping) const {
  auto held = held_.find(mapping.file);
  struct stat status {};
  if (held == held_.end() || fstat(held->second.file.get(), &status) != 0)
    return std::nullopt;
  auto known = known_.find(
      {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), mtime_ns(status)});
  if (known == known_.end() || known->second != held->second.image)
    return std::nullopt;
  UniqueFd file(fcntl(held->second.file.get(), F_DUPFD_CLOEXEC, 0));
  if (!file)
    return std::nullopt;
  return Identified{known->second, std::move(file)};
}

// A file is only held under a key that is surely its own: the kernel may report another device
// than stat(2) does, as for subvolumes of btrfs, and then several files may have the key.
void ImageCatalog::hold(const RawMapping& mapping, const Version& version, const UniqueFd& file,
                        ImageId image) {
  bool is_this = version.device == mapping.file.device && version.inode == mapping.file.inode;
  if (!file || !is_this)
    return;
  if (held_.size() >= max_held())
    held_.clear();
  if (UniqueFd copy{fcntl(file.get(), F_DUPFD_CLOEXEC, 0)})
    held_.insert_or_assign(mapping.file, Held{std::move(copy), image});
}

ImageId ImageCatalog::identify_unopened(const RawMapping& mapping, const std::string& problem) {
  ImageId& id = latest_[mapping.file];
  // The last image of these numbers is taken, or one is made that has the reason alone.
  if (id == ImageId{}) {
    RecordedImage image;
    image.device = mapping.file.device;
    image.inode = mapping.file.inode;
    image.problem = problem;
    id = add(mapping, std::move(image), /*is_at_path=*/false);
  }
  return id;
}

// A file may really have the name that the kernel gives to those that were deleted.
ImageId ImageCatalog::add(const RawMapping& mapping, RecordedImage image, bool is_at_path) {
  image.id = static_cast<ImageId>(++count_);
  image.path = mapping.path;
  image.is_deleted = !is_at_path && strip_deleted(image.path);
  return new_.emplace_back(std::move(image)).id;
}

const GoProgram* ImageCatalog::go_program(ImageId image) const {
  auto known = go_programs_.find(image);
  return known == go_programs_.end() ? nullptr : &known->second;
}

MapEvent event_of(RawMapping mapping, ImageId image) {
  return {.time = mapping.time,
          .pid = mapping.pid,
          .start = mapping.start,
          .length = mapping.length,
          .file_offset = mapping.file_offset,
          .image = image,
          .path = image == ImageId{} ? std::move(mapping.path) : ""};
}

std::vector<RecordedImage> ImageCatalog::take_new() {
  return std::exchange(new_, {});
}

namespace {

void describe(const elf::Image& parsed, RecordedImage& image) {
  elf::BuildIds ids = elf::build_ids(parsed);
  image.gnu_build_id = std::move(ids.gnu);
  image.go_build_id = std::move(ids.go);
  image.segments = load_segments(parsed);
}

Result<> read_contents(int file, FileContents& contents) {
  auto copy = SparseCopy::open(file);
  if (!copy)
    return std::move(copy).error();
  auto image = copy->read_image();
  if (!image)
    return std::move(image).error();
  describe(*image, contents.image);
  contents.go_program = read_go_program(*copy, *image);
  return Ok{};
}

}  // namespace

FileContents read_contents(const UniqueFd& file, const struct stat& status) {
  FileContents contents;
  contents.image.device = status.st_dev;
  contents.image.inode = status.st_ino;
  contents.image.size = static_cast<uint64_t>(status.st_size);
  contents.image.mtime_ns = mtime_ns(status);
  if (auto done = read_contents(file.get(), contents); !done)
    contents.image.problem = done.error().message();
  return contents;
}

namespace {

// Code of a program is read in such pieces, and up to kMaxCode bytes in all. The runtime comes
// early in it, behind what C code there is.
constexpr uint64_t kPieceSize = 256 << 10;
constexpr uint64_t kMaxCode = 64 << 20;

// Each round reads what the bytes of the one before lead to.
std::optional<std::string> read_version(SparseCopy& copy, const elf::Image& image) {
  for (int i = 0; i < go::kVersionRounds; i++)
    for (const elf::FileExtent& extent : go::version_extents(image))
      copy.read(extent);
  auto info = go::read_build_info(image);
  return info ? std::optional<std::string>(info->go_version) : std::nullopt;
}

// Finds the version of a program up to Go 1.12, which has no record of it, but all of these
// sections; and up to Go 1.3 no version at all. A program that is not of that release after all
// has no goroutine where the sampler looks for it.
std::optional<std::string> find_version(SparseCopy& copy, const elf::Image& image) {
  for (const char* name : {".gopclntab", ".rodata", ".noptrdata", ".data"}) {
    const elf::Section* section = image.find_section(name);
    if (!section)
      return std::nullopt;
    // The function table only has to be there; the others are searched.
    if (section->name != ".gopclntab")
      copy.read({.offset = section->offset, .size = section->size});
  }
  auto version = go::find_runtime_version(image);
  return std::string(version.value_or(go::kVersionWithSegments));
}

// Looks through the code of a segment, as far as `left` bytes of all segments go. The pieces
// overlap by the code that the search needs in one of them.
std::optional<go::GoroutinePointer> find_pointer(const SparseCopy& copy,
                                                 const elf::Segment& code, uint16_t machine,
                                                 uint64_t& left) {
  auto search =
      machine == EM_AARCH64 ? go::find_goroutine_pointer_arm64 : go::find_goroutine_pointer;
  std::vector<std::byte> buffer(kPieceSize);
  uint64_t step = kPieceSize - go::kGoroutinePointerCode;
  uint64_t size = std::min(code.file_size, left);
  left -= size;
  for (uint64_t offset = 0; offset < size; offset += step) {
    Bytes piece = copy.look({.offset = code.offset + offset, .size = size - offset}, buffer);
    auto address = ImageAddress{to_integer(code.address) + offset};
    if (auto found = search(piece, address))
      return found;
    if (piece.size() < std::min(kPieceSize, size - offset))
      break;  // the file ends here
  }
  return std::nullopt;
}

}  // namespace

std::optional<GoProgram> read_go_program(SparseCopy& copy, const elf::Image& image) {
  bool is_arm64 = image.machine == EM_AARCH64;
  if ((image.machine != EM_X86_64 && !is_arm64) || image.pointer_size != 8)
    return std::nullopt;
  // Go writes the section .go.buildinfo; a file with sections and without it is no Go program,
  // and need not be searched.
  bool may_have_record = image.sections.empty() || image.find_section(".go.buildinfo");
  auto version = may_have_record ? read_version(copy, image) : find_version(copy, image);
  if (!version)
    return std::nullopt;
  // The pointer to the goroutine is found by the code that loads it. All segments together have
  // one budget, for a file can claim any number of them.
  uint64_t left = kMaxCode;
  for (const elf::Segment& segment : image.segments) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0)
      continue;
    auto pointer = find_pointer(copy, segment, image.machine, left);
    if (!pointer)
      continue;
    GoProgram program = {*version, go::runtime_layout(*version), pointer->offset, std::nullopt};
    // In a position-independent program the offset is known at run time only: the sampler reads
    // it from the process.
    if (pointer->offset_at)
      program.offset_at =
          to_integer(*pointer->offset_at) - to_integer(segment.address) + segment.offset;
    return program;
  }
  // A register tells enough where no C code runs.
  if (is_arm64)
    return GoProgram{*version, go::runtime_layout(*version), 0, std::nullopt};
  return std::nullopt;
}

namespace {

constexpr uint64_t kMaxRead = 8 << 20;

// In all: tables of sections as large as they can be, with as many bytes of names and notes.
constexpr uint64_t kMaxTotal = 16 << 20;

// The ELF header, as a rule with the program headers and the notes behind it.
constexpr uint64_t kUsualHeaders = 4096;

}  // namespace

Result<SparseCopy> SparseCopy::open(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0)
    return system_error("cannot be read", errno);
  if (!S_ISREG(status.st_mode))
    return Error("not a regular file");
  auto size = static_cast<size_t>(status.st_size);
  if (size == 0)
    return Error("empty");
  // Address space of the file's size, of which only what is read takes memory: parsers see the
  // whole file, and nobody who cuts it short can raise SIGBUS.
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return system_error("cannot be read", errno);
  return SparseCopy(fd, static_cast<std::byte*>(memory), size, kMaxTotal);
}

SparseCopy::SparseCopy(SparseCopy&& other) noexcept
    : fd_(other.fd_),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_),
      left_(other.left_) {}

SparseCopy::~SparseCopy() {
  if (memory_)
    munmap(memory_, size_);
}

void SparseCopy::read(elf::FileExtent extent) {
  if (extent.offset >= size_ || extent.size > kMaxRead)
    return;
  uint64_t size = std::min<uint64_t>(extent.size, size_ - extent.offset);
  if (size > left_)
    return;
  left_ -= size;
  // The rest stays zero if the file was cut short meanwhile.
  read_at(fd_, extent.offset, {memory_ + extent.offset, size});
}

Bytes SparseCopy::look(elf::FileExtent extent, std::span<std::byte> buffer) const {
  return buffer.first(read_at(fd_, extent.offset,
                              buffer.first(std::min<uint64_t>(extent.size, buffer.size()))));
}

Result<elf::Image> SparseCopy::read_image() {
  read({.offset = 0, .size = kUsualHeaders});
  // The second time, the number of sections is known where the header has no room for it, and
  // the last time, where their names lie.
  std::set<std::pair<uint64_t, uint64_t>> known;  // offset and size
  for (int i = 0; i < 3; i++)
    for (const elf::FileExtent& table : elf::header_tables(bytes()))
      if (known.emplace(table.offset, table.size).second)
        read(table);
  auto image = elf::parse(bytes());
  if (image)
    for (const elf::FileExtent& notes : elf::note_extents(*image))
      read(notes);
  return image;
}

}  // namespace gosym
