#include <doctest/doctest.h>
#include <sys/stat.h>

#include "base/mapped_file.h"
#include "raw/archived_files.h"
#include "raw/messages.h"

namespace gosym::archived_files_test {

namespace {

using Chunks = std::vector<raw::Recording::StoredChunk>;

raw::Recording::StoredChunk stored(const ImagePiece& piece) {
  std::string payload = raw::encode(piece);
  auto size = static_cast<uint32_t>(payload.size());
  return {std::make_shared<const raw::Input>(std::move(payload)), 0, size, size, false};
}

Chunks stored(std::initializer_list<ImagePiece> pieces) {
  Chunks chunks;
  for (const ImagePiece& piece : pieces)
    chunks.push_back(stored(piece));
  return chunks;
}

// The files of image 1, which has 12 bytes, and of another.
raw::ArchivedFiles opened(const Chunks& chunks, uint64_t size = 12) {
  RecordedImage image;
  image.id = ImageId{1};
  image.size = size;
  RecordedImage other = image;
  other.id = ImageId{2};
  return raw::open_archived_files(chunks, {{image.id, &image}, {other.id, &other}},
                                  uint64_t{1} << 32);
}

// "" if there is no file.
std::string text_of(const raw::ArchivedFiles& archived, uint32_t id = 1) {
  auto found = archived.files.find(ImageId{id});
  if (found == archived.files.end())
    return {};
  auto file = MappedFile::open(found->second);
  REQUIRE(file);
  return std::string(as_text((*file)->bytes()));
}

std::string text_of(std::initializer_list<ImagePiece> pieces) {
  return text_of(opened(stored(pieces)));
}

const ImagePiece kFirst = {ImageId{1}, 1, "abc", 5, ""};
const ImagePiece kSecond = {ImageId{1}, 6, "de", 0, ""};
const std::string kWhole("\0abc\0\0de\0\0\0\0", 12);

}  // namespace

TEST_CASE("archived files: pieces lie at their places, with zeros between them") {
  auto archived = opened(stored({kFirst, kSecond}));
  CHECK(text_of(archived) == kWhole);
  CHECK(archived.files.size() == 1);
  CHECK(archived.problems.empty());
  CHECK(pwrite(archived.files[ImageId{1}].get(), "x", 1, 0) == -1);  // it stays as it is
}

TEST_CASE("archived files: those of several images may alternate") {
  auto archived = opened(
      stored({kFirst, {ImageId{2}, 11, "x", 1, ""}, {ImageId{3}, 0, "no", 2, ""}, kSecond}));
  CHECK(text_of(archived) == kWhole);
  CHECK(text_of(archived, 2) == std::string(11, '\0') + "x");
  CHECK(archived.files.size() == 2);
}

TEST_CASE("archived files: one that is in a store has no pieces, which is no problem") {
  raw::ArchivedFiles files =
      opened(stored({{.image = ImageId{1}, .stored_as = "\xc0\xff\xee"}}));
  CHECK(files.files.empty());
  CHECK(files.problems.empty());
}

TEST_CASE("archived files: one that lacks a piece is none") {
  CHECK(text_of({}).empty());
  CHECK(text_of({kFirst}).empty());
  CHECK(text_of({kSecond}).empty());
  CHECK(text_of({kSecond, kFirst}).empty());
}

TEST_CASE("archived files: the last whole set of pieces counts") {
  CHECK(text_of({kFirst, kFirst, kSecond}) == kWhole);
  CHECK(text_of({{ImageId{1}, 0, "wrong", 6, ""}, kFirst, kSecond}) == kWhole);
  CHECK(text_of({kFirst, kSecond, kFirst}).empty());
}

TEST_CASE("archived files: each field made wrong") {
  ImagePiece wrong = kSecond;
  SUBCASE("image") {
    wrong.image = ImageId{2};
  }
  SUBCASE("offset behind the file") {
    wrong.offset = 11;
  }
  SUBCASE("offset that wraps around") {
    wrong.offset = UINT64_MAX;
  }
  SUBCASE("too few bytes") {
    wrong.bytes = "d";
  }
  SUBCASE("too many bytes") {
    wrong.bytes = "def";
  }
  SUBCASE("first piece twice") {
    wrong.total = 5;
  }
  CHECK(text_of({kFirst, wrong}).empty());
  CHECK(text_of({kFirst, wrong, kFirst, kSecond}) == kWhole);
}

TEST_CASE("archived files: reasons are told, with files and without") {
  auto archived =
      opened(stored({{ImageId{1}, 0, "a", 1, "no DWARF"}, {ImageId{2}, 0, "", 0, "gone"}}));
  CHECK(text_of(archived).starts_with('a'));
  CHECK(archived.problems[ImageId{1}] == "no DWARF");
  CHECK(archived.problems[ImageId{2}] == "gone");
  CHECK(text_of(archived, 2).empty());
}

TEST_CASE("archived files: chunks that do not decode are counted, and cost their file") {
  Chunks chunks = stored({kFirst, kSecond});
  chunks[1].stored_size--;
  chunks[1].raw_size--;
  auto archived = opened(chunks);
  CHECK(archived.damaged_chunks == 1);
  CHECK(archived.files.empty());
}

TEST_CASE("archived files: all of them together have a limit") {
  constexpr uint64_t kLimit = uint64_t{4} << 30;
  Chunks chunks = stored({kFirst, kSecond, {ImageId{2}, 0, "x", 1, ""}});
  CHECK(opened(chunks, kLimit / 2).files.size() == 2);
  CHECK(opened(chunks, kLimit / 2 + 1).files.size() == 1);
  CHECK(opened(chunks, kLimit + 1).files.empty());
  CHECK(opened(chunks, UINT64_MAX).files.empty());
}

}  // namespace gosym::archived_files_test
