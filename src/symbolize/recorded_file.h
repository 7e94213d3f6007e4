#pragma once

#include <memory>
#include <string>

#include "images/recorded_binary.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// What names the code of a file of a recording; or why nothing does.
struct RecordedFile {
  std::unique_ptr<ImageSymbols> symbols;  // null: `unnamed` says why
  Unnamed unnamed = Unnamed::kNotSymbolized;
  std::string problem;  // for the user; also set where only a part of the file is unusable
};

// Opens the symbols of a recorded image's binary. Without the binary its debug file, found by
// the GNU build id that was recorded, will do.
RecordedFile open_recorded(const RecordedImage& image, const RecordedBinary& binary,
                           const DebugFileOptions& options);
// The same of open_recorded_binary().
RecordedFile open_recorded(const RecordedImage& image, const DebugFileOptions& options = {},
                           const HeldFiles& held = {});

}  // namespace gosym
