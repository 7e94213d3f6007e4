#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "view/category.h"

namespace gosym {

// By what a view tells things apart: what the code is, or whose sample it is.
struct Dimension {
  enum class Kind : uint8_t {
    // Dimensions of frames. All but kAddress put code without a name together by the reason.
    kFunction,
    kLine,      // the function with a line
    kFile,      // of the source
    kModule,    // the file that was mapped: program, library, kernel
    kPackage,   // of Go by the import path, of Rust the crate; else the module
    kCategory,  // category.h
    kAddress,
    // Dimensions of samples.
    kProcess,  // name and number
    kProgram,  // processes of one name
    kThread,   // name and number
    kComm,     // the thread's name
    kLabel,    // the value of a goroutine's label
    kCgroup,
    kContainer,
    kGoroutine,
    kCpu,
    kTime,  // steps of it
    kHost,
    kRecording,  // the name of its file
    kState,      // what the thread or goroutine was doing while it waited
    kWaker,      // who ended that
  };
  Kind kind = Kind::kFunction;
  std::string label = {};  // the key, of kLabel
  uint64_t step = 0;       // in nanoseconds, of kTime; 0: as many as there is room for

  bool is_of_frames() const { return kind <= Kind::kAddress; }
  // True if two recordings may share keys of this dimension.
  bool is_comparable() const { return kind != Kind::kTime && kind != Kind::kRecording; }
  bool operator==(const Dimension&) const = default;
};

// "process", "label:handler", "time:100ms". The error lists what there is.
Result<Dimension> parse_dimension(std::string_view text);
// The text that parse_dimension() parses to this dimension, without its step of time.
std::string to_string(const Dimension& dimension);
// All names that parse_dimension() takes, with commas between, for help.
std::string dimension_names();
// The names of the dimensions that is_comparable() holds for.
std::string comparable_dimension_names();

// Number of an entry of a view: a function, a file, a process, ...
enum class KeyId : uint32_t {};
constexpr size_t to_index(KeyId id) {
  return static_cast<size_t>(id);
}

// One entry of a view in one dimension: frames, or samples, with equal keys are the same entry.
struct ViewKey {
  std::string text = {};  // printable
  // For frames: the image that the code is in, and false if the code has no name.
  uint32_t image = 0;
  bool is_named = true;
  bool is_kernel = false;
  bool is_gap = false;  // frames that are left out of the middle of a stack
  Category::Kind category = Category::Kind::kWork;  // of a category
  // For functions and lines: the function with the name and file, and the line, 0 if unknown.
  FunctionId function = kNoFunction;
  uint32_t line = 0;
  // A frame key in whatever profile: by names and places, and not by numbers of one. Two
  // functions of one name, of two files or declared in two sources, have each their own.
  uint64_t identity = 0;
  uint64_t function_identity = 0;  // of a function or line: that of the function

  static constexpr FunctionId kNoFunction{UINT32_MAX};
};

// A key that somebody has chosen, to be found again in another profile or view.
struct ChosenKey {
  std::string text = {};  // as it is shown
  std::string place =
      {};  // what tells it from others of this text, "link"; empty: there are none
  uint64_t identity = 0;  // 0: nothing is chosen

  bool empty() const { return identity == 0; }
  // "main.main (link)"
  std::string label() const { return place.empty() ? text : text + " (" + place + ")"; }
  bool is(const ViewKey& key) const { return !empty() && key.identity == identity; }
  bool operator==(const ChosenKey&) const = default;
};

// "[stripped libc.so.6]": all code of an image without a name for this reason, as one.
std::string unnamed_group(Unnamed unnamed, const ProfileImage& image);
// The name that stands for a location without frames where other tools show names alone.
std::string unnamed_function(const Profile& profile, const Location& location);

// The name of a key's file for people: that without directories, "[kernel]", ...
std::string file_text(const Profile& profile, const ViewKey& key);
// The source that declares the function of a key, without directories; may be empty.
std::string source_text(const Profile& profile, const ViewKey& key);

// The keys of all frames of a profile in one dimension of frames.
class FrameKeys {
public:
  FrameKeys(const Profile& profile, Dimension::Kind kind);

  // Innermost first, one a frame; of a location without a name there is one. A gap in a stack
  // has none, except as a function, a line or an address.
  std::span<const KeyId> of(LocationId location) const {
    size_t begin = begins_[to_index(location)];
    return std::span(ids_).subspan(begin, begins_[to_index(location) + 1] - begin);
  }
  const ViewKey& operator[](KeyId id) const { return keys_[to_index(id)]; }
  size_t size() const { return keys_.size(); }
  std::span<const ViewKey> all() const { return keys_; }
  // True if adjacent frames with the same key are one step of a call. False where that would
  // hide a recursion.
  bool merges_neighbours() const { return merges_neighbours_; }
  // True if keys have a place in the source that says more than their text.
  bool has_places() const { return !merges_neighbours_; }

  // Null: the profile has no such key.
  const ViewKey* find(const ChosenKey& chosen) const;
  // A key of this table as one that is chosen.
  ChosenKey choose(const Profile& profile, const ViewKey& key) const;

  // Appends the keys of a stack, innermost first. A small function of the kernel or of Go's
  // runtime that ran is of the category of the next one that called it.
  void append(std::span<const LocationId> stack, std::vector<KeyId>& keys) const;

private:
  std::vector<ViewKey> keys_;
  std::vector<KeyId> ids_;  // of location i: [begins_[i], begins_[i + 1])
  std::vector<size_t> begins_ = {0};
  bool merges_neighbours_;
};

// The keys of samples in one dimension: of a dimension of frames, those of the innermost
// frames. Samples that have none, no label of that key for one, have the key "(none)".
struct SampleKeys {
  std::vector<ViewKey> keys;
  std::vector<KeyId> ids;  // of each sample
};
SampleKeys sample_keys(const Profile& profile, std::span<const SampleCount> samples,
                       const Dimension& dimension);

// The programs that samples are of: processes of one name, on whatever host, are one. The first
// key is the one with the most samples.
SampleKeys program_keys(const Profile& profile, std::span<const SampleCount> samples);

// Program keys as groups above a tree: paths of several programs begin with their names, where
// no program has nearly all samples. Without, paths of two Go programs would both begin with
// runtime.goexit.
std::vector<SampleKeys> program_groups(const Profile& profile,
                                       std::span<const SampleCount> samples);

// A process of a profile: what has one number on one host.
struct ProfiledProcess {
  uint32_t host = 0;  // number of the host, as Hosts has it
  uint32_t pid = 0;
  StringId comm{};      // the name that it had in most of its samples
  uint64_t amount = 0;  // Profile::amount of them
};

// The hosts of the recordings of a profile, numbered from 0.
class Hosts {
public:
  explicit Hosts(const Profile& profile);

  uint32_t of(const Owner& owner) const { return of_recording(owner.recording); }
  uint32_t of_recording(uint32_t recording) const {
    return recording < numbers_.size() ? numbers_[recording] : 0;
  }
  std::string_view name(uint32_t host) const { return names_[host]; }
  // " on web-1", where there are several hosts; else empty.
  std::string suffix(uint32_t host) const;

private:
  std::vector<uint32_t> numbers_;  // of each recording
  std::vector<std::string> names_;
};

// The most samples first.
std::vector<ProfiledProcess> find_processes(const Profile& profile,
                                            std::span<const SampleCount> samples,
                                            const Hosts& hosts);

// Processes of one name, on whatever host.
struct ProfiledProgram {
  StringId comm{};
  uint64_t amount = 0;
  std::vector<ProfiledProcess> processes = {};  // the most samples first
};
// The most samples first.
std::vector<ProfiledProgram> find_programs(const Profile& profile,
                                           std::span<const SampleCount> samples,
                                           const Hosts& hosts);

}  // namespace gosym
