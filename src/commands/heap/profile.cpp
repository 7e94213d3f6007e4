#include "commands/heap/profile.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "elf/image.h"
#include "profile/profile.h"

namespace gosym {

namespace {

constexpr std::string_view kSizeLabel = "bytes";

// Stacks as the runtime keeps them in buckets, in a profile that has nothing else.
class BucketStacks {
public:
  // `kind` is how the profile is called; with `hides_allocation` what the runtime does to
  // allocate is left out, as it shows it itself.
  BucketStacks(std::string_view kind, const SequencePool<uint64_t>& pool, const GoFile& file,
               const GoroutineSource& source, bool hides_allocation)
      : pool_(pool), code_(source.code), hides_allocation_(hides_allocation) {
    profile_.start_realtime_ns = source.realtime_ns;
    // A bucket becomes one sample, whose number says nothing: it has amounts alone.
    profile_.info.has_counts = false;
    profile_.info.source =
        fmt::format("the {} profile of {} ({} {}, {})", kind, base_name(file.path),
                    source.is_core ? "core of process" : "process", source.pid, file.version);
    profile_.info.command_line = fmt::format("gosym heap {}", source.pid);
    add_fixed_mappings(profile_);
    add_program(file);
  }

  Profile& profile() { return profile_; }

  // The stack of that number in the pool; unless that is all of it, without the first calls
  // that are left out.
  StackId stack_of(uint32_t number) {
    auto [known, is_new] = stacks_.try_emplace(number, StackId{});
    if (!is_new)
      return known->second;
    // The runtime records addresses; from here on they are calls with names, inlined ones
    // among them.
    std::vector<HeapCall> all = calls_of(pool_[number]);
    auto shown = all.begin();
    if (hides_allocation_)
      shown = std::ranges::find_if_not(all, is_of_allocation, &HeapCall::name);
    // Allocations of the runtime for itself have no other calls: they are shown in full.
    if (shown == all.end())
      shown = all.begin();
    std::span<const HeapCall> calls(shown, all.end());
    std::vector<LocationId> stack;
    // Calls that are inlined into one another are one location, as in a sample.
    while (!calls.empty()) {
      size_t size = 1;
      while (size < calls.size() && calls[size - 1].is_within(calls[size]))
        size++;
      // The frame below every goroutine's first function says nothing, and pprof leaves it
      // out, too.
      if (calls.front().name() != "runtime.goexit")
        stack.push_back(location(calls.first(size)));
      calls = calls.subspan(size);
    }
    known->second = StackId{static_cast<uint32_t>(profile_.stack_count())};
    profile_.add_stack(stack);
    return known->second;
  }

  static bool is_of_allocation(std::string_view name) {
    return name.starts_with("runtime.") || name.starts_with("internal/runtime/");
  }

private:
  void add_program(const GoFile& file) {
    ProfileImage image;
    image.file.path = file.path;
    elf::BuildIds ids = elf::build_ids(*file.image);
    image.file.gnu_build_id = ids.gnu;
    image.file.go_build_id = ids.go;
    Mapping mapping;
    mapping.image = static_cast<uint32_t>(profile_.images.size());
    // A program has one executable segment; of several the last is taken.
    for (const elf::Segment& segment : file.image->segments) {
      if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0)
        continue;
      mapping.start = to_integer(segment.address) + file.bias;
      mapping.limit = mapping.start + segment.memory_size;
      mapping.file_offset = segment.offset;
    }
    profile_.images.push_back(std::move(image));
    program_ = MappingId{static_cast<uint32_t>(profile_.mappings.size())};
    profile_.mappings.push_back(mapping);
  }

  // A call of a stack, by the address that the runtime has for it. The call that an inlined one
  // is part of may have an address of its own, which comes next; else it is a further call at
  // the same, as behind the last of a heap profile, and behind any of one of waits.
  struct HeapCall {
    uint64_t address = 0;
    size_t number = 0;                // of the calls at the address
    const Call* call = nullptr;       // null: nobody knows
    std::string_view outermost = {};  // the function that has the code

    std::string_view name() const { return call ? call->function : std::string_view(); }
    // True if the next call of the stack is what it was inlined into, as Go's own profiles have
    // it: calls of a recursion are told apart.
    bool is_within(const HeapCall& next) const {
      return call && next.call && call->is_inlined && outermost == next.outermost &&
             name() != next.name();
    }
  };

  // True if the address is that of a call which another one was inlined into.
  bool is_of_outer(uint64_t address, std::span<const Call> outer) {
    // Compared by names and the line of the innermost, from `outer` on: the next address
    // stands for the same calls, as those around an inlined one have.
    const std::vector<Call>& there = calls_at(address);
    return there.size() == outer.size() && there.front().function == outer.front().function &&
           there.front().line == outer.front().line &&
           there.back().function == outer.back().function;
  }

  // The calls of a stack of return addresses, innermost first.
  std::vector<HeapCall> calls_of(std::span<const uint64_t> addresses) {
    std::vector<HeapCall> calls;
    // Go 1.23 and 1.24 mark stacks of the runtime's own locks as those of which each call has
    // an address.
    if (!addresses.empty() && addresses.front() == UINT64_MAX)
      addresses = addresses.subspan(1);
    for (size_t i = 0; i < addresses.size(); i++) {
      const std::vector<Call>& there = calls_at(addresses[i]);
      if (there.empty())
        calls.push_back({.address = addresses[i]});
      else
        calls.push_back({addresses[i], 0, &there[0], there.back().function});
      // The calls around an inlined one come next as addresses of their own, or else are put
      // in here. Wrappers are left out as in tracebacks.
      for (size_t at = 1; at < there.size(); at++) {
        if (i + 1 < addresses.size() &&
            is_of_outer(addresses[i + 1], std::span(there).subspan(at)))
          break;
        if (!is_hidden(there[at].kind, there[at - 1].kind))
          calls.push_back({addresses[i], at, &there[at], there.back().function});
      }
    }
    return calls;
  }

  const std::vector<Call>& calls_at(uint64_t address) {
    auto [known, is_new] = calls_.try_emplace(address);
    if (is_new)
      // Return addresses: one less lies in the call.
      known->second = code_.calls_at(address - 1);
    return known->second;
  }

  // The location of one frame.
  LocationId location(std::span<const HeapCall> calls) {
    // The key is that of all calls of the frame: one address can be the begin of several, with
    // more or fewer of the calls around it.
    std::vector<std::pair<uint64_t, size_t>> key;
    for (const HeapCall& call : calls)
      key.emplace_back(call.address, call.number);
    auto next = LocationId{static_cast<uint32_t>(profile_.locations.size())};
    auto [known, is_new] = locations_.try_emplace(std::move(key), next);
    if (!is_new)
      return known->second;
    Location location;
    location.address = RuntimeAddress{calls.front().address - 1};
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    for (const HeapCall& of : calls)
      if (of.call)
        profile_.frames.push_back(
            {functions_.add(*of.call), of.call->line, FrameSource::kPclntab, of.call->kind});
    // Without a name the location has its address only, and is of no known mapping.
    location.frame_count = static_cast<uint32_t>(profile_.frames.size()) - location.first_frame;
    location.mapping = location.frame_count == 0 ? kNoMapping : program_;
    // `unnamed` says why there is no name, and counts only where there is no frame.
    location.unnamed = Unnamed::kUnmapped;
    profile_.locations.push_back(location);
    return known->second;
  }

  const SequencePool<uint64_t>& pool_;
  const GoCode& code_;
  bool hides_allocation_;
  Profile profile_;
  MappingId program_{};
  std::map<uint32_t, StackId> stacks_;           // by number in the pool
  std::map<uint64_t, std::vector<Call>> calls_;  // by return address
  // By address and number of its calls.
  std::map<std::vector<std::pair<uint64_t, size_t>>, LocationId> locations_;
  CalledFunctions functions_{profile_};
};

class HeapProfileBuilder {
public:
  HeapProfileBuilder(const HeapProfile& heap, const HeapView& view, const GoFile& file,
                     const GoroutineSource& source)
      : heap_(heap),
        view_(view),
        stacks_("heap", heap.stacks, file, source, !view.has_system),
        profile_(stacks_.profile()) {
    profile_.info.events = {event()};
  }

  Profile make() && {
    for (const HeapBucket& bucket : heap_.buckets)
      add(bucket);
    return std::move(profile_);
  }

private:
  // By the number of a value, of which the one that is asked for comes first. Bit 1 of a number
  // stands for the other of in use and allocated, bit 0 for the other of bytes and objects.
  bool is_allocated(uint32_t value) const { return view_.is_allocated != (value / 2 != 0); }
  bool is_objects(uint32_t value) const { return view_.has_objects != (value % 2 != 0); }

  EventValue value(uint32_t number) const {
    bool has_objects = is_objects(number);
    return {.name = fmt::format("{}_{}", is_allocated(number) ? "alloc" : "inuse",
                                has_objects ? "objects" : "space"),
            .unit = has_objects ? "count" : std::string(kSizeLabel)};
  }

  RecordedEvent event() const {
    EventValue first = value(0);
    // The event has the rate as its period, as Go's own profiles have it.
    return {.name = first.name,
            .period = std::max<uint64_t>(1, heap_.rate),
            .unit = first.unit,
            .measure = first.measure,
            .others = {value(1), value(2), value(3)}};
  }

  void add(const HeapBucket& bucket) {
    // Sampled amounts are scaled up by the chance of an object of this size, as the runtime
    // itself does.
    HeapAmount allocated = scaled_up(bucket.allocated, bucket.size, heap_.rate);
    // No more was freed than allocated: read_heap_profile() has seen to that.
    HeapAmount in_use = scaled_up(bucket.allocated - bucket.freed, bucket.size, heap_.rate);
    // Values have the order of event(): the first is its own, `others` follow.
    auto amount_of = [&](uint32_t value) {
      const HeapAmount& amount = is_allocated(value) ? allocated : in_use;
      return is_objects(value) ? amount.objects : amount.bytes;
    };
    std::array<uint64_t, 4> amounts = {amount_of(0), amount_of(1), amount_of(2), amount_of(3)};
    if (std::ranges::all_of(amounts, [](uint64_t amount) { return amount == 0; }))
      return;
    SampleCount sample;
    sample.stack = stacks_.stack_of(bucket.stack);
    sample.owner = profile_.owners.intern({.label_set = label_set_of(bucket.size)});
    sample.count = 1;
    add_with_values(profile_, sample, amounts);
  }

  uint32_t label_set_of(uint64_t size) {
    auto next = static_cast<uint32_t>(profile_.label_sets.size());
    auto [known, is_new] = label_sets_.try_emplace(size, next);
    if (is_new)
      profile_.label_sets.push_back({{profile_.strings.intern(kSizeLabel),
                                      profile_.strings.intern(std::to_string(size))}});
    return known->second;
  }

  const HeapProfile& heap_;
  const HeapView& view_;
  BucketStacks stacks_;
  Profile& profile_;
  std::map<uint64_t, uint32_t> label_sets_;  // by size
};

// The ticks of the processor's clock in a second, as the runtime measures them: counted for a
// while here, since neither CPUs nor kernels tell them everywhere.
double ticks_per_second() {
  auto now = [] {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
  };
  // Both clocks at one moment: of some tries that which took least.
  auto both = [&] {
    std::pair<uint64_t, uint64_t> best;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
      uint64_t before = now();
      uint64_t time = monotonic_ns();
      uint64_t after = now();
      if (after - before < least) {
        least = after - before;
        best = {before + least / 2, time};
      }
    }
    return best;
  };
  constexpr int kWhile = 50;  // ms, of which the error of both ends is a hundred thousandth
  auto [ticks, time] = both();
  poll(nullptr, 0, kWhile);
  auto [later_ticks, later] = both();
  return static_cast<double>(later_ticks - ticks) * 1e9 / static_cast<double>(later - time);
}

}  // namespace

Profile profile_of(const HeapProfile& heap, const HeapView& view, const GoFile& file,
                   const GoroutineSource& source) {
  return HeapProfileBuilder(heap, view, file, source).make();
}

Profile profile_of(const ContentionProfile& waits, const HeapView& view, const GoFile& file,
                   const GoroutineSource& source) {
  BucketStacks stacks(view.waits == HeapWaits::kMutexes ? "mutex" : "block", waits.stacks, file,
                      source,
                      /*hides_allocation=*/false);
  Profile& profile = stacks.profile();
  EventValue count = {.name = "contentions", .unit = "count"};
  EventValue time = {.name = "delay", .unit = std::string(kNanoseconds)};
  // Ticks of the machine that a core was made on are not known.
  bool has_time = !source.is_core;
  bool is_by_time = has_time && !view.has_objects;
  const EventValue& first = is_by_time ? time : count;
  // A profile has one event from the beginning (RecordingInfo).
  RecordedEvent& event = profile.info.events.front();
  event = {.name = first.name, .period = 1, .unit = first.unit, .measure = first.measure};
  if (has_time)
    event.others = {is_by_time ? count : time};
  // Measured once for all buckets: it takes 50 ms.
  double per_tick = has_time ? 1e9 / ticks_per_second() : 0;
  for (const ContentionBucket& bucket : waits.buckets) {
    SampleCount sample;
    sample.stack = stacks.stack_of(bucket.stack);
    sample.count = 1;
    auto delay = static_cast<uint64_t>(static_cast<double>(bucket.ticks) * per_tick);
    // The order of the two depends on the view, so that the first is the one that is asked for.
    std::array<uint64_t, 2> amounts = {bucket.count, delay};
    if (is_by_time)
      std::swap(amounts[0], amounts[1]);
    add_with_values(profile, sample, std::span(amounts).first(value_count(event)));
  }
  return std::move(profile);
}

}  // namespace gosym
