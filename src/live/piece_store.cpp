#include "live/piece_store.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/mapped_file.h"
#include "images/recorded_binary.h"

namespace gosym {

bool PieceStore::take(const ImagePiece& piece, const RecordedImage& image) {
  // The first byte of an id is the name of a folder.
  constexpr size_t kShortestId = 2;
  std::string id = store_id(image);
  if (id.size() < kShortestId || (piece.bytes.empty() && !piece.problem.empty()))
    return false;
  // Only the first piece of an image has a total.
  if (piece.total > 0)
    begin(piece, image, id);
  if (!begun_ || begun_->image != piece.image)
    return true;  // it is there already, or there is no room: then it lacks names
  // A piece that leads out of the file, or brings more than was announced, is damage.
  bool fits = piece.bytes.size() <= begun_->left && piece.bytes.size() <= image.size &&
              piece.offset <= image.size - piece.bytes.size();
  bool is_written = fits && write_at(begun_->file.get(), piece.offset, piece.bytes);
  begun_->left -= std::min<uint64_t>(piece.bytes.size(), begun_->left);
  if (is_written && begun_->left > 0)
    return true;
  // Closed before it gets its name.
  begun_->file = UniqueFd();
  if (files_.finish_stored(is_written))
    stored_[piece.image] = id;
  begun_.reset();
  return true;
}

void PieceStore::begin(const ImagePiece& piece, const RecordedImage& image,
                       const std::string& id) {
  // Files come one after the other: a new one means that the one before will not be finished.
  finish();
  if (files_.find_stored(id)) {
    stored_[piece.image] = id;
    return;
  }
  UniqueFd file = files_.begin_stored(id);
  if (!file)
    return;
  // Parts that are not kept read as zeros.
  if (ftruncate(file.get(), static_cast<off_t>(image.size)) != 0)
    files_.finish_stored(/*is_whole=*/false);
  else
    begun_ = Begun{piece.image, std::move(file), piece.total};
}

void PieceStore::use(const RecordedImage& image) {
  auto stored = stored_.find(image.id);
  if (stored != stored_.end() && !files_.find_stored(stored->second))
    stored_.erase(stored);
}

void PieceStore::use_all() {
  std::erase_if(stored_,
                [&](const auto& stored) { return !files_.find_stored(stored.second); });
}

void PieceStore::finish() {
  if (begun_)
    files_.finish_stored(/*is_whole=*/false);
  begun_.reset();
}

}  // namespace gosym
