#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shared_vector.h"
#include "model/address.h"
#include "model/call.h"
#include "model/recording.h"
#include "profile/owners.h"

namespace gosym {

// Keeps one copy of each string and gives out dense ids, in order of first use. Here borrowed
// text becomes owned: a Profile holds ids only and outlives every file they came from. Id 0 is
// "".
class StringPool {
public:
  StringPool();
  ~StringPool();
  // A copy shares the texts until one of both gets a new one.
  StringPool(const StringPool& other);
  StringPool& operator=(const StringPool& other);
  StringPool(StringPool&&) noexcept;
  StringPool& operator=(StringPool&&) noexcept;

  StringId intern(std::string_view text);

  // Valid as long as the pool, wherever it is moved, and as a copy that shares it.
  std::string_view operator[](StringId id) const {
    return table_->texts[static_cast<size_t>(id)];
  }
  size_t size() const { return table_->texts.size(); }
  // In bytes, about.
  uint64_t memory() const;

private:
  struct Table {
    Table() = default;
    Table(const Table& other);

    uint64_t text_size = 0;
    std::deque<std::string> texts;  // a deque: the keys below point into it
    tsl::robin_map<std::string_view, StringId> ids;
  };
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

// Amounts of steps that follow each other, spread over `count` equal parts of a length; a step
// that lies in two of them is split. `step` and `length` are of one unit.
std::vector<double> spread(const std::vector<uint64_t>& amounts, double step, double length,
                           size_t count);

// A round number of nanoseconds, a millisecond or more, so that there are no more steps of it
// than that: 1, 2 or 5 and zeros.
uint64_t round_step(uint64_t duration, uint64_t steps);

// The steps of time, in nanoseconds, that a page keeps of a recording so long: what fits on a
// screen, some 50 rows of seconds, or some thousand columns. What is shown of the time of the
// recording itself has whole ones, or a page read back would show another.
uint64_t step_of_page(uint64_t duration);

// The distribution of an amount over time, in steps of equal length. Steps grow tenfold with
// the time there is: up to 20,000 of them, which are parts of the steps of a page.
class Timeline {
public:
  explicit Timeline(uint64_t step = 1'000'000) : step_(step) {}

  // `time` is in nanoseconds since it began.
  void add(uint64_t time, uint64_t amount);
  // The amount evenly from one time to another.
  void add_interval(uint64_t begin, uint64_t end, uint64_t amount);
  // The amounts of another, which began at that time of this one.
  void add(const Timeline& other, uint64_t begin);

  uint64_t step() const { return step_; }                            // in nanoseconds
  const std::vector<uint64_t>& amounts() const { return amounts_; }  // of each step, in order

  // The amounts of `count` equal parts of the time up to `duration`.
  std::vector<double> parts(size_t count, uint64_t duration) const;

private:
  void lengthen_steps(uint64_t factor);

  uint64_t step_;
  std::vector<uint64_t> amounts_;
};

// The profile: samples of stacks of locations. replay fills it with addresses, the symbolizer
// puts frames to the locations, outputs read it. It is a plain value: it owns all it names.
//
// Ids are indices into the vectors of the Profile.

enum class MappingId : uint32_t {};
enum class LocationId : uint32_t {};
enum class FunctionId : uint32_t {};
enum class StackId : uint32_t {};

constexpr size_t to_index(MappingId id) {
  return static_cast<size_t>(id);
}
constexpr size_t to_index(LocationId id) {
  return static_cast<size_t>(id);
}
constexpr size_t to_index(FunctionId id) {
  return static_cast<size_t>(id);
}
constexpr size_t to_index(StackId id) {
  return static_cast<size_t>(id);
}

// A file's answer to which code of it is its program's own, as is_own() takes it.
struct OwnCode {
  // All are compared with each function, and a stranger's file may name any number.
  static constexpr size_t kMaxModules = 64;

  std::vector<std::string> modules = {};  // of Go; none: they are not known
  bool is_executable = false;
  bool has_sources = false;  // it tells of which source files its functions are

  bool operator==(const OwnCode&) const = default;
};

// The file, or else the kind of memory, that code was mapped from.
struct ProfileImage {
  enum class Kind : uint8_t {
    kFile,
    kKernel,     // the kernel with its modules
    kVdso,       // the code the kernel maps into each process
    kAnonymous,  // no file: code made at run time
  };
  Kind kind = Kind::kFile;
  RecordedImage file;              // for the others only `path` is set: "[vdso]", "//anon"
  std::string debug_package = {};  // that would name its code, "libc6-dbg"; empty: not known
  // It has names, and its file was known by size and time of change alone.
  bool is_told_by_time = false;
  OwnCode own = {};  // set by the symbolizer, if there are samples of it
  // Other images of the recording that are the same build, and are this one here: each
  // container has a copy. Files that the recording keeps may be of any of them.
  std::vector<ImageId> copies = {};
};

// Part of an image at a place in memory: the same for every process that has it there, unless
// it holds code that the process itself names. Mapping 0 is none; mapping 1 is the kernel.
struct Mapping {
  uint32_t image = 0;  // index into Profile::images
  uint64_t start = 0;
  uint64_t limit = 0;  // first address after it
  uint64_t file_offset = 0;
  uint32_t perf_map = 0;  // number of the recording's perf map for it, from 1; 0: none

  uint64_t file_offset_of(RuntimeAddress address) const {
    return file_offset + (to_integer(address) - start);
  }
  bool operator==(const Mapping&) const = default;
};
inline constexpr MappingId kNoMapping{0};
inline constexpr MappingId kKernelMapping{1};

// The table that a frame's name comes from. Pages have the numbers: a new one is the last.
enum class FrameSource : uint8_t {
  kPclntab,
  kPclntabDerived,  // where the code of the table lies is derived, not told by the file
  kDwarf,
  kSymtab,
  kMiniDebugInfo,  // the .symtab in .gnu_debugdata
  kDynsym,
  kPlt,    // a stub that calls a function of another image
  kLabel,  // a symbol without a size, of any of these tables: a guess
  // No name: call frame information, or Go's table with emptied names, tells the function from
  // others. It is called by the file and by where it begins in it, "cc1plus!fun_6d6ad0".
  kCallFrames,
  kKallsyms,
  kKernelCode,  // told when it was loaded
  kVdso,
  kPerfMap,
  kGiven,    // a profile that was read has it
  kGivenGo,  // the same, of a Go function
  kGsym,     // an index that was made of the file
  kGsymGo,   // the same, of a Go program
};

// In the order of their numbers. The page's script has its words from here (page_schema.py).
struct SourceRow {
  FrameSource source;
  std::string_view word;
  bool is_go;
};
// clang-format off
inline constexpr SourceRow kSourceRows[] = {
    {FrameSource::kPclntab, "pclntab", true},
    {FrameSource::kPclntabDerived, "pclntab, derived text base", true},
    {FrameSource::kDwarf, "dwarf", false},
    {FrameSource::kSymtab, "symtab", false},
    {FrameSource::kMiniDebugInfo, "gnu_debugdata", false},
    {FrameSource::kDynsym, "dynsym", false},
    {FrameSource::kPlt, "plt", false},
    {FrameSource::kLabel, "label, guess", false},
    {FrameSource::kCallFrames, "call frames, no name", false},
    {FrameSource::kKallsyms, "kallsyms", false},
    {FrameSource::kKernelCode, "BPF program", false},
    {FrameSource::kVdso, "vdso", false},
    {FrameSource::kPerfMap, "perf map", false},
    {FrameSource::kGiven, "the profile", false},
    {FrameSource::kGivenGo, "the profile", true},
    {FrameSource::kGsym, "gsym", false},
    {FrameSource::kGsymGo, "gsym", true},
};
// clang-format on
inline std::string_view to_string(FrameSource source) {
  return kSourceRows[static_cast<size_t>(source)].word;
}
inline bool is_go(FrameSource source) {
  return kSourceRows[static_cast<size_t>(source)].is_go;
}

struct Function {
  StringId name{};
  StringId system_name{};   // as the linker has it, where an output needs it; else as `name`
  StringId file{};          // "" if unknown
  uint32_t start_line = 0;  // 0 if unknown
  StringId package{};       // import path of Go, crate of Rust; "": not known
  StringId declared{};      // the file that it is declared in; "": not known

  bool operator==(const Function&) const = default;
};

// A call at a location. The file of the line is the function's.
struct Frame {
  FunctionId function{};
  uint32_t line = 0;  // 0 if unknown
  FrameSource source{};
  FunctionKind kind = FunctionKind::kNormal;
};

// Why a location has no name. Pages have the numbers: a new one is the last.
enum class Unnamed : uint8_t {
  kNotSymbolized,    // the symbolizer has not been there
  kUnmapped,         // nothing was mapped there, as far as is known
  kAnonymous,        // code that no file holds, made at run time
  kUnlisted,         // the same, and the process's perf map leaves it out
  kVdso,             // code the kernel maps into each process
  kUnidentified,     // the recorder could not open the file, so that none can be trusted now
  kDeleted,          // the file was deleted or replaced while it was running
  kMissing,          // the file cannot be opened now
  kChanged,          // the file is not the one that was running
  kStripped,         // the file has no symbol table, or none but the dynamic one
  kNoSymbol,         // the file has symbols, but none for this address
  kNoKernelSymbols,  // the recording has no symbols of the kernel
  kLeftOut,          // no code: so many frames as `address` says, from the middle of a stack
  kCallFromC,        // no code: a goroutine that C code entered was running, somewhere
};

// In the order of their numbers. The page's script has its words from here (page_schema.py).
struct UnnamedRow {
  Unnamed reason;
  std::string_view word;
  bool is_about_file;  // the reason lies in the image's file, so that the file is worth naming
  std::string_view sentence;
};
// clang-format off
inline constexpr UnnamedRow kUnnamedRows[] = {
    {Unnamed::kNotSymbolized, "not symbolized", false, "it was not looked up"},
    {Unnamed::kUnmapped, "no mapping", false, "nothing was mapped there, as far as is known"},
    {Unnamed::kAnonymous, "anonymous", false,
     "the code was made at run time, and no file holds it"},
    {Unnamed::kUnlisted, "anonymous", false,
     "the code was made at run time, and the process's perf map leaves it out"},
    {Unnamed::kVdso, "vdso", false, "it is code that the kernel maps into each process"},
    {Unnamed::kUnidentified, "unidentified", true, "the recorder could not open the file"},
    {Unnamed::kDeleted, "deleted", true,
     "the file was deleted or replaced while it was running"},
    {Unnamed::kMissing, "missing", true, "the file cannot be opened now"},
    {Unnamed::kChanged, "changed", true, "the file is not the one that was running"},
    {Unnamed::kStripped, "stripped", true, "the file has no symbol table"},
    {Unnamed::kNoSymbol, "no symbol", true, "the file has symbols, but none for this address"},
    {Unnamed::kNoKernelSymbols, "kernel", false, "the recording has no symbols of the kernel"},
    {Unnamed::kLeftOut, "left out", false, "frames of the middle of the stack are left out"},
    {Unnamed::kCallFromC, "running, called from C", false,
     "it is a goroutine that C code entered, which has no stack to be read while it runs"},
};
// clang-format on
inline std::string_view to_string(Unnamed reason) {
  return kUnnamedRows[static_cast<size_t>(reason)].word;
}
inline bool is_about_file(Unnamed reason) {
  return kUnnamedRows[static_cast<size_t>(reason)].is_about_file;
}

constexpr bool words_are_in_order() {
  for (size_t i = 0; i < std::size(kSourceRows); i++)
    if (static_cast<size_t>(kSourceRows[i].source) != i)
      return false;
  for (size_t i = 0; i < std::size(kUnnamedRows); i++)
    if (static_cast<size_t>(kUnnamedRows[i].reason) != i)
      return false;
  return true;
}
static_assert(words_are_in_order());

// True if a location stands in a stack for what is not known of it, so that there is none to
// name.
inline bool is_no_code(Unnamed reason) {
  return reason == Unnamed::kLeftOut || reason == Unnamed::kCallFromC;
}

// A distinct address that samples passed through.
struct Location {
  MappingId mapping = kNoMapping;
  RuntimeAddress address{};
  // Only where `mapping` is of a file whose segments cover the address, or of the vdso.
  std::optional<ImageAddress> image_address{};
  // The name of kernel code that was loaded during the recording, such as a BPF program; else
  // empty.
  StringId kernel_name{};
  // The address follows a call: the call itself lies before it.
  bool is_return = false;
  // Bytes of the perf map that were there when the code ran, where that tells it from other
  // code.
  uint64_t told_size = UINT64_MAX;
  // It is no frame of the stack whose last location it is, but where the goroutine was created
  // that this is of: the return address of the go statement.
  bool is_creator = false;

  // Set by the symbolizer. Innermost first: all but the last frame were inlined. No frames, or
  // one of FrameSource::kCallFrames: then `unnamed` says why there is no name.
  uint32_t first_frame = 0;
  uint32_t frame_count = 0;
  Unnamed unnamed{};

  // The address to look up and show for one of the location's addresses: that of the call.
  uint64_t call_of(uint64_t of) const { return of - (is_return && of > 0 ? 1 : 0); }
  // call_of() of the address in the image, which there has to be.
  ImageAddress call_in_image() const {
    return ImageAddress{call_of(to_integer(*image_address))};
  }
};

// One Label, its texts by number.
struct ProfileLabel {
  StringId key{};
  StringId value{};

  bool operator==(const ProfileLabel&) const = default;
};

// The numbers of samples whose user stack is not just the chain of frame pointers.
struct UnwindCounts {
  uint64_t samples = 0;   // of which all these are: before some stacks were selected
  uint64_t repaired = 0;  // a caller was put in that the chain skipped
  uint64_t cut = 0;       // it ends before its root
  uint64_t unknown = 0;   // it ends in code of which nobody knows whether it is a root
  uint64_t deep = 0;      // frames of its middle are left out
  uint64_t bridged = 0;   // it goes on from one stack to another, as a goroutine's
};

// Equal samples counted. What there are few values of is the owner's; a step of time and a CPU
// are the sample's own, as each owner has samples of nearly all of them.
struct SampleCount {
  StackId stack{};
  OwnerId owner{};  // number in Profile::owners
  uint64_t count = 0;
  uint64_t weight = 0;  // events that they stand for, in a weighted profile
  // Ticks of a clock that they stand for besides their own. An event of several values has no
  // ticks: others() takes the room.
  uint64_t skipped = 0;
  uint32_t step = 0;  // of time since the recording began; only if it was asked for
  uint32_t cpu = 0;   // likewise

  // Place in Profile::other_amounts of the other values, of an event that has several.
  uint64_t others() const { return skipped; }
  // Appends these amounts to the table, where the sample has them from now on.
  void set_others(std::span<const uint64_t> others, std::vector<uint64_t>& amounts) {
    skipped = amounts.size();
    amounts.insert(amounts.end(), others.begin(), others.end());
  }
};

// One of the recordings that a profile is of.
struct ProfiledRecording {
  std::string name;  // of the file, as it was given
  RecordingInfo info;
  uint64_t start_realtime_ns = 0;
  uint64_t duration_ns = 0;
};

// A process whose waits were too many for the threshold that was asked for, and the largest by
// which one of its samples was chosen.
struct RaisedThreshold {
  uint32_t recording = 0;  // index, as Owner has it
  uint32_t pid = 0;
  StringId process{};  // its name then
  uint64_t nanoseconds = 0;
};

// A copy shares the tables, samples included, until one of both changes them.
struct Profile {
  RecordingInfo info;  // of several recordings what they have in common, or a list of it
  std::vector<ProfiledRecording> recordings;  // empty: one, and nothing is known of its file
  uint64_t start_realtime_ns = 0;             // since 1970
  uint64_t duration_ns = 0;
  // A sentence for each recording that is damaged or has no end, about what is missing.
  std::vector<std::string> damage;
  RecordingStats stats;
  std::vector<Loss> losses;                        // times are those since the recording began
  std::vector<RaisedThreshold> raised_thresholds;  // the largest first
  UnwindCounts unwound;
  std::vector<UnwindCounts> unwound_by_event;  // of that those of each event
  std::vector<Timeline> timelines;             // of each event; what `filter` left
  uint64_t time_step = 0;                      // of SampleCount::step, in ns; 0: not asked for
  std::string filter;  // what of the recording this is, "--pid 4242"; empty: all of it
  std::optional<std::string> own_code;  // by what it is told, if only that is shown
  // By number in shown_events(), the amount of all samples before some stacks were selected;
  // empty: none were.
  std::vector<uint64_t> recorded_amounts;
  uint64_t idle_ns = 0;                // of waits that were left out (rewrite_stacks.h)
  uint64_t memory_limit = UINT64_MAX;  // bytes that what is made of its stacks may take

  StringPool strings;
  SharedVector<ProfileImage> images;
  SharedVector<Mapping> mappings;
  SharedVector<Location> locations;
  SharedVector<Function> functions;
  SharedVector<Frame> frames;
  // Location ids of all stacks, innermost first, one after the other: the kernel's part, then
  // the user's. Stack i is [stack_begin[i], stack_begin[i + 1]).
  SharedVector<LocationId> stack_locations;
  SharedVector<size_t> stack_begin = {0};
  SharedVector<std::vector<ProfileLabel>> label_sets = {{}};  // the first is empty
  Owners owners;
  SharedVector<SampleCount> samples;
  // All values but the first, of samples of several values; empty if no event has several.
  SharedVector<uint64_t> other_amounts;

  // Whose a sample is.
  const Owner& owner(const SampleCount& sample) const { return owners[sample.owner]; }
  // Makes it that of an owner that differs as `change(owner)` says.
  template <class Change>
  void change_owner(SampleCount& sample, Change change) {
    Owner changed = owner(sample);
    change(changed);
    sample.owner = owners.intern(changed);
  }

  // The begin of the profile's time, in ns since its first recording began: not 0 if a part of
  // the time was chosen. Steps of samples count from that recording's begin.
  uint64_t time_begin() const;
  // The step that this lies in; 0 without steps.
  uint64_t first_step() const { return time_step == 0 ? 0 : time_begin() / time_step; }

  std::span<const LocationId> stack(StackId id) const;
  size_t stack_count() const { return stack_begin.size() - 1; }
  void add_stack(std::span<const LocationId> stack);
  std::span<const Frame> frames_of(const Location& location) const;
  std::string_view name_of(FunctionId id) const {
    return strings[functions[to_index(id)].name];
  }
  const ProfileImage& image_of(MappingId id) const;
  // The address that Location::image_address is to have, by where its mapping lies and what is
  // known of the segments of the file.
  std::optional<ImageAddress> find_image_address(const Location& location) const;
  bool is_kernel(const Location& location) const { return location.mapping == kKernelMapping; }
  // True if the location's code has a name.
  bool is_named(const Location& location) const {
    return location.frame_count > 0 &&
           frames[location.first_frame].source != FrameSource::kCallFrames;
  }

  // The text that is shown for a location without frames: "[stripped libc.so.6+0x2724a]", with
  // the image address, or "[no mapping 0x7f...]", with the runtime address, or "… 4100 frames
  // …".
  std::string unnamed_text(const Location& location) const;

  // The event of a profile with samples of one event only, such as of_event() makes.
  const RecordedEvent& event() const { return info.events.front(); }
  // True if amounts are nanoseconds, and not events; and true if that is CPU time.
  bool measures_time() const { return gosym::measures_time(event()); }
  bool measures_cpu_time() const { return gosym::measures_cpu_time(event()); }
  // The nanoseconds, or events, that an amount of 1 stands for.
  uint64_t period(uint32_t event = 0) const;

  // Samples of most events weigh the same, save for ticks that were skipped before them. Of
  // others each stands for a number of events of its own, and what is to be compared are these.
  uint64_t amount(const SampleCount& sample) const {
    return is_weighted(info.events[owner(sample).event]) ? sample.weight
                                                         : sample.count + sample.skipped;
  }
  // Amounts of the other values of its event.
  std::span<const uint64_t> others_of(const SampleCount& sample) const {
    // Recordings have none, and far more samples than what has: their events are not asked.
    size_t count = other_amounts.empty() ? 0 : info.events[owner(sample).event].others.size();
    return count == 0 ? std::span<const uint64_t>()
                      : std::span(other_amounts.rows()).subspan(sample.others(), count);
  }
  // The amount of a value of its event; 0 is the number of the first.
  uint64_t amount(const SampleCount& sample, uint32_t value) const {
    return value == 0 ? amount(sample) : others_of(sample)[value - 1];
  }
  // Ticks of a clock that did not come and that a sample of so many nanoseconds stands for.
  uint64_t skipped_in(uint64_t weight, uint32_t event = 0) const;
  uint64_t total_count() const;  // of samples
  uint64_t total_amount() const;
};

// The memory of the tables of a profile in bytes, about, doubled for the hash tables that find
// their entries while they grow.
uint64_t memory_of(const Profile& profile);

// Images and mappings 0 and 1, as they are in every profile.
void add_fixed_mappings(Profile& profile);

// Makes the timelines of a profile of the steps of its samples; none if these have no steps.
void fill_timelines(Profile& profile);

// Counts of what is shown of a profile by this number in shown_events(), besides its samples.
struct EventCounts {
  UnwindCounts unwound;
  RecordingStats stats;
  std::vector<Loss> losses;
  std::vector<uint64_t> recorded_amounts;
  std::vector<Timeline> timelines;
};
EventCounts counts_of(const Profile& profile, uint32_t shown);

// The profile of one of its events alone, or of one of the values of an event, by its number in
// shown_events(). It shares what is known of code with the whole. Samples that have nothing of
// the value are left out.
Profile of_event(const Profile& profile, uint32_t shown);
// Adds a sample with the amounts of all values of its event, one at the least.
void add_with_values(Profile& profile, SampleCount sample, std::span<const uint64_t> amounts);
// The profile with each value as an event of its own, and a sample of each that is not 0: for
// those who know of one value a sample.
Profile with_values_apart(const Profile& profile);

// Puts the functions of Go calls into a profile, which must outlive this and gets functions
// from nobody else: those of one name and file are one.
class CalledFunctions {
public:
  explicit CalledFunctions(Profile& profile) : profile_(profile) {}

  FunctionId add(const Call& call);

private:
  Profile& profile_;
  std::map<std::pair<StringId, StringId>, FunctionId> ids_;  // by name and file
};

}  // namespace gosym
