#include "symbolize/recorded_file.h"

namespace gosym {

namespace {

RecordedFile accept(std::unique_ptr<ImageSymbols> symbols) {
  std::string problem = symbols->problem();
  return {.symbols = std::move(symbols),
          .unnamed = Unnamed::kNotSymbolized,
          .problem = std::move(problem)};
}

// Null if there is no debug file.
Result<std::unique_ptr<ImageSymbols>> open_by_build_id(const RecordedImage& image,
                                                       const DebugFileOptions& options) {
  if (image.gnu_build_id.empty())
    return std::unique_ptr<ImageSymbols>();
  auto found = open_debug_file(image.gnu_build_id, image.path, options);
  if (!found)
    return std::move(found).error();
  if (!*found)
    return std::unique_ptr<ImageSymbols>();
  return ImageSymbols::open((*found)->binary, (*found)->path, options);
}

}  // namespace

RecordedFile open_recorded(const RecordedImage& image, const RecordedBinary& binary,
                           const DebugFileOptions& options) {
  if (binary.binary)
    return accept(ImageSymbols::open(binary.binary, image.path, options));
  RecordedFile file = {
      .symbols = nullptr, .unnamed = binary.unnamed, .problem = binary.problem};
  if (file.unnamed == Unnamed::kUnidentified)
    return file;
  // A debug file has the names also where the binary is gone.
  auto symbols = open_by_build_id(image, options);
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
