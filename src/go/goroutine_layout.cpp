#include "go/goroutine_layout.h"

#include <algorithm>
#include <array>

namespace gosym::go {

namespace {

// The waitReasonStrings of the runtime.
constexpr auto kReasons15 = std::to_array<std::string_view>({"",
                                                             "GC assist marking",
                                                             "IO wait",
                                                             "chan receive (nil chan)",
                                                             "chan send (nil chan)",
                                                             "dumping heap",
                                                             "garbage collection",
                                                             "garbage collection scan",
                                                             "panicwait",
                                                             "select",
                                                             "select (no cases)",
                                                             "GC assist wait",
                                                             "GC sweep wait",
                                                             "GC scavenge wait",
                                                             "chan receive",
                                                             "chan send",
                                                             "finalizer wait",
                                                             "force gc (idle)",
                                                             "semacquire",
                                                             "sleep",
                                                             "sync.Cond.Wait",
                                                             "timer goroutine (idle)",
                                                             "trace reader (blocked)",
                                                             "wait for GC cycle",
                                                             "GC worker (idle)",
                                                             "preempted",
                                                             "debug call"});

constexpr auto kReasons20 = std::to_array<std::string_view>({"",
                                                             "GC assist marking",
                                                             "IO wait",
                                                             "chan receive (nil chan)",
                                                             "chan send (nil chan)",
                                                             "dumping heap",
                                                             "garbage collection",
                                                             "garbage collection scan",
                                                             "panicwait",
                                                             "select",
                                                             "select (no cases)",
                                                             "GC assist wait",
                                                             "GC sweep wait",
                                                             "GC scavenge wait",
                                                             "chan receive",
                                                             "chan send",
                                                             "finalizer wait",
                                                             "force gc (idle)",
                                                             "semacquire",
                                                             "sleep",
                                                             "sync.Cond.Wait",
                                                             "sync.Mutex.Lock",
                                                             "sync.RWMutex.RLock",
                                                             "sync.RWMutex.Lock",
                                                             "trace reader (blocked)",
                                                             "wait for GC cycle",
                                                             "GC worker (idle)",
                                                             "GC worker (active)",
                                                             "preempted",
                                                             "debug call",
                                                             "GC mark termination",
                                                             "stopping the world"});

constexpr auto kReasons22 = std::to_array<std::string_view>({"",
                                                             "GC assist marking",
                                                             "IO wait",
                                                             "chan receive (nil chan)",
                                                             "chan send (nil chan)",
                                                             "dumping heap",
                                                             "garbage collection",
                                                             "garbage collection scan",
                                                             "panicwait",
                                                             "select",
                                                             "select (no cases)",
                                                             "GC assist wait",
                                                             "GC sweep wait",
                                                             "GC scavenge wait",
                                                             "chan receive",
                                                             "chan send",
                                                             "finalizer wait",
                                                             "force gc (idle)",
                                                             "semacquire",
                                                             "sleep",
                                                             "sync.Cond.Wait",
                                                             "sync.Mutex.Lock",
                                                             "sync.RWMutex.RLock",
                                                             "sync.RWMutex.Lock",
                                                             "trace reader (blocked)",
                                                             "wait for GC cycle",
                                                             "GC worker (idle)",
                                                             "GC worker (active)",
                                                             "preempted",
                                                             "debug call",
                                                             "GC mark termination",
                                                             "stopping the world",
                                                             "flushing proc caches",
                                                             "trace goroutine status",
                                                             "trace proc status",
                                                             "page trace flush",
                                                             "coroutine"});

constexpr auto kReasons23 = std::to_array<std::string_view>({"",
                                                             "GC assist marking",
                                                             "IO wait",
                                                             "chan receive (nil chan)",
                                                             "chan send (nil chan)",
                                                             "dumping heap",
                                                             "garbage collection",
                                                             "garbage collection scan",
                                                             "panicwait",
                                                             "select",
                                                             "select (no cases)",
                                                             "GC assist wait",
                                                             "GC sweep wait",
                                                             "GC scavenge wait",
                                                             "chan receive",
                                                             "chan send",
                                                             "finalizer wait",
                                                             "force gc (idle)",
                                                             "semacquire",
                                                             "sleep",
                                                             "sync.Cond.Wait",
                                                             "sync.Mutex.Lock",
                                                             "sync.RWMutex.RLock",
                                                             "sync.RWMutex.Lock",
                                                             "trace reader (blocked)",
                                                             "wait for GC cycle",
                                                             "GC worker (idle)",
                                                             "GC worker (active)",
                                                             "preempted",
                                                             "debug call",
                                                             "GC mark termination",
                                                             "stopping the world",
                                                             "flushing proc caches",
                                                             "trace goroutine status",
                                                             "trace proc status",
                                                             "page trace flush",
                                                             "coroutine",
                                                             "GC weak to strong wait"});

constexpr auto kReasons24 = std::to_array<std::string_view>({"",
                                                             "GC assist marking",
                                                             "IO wait",
                                                             "chan receive (nil chan)",
                                                             "chan send (nil chan)",
                                                             "dumping heap",
                                                             "garbage collection",
                                                             "garbage collection scan",
                                                             "panicwait",
                                                             "select",
                                                             "select (no cases)",
                                                             "GC assist wait",
                                                             "GC sweep wait",
                                                             "GC scavenge wait",
                                                             "chan receive",
                                                             "chan send",
                                                             "finalizer wait",
                                                             "force gc (idle)",
                                                             "semacquire",
                                                             "sleep",
                                                             "sync.Cond.Wait",
                                                             "sync.Mutex.Lock",
                                                             "sync.RWMutex.RLock",
                                                             "sync.RWMutex.Lock",
                                                             "sync.WaitGroup.Wait",
                                                             "trace reader (blocked)",
                                                             "wait for GC cycle",
                                                             "GC worker (idle)",
                                                             "GC worker (active)",
                                                             "preempted",
                                                             "debug call",
                                                             "GC mark termination",
                                                             "stopping the world",
                                                             "flushing proc caches",
                                                             "trace goroutine status",
                                                             "trace proc status",
                                                             "page trace flush",
                                                             "coroutine",
                                                             "GC weak to strong wait",
                                                             "synctest.Run",
                                                             "synctest.Wait",
                                                             "chan receive (synctest)",
                                                             "chan send (synctest)",
                                                             "select (synctest)"});

constexpr auto kReasons25 = std::to_array<std::string_view>({"",
                                                             "GC assist marking",
                                                             "IO wait",
                                                             "chan receive (nil chan)",
                                                             "chan send (nil chan)",
                                                             "dumping heap",
                                                             "garbage collection",
                                                             "garbage collection scan",
                                                             "panicwait",
                                                             "select",
                                                             "select (no cases)",
                                                             "GC assist wait",
                                                             "GC sweep wait",
                                                             "GC scavenge wait",
                                                             "chan receive",
                                                             "chan send",
                                                             "finalizer wait",
                                                             "force gc (idle)",
                                                             "GOMAXPROCS updater (idle)",
                                                             "semacquire",
                                                             "sleep",
                                                             "sync.Cond.Wait",
                                                             "sync.Mutex.Lock",
                                                             "sync.RWMutex.RLock",
                                                             "sync.RWMutex.Lock",
                                                             "sync.WaitGroup.Wait",
                                                             "trace reader (blocked)",
                                                             "wait for GC cycle",
                                                             "GC worker (idle)",
                                                             "GC worker (active)",
                                                             "preempted",
                                                             "debug call",
                                                             "GC mark termination",
                                                             "stopping the world",
                                                             "flushing proc caches",
                                                             "trace goroutine status",
                                                             "trace proc status",
                                                             "page trace flush",
                                                             "coroutine",
                                                             "GC weak to strong wait",
                                                             "synctest.Run",
                                                             "synctest.Wait",
                                                             "chan receive (durable)",
                                                             "chan send (durable)",
                                                             "select (durable)",
                                                             "sync.WaitGroup.Wait (durable)",
                                                             "cleanup wait"});

constexpr auto kReasons26 = std::to_array<std::string_view>({"",
                                                             "GC assist marking",
                                                             "IO wait",
                                                             "dumping heap",
                                                             "garbage collection",
                                                             "garbage collection scan",
                                                             "panicwait",
                                                             "GC assist wait",
                                                             "GC sweep wait",
                                                             "GC scavenge wait",
                                                             "finalizer wait",
                                                             "force gc (idle)",
                                                             "GOMAXPROCS updater (idle)",
                                                             "semacquire",
                                                             "sleep",
                                                             "chan receive (nil chan)",
                                                             "chan send (nil chan)",
                                                             "select (no cases)",
                                                             "select",
                                                             "chan receive",
                                                             "chan send",
                                                             "sync.Cond.Wait",
                                                             "sync.Mutex.Lock",
                                                             "sync.RWMutex.RLock",
                                                             "sync.RWMutex.Lock",
                                                             "sync.WaitGroup.Wait",
                                                             "trace reader (blocked)",
                                                             "wait for GC cycle",
                                                             "GC worker (idle)",
                                                             "GC worker (active)",
                                                             "preempted",
                                                             "debug call",
                                                             "GC mark termination",
                                                             "stopping the world",
                                                             "flushing proc caches",
                                                             "trace goroutine status",
                                                             "trace proc status",
                                                             "page trace flush",
                                                             "coroutine",
                                                             "GC weak to strong wait",
                                                             "synctest.Run",
                                                             "synctest.Wait",
                                                             "chan receive (durable)",
                                                             "chan send (durable)",
                                                             "select (durable)",
                                                             "sync.WaitGroup.Wait (durable)",
                                                             "cleanup wait"});

struct Version {
  uint32_t first_minor;
  std::span<const std::string_view> reasons;
};
// Only the releases that changed the texts; those in between have the last one before them.
constexpr Version kVersions[] = {
    {15, kReasons15}, {20, kReasons20}, {22, kReasons22}, {23, kReasons23},
    {24, kReasons24}, {25, kReasons25}, {26, kReasons26},
};
constexpr uint32_t kFirstParent = 21;  // the first release with a parent
// Bytes from the wait reason to the count of switches, from a release on.
struct SwitchCount {
  uint32_t first_minor;
  uint16_t distance;
};
constexpr SwitchCount kSwitchCounts[] = {{17, 13}, {21, 12}, {22, 15}};
constexpr uint32_t kFirstSmallG = 26;  // with a word more between lockedm and labels

// The other offsets follow from those of the runtime layout.
GoroutineLayout layout_of(uint32_t minor, const RuntimeLayout& runtime) {
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
  int before_labels = minor >= kFirstSmallG ? 144 : minor >= kFirstParent ? 136 : 128;
  layout.locked_thread = at(runtime.g_labels - before_labels);
  if (minor >= kFirstParent)
    layout.parent = at(layout.created_at - 8);
  for (const SwitchCount& count : kSwitchCounts)
    if (minor >= count.first_minor)
      layout.switch_count = at(layout.wait_reason + count.distance);
  for (const Version& version : kVersions)
    if (minor >= version.first_minor)
      layout.wait_reasons = version.reasons;
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
  GoroutineLayout layout = *goroutine_layout("go1.27");
  layout.wait_reasons = {};
  return layout;
}

}  // namespace gosym::go
