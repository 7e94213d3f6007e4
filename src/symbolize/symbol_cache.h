#pragma once

#include <tsl/robin_map.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/image_numbers.h"
#include "symbolize/recorded_file.h"
#include "symbolize/unwind_rules.h"

namespace gosym {

// A file of a recording, and what it has said of addresses.
struct NamedFile {
  struct Answer {
    std::optional<FrameSource> source;  // none: it has no name
    std::vector<Call> calls;
  };
  const Answer& find(ImageAddress address);

  RecordedFile file;
  bool is_held = false;  // it is one of those that the recording keeps
  tsl::robin_map<uint64_t, Answer> answers;
};

// Things of the images of a recording that are dear to make, kept from one profile to the next
// as long as profiles need them.
template <class Thing>
class KeptByImage {
public:
  // Null if there is none.
  std::shared_ptr<Thing> find(ImageId image) {
    auto known = kept_.find(image);
    if (known == kept_.end())
      return nullptr;
    known->second.used_by = profile_;
    return known->second.thing;
  }
  void keep(ImageId image, std::shared_ptr<Thing> thing) {
    kept_.insert_or_assign(image, Kept{std::move(thing), profile_});
  }
  // True: some have gone.
  bool begin_profile() {
    profile_++;
    return 0 < std::erase_if(kept_, [this](const auto& entry) {
             return entry.second.used_by + kMaxUnused < profile_;
           });
  }

private:
  // Tests of a C++ program, each with hundreds of megabytes of debugging information, may run
  // for a moment each.
  static constexpr uint64_t kMaxUnused = 5;
  struct Kept {
    std::shared_ptr<Thing> thing;
    uint64_t used_by = 0;  // the last profile
  };
  std::map<ImageId, Kept> kept_;
  uint64_t profile_ = 0;
};

// For several profiles: of one recording, made again and again while it goes on, or of several
// recordings. In all of them an image has the same number, and names are in the same forms.
struct SymbolCache {
  // Of several recordings, whose own numbers are replaced.
  std::optional<ImageNumbers> numbers;
  KeptByImage<NamedFile> named;
  KeptByImage<UnwoundImage> unwound;
  // Files that the recording keeps, and why some are not kept, or not whole.
  HeldFiles held;
  std::map<ImageId, std::string> file_problems;

  void begin_profile();
};

}  // namespace gosym
