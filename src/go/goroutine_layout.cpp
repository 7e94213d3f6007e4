#include "go/goroutine_layout.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "go/code_operands.h"

// Four parts. The layout of g and m by release comes from two tables, one of reasons to wait
// and one of offsets; the place of allgs from the operands of a function that uses it; the
// place of the g of a thread from a sequence of instructions that every release has. Nothing
// here reads the memory of a process: all is learned from the file.

namespace gosym::go {

namespace {

// Reasons to wait, of the waitReasonStrings of the runtime, and the releases Go 1.`since` to
// 1.`until` that have it. The rows of a release are its reasons in order: a number is the place
// among these. A reason that has moved has two rows.
struct WaitReason {
  std::string_view text;
  uint32_t since = kFirstGoroutineMinor;
  uint32_t until = UINT32_MAX;

  constexpr bool is_of(uint32_t minor) const { return since <= minor && minor <= until; }
};
constexpr WaitReason kWaitReasons[] = {
    {""},
    {"GC assist marking"},
    {"IO wait"},
    {"chan receive (nil chan)", 15, 25},
    {"chan send (nil chan)", 15, 25},
    {"dumping heap"},
    {"garbage collection"},
    {"garbage collection scan"},
    {"panicwait"},
    {"select", 15, 25},
    {"select (no cases)", 15, 25},
    {"GC assist wait"},
    {"GC sweep wait"},
    {"GC scavenge wait"},
    {"chan receive", 15, 25},
    {"chan send", 15, 25},
    {"finalizer wait"},
    {"force gc (idle)"},
    {"GOMAXPROCS updater (idle)", 25},
    {"semacquire"},
    {"sleep"},
    {"chan receive (nil chan)", 26},
    {"chan send (nil chan)", 26},
    {"select (no cases)", 26},
    {"select", 26},
    {"chan receive", 26},
    {"chan send", 26},
    {"sync.Cond.Wait"},
    {"timer goroutine (idle)", 15, 19},
    {"sync.Mutex.Lock", 20},
    {"sync.RWMutex.RLock", 20},
    {"sync.RWMutex.Lock", 20},
    {"sync.WaitGroup.Wait", 24},
    {"trace reader (blocked)"},
    {"wait for GC cycle"},
    {"GC worker (idle)"},
    {"GC worker (active)", 20},
    {"preempted"},
    {"debug call"},
    {"GC mark termination", 20},
    {"stopping the world", 20},
    {"flushing proc caches", 22},
    {"trace goroutine status", 22},
    {"trace proc status", 22},
    {"page trace flush", 22},
    {"coroutine", 22},
    {"GC weak to strong wait", 23},
    {"synctest.Run", 24},
    {"synctest.Wait", 24},
    {"chan receive (synctest)", 24, 24},
    {"chan send (synctest)", 24, 24},
    {"select (synctest)", 24, 24},
    {"chan receive (durable)", 25},
    {"chan send (durable)", 25},
    {"select (durable)", 25},
    {"sync.WaitGroup.Wait (durable)", 25},
    {"cleanup wait", 25},
};

// Made while this is compiled, for layouts borrow the texts of their release.
template <uint32_t minor>
constexpr auto kReasonsOf = [] {
  auto is_of = [](const WaitReason& reason) { return reason.is_of(minor); };
  std::array<std::string_view, std::ranges::count_if(kWaitReasons, is_of)> texts;
  size_t count = 0;
  for (const WaitReason& reason : kWaitReasons)
    if (reason.is_of(minor))
      texts[count++] = reason.text;
  return texts;
}();

constexpr ReleaseRow<std::span<const std::string_view>> kReasons[] = {
    {15, kReasonsOf<15>}, {20, kReasonsOf<20>}, {22, kReasonsOf<22>}, {23, kReasonsOf<23>},
    {24, kReasonsOf<24>}, {25, kReasonsOf<25>}, {26, kReasonsOf<26>},
};
constexpr uint32_t kFirstParent = 21;  // the first release with a parent
// Bytes from the wait reason to the count of switches, from a release on.
constexpr ReleaseRow<uint16_t> kSwitchCounts[] = {{17, 13}, {21, 12}, {22, 15}};
constexpr uint32_t kFirstSmallG = 26;  // with a word more between lockedm and labels

// The other offsets follow from those of the runtime layout.
GoroutineLayout layout_of(uint32_t minor, const RuntimeLayout& runtime) {
  // Fields keep their distances to neighbours over many releases, so a few of them tell the
  // others. All distances were read from the DWARF of programs.
  auto at = [](int offset) { return static_cast<uint16_t>(offset); };
  GoroutineLayout layout = {.runtime = runtime,
                            .status = at(runtime.g_goid - 8),
                            .wait_since = at(runtime.g_goid + 16),
                            .wait_reason = at(runtime.g_goid + 24),
                            .syscall_sp = at(runtime.g_sched_bp + 8),
                            .created_at = at(runtime.g_labels - 64),
                            .start = at(runtime.g_labels - 48),
                            .thread_id = at(runtime.m_gsignal - 8),
                            .wait_reasons = {}};
  // A field between lockedm and labels was added in Go 1.21, another in 1.26: both count
  // backwards from labels.
  int before_labels = minor >= kFirstSmallG ? 144 : minor >= kFirstParent ? 136 : 128;
  layout.locked_thread = at(runtime.g_labels - before_labels);
  if (minor >= kFirstParent)
    layout.parent = at(layout.created_at - 8);
  if (auto distance = value_in(kSwitchCounts, minor))
    layout.switch_count = at(layout.wait_reason + *distance);
  layout.wait_reasons = value_in(kReasons, minor).value_or(layout.wait_reasons);
  return layout;
}

}  // namespace

std::string_view to_string(GoroutineStatus status) {
  switch (status) {
    case GoroutineStatus::kIdle:
      return "idle";
    case GoroutineStatus::kRunnable:
      return "runnable";
    case GoroutineStatus::kRunning:
      return "running";
    case GoroutineStatus::kSyscall:
      return "syscall";
    case GoroutineStatus::kWaiting:
      return "waiting";
    case GoroutineStatus::kDead:
    case GoroutineStatus::kDeadExtra:
      return "dead";
    case GoroutineStatus::kCopiesStack:
      return "copystack";
    case GoroutineStatus::kPreempted:
      return "preempted";
    case GoroutineStatus::kLeaked:
      return "leaked";
  }
  return "";
}

std::optional<GoroutineLayout> goroutine_layout(std::string_view go_version) {
  auto minor = minor_of_release(go_version);
  auto runtime = runtime_layout(go_version);
  if (!minor || *minor < kFirstGoroutineMinor || !runtime)
    return std::nullopt;
  return layout_of(*minor, *runtime);
}

GoroutineLayout newest_goroutine_layout() {
  // Go 1.27 is the last row of kReleases: a row that follows is to be named here.
  GoroutineLayout layout = *goroutine_layout("go1.27");
  layout.wait_reasons = {};
  return layout;
}

namespace {

struct Release {
  uint32_t minor;
  RuntimeLayout layout;
};

// g: m, sched.sp, sched.bp, goid, labels, stkbar, stackguard; m: gsignal, curg; map, callback.
constexpr Release kReleases[] = {
    {2, {0, 40, 0, 0, 0, 0, 120, 88, 136, false, 0}},
    {3, {0, 40, 0, 0, 0, 0, 120, 88, 136, false, 0}},
    {4, {176, 48, 0, 128, 0, 0, 0, 64, 112, false, 16}},
    {5, {48, 64, 0, 184, 0, 136, 0, 80, 160, false, 24}},
    {6, {48, 64, 0, 192, 0, 136, 0, 80, 152, false, 24}},
    {7, {48, 64, 112, 192, 0, 136, 0, 80, 152, false, 32}},
    {8, {48, 64, 112, 192, 0, 136, 0, 80, 152, false, 32}},
    {9, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {10, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {11, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {12, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {13, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {14, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {15, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {16, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 40}},
    {17, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {18, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {19, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {20, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {21, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 40}},
    {22, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 40}},
    {23, {48, 56, 104, 160, 352, 0, 0, 80, 192, true, 40}},
    {24, {48, 56, 104, 160, 352, 0, 0, 80, 192, false, 40}},
    {25, {48, 56, 96, 152, 344, 0, 0, 72, 184, false, 40}},
    {26, {48, 56, 96, 152, 352, 0, 0, 72, 184, false, 40}},
    {27, {48, 56, 96, 152, 352, 0, 0, 72, 184, false, 40}},
};

}  // namespace

std::optional<uint32_t> minor_of_release(std::string_view version) {
  constexpr std::string_view kPrefix = "go1.";
  if (!version.starts_with(kPrefix))
    return std::nullopt;
  version.remove_prefix(kPrefix.size());
  uint32_t minor = 0;
  auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), minor);
  if (error != std::errc())
    return std::nullopt;
  version.remove_prefix(static_cast<size_t>(end - version.data()));
  // "go1.21-custom" may have another layout; "go1.21 X:exp" has that of the release.
  bool is_release = version.empty() || version.starts_with('.') || version.starts_with("rc") ||
                    version.starts_with(' ');
  return is_release ? std::optional(minor) : std::nullopt;
}

std::optional<RuntimeLayout> runtime_layout(std::string_view go_version) {
  auto minor = minor_of_release(go_version);
  for (const Release& release : kReleases)
    if (minor == release.minor)
      return release.layout;
  return std::nullopt;
}

namespace {

constexpr uint64_t kWord = 8;

std::vector<ImageAddress> three_words(const CodeOperands& operands) {
  std::vector<ImageAddress> found;
  // Three words in a row, each of which an instruction names by itself, are a slice: address,
  // length and capacity.
  auto is_word = [&](uint64_t address) { return operands.contains({address, kWord}); };
  for (const CodeOperand& operand : operands)
    if (is_word(operand.address) && is_word(operand.address + kWord) &&
        is_word(operand.address + 2 * kWord) && operand.size == kWord)
      found.push_back(ImageAddress{operand.address});
  return found;
}

}  // namespace

std::vector<ImageAddress> find_allgs(uint16_t machine, Bytes code, ImageAddress address) {
  return three_words(code_operands(machine, code, address));
}

std::vector<ImageAddress> find_allgs(const Module& module) {
  return three_words(code_operands(module, {"runtime.allgadd"})["runtime.allgadd"]);
}

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kStoreToThread = "\x64\x48\xc7"sv;
constexpr std::string_view kToOffset = "\x04\x25"sv;
constexpr std::string_view kToRegister = "\x03\x23\x01\0\0"sv;
constexpr std::string_view kSetRegister = "\x48\xc7\xc3"sv;
constexpr std::string_view kLoadRegister = "\x48\x8b\x1d"sv;
constexpr uint32_t kStored = 0x123;
constexpr size_t kBefore = 7;  // bytes of the instruction that sets the register

int32_t signed_at(Bytes code, size_t offset) {
  return static_cast<int32_t>(load<uint32_t>(code, offset).value_or(0));
}

// Reads what may be the store at `at`, where kStoreToThread is.
std::optional<GoroutinePointer> read_store(Bytes code, size_t at, ImageAddress address) {
  std::string_view text = as_text(code);
  std::string_view operand = text.substr(at + kStoreToThread.size());
  // The store has its offset in it: the 32 bits follow the opcode, ModRM and SIB.
  if (operand.starts_with(kToOffset) && load<uint32_t>(code, at + 9) == kStored)
    return GoroutinePointer{signed_at(code, at + 5), std::nullopt};
  if (!operand.starts_with(kToRegister) || at < kBefore)
    return std::nullopt;
  // Else the instruction right before it has put the offset, or what lies there, into rbx.
  std::string_view before = text.substr(at - kBefore, kBefore);
  int32_t value = signed_at(code, at - 4);
  if (before.starts_with(kSetRegister))
    return GoroutinePointer{value, std::nullopt};
  // The distance of this one counts from the store, which is the next instruction.
  if (before.starts_with(kLoadRegister))
    return GoroutinePointer{
        0, ImageAddress{to_integer(address) + at + static_cast<uint64_t>(int64_t{value})}};
  return std::nullopt;
}

}  // namespace

std::optional<GoroutinePointer> find_goroutine_pointer(Bytes code, ImageAddress address) {
  // The bytes may occur elsewhere, as the thread's memory has more than one variable.
  std::string_view text = as_text(code);
  for (size_t at = text.find(kStoreToThread); at != text.npos;
       at = text.find(kStoreToThread, at + 1))
    if (auto found = read_store(code, at, address))
      return found;
  return std::nullopt;
}

namespace {

constexpr uint32_t kLoadG = 0xf87b681c;
constexpr uint32_t kStoreG = 0xf83b681c;
// add x0, x0, x27; ldr or str x28, [x0]
constexpr uint32_t kAddOffset = 0x8b1b0000;
constexpr uint32_t kLoadAddedG = 0xf940001c;
constexpr uint32_t kStoreAddedG = 0xf900001c;
constexpr uint32_t kReadThreadPointer = 0xd53bd040;
constexpr uint32_t kLoadedRegister = 27;

// A part of an instruction.
constexpr uint32_t bits(uint32_t instruction, uint32_t first, uint32_t count) {
  return instruction >> first & ((uint32_t{1} << count) - 1);
}

// movz x27, N, or movk, with N in its place; none of other instructions.
std::optional<uint32_t> moved(uint32_t instruction, uint32_t opcode) {
  if (bits(instruction, 23, 9) != opcode || bits(instruction, 0, 5) != kLoadedRegister ||
      bits(instruction, 21, 2) > 1)
    return std::nullopt;
  return bits(instruction, 5, 16) << 16 * bits(instruction, 21, 2);
}

// The operand of adrp x27, which is at `address`, and of the load that follows.
std::optional<uint64_t> loaded_place(uint32_t page, uint32_t load, uint64_t address) {
  if ((page & 0x9f000000) != 0x90000000 || bits(page, 0, 5) != kLoadedRegister ||
      (load & 0xffc00000) != 0xf9400000 ||
      bits(load, 0, 10) != (kLoadedRegister << 5 | kLoadedRegister))
    return std::nullopt;
  // The distance in pages has 21 bits: 19 at bit 5, the lower two at bit 29. Shifted by 12 it
  // is a number of 33 bits with a sign.
  uint64_t distance = uint64_t{bits(page, 5, 19)} << 14 | uint64_t{bits(page, 29, 2)} << 12;
  if (bits(page, 23, 1) != 0)
    distance -= uint64_t{1} << 33;
  return (address & ~uint64_t{0xfff}) + distance + 8 * uint64_t{bits(load, 10, 12)};
}

// The forms above find_goroutine_pointer_arm64(): `code` ends before the load or store of g,
// and is read backwards.
std::optional<GoroutinePointer> read_load(Bytes code, ImageAddress address) {
  constexpr uint32_t kMovz = 0x1a5;
  constexpr uint32_t kMovk = 0x1e5;
  auto before = [&](size_t count) {
    return code.size() < 4 * count ? 0
                                   : load<uint32_t>(code, code.size() - 4 * count).value_or(0);
  };
  // The shortest form: one movz has all of the offset.
  if (auto offset = moved(before(1), kMovz); offset && before(2) == kReadThreadPointer)
    return GoroutinePointer{int64_t{*offset}, std::nullopt};
  if (before(3) != kReadThreadPointer)
    return std::nullopt;
  auto high = moved(before(2), kMovz);
  auto low = moved(before(1), kMovk);
  if (high && low)
    return GoroutinePointer{int64_t{*high | *low}, std::nullopt};
  // Else adrp and ldr are the two before.
  auto place = loaded_place(before(2), before(1), to_integer(address) + code.size() - 8);
  return place ? std::optional(GoroutinePointer{0, ImageAddress{*place}}) : std::nullopt;
}

}  // namespace

std::optional<GoroutinePointer> find_goroutine_pointer_arm64(Bytes code, ImageAddress address) {
  for (size_t at = 0; at + 4 <= code.size(); at += 4) {
    uint32_t instruction = load<uint32_t>(code, at).value_or(0);
    // Up to Go 1.16 the two are added first.
    bool is_added = at >= 4 && load<uint32_t>(code, at - 4).value_or(0) == kAddOffset &&
                    (instruction == kLoadAddedG || instruction == kStoreAddedG);
    if (!is_added && instruction != kLoadG && instruction != kStoreG)
      continue;
    if (auto found = read_load(code.first(at - (is_added ? 4 : 0)), address))
      return found;
  }
  return std::nullopt;
}

}  // namespace gosym::go
