#pragma once

#include <tsl/robin_map.h>

#include <memory>
#include <optional>
#include <vector>

#include "images/image_cache.h"
#include "symbolize/other_archives.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// A file of a recording, and what it has said of addresses.
struct NamedFile {
  struct Answer {
    std::optional<FrameSource> source;  // none: it has no name
    std::vector<Call> calls;
  };
  // Ten seconds of a compiler have a tenth of that, and an answer takes some 200 bytes.
  static constexpr size_t kMaxAnswers = 50'000;
  const Answer& find(ImageAddress address);

  RecordedFile file;
  bool is_held = false;  // it is one of those that the recording keeps
  tsl::robin_map<uint64_t, Answer> answers;
};

// Kept from one profile for the next: of one recording, made again and again while it goes on,
// or of several recordings. In all of these names are in the same forms.
struct SymbolCache {
  ImageCache images;
  KeptByImage<NamedFile> named;
  // Shared by all recordings, if there are several; else null.
  std::unique_ptr<OtherArchives> archives;
  // No profile follows: a file is closed as soon as its code has names.
  bool is_for_one = false;

  void begin_profile();
};

}  // namespace gosym
