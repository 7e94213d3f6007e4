#include "raw/archived_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_tree.h"
#include "base/mapped_file.h"

namespace gosym::raw {

namespace {

class Builder {
public:
  explicit Builder(const RecordedImage& image) : image_(image) {}

  // Takes from the room what the whole file may need. A piece that brings more bytes than the
  // first one said, or lies beyond the end of the image, drops the file, as one without a
  // first.
  void add(const ImagePiece& piece, uint64_t& room) {
    if (piece.total > 0)
      // The first piece of a file tells how many bytes of it were kept in all. Another such
      // piece begins the file anew.
      begin(piece.total, room);
    uint64_t size = piece.bytes.size();
    bool fits = size <= left_ && size <= image_.size && piece.offset <= image_.size - size;
    // From here on a file that lacks anything is none: the descriptor is closed, and later
    // pieces fall through.
    if (!file_ || !fits || !write_at(file_.get(), piece.offset, piece.bytes))
      file_ = UniqueFd();
    left_ -= std::min(size, left_);
  }

  // False if a piece is missing.
  UniqueFd finish() && {
    if (!file_ || left_ > 0)
      return {};
    // The seals let the file be mapped without fear of SIGBUS: nobody can shorten it.
    fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);
    return std::move(file_);
  }

private:
  void begin(uint64_t total, uint64_t& room) {
    file_ = UniqueFd();
    left_ = total;
    // Room is taken by the size of the file, not of its pieces: zeros between them become
    // memory when they are read.
    if (image_.size > room)
      return;
    room -= image_.size;
    file_ = UniqueFd(memfd_create("archived", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file_ && ftruncate(file_.get(), static_cast<off_t>(image_.size)) != 0)
      file_ = UniqueFd();
  }

  const RecordedImage& image_;
  UniqueFd file_;
  uint64_t left_ = 0;  // bytes that are still to come
};

}  // namespace

ArchivedFiles ArchivedPieces::open(const std::map<ImageId, const RecordedImage*>& wanted,
                                   uint64_t room) {
  raise_file_limit();  // a recording of a busy host keeps thousands
  ArchivedFiles result;
  std::map<ImageId, Builder> builders;
  uint64_t left = room;
  // The first pass notes which image each piece is of, so that later calls need not unpack
  // all.
  bool is_first = images_.empty();
  for (size_t i = 0; i < chunks_.size(); i++) {
    if (!is_first && (!images_[i] || !wanted.contains(*images_[i])))
      continue;
    auto piece = read_piece(chunks_[i]);
    // One for each chunk, in their order, whatever becomes of the piece.
    if (is_first)
      images_.push_back(piece ? std::optional(piece->image) : std::nullopt);
    if (!piece) {
      result.damaged_chunks++;
      continue;
    }
    auto image = wanted.find(piece->image);
    // A file in a store has no pieces: whoever has the store finds it there by its id.
    if (image == wanted.end() || !piece->stored_as.empty())
      continue;
    if (!piece->problem.empty())
      result.problems[piece->image] = piece->problem;
    if (piece->total > 0 && image->second->size > left)
      result.problems[piece->image] = "larger than a recording of this size may ask for";
    builders.try_emplace(piece->image, *image->second).first->second.add(*piece, left);
  }
  result.size = room - left;
  // Files that were not kept get a reason, unless the recorder gave one.
  for (auto& [id, builder] : builders)
    if (UniqueFd file = std::move(builder).finish())
      result.files[id] = std::move(file);
    else
      result.problems.try_emplace(id, "its copy there is incomplete");
  return result;
}

ArchivedFiles open_archived_files(std::span<const Recording::StoredChunk> pieces,
                                  const std::map<ImageId, const RecordedImage*>& wanted,
                                  uint64_t room) {
  return ArchivedPieces({pieces.begin(), pieces.end()}).open(wanted, room);
}

}  // namespace gosym::raw
