#pragma once

#include <memory>
#include <string>

#include "images/recorded_binary.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// The names of the code of a file of a recording; or why it has none.
struct RecordedFile {
  std::unique_ptr<ImageSymbols> symbols;  // null: `unnamed` says why
  Unnamed unnamed = Unnamed::kNotSymbolized;
  std::string problem;  // for the user; also set where only a part of the file is unusable
};

// The names of the code of an image that is not there, by the id that stores know it by; `name`
// is what it was called. It is, in the debug directories, the image itself, its debug file, or
// its index, else what the debuginfod servers have. Null if there is none of these.
Result<std::unique_ptr<ImageSymbols>> open_by_id(const std::string& id, const std::string& name,
                                                 const DebugFileOptions& options);

// Opens the symbols of a recorded image's binary. Without the binary what open_by_id() finds
// will do.
RecordedFile open_recorded(const RecordedImage& image, const RecordedBinary& binary,
                           const DebugFileOptions& options);
// Opens the file by open_recorded_binary().
RecordedFile open_recorded(const RecordedImage& image, const DebugFileOptions& options = {},
                           const HeldFiles& held = {});

}  // namespace gosym
