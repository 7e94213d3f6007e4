#include "record/files/archive.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file_tree.h"
#include "base/text.h"
#include "record/files/file_helper.h"
#include "record/files/image_file.h"

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
  if (found == held_.end())
    found = std::ranges::find_if(held_, is_open);
  found->second.file = UniqueFd();
  open_count_--;
}

void Archive::map(Images& images, ImageId image) const {
  if (held_.contains(image) && !wanted_.contains(image))
    images.insert(image);
}

void Archive::want(Images& images) {
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
    open_count_ -= file.file ? 1 : 0;
    UniqueFd found = file.file ? std::move(file.file) : find_again(file);
    chosen_.push_back({held->first, std::move(found), std::move(file.path)});
    held_.erase(held);
  }
}

std::optional<ImagePiece> Archive::next(uint64_t room) {
  while (!chosen_.empty()) {
    auto next = next_of_first(room);
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

}  // namespace gosym
