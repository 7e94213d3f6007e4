#include "commands/resolve/live_process.h"

#include <algorithm>

#include "base/exit_status.h"
#include "profile/replay.h"
#include "record/files/copied_code.h"
#include "record/files/image_catalog.h"
#include "record/files/perf_maps.h"
#include "record/memory_helper.h"
#include "record/rights.h"
#include "record/system_state.h"
#include "record/target.h"

namespace gosym {

// The addresses of a process are resolved as a recording of one moment is: its mappings become
// events, each address a sample with a stack of one frame, and the symbolizer names the
// locations of the profile that a replay of these makes. So kernel, vdso, perf maps and
// deleted files are treated as in a report.

namespace {

// The upper half of the address space is the kernel's, on x86-64 and arm64.
bool is_of_kernel(uint64_t address) {
  return address >> 63 != 0;
}

bool holds_any(const RawMapping& mapping, const std::vector<uint64_t>& sorted) {
  auto next = std::ranges::lower_bound(sorted, mapping.start);
  return next != sorted.end() && *next - mapping.start < mapping.length;
}

Profile replay(LiveProcess::Moment& moment, uint32_t pid, std::span<const uint64_t> addresses) {
  Replay replay({}, std::move(moment.images), std::move(moment.events), moment.perf_maps);
  for (const uint64_t& address : addresses) {
    std::span<const uint64_t> stack(&address, 1);
    std::span<const uint64_t> none;
    replay.add({.time = moment.time,
                .pid = pid,
                .tid = pid,
                .kernel_stack = is_of_kernel(address) ? stack : none,
                .user_stack = is_of_kernel(address) ? none : stack});
  }
  return std::move(replay).finish().profile;
}

std::string reason_of(const Location& location, const RecordedImage& image) {
  switch (location.unnamed) {
    case Unnamed::kUnmapped:
      return "no code is mapped there";
    case Unnamed::kAnonymous:
      return "made at run time, and the process has no perf map";
    case Unnamed::kUnlisted:
      return "made at run time, and not in the perf map";
    case Unnamed::kUnidentified:
      return image.problem;
    case Unnamed::kStripped:
      return "no symbols in this file";
    case Unnamed::kNoKernelSymbols:
      return fmt::format("/proc/kallsyms hides addresses: {}", why_kernel_symbols_are_hidden());
    case Unnamed::kVdso:
    case Unnamed::kNoSymbol:
      return "no symbol there";
    default:  // it changed while we looked
      return std::string(to_string(location.unnamed));
  }
}

std::vector<Call> calls_of(const Profile& profile, const Location& location) {
  std::vector<Call> calls;
  if (!profile.is_named(location))
    return calls;
  for (const Frame& frame : profile.frames_of(location)) {
    const Function& function = profile.functions[to_index(frame.function)];
    // All but the last are inlined, which is put right behind the loop.
    calls.push_back({.function = profile.strings[function.name],
                     .file = profile.strings[function.file],
                     .line = frame.line,
                     .start_line = function.start_line,
                     .kind = frame.kind,
                     .is_inlined = true});
  }
  if (!calls.empty())
    calls.back().is_inlined = false;
  return calls;
}

}  // namespace

LiveProcess::LiveProcess(uint32_t pid, UniqueFd process)
    : pid_(pid),
      process_(std::move(process)),
      helper_(std::make_unique<FileHelper>()),
      vdso_(own_vdso()),
      kallsyms_(open_kernel_symbols()) {}

Result<LiveProcess> LiveProcess::open(uint32_t pid) {
  auto process = open_process(pid);
  if (!process)
    return std::move(process).error();
  return LiveProcess(pid, *std::move(process));
}

Result<LiveProcess::Moment> LiveProcess::record(std::span<const uint64_t> addresses) const {
  std::vector<uint64_t> sorted(addresses.begin(), addresses.end());
  std::ranges::sort(sorted);
  Moment moment;
  ImageCatalog images(helper_.get());
  PerfMaps perf_maps(helper_.get());
  std::optional<PerfMaps::Place> map_place;
  // The maps are read once, so that all mappings are of one moment.
  auto maps = helper_->read_maps(pid_);
  auto entries = maps ? proc::parse_maps(*maps) : std::move(maps).error();
  if (!entries)
    return std::move(entries)
        .error()
        .context(fmt::format("cannot look into process {}", pid_))
        .with_hint("run as its user, or with sudo")
        .with_exit_status(kUnsupported);
  MemoryHelper memory(MemoryHelper::kPatienceOfCommand);
  std::vector<RawMapping> mappings = code_mappings_in(*entries, pid_, moment.time);
  // Code that the program has copied elsewhere in its memory counts as mapped from its file.
  std::vector<PlaceOfCopy> copies = places_of_copies(*entries, pid_, moment.time);
  std::ranges::move(copied_code(copies, *helper_, memory.reader_of(pid_)),
                    std::back_inserter(mappings));
  // Only mappings that hold an address are opened: a process may have thousands.
  for (RawMapping& mapping : mappings) {
    if (!holds_any(mapping, sorted))
      continue;
    // A perf map is for code that was made at run time: it is read if an address lies in such
    // memory.
    if (is_memory(mapping.path))
      perf_maps.notice(map_place, pid_, moment.time);
    // `file` was opened to tell the image; none: it was not, or not for reading.
    auto [image, file, is_new, is_at_path] = images.identify(mapping);
    // The file is held open: it names code though its path may lead to another by then.
    auto held = file ? Result(std::move(file)) : helper_->open_to_read(mapping);
    if (is_new && held)
      moment.files[image] = *std::move(held);
    moment.events.emplace_back(event_of(std::move(mapping), image));
  }
  moment.images = images.take_new();
  if (map_place)
    if (auto map = perf_maps.read(*map_place, pid_, moment.time))
      moment.perf_maps.push_back(*std::move(map));
  // Only now: else all this might be of another process that was given the number.
  if (has_ended(process_))
    return errorf("process {} has ended", pid_).with_exit_status(kNoTarget);
  return moment;
}

Result<std::vector<Answer>> LiveProcess::ask(std::span<const uint64_t> addresses,
                                             const DebugFileOptions& files) {
  auto moment = record(addresses);
  if (!moment)
    return std::move(moment).error();
  profile_ = replay(*moment, pid_, addresses);
  // Reading kallsyms takes a while, and is done once, for the first address of the kernel.
  if (std::ranges::any_of(addresses, is_of_kernel) && !kernel_symbols_)
    kernel_symbols_ = read_kernel_symbols(kallsyms_.get());
  RecordedSymbols recorded = {
      .kernel = kernel_symbols_ ? std::string_view(*kernel_symbols_) : "",
      .vdso = vdso_,
      .perf_maps = moment->perf_maps};
  SymbolCache cache;
  cache.images.held = std::move(moment->files);
  // Names stay those of the linker: whoever prints an answer chooses the form (ShownNames).
  SymbolizerReport report =
      symbolize(profile_, recorded, {NameForm::kNone, NameForm::kNone}, files, cache);
  problems_ = std::move(report.image_problems);
  for (const ProfileImage& image : profile_.images)
    if (!image.file.problem.empty())  // told as the reason of its answers
      problems_.erase(image.file.path);

  // The profile has each address once, in an order of its own. One where nothing is mapped has
  // a location, too.
  std::map<uint64_t, const Location*> found;
  for (const Location& location : profile_.locations)
    found[to_integer(location.address)] = &location;
  std::vector<Answer> answers;
  for (uint64_t address : addresses)
    answers.push_back(answer(*found[address]));
  return answers;
}

Answer LiveProcess::answer(const Location& location) const {
  Answer answer = {.address = to_integer(location.address),
                   .calls = calls_of(profile_, location),
                   .image_address = location.image_address};
  const ProfileImage& image = profile_.image_of(location.mapping);
  // "//anon" is what perf calls memory that no file backs (code_mappings_in()).
  if (location.mapping != kNoMapping && image.file.path != "//anon")
    answer.image = image.file.path;
  std::span<const Frame> frames = profile_.frames_of(location);
  if (!answer.calls.empty()) {
    answer.source = frames.front().source;
    return answer;
  }
  answer.reason = reason_of(location, image.file);
  // The stand-in for a name, such as a function known by its call frames alone.
  if (!frames.empty())
    answer.reason += fmt::format(", in {}", profile_.name_of(frames[0].function));
  return answer;
}

}  // namespace gosym
