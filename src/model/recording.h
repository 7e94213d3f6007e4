#pragma once

// The parts of a recording, as plain values: the recorder makes them, raw/ stores them, replay
// turns them into a profile. Addresses here are runtime addresses as the kernel gave them;
// times are nanoseconds of CLOCK_MONOTONIC.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/address.h"

namespace gosym {

// The kind of an event's amounts.
enum class Measure : uint8_t {
  kEvents,         // a number of what happened, or of bytes and the like
  kSamples,        // the samples themselves, of a file that says no more
  kGoroutines,     // each is counted once; other events have samples of what there was
  kClock,          // CPU time, by ticks of a clock
  kCpuTime,        // CPU time, counted in another way
  kWaiting,        // the time that threads waited
  kGoroutineTime,  // the time of goroutines, waiting included
  kTime,           // any other time
};

inline constexpr std::string_view kNanoseconds = "nanoseconds";
inline constexpr std::string_view kOffCpuEvent = "off-cpu";
inline constexpr std::string_view kWallEvent = "wall";
inline constexpr std::string_view kGoroutineEvent = "goroutine";  // of a dump

// The measure of an event of which only this is known, as of those in files. It is the only
// place that takes the name of an event for more than a name. Cycles stand for time if a
// frequency was set and not a period.
constexpr Measure measure_of(std::string_view name, uint64_t period, std::string_view unit) {
  if (name == kGoroutineEvent)
    return Measure::kGoroutines;
  if (name == "samples")
    return Measure::kSamples;
  if (unit == kNanoseconds)
    return name == "cpu"          ? Measure::kCpuTime
           : name == kOffCpuEvent ? Measure::kWaiting
           : name == kWallEvent   ? Measure::kGoroutineTime
                                  : Measure::kTime;
  if (!unit.empty())
    return Measure::kEvents;
  if (name == "cpu-clock" || name == "task-clock")
    return Measure::kClock;
  return name == "cycles" && period == 0 ? Measure::kCpuTime : Measure::kEvents;
}

// One of several values that samples of an event have.
struct EventValue {
  std::string name;  // "alloc_objects"
  std::string unit;  // as an event has it, but never empty
  Measure measure = measure_of(name, 1, unit);

  bool operator==(const EventValue&) const = default;
};

// An event that was counted, a sample being taken now and then. Text may be empty, numbers 0,
// if nothing is known.
struct RecordedEvent {
  std::string name;        // "cycles", "page-faults"
  uint64_t frequency = 0;  // samples a second; 0: as `period` says
  uint64_t period = 0;     // events from one sample to the next; 0: as `frequency` says
  // The unit of its samples' amounts: "nanoseconds", "bytes", "count", ... Empty: its name
  // says.
  std::string unit = {};
  // Whoever makes an event may know it better.
  Measure measure = measure_of(name, period, unit);
  // Values that each of its samples has besides the one that all this tells of: a heap profile
  // has three, recordings have none. With others, the event has a unit.
  std::vector<EventValue> others = {};
  // The place of that one in files that keep an order of values: there it and the value that
  // comes first have changed places.
  uint32_t place = 0;

  bool operator==(const RecordedEvent&) const = default;
};

// The number of values that a sample of the event has: that of the event itself is number 0,
// the others follow.
inline uint32_t value_count(const RecordedEvent& event) {
  return 1 + static_cast<uint32_t>(event.others.size());
}
// The number of the value in a place of a file, or the place of a value.
inline uint32_t in_file_order(const RecordedEvent& event, uint32_t number) {
  return number == 0 ? event.place : number == event.place ? 0 : number;
}
// True if samples of one of them have several values.
bool has_values(std::span<const RecordedEvent> events);
// Each value of the events as an event of its own, in their order: these can be shown, or
// chosen.
std::vector<RecordedEvent> shown_events(std::span<const RecordedEvent> events);
// The number in shown_events() of the first value of each event; at the end, how many there
// are.
std::vector<uint32_t> first_shown(std::span<const RecordedEvent> events);
inline uint32_t shown_count(std::span<const RecordedEvent> events) {
  return first_shown(events).back();
}

// True if samples stand for time that CPUs worked.
inline bool measures_cpu_time(const RecordedEvent& event) {
  return event.measure == Measure::kClock || event.measure == Measure::kCpuTime;
}
// True if samples stand for time, that of CPUs or another one; else they stand for events.
inline bool measures_time(const RecordedEvent& event) {
  return event.measure >= Measure::kClock;
}
// True if samples stand for different amounts: if neither a fixed time nor a fixed number of
// events lies between two of them.
inline bool is_weighted(const RecordedEvent& event) {
  return !event.unit.empty() || (event.period == 0 && !measures_cpu_time(event));
}
// True if samples are of intervals, each of which ends at the sample's time: see is_interval.
inline bool has_intervals(const RecordedEvent& event) {
  return event.measure == Measure::kWaiting && event.period != 0;
}
// Each of what there was is counted once; other events have samples of it.
inline bool is_counted(const RecordedEvent& event) {
  return event.measure == Measure::kGoroutines;
}

// The way and the place it was made. Text may be empty, numbers 0, if nothing is known.
struct RecordingInfo {
  std::string gosym_version;
  std::string host;
  std::string kernel_release;                // uname -r
  std::string machine;                       // uname -m
  std::string command_line;                  // of gosym record
  std::vector<RecordedEvent> events = {{}};  // never none
  uint32_t cpu_count = 0;                    // online when it started
  bool has_user = true;                      // user code was sampled
  bool has_kernel = true;                    // kernel code was sampled
  bool is_system_wide = false;
  std::vector<uint32_t> targets;  // process ids, when not system wide
  // The format it was read from, if not from a recording: "a pprof profile", "folded text".
  std::string source = {};
  bool has_counts = true;  // samples were counted; else what is equal counts as one
  // "bpf"; "perf": call chains of perf_event; "goroutines": only these were read; empty: bpf
  std::string sampler;
  std::string machine_id = {};  // bytes that tell machines of one name apart
};

// "cpu-clock at 99 Hz", "page-faults, one in 100", "off-cpu, one in 10 ms".
std::string event_text(const RecordedEvent& event);
// The name of its amounts, for people: "CPU time", "waiting", "page-faults", "inuse_space".
std::string amount_text(const RecordedEvent& event);

// One PT_LOAD segment.
struct LoadSegment {
  uint64_t file_offset = 0;
  uint64_t file_size = 0;
  uint64_t address = 0;  // p_vaddr
  uint64_t memory_size = 0;
  uint32_t flags = 0;  // PF_X | PF_W | PF_R

  bool operator==(const LoadSegment&) const = default;
};

// The image address of the code that is mapped from this byte of the file; none if no segment
// of code has it.
std::optional<ImageAddress> code_at(std::span<const LoadSegment> segments,
                                    uint64_t file_offset);

// Number of an image within one recording; 0 is no image.
enum class ImageId : uint32_t {};

// A file that code was mapped from, with all that is needed to know it again.
struct RecordedImage {
  ImageId id{};
  std::string path;  // as the process saw it, without a " (deleted)"
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;  // since 1970
  bool is_deleted = false;
  std::string gnu_build_id;  // raw bytes
  std::string go_build_id;   // text
  std::vector<LoadSegment> segments;
  std::string problem;  // why size, ids and segments are missing; empty if they are not
};

// Equal for copies of one build at one path, those of several containers or hosts: their code
// is the same. A file without a build id is known by its size and time of change.
struct ImageIdentity {
  explicit ImageIdentity(const RecordedImage& image)
      : path(image.path),
        build_id(image.gnu_build_id + image.go_build_id),
        size(image.size),
        mtime_ns(build_id.empty() ? image.mtime_ns : 0),
        is_deleted(image.is_deleted) {}
  auto operator<=>(const ImageIdentity&) const = default;

  std::string path;
  std::string build_id;
  uint64_t size;
  int64_t mtime_ns;
  bool is_deleted;
};

// A part of an image's file, for those that will be gone when the recording is read.
struct ImagePiece {
  ImageId image{};
  uint64_t offset = 0;  // in the file
  std::string bytes = {};
  uint64_t total = 0;        // set in the first piece of an image: the bytes of all its pieces
  std::string problem = {};  // why nothing of the file is kept, or not all that names its code
  // The build id by which the file is in a store, with no piece here; empty: it is in none.
  std::string stored_as = {};
};

// True if mappings of this path are memory that no file holds, or none with a name: code there
// was made at run time.
constexpr bool is_memory(std::string_view path) {
  for (std::string_view begin :
       {"//anon", "[anon", "[heap]", "[stack", "/memfd:", "/dev/zero", "/anon_hugepage"})
    if (path.starts_with(begin))
      return true;
  return false;
}

// Code was mapped. `image` is 0 for what no file backs: then `path` tells ("[vdso]", "//anon").
struct MapEvent {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t file_offset = 0;
  ImageId image{};
  std::string path;

  // First address after it; the end of memory for a length that would lead past it.
  uint64_t limit() const { return length > UINT64_MAX - start ? UINT64_MAX : start + length; }
};

// The size of a perf map, in bytes, from a time (CLOCK_MONOTONIC, ns) on.
struct PerfMapMark {
  uint64_t time = 0;
  uint64_t size = 0;
  bool operator==(const PerfMapMark&) const = default;
};

// The text in which a process described the code that it made at run time: proc/perf_map.h has
// its format.
struct RecordedPerfMap {
  uint64_t time = 0;  // when it ran the program that wrote this
  uint32_t pid = 0;
  std::string path;     // as the process sees it
  std::string text;     // empty if it was not to be trusted
  std::string problem;  // why the text, or a part of it, is missing; empty if it is all there
  std::vector<PerfMapMark> marks = {};  // as it was seen to grow; none: that is not known
};

// A thread changed its name. With `is_exec` its process runs a new program: all its mappings
// and other threads are gone.
struct CommEvent {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string comm;
  bool is_exec = false;
};

// A thread (pid == parent_pid) or a process began; a process has its parent's mappings.
struct ForkEvent {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t parent_pid = 0;
  uint32_t parent_tid = 0;
};

// A thread ended; a process ends with its last thread.
struct ExitEvent {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
};

// The kernel took in code that is none of its modules', a BPF program as a rule, or gave it up.
struct KernelCodeEvent {
  uint64_t time = 0;
  uint64_t address = 0;
  uint64_t length = 0;
  std::string name;  // "bpf_prog_6deef7357e7b4530_drop"
  bool is_removed = false;
};

// A cgroup of the hierarchy of cgroup v2 that was there or was made.
struct CgroupEvent {
  uint64_t time = 0;
  uint64_t id = 0;
  std::string path;  // from the root of the hierarchy: "/system.slice/nginx.service"
};

using Event =
    std::variant<MapEvent, CommEvent, ForkEvent, ExitEvent, KernelCodeEvent, CgroupEvent>;

inline uint64_t time_of(const Event& event) {
  return std::visit([](const auto& e) { return e.time; }, event);
}

// Why a user stack has no further frame.
enum class StackEnd : uint8_t {
  kRoot = 0,        // the frame pointer was 0, or there was no user stack
  kUnreadable = 1,  // the frame pointer led to memory that could not be read
  kBadFrame = 2,    // it was misaligned, or led down without being a switch of stacks
  kLimit = 3,       // the stack is deeper than the sampler walks
  kCallFromC = 4,   // there is none: of a goroutine that C code entered, and that was running
};

// Bytes of a stack, from the stack pointer on, that are looked at for anything of use.
inline constexpr uint64_t kMaxTopSize = 32 << 10;

// Up to where a sample can have words of a stack, from its stack pointer in bytes: further up
// only what points into the code of its Go program is taken, of the stack of a goroutine.
inline constexpr uint64_t kMaxWordOffset = 512 << 10;

// A word of a user stack that points into code, or to a place of the same stack: what is left
// of a stack that is enough to find callers in it. So are registers that a rule asks for, which
// may be numbers as well.
struct StackWord {
  // In bytes from the stack pointer, or the next multiple of 8 below it, which is what all
  // places are told from: a multiple of 8 below kMaxWordOffset. From there on registers follow,
  // each in its place (place_of_register).
  uint64_t offset = 0;
  // An address of code; or the offset of a place in the stack, up to kMaxTopSize: Linux maps no
  // code that low (vm.mmap_min_addr). In a register also a number of up to 32 bits, with
  // kNumber added. On the stack, where places lie above the word that has them, 0 is a word of
  // 0 that a function would return to: nothing called it.
  uint64_t value = 0;

  static constexpr uint64_t kNumber = uint64_t{1} << 63;

  bool is_place() const { return value <= kMaxTopSize; }
  bool is_zero() const { return value == 0 && !is_register(); }
  bool is_register() const { return offset >= kMaxWordOffset; }
  bool is_number() const { return is_register() && value >= kNumber; }
  bool operator==(const StackWord&) const = default;
};

// Registers that one sample may have.
inline constexpr uint64_t kMaxRegisters = 64;
// In the place of a register: the low 12 bits of the stack pointer, by which a rule may align.
// They are always there if it is no multiple of 8.
inline constexpr uint64_t kStackAlignment = kMaxRegisters - 1;

// Bytes below the stack pointer that code may use which calls nothing: the red zone of the ABI
// of x86-64.
inline constexpr uint64_t kRedZoneSize = 128;

// In the place of a register: the word so many bytes below the stack pointer, a multiple of 8
// up to kRedZoneSize. The nearest has the highest number, 62.
constexpr uint64_t register_of_red_zone(uint64_t below) {
  return kStackAlignment - below / 8;
}

constexpr uint64_t offset_of_register(uint64_t number) {
  return kMaxWordOffset + 8 * number;
}

// The number by which a sample tells a register that DWARF numbers so: those of the places
// above are passed over. kNoRegister: it has none.
inline constexpr uint64_t kEndOfRegisters = 1024;
inline constexpr uint64_t kNoRegister = kEndOfRegisters;
constexpr uint64_t place_of_register(uint64_t dwarf_number) {
  if (dwarf_number < register_of_red_zone(kRedZoneSize))
    return dwarf_number;
  return dwarf_number < kEndOfRegisters - kMaxRegisters ? kMaxRegisters + dwarf_number
                                                        : kNoRegister;
}

// The distance in bytes of the leaf's stack pointer above the place that offsets count from.
constexpr uint64_t misalignment(uint64_t stack_alignment) {
  return stack_alignment % 8;
}

// Likewise as a place of the stack, in the register that DWARF has for arm64's stack pointer,
// if offsets count from further down: Go code keeps frames there that begin 8 bytes below it.
inline constexpr uint64_t kStackPointerRegister = 31;

// The register of arm64 in which a function has what it returns to until it saves that.
inline constexpr uint64_t kLinkRegister = 30;

inline constexpr uint64_t kNoFrame = UINT64_MAX;

// Up to which distance from the stack pointer a frame pointer is believed to point into the
// same stack: those of Go grow to 1 GB at the most (runtime.maxstacksize).
inline constexpr uint64_t kMaxFrameDistance = 1 << 30;

// A place where a user stack goes on on another one: on the goroutine's that its thread has
// left for the runtime's or C code's, on the thread's where C code called Go code back, and so
// on.
struct StackSwitch {
  uint64_t start = 0;  // index in the user stack of the first frame there, not 0
  // The place of the word there that is returned to, from the stack pointer as all words are
  // told: those of this stack lie from there on, up to where the next has some. kNoFrame: there
  // are none.
  uint64_t place = kNoFrame;
  // The place that the frame pointer leads to then, as RecordedSample::frame_offset.
  uint64_t frame_offset = kNoFrame;

  bool operator==(const StackSwitch&) const = default;
};

// C code may have called Go code back 16 times, each time with two of them.
inline constexpr size_t kMaxSwitches = 34;

// A label that a Go program gave a goroutine, by runtime/pprof.
struct Label {
  std::string key;
  std::string value;

  auto operator<=>(const Label&) const = default;
};

// One tick. Stacks are innermost first: element 0 is where the CPU was, the others are return
// addresses. With a kernel stack, element 0 of the user stack is where user code entered the
// kernel. Either may be empty. The spans belong to whoever made the sample.
struct RecordedSample {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t cpu = 0;
  StackEnd user_end{};
  std::span<const uint64_t> kernel_stack;
  std::span<const uint64_t> user_stack;
  // The address in the frame pointer, from the stack pointer in bytes, a multiple of 8: the
  // second address of the user stack lies 8 bytes above. kNoFrame: not within
  // kMaxFrameDistance.
  uint64_t frame_offset = kNoFrame;
  std::span<const StackWord> words = {};  // by offset
  // The goroutine that the thread ran, if the sampler could read that.
  uint64_t goid = 0;                   // 0: none
  std::span<const Label> labels = {};  // by key
  // The index in the user stack of the goroutine's first frame, if the thread was on another
  // stack: that of the runtime, or of C code. Or the index of the first frame of C code that
  // called Go code. The frames up to there need not be all. 0: there is no such place.
  uint32_t goroutine_start = 0;
  // This place and all further ones, by `start`; none of a recording that has not noted them.
  std::span<const StackSwitch> switches = {};
  // The middle of a stack that is deeper than a sample holds is left out: `missing` frames
  // before the one with the index `gap` in the user stack. 0: none is missing.
  uint32_t gap = 0;
  uint32_t missing = 0;
  uint32_t event = 0;  // index into RecordingInfo::events: what it is a sample of
  // Events that it stands for, nanoseconds of a clock; 0: as the recording's info says.
  uint64_t weight = 0;
  uint64_t cgroup = 0;  // of the thread, a CgroupEvent tells its path; 0: unknown
  // The state of the thread or goroutine, "sleeping", and who ended that, "nginx (4242)";
  // empty: not known, as for samples of a CPU.
  std::string_view state = {};
  std::string_view waker = {};
  // If the user stack ends at the root of a goroutine: the return address of the go statement
  // that created it; 0: not known. It is no frame of the stack.
  uint64_t creator = 0;
  // For a wait: how often the threshold by which it was chosen had been doubled, for its
  // process had too many samples.
  uint32_t doublings = 0;
  // Objects and bytes that it stands for, as samples of allocations do; 0: it tells none.
  uint64_t objects = 0;
  uint64_t bytes = 0;
  // The chance by which what it is of was recorded at all, in parts of 2^32; 0: it was certain.
  uint32_t chance = 0;
};

// The threshold by which a sample of a wait was chosen, in nanoseconds.
uint64_t threshold_of(const RecordedEvent& event, const RecordedSample& sample);
// "10 ms": in the largest unit of which it is a whole number.
std::string time_text(uint64_t nanoseconds);

// True if a sample is of an interval that ends at its time and is as long as it weighs, or else
// of that point in time. A wait that is shorter than its process's doubled threshold weighs so
// much more than it lasted that it is a point.
bool is_interval(const RecordedEvent& event, const RecordedSample& sample);

// The counts of an event on a CPU since the start. If there are several events, the first has
// what is not known by event: lost side-band events and throttling.
struct CpuCounts {
  uint32_t cpu = 0;
  uint64_t samples = 0;       // stored
  uint64_t lost_samples = 0;  // no room in a ring
  uint64_t lost_events = 0;   // side-band events the kernel had no room for
  uint64_t throttled_ns = 0;  // that the kernel took no samples, for they took too much time
  uint64_t skipped = 0;       // ticks of a clock that did not come while targets ran
  uint64_t lost_ns = 0;       // of CPU time that the lost samples stand for, of a clock
  uint32_t event = 0;         // index into RecordingInfo::events

  bool operator==(const CpuCounts&) const = default;
};

// Without what was counted of other events.
CpuCounts of_event(CpuCounts counts, uint32_t event);

// Samples and events that were lost on a CPU between two times.
struct Loss {
  uint64_t begin = 0;
  uint64_t end = 0;
  CpuCounts counts;
};

// The counts up to `time`, since the start.
struct RecordingStats {
  uint64_t time = 0;
  uint64_t samples = 0;              // stored
  uint64_t lost_samples = 0;         // no room in a ring
  uint64_t lost_events = 0;          // side-band events the kernel had no room for
  std::vector<CpuCounts> cpus = {};  // the same by CPU and event
  // CPU time that the kernel charged to what was recorded, of the whole recording; 0: unknown.
  uint64_t charged_ns = 0;

  uint64_t sum_of(uint64_t CpuCounts::*what) const;
  // The ticks that should have come, of the events of which some were skipped.
  uint64_t due_ticks() const;
  // Percent of these; 0 if they are few: a busy machine skips some now and then, which changes
  // no figure.
  double skipped_percent() const;
};

// CPU time that the kernel charged and that has no sample, of the first clock that was sampled,
// in nanoseconds; negative: samples stand for more than it charged. Lost samples and ticks that
// others stand for are counted as samples. None: there is no clock, or only a part of its time
// was to be sampled, or the kernel does not tell; or it is less than 1 %, or may be chance.
std::optional<int64_t> unsampled_ns(const RecordingInfo& info, const RecordingStats& stats);

// So much of it, in percent of what was charged, that shares may be wrong.
inline constexpr double kMuchExcess = 5;

// Why there is no sample of ticks.
std::string why_skipped(const RecordingInfo& info);

}  // namespace gosym
