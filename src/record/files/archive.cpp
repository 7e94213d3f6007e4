#include "record/files/archive.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/users.h"
#include "raw/messages.h"
#include "record/files/file_helper.h"
#include "record/files/image_catalog.h"

// Archive decides which files are kept; ImagePieces reads one of them, a piece at a time
// between samples; ArchiveShares bounds what each user's files may take. Files are held open
// from when they are first seen, since those worth keeping are those that vanish.

namespace gosym {

namespace {

// Most programs and libraries of a busy host; far below what services may have open (1024, as a
// rule), of which the sampler needs some as well.
size_t max_open() {
  constexpr rlim_t kMaxOpen = 256;
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(kMaxOpen, limit.rlim_cur / 4)
                                               : kMaxOpen;
}

bool is_deleted(const UniqueFd& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 && status.st_nlink == 0;
}

}  // namespace

void Archive::hold(ImageId image, UniqueFd file, const std::string& path, bool is_at_path) {
  if (mode_ == ArchiveMode::kNone)
    return;
  // The recorder gives each image once, when it is new, and its file is open: it counts as one
  // more.
  FileKey key = key_of(file);
  bool is_vanishing = !is_at_path;
  held_.emplace(image, Held{std::move(file), key, path, is_vanishing});
  if (++open_count_ > max_open())
    close_one();
}

// The oldest that is not about to vanish: what is mapped for a moment comes late.
void Archive::close_one() {
  auto is_spare = [](const auto& entry) {
    return entry.second.file && !entry.second.is_vanishing;
  };
  auto is_open = [](const auto& entry) { return bool{entry.second.file}; };
  auto found = std::ranges::find_if(held_, is_spare);
  // All are about to vanish: one has to go.
  if (found == held_.end())
    // One is open, since the count is above the limit.
    found = std::ranges::find_if(held_, is_open);
  found->second.file = UniqueFd();
  open_count_--;
}

void Archive::map(Images& images, ImageId image) const {
  if (held_.contains(image) && !wanted_.contains(image))
    images.insert(image);
}

void Archive::want(Images& images) {
  // merge() leaves behind what was there already.
  wanted_.merge(images);
  images.clear();
}

bool Archive::is_due(const Held& held) const {
  return mode_ == ArchiveMode::kAll || held.is_vanishing ||
         (held.file && is_deleted(held.file));
}

// Not open any more, it may still be where it was.
UniqueFd Archive::find_again(const Held& held) const {
  return helper_.open_at(held.path, held.key);
}

void Archive::choose() {
  for (auto next = held_.begin(); next != held_.end();) {
    auto held = next++;
    // A file that is still where it was can be read later, and is not kept.
    if (!wanted_.contains(held->first) || !is_due(held->second))
      continue;
    Held& file = held->second;
    // From here on the file belongs to `chosen_`, and does not count as held.
    open_count_ -= file.file ? 1 : 0;
    UniqueFd found = file.file ? std::move(file.file) : find_again(file);
    chosen_.push_back({held->first, std::move(found), std::move(file.path)});
    held_.erase(held);
  }
}

std::optional<ImagePiece> Archive::next(uint64_t room) {
  while (!chosen_.empty()) {
    auto next = next_of_first(room);
    // None: all of the file was given.
    if (!next) {
      drop_first();
      continue;
    }
    const Chosen& chosen = chosen_.front();
    bool is_read = bool{*next};
    ImagePiece piece;
    piece.image = chosen.image;
    if (is_read)
      piece = **std::move(next);
    else
      piece.problem = next->error().message();
    if (!piece.problem.empty())
      problems_.push_back(fmt::format("'{}': {}", printable(chosen.path), piece.problem));
    // A file that can be read no further ends with a piece that says why; a reader then knows
    // that it is not whole.
    if (!is_read)
      drop_first();
    return piece;
  }
  return std::nullopt;
}

void Archive::drop_first() {
  chosen_.pop_front();
  pieces_.reset();
}

std::optional<Result<ImagePiece>> Archive::next_of_first(uint64_t room) {
  if (!pieces_) {
    Chosen& chosen = chosen_.front();
    // It was closed to make room, and is no longer found at its path.
    if (!chosen.file)
      return Error("more files than could be held open");
    struct stat status {};
    if (fstat(chosen.file.get(), &status) != 0)
      return system_error("cannot be read", errno);
    auto opened = ImagePieces::open(chosen.image, std::move(chosen.file), data_);
    if (!opened)
      return std::move(opened).error();
    // An image that lacks a piece is of no use, so a file is kept whole or not at all.
    if (opened->size() > room)
      return Error("no room for it below --max-size");
    if (auto taken = shares_.take(status.st_uid, opened->size()); !taken)
      return std::move(taken).error();
    pieces_ = *std::move(opened);
  }
  return pieces_->next();
}

namespace {

// Before compression.
constexpr uint64_t kMaxKept = uint64_t{4} << 30;
constexpr uint64_t kMaxOfUser = 512 << 20;

constexpr size_t kMaxSubordinatesFile = 1 << 20;

std::string subordinates_of_host() {
  auto text = read_file("/etc/subuid", kMaxSubordinatesFile);
  return text ? *std::move(text) : std::string();
}

}  // namespace

ArchiveShares::ArchiveShares() : ArchiveShares(subordinates_of_host(), proc::user_named) {}

// "name:100000:65536", or with a number in place of the name.
ArchiveShares::ArchiveShares(std::string_view subordinates, FindUser find_user) {
  while (!subordinates.empty()) {
    std::vector<std::string_view> fields = split(take_line(subordinates), ':');
    if (fields.size() != 3)
      continue;
    auto begin = parse_decimal(fields[1]);
    auto count = parse_decimal(fields[2]);
    auto number = parse_decimal(fields[0]);
    auto user =
        number ? std::optional(static_cast<uid_t>(*number)) : find_user(std::string(fields[0]));
    // Lines that make no sense are passed over: others write this file.
    if (begin && count && user && *begin <= UINT32_MAX && *count <= UINT32_MAX - *begin)
      subordinates_.push_back({static_cast<uid_t>(*begin), static_cast<uid_t>(*count), *user});
  }
}

uid_t ArchiveShares::account_of(uid_t user) const {
  // Differences of unsigned numbers: a user before the range is beyond its end.
  auto is_of = [user](const Subordinates& range) { return user - range.begin < range.count; };
  auto found = std::ranges::find_if(subordinates_, is_of);
  return found == subordinates_.end() ? user : found->user;
}

Result<> ArchiveShares::take(uid_t user, uint64_t size) {
  uid_t account = account_of(user);
  // Files of root and our own fill no disk on purpose.
  bool is_stranger = account != 0 && account != getuid();
  uint64_t& of_account = sizes_[account];
  // Compared by subtraction, as a size from a file may be any number.
  if (is_stranger && (size > kMaxOfUser || of_account > kMaxOfUser - size))
    return errorf("with it more than {} of files of user {}", human_size(kMaxOfUser), account);
  if (size > kMaxKept || size_ > kMaxKept - size)
    return errorf("with it more than {} of files", human_size(kMaxKept));
  of_account += size;
  size_ += size;
  return Ok{};
}

namespace {

// Limit for one image, before compression, which halves it. Large Go services load 100 MB;
// browsers, which load more, are not what vanishes while it is looked at, and their symbols lie
// elsewhere.
constexpr uint64_t kMaxArchived = 128 << 20;

Result<> read_all_at(int file, uint64_t offset, std::string& bytes) {
  // read_at() sets errno to 0 where the file simply ends.
  size_t count = read_at(file, offset, std::as_writable_bytes(std::span(bytes)));
  if (count == bytes.size())
    return Ok{};
  if (errno != 0)
    return system_error("cannot be read", errno);
  return errorf("cut short at {:#x} while it was read", offset + count);
}

}  // namespace

Result<ImagePieces> ImagePieces::open(ImageId image, UniqueFd file, ArchivedData data) {
  // Only headers and tables are read here; code follows piece by piece.
  auto copy = SparseCopy::open(file.get());
  if (!copy)
    return std::move(copy).error();
  auto parsed = copy->read_image();
  if (!parsed)
    return std::move(parsed).error();
  auto left_out =
      data == ArchivedData::kKept ? std::vector<elf::FileExtent>() : data_parts(*parsed, *copy);
  if (!left_out)
    return std::move(left_out).error();
  auto parts = archived_parts(*parsed, kMaxArchived, *left_out);
  if (!parts)
    return std::move(parts).error();
  return ImagePieces(image, std::move(file), parsed->order, *std::move(parts));
}

std::optional<Result<ImagePiece>> ImagePieces::next() {
  if (extent_ == parts_.extents.size())
    return std::nullopt;
  const elf::FileExtent& extent = parts_.extents[extent_];
  bool is_first = extent_ == 0 && taken_ == 0;
  // The size of all pieces, and what is missing, are told with the first.
  ImagePiece piece = {.image = image_,
                      .offset = extent.offset + taken_,
                      .bytes = {},
                      .total = is_first ? parts_.size : 0,
                      .problem = is_first ? parts_.problem : ""};
  piece.bytes.resize(std::min<uint64_t>(extent.size - taken_, raw::kUsualPieceSize));
  if (auto done = read_all_at(file_.get(), piece.offset, piece.bytes); !done)
    return std::move(done).error();
  // Headers are changed in the piece that has them, so that the file is valid without what is
  // left out.
  hide_sections(piece);
  taken_ += piece.bytes.size();
  if (taken_ == extent.size) {
    extent_++;
    taken_ = 0;
  }
  return piece;
}

// Makes sections that are not kept sections without contents, in the piece that has their
// headers. It goes byte by byte, as a type may lie in two pieces.
void ImagePieces::hide_sections(ImagePiece& piece) const {
  constexpr uint64_t kWidth = sizeof(Elf64_Word);
  uint64_t end = piece.offset + piece.bytes.size();
  // The first type that ends behind the beginning of the piece.
  auto place = std::ranges::upper_bound(parts_.hidden_types, piece.offset, {},
                                        [](uint64_t first) { return first + kWidth; });
  for (; place != parts_.hidden_types.end() && *place < end; ++place)
    for (uint64_t i = 0; i < kWidth; i++) {
      bool is_lowest = i == (order_ == ByteOrder::kLittle ? 0 : kWidth - 1);
      if (*place + i >= piece.offset && *place + i < end)
        piece.bytes[*place + i - piece.offset] = is_lowest ? char{SHT_NOBITS} : '\0';
    }
}

}  // namespace gosym
