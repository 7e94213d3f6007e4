#include "commands/goroutines/named_goroutines.h"

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "goroutine/go_runtime.h"
#include "symbolize/symbol_source.h"

namespace gosym {

namespace {

// True if a part of a name, "(*Func)" or "Callers", is one that other packages may use.
bool is_exported(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of("(*"), name.size()));
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
}

// Decides as showfuncinfo() of the runtime does. `shows_callee`: the function that it calls is
// shown.
bool is_shown(const Call& call, bool is_innermost, bool shows_callee) {
  constexpr std::string_view kRuntime = "runtime.";
  std::string_view name = call.function;
  if (name == "runtime.gopanic")
    return !is_innermost;
  // They call functions of the program, and are shown where they do.
  if (name == "runtime.runFinalizers" || name == "runtime.runCleanups")
    return shows_callee;
  // Names without a package are of C or of assembly.
  if (!name.starts_with(kRuntime))
    return name.find('.') != name.npos;
  name.remove_prefix(kRuntime.size());
  size_t dot = name.rfind('.');
  return dot == name.npos
             ? is_exported(name)
             : is_exported(name.substr(0, dot)) && is_exported(name.substr(dot + 1));
}

// True for functions of the runtime whose goroutines are the program's own, always or while
// they call its functions. Decides as isSystemGoroutine() of the runtime does.
bool runs_program_code(std::string_view start) {
  constexpr std::string_view kStarts[] = {
      "runtime.main",    "runtime.corostart",     "runtime.handleAsyncEvent",
      "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups",
  };
  return std::ranges::find(kStarts, start) != std::end(kStarts);
}

// Without what tracebacks leave out.
std::vector<Call> calls_of_program(std::vector<Call> stack) {
  hide_wrappers(stack);
  bool is_innermost = true;
  bool is_last_shown = false;
  std::erase_if(stack, [&](const Call& call) {
    is_last_shown = is_shown(call, std::exchange(is_innermost, false), is_last_shown);
    return !is_last_shown;
  });
  return stack;
}

// Each address is named once, however many goroutines have it in their stacks.
std::vector<uint64_t> addresses_of(const Goroutines& goroutines) {
  std::set<uint64_t> addresses;
  for (uint32_t i = 0; i < goroutines.stacks.size(); i++)
    addresses.insert(goroutines.stacks[i].begin(), goroutines.stacks[i].end());
  for (const Goroutine& goroutine : goroutines.all) {
    addresses.insert(goroutine.start);
    // A return address may be that of the next function already; one less lies in the call. An
    // unknown one, 0, becomes an address where no code is.
    addresses.insert(goroutine.created_at - 1);
  }
  return {addresses.begin(), addresses.end()};
}

// The time of a core file is not told: it was written after each of these.
uint64_t latest_wait(const Goroutines& goroutines) {
  uint64_t latest = 0;
  for (const Goroutine& goroutine : goroutines.all)
    latest = std::max(latest, goroutine.waits_since);
  return latest;
}

// The time by the program's clock, whose time namespace may not be ours. None: it is not known.
std::optional<uint64_t> program_time(const GoroutineSource& source) {
  if (source.is_core)
    return std::nullopt;
  auto offset = monotonic_offset_of(fmt::format("/proc/{}", source.pid));
  return offset ? std::optional(monotonic_ns() + static_cast<uint64_t>(*offset)) : std::nullopt;
}

Result<NamedGoroutines> read_one(const GoFile& file, const GoroutineSource& source) {
  if (file.image->pointer_size != 8)
    return errorf("'{}' is a 32-bit program: gosym reads goroutines of 64-bit programs only",
                  printable(file.path))
        .with_exit_status(kUnsupported);
  if (auto minor = go::minor_of_release(file.version);
      minor && *minor < go::kFirstGoroutineMinor)
    return errorf("'{}' was built by {}: gosym reads goroutines of Go 1.{} and later",
                  printable(file.path), file.version, go::kFirstGoroutineMinor)
        .with_exit_status(kUnsupported);
  NamedGoroutines named;
  named.program = file.path;
  named.go_version = file.version;
  GoRuntime runtime = make_runtime(file, source.code);
  runtime.threads = source.threads;
  // The time is taken before the goroutines are read: a wait that begins while they are read
  // is then later, and counts as none (minutes()).
  auto time = program_time(source);
  named.wait_reasons = runtime.layout.wait_reasons;
  auto goroutines = read_goroutines(runtime, source.read_memory);
  if (!goroutines)
    return std::move(goroutines).error();
  named.time = time ? *time : latest_wait(*goroutines);
  named.crashed = source.crashed;
  named.goroutines = *std::move(goroutines);
  if (!is_known_runtime(file))
    named.goroutines.notes.insert(
        named.goroutines.notes.begin(),
        fmt::format(
            "{} is not known: goroutines are read as those of Go 1.27, and not told what "
            "they wait for",
            file.version.empty() ? "the version of Go" : file.version));
  auto labels = read_labels(named.goroutines.all, runtime.layout.runtime, source.read_memory);
  if (!labels)
    return std::move(labels).error();
  named.labels = *std::move(labels);
  return named;
}

}  // namespace

std::vector<Call> NamedGoroutines::all_calls(const Goroutine& goroutine) const {
  std::vector<Call> stack;
  for (uint64_t address : goroutines.stacks[goroutine.stack]) {
    auto known = calls.find(address);
    if (known != calls.end())
      stack.insert(stack.end(), known->second.begin(), known->second.end());
  }
  return stack;
}

std::vector<Call> NamedGoroutines::stack(const Goroutine& goroutine, bool has_system) const {
  std::vector<Call> all = all_calls(goroutine);
  std::vector<Call> shown = has_system ? std::vector<Call>() : calls_of_program(all);
  return shown.empty() ? all : shown;
}

Call NamedGoroutines::creator(const Goroutine& goroutine, bool has_system) const {
  auto known = calls.find(goroutine.created_at - 1);
  bool is_known = goroutine.created_at != 0 && known != calls.end() && !known->second.empty();
  bool is_told = is_known && (has_system || is_shown(known->second.front(), false, false));
  return is_told ? known->second.front() : Call{};
}

bool NamedGoroutines::is_system(const Goroutine& goroutine) const {
  auto known = calls.find(goroutine.start);
  if (known == calls.end() || known->second.empty())
    return false;
  // The outermost call: the function that has the code at its begin, nothing inlined.
  std::string_view start = known->second.back().function;
  if (!is_of_runtime(start))
    return false;
  return !runs_program_code(start) || calls_of_program(all_calls(goroutine)).empty();
}

std::string NamedGoroutines::state(const Goroutine& goroutine) const {
  return state_text(goroutine, wait_reasons);
}

uint64_t NamedGoroutines::minutes(const Goroutine& goroutine) const {
  constexpr uint64_t kMinute = 60'000'000'000;
  using enum go::GoroutineStatus;
  // Go's own tracebacks leave out the time of those that are leaked, which tells most.
  bool waits = goroutine.status == kWaiting || goroutine.status == kSyscall ||
               goroutine.status == kLeaked;
  bool is_told = waits && goroutine.waits_since != 0 && goroutine.waits_since <= time;
  return is_told ? (time - goroutine.waits_since) / kMinute : 0;
}

Result<std::vector<NamedGoroutines>> read_named_goroutines(const GoroutineSource& source) {
  std::vector<NamedGoroutines> all;
  std::optional<Error> problem;
  for (const GoFile& file : source.code.files()) {
    auto named = read_one(file, source);
    if (!named) {
      // A runtime that cannot be read is passed over as long as there is another.
      problem = std::move(named).error();
      continue;
    }
    for (uint64_t address : addresses_of(named->goroutines))
      named->calls[address] = source.code.calls_at(address);
    all.push_back(*std::move(named));
  }
  if (!all.empty())
    return all;
  return problem ? *std::move(problem)
                 : Error("it runs no Go code").with_exit_status(kNoTarget);
}

}  // namespace gosym
