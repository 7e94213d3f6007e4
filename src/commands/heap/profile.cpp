#include "commands/heap/profile.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "elf/build_ids.h"
#include "profile/called_functions.h"

namespace gosym {

namespace {

constexpr std::string_view kSizeLabel = "bytes";

class HeapProfileBuilder {
public:
  HeapProfileBuilder(const HeapProfile& heap, const HeapView& view, const GoFile& file,
                     const GoroutineSource& source)
      : heap_(heap), view_(view), code_(source.code) {
    profile_.start_realtime_ns = source.realtime_ns;
    profile_.info.has_counts = false;
    profile_.info.source =
        fmt::format("the heap profile of {} ({} {}, {})", base_name(file.path),
                    source.is_core ? "core of process" : "process", source.pid, file.version);
    profile_.info.command_line = fmt::format("gosym heap {}", source.pid);
    profile_.info.events = {event(0), event(1), event(2), event(3)};
    add_fixed_mappings(profile_);
    add_program(file);
  }

  Profile make() && {
    for (const HeapBucket& bucket : heap_.buckets)
      add(bucket);
    return std::move(profile_);
  }

private:
  // The number of an event; that which is asked for comes first.
  RecordedEvent event(uint32_t number) const {
    bool is_allocated = view_.is_allocated != (number / 2 != 0);
    bool is_objects = view_.has_objects != (number % 2 != 0);
    RecordedEvent event = {.name = fmt::format("{}_{}", is_allocated ? "alloc" : "inuse",
                                               is_objects ? "objects" : "space"),
                           .period = 1,
                           .unit = is_objects ? "count" : std::string(kSizeLabel)};
    if (number == 0)
      event.period = std::max<uint64_t>(1, heap_.rate);
    return event;
  }

  void add_program(const GoFile& file) {
    ProfileImage image;
    image.file.path = file.path;
    elf::BuildIds ids = elf::build_ids(*file.image);
    image.file.gnu_build_id = ids.gnu;
    image.file.go_build_id = ids.go;
    Mapping mapping;
    mapping.image = static_cast<uint32_t>(profile_.images.size());
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

  void add(const HeapBucket& bucket) {
    HeapAmount allocated = scaled_up(bucket.allocated, bucket.size, heap_.rate);
    HeapAmount in_use = scaled_up(bucket.allocated - bucket.freed, bucket.size, heap_.rate);
    SampleCount sample;
    sample.stack = stack_of(bucket.stack);
    sample.label_set = label_set_of(bucket.size);
    sample.count = 1;
    for (uint32_t i = 0; i < 4; i++) {
      bool is_allocated = view_.is_allocated != (i / 2 != 0);
      bool is_objects = view_.has_objects != (i % 2 != 0);
      const HeapAmount& amount = is_allocated ? allocated : in_use;
      sample.event = i;
      sample.weight = is_objects ? amount.objects : amount.bytes;
      if (sample.weight > 0)
        profile_.samples.push_back(sample);
    }
  }

  // A call of a stack, by the address that the runtime has for it. An inlined call has one of
  // its own, and so has the call that it was inlined into: but behind the last, where the stack
  // may be cut, they are further calls at that.
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

  std::vector<HeapCall> calls_of(std::span<const uint64_t> addresses) {
    std::vector<HeapCall> calls;
    for (size_t i = 0; i < addresses.size(); i++) {
      const std::vector<Call>& there = calls_at(addresses[i]);
      if (there.empty())
        calls.push_back({.address = addresses[i]});
      else
        calls.push_back({addresses[i], 0, &there[0], there.back().function});
      for (size_t at = 1; i + 1 == addresses.size() && at < there.size(); at++)
        if (!is_hidden(there[at].kind, there[at - 1].kind))
          calls.push_back({addresses[i], at, &there[at], there.back().function});
    }
    return calls;
  }

  // As the runtime shows it: without what it does to allocate, unless that is all.
  StackId stack_of(uint32_t number) {
    auto [known, is_new] = stacks_.try_emplace(number, StackId{});
    if (!is_new)
      return known->second;
    std::vector<HeapCall> all = calls_of(heap_.stacks[number]);
    auto shown = std::ranges::find_if_not(all, is_of_allocation, &HeapCall::name);
    if (view_.has_system || shown == all.end())
      shown = all.begin();
    std::span<const HeapCall> calls(shown, all.end());
    std::vector<LocationId> stack;
    while (!calls.empty()) {
      size_t size = 1;
      while (size < calls.size() && calls[size - 1].is_within(calls[size]))
        size++;
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

  const std::vector<Call>& calls_at(uint64_t address) {
    auto [known, is_new] = calls_.try_emplace(address);
    if (is_new)
      known->second = code_.calls_at(address - 1);
    return known->second;
  }

  // The location of one frame.
  LocationId location(std::span<const HeapCall> calls) {
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
    location.frame_count = static_cast<uint32_t>(profile_.frames.size()) - location.first_frame;
    location.mapping = location.frame_count == 0 ? kNoMapping : program_;
    location.unnamed = Unnamed::kUnmapped;
    profile_.locations.push_back(location);
    return known->second;
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
  const GoCode& code_;
  Profile profile_;
  MappingId program_{};
  std::map<uint32_t, StackId> stacks_;           // by number in the heap profile
  std::map<uint64_t, std::vector<Call>> calls_;  // by return address
  std::map<uint64_t, uint32_t> label_sets_;      // by size
  // By address and number of its calls.
  std::map<std::vector<std::pair<uint64_t, size_t>>, LocationId> locations_;
  CalledFunctions functions_{profile_};
};

}  // namespace

Profile profile_of(const HeapProfile& heap, const HeapView& view, const GoFile& file,
                   const GoroutineSource& source) {
  return HeapProfileBuilder(heap, view, file, source).make();
}

}  // namespace gosym
