#include "symbolize/recorded_file.h"

#include "base/text.h"
#include "elf/build_ids.h"

namespace gosym {

namespace {

RecordedFile accept(std::unique_ptr<ImageSymbols> symbols) {
  std::string problem = symbols->problem();
  return {.symbols = std::move(symbols),
          .unnamed = Unnamed::kNotSymbolized,
          .problem = std::move(problem)};
}

}  // namespace

Result<std::unique_ptr<ImageSymbols>> open_by_id(const std::string& id, const std::string& name,
                                                 const DebugFileOptions& options) {
  if (id.empty())
    return std::unique_ptr<ImageSymbols>();
  auto found = open_stored_file(id, options);
  if (found && *found)
    return ImageSymbols::open((*found)->binary, (*found)->path, options);
  auto index = open_stored_index(id, options);
  if (index && index->file) {
    auto symbols = ImageSymbols::open_index(std::move(index->file), index->path, id);
    if (symbols)
      return symbols;
    index =
        std::move(symbols).error().context(fmt::format("index '{}'", printable(index->path)));
  }
  auto fetched = fetch_debug_file(id, name, options);
  if (fetched && *fetched)
    return ImageSymbols::open((*fetched)->binary, (*fetched)->path, options);
  if (!found)
    return std::move(found).error();
  if (!index)
    return std::move(index).error();
  if (!fetched)
    return std::move(fetched).error();
  return std::unique_ptr<ImageSymbols>();
}

RecordedFile open_recorded(const RecordedImage& image, const RecordedBinary& binary,
                           const DebugFileOptions& options) {
  if (binary.binary)
    return accept(ImageSymbols::open(binary.binary, image.path, options));
  RecordedFile file = {
      .symbols = nullptr, .unnamed = binary.unnamed, .problem = binary.problem};
  if (file.unnamed == Unnamed::kUnidentified)
    return file;
  // A debug file has the names also where the binary is gone.
  auto symbols = open_by_id(
      elf::store_id({.gnu = image.gnu_build_id, .go = image.go_build_id, .package = {}}),
      image.path, options);
  if (!symbols)
    file.problem += "; " + symbols.error().message();
  if (!symbols || !*symbols)
    return file;
  return accept(*std::move(symbols));
}

RecordedFile open_recorded(const RecordedImage& image, const DebugFileOptions& options,
                           const HeldFiles& held) {
  return open_recorded(image, open_recorded_binary(image, options, held), options);
}

}  // namespace gosym
