#include "record/files/image_pieces.h"

#include <algorithm>
#include <cerrno>

#include "base/mapped_file.h"
#include "raw/format.h"
#include "record/files/sparse_copy.h"

namespace gosym {

namespace {

// Limit for one image, before compression, which halves it. Large Go services load 100 MB;
// browsers, which load more, are not what vanishes while it is looked at, and their symbols lie
// elsewhere.
constexpr uint64_t kMaxArchived = 128 << 20;

Result<> read_all_at(int file, uint64_t offset, std::string& bytes) {
  size_t count = read_at(file, offset, std::as_writable_bytes(std::span(bytes)));
  if (count == bytes.size())
    return Ok{};
  if (errno != 0)
    return system_error("cannot be read", errno);
  return errorf("cut short at {:#x} while it was read", offset + count);
}

}  // namespace

Result<ImagePieces> ImagePieces::open(ImageId image, UniqueFd file, ArchivedData data) {
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
  ImagePiece piece = {.image = image_,
                      .offset = extent.offset + taken_,
                      .bytes = {},
                      .total = is_first ? parts_.size : 0,
                      .problem = is_first ? parts_.problem : ""};
  piece.bytes.resize(std::min<uint64_t>(extent.size - taken_, raw::kUsualPieceSize));
  if (auto done = read_all_at(file_.get(), piece.offset, piece.bytes); !done)
    return std::move(done).error();
  hide_sections(piece);
  taken_ += piece.bytes.size();
  if (taken_ == extent.size) {
    extent_++;
    taken_ = 0;
  }
  return piece;
}

// A type may lie in two pieces.
void ImagePieces::hide_sections(ImagePiece& piece) const {
  constexpr uint64_t kWidth = sizeof(Elf64_Word);
  uint64_t end = piece.offset + piece.bytes.size();
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
