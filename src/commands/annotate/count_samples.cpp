#include "commands/annotate/count_samples.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <optional>

namespace gosym {

namespace {

// Counts for a function, a line or an instruction.
struct Counter {
  SelfAndTotal* samples;
  uint64_t last_stack = 0;  // from 1: which one it has counted last
};

// A frame of a stack counts for this one.
struct CountedPlace {
  size_t counter = 0;
  bool is_innermost = true;  // no other function was inlined there
};

struct Place {
  std::vector<CountedPlace> counted = {};
  AnnotatedInstruction* indirect_call = nullptr;  // if it returns to behind one
};

class CodeCounter {
public:
  CodeCounter(const Profile& profile, uint32_t image, std::span<AnnotatedFunction> functions)
      : profile_(profile), image_(image) {
    for (AnnotatedFunction& function : functions)
      for (AnnotatedInstruction& instruction : function.instructions)
        instructions_.push_back({to_integer(instruction.address), &instruction, &function});
    std::ranges::sort(instructions_, {}, &CodeAt::address);
    find_owners();
    places_.reserve(profile.locations.size());
    for (const Location& location : profile.locations)
      places_.push_back(place_of(location));
  }

  void count(std::span<const SampleCount> samples) {
    uint64_t number = 0;
    for (const SampleCount& sample : samples) {
      std::span<const LocationId> stack = profile_.stack(sample.stack);
      uint64_t amount = profile_.amount(sample);
      number++;
      for (size_t i = 0; i < stack.size(); i++) {
        const Place& place = places_[to_index(stack[i])];
        for (const CountedPlace& counted : place.counted)
          add(counters_[counted.counter], number, amount, i == 0 && counted.is_innermost);
        if (!place.indirect_call || i == 0)
          continue;
        std::span<const Frame> called =
            profile_.frames_of(profile_.locations[to_index(stack[i - 1])]);
        if (!called.empty())
          called_[{place.indirect_call, called.back().function}] += amount;
      }
    }
  }

  // The one that was called the most is told, and how many others were.
  void name_called() const {
    for (auto of = called_.begin(); of != called_.end();) {
      auto next = std::find_if(of, called_.end(), [&](const auto& other) {
        return other.first.first != of->first.first;
      });
      auto most = std::max_element(
          of, next, [](const auto& a, const auto& b) { return a.second < b.second; });
      std::string& text = most->first.first->called;
      text = profile_.name_of(most->first.second);
      if (auto others = std::distance(of, next) - 1; others > 0)
        text += fmt::format(" and {} other{}", others, others == 1 ? "" : "s");
      of = next;
    }
  }

private:
  struct CodeAt {
    uint64_t address;
    AnnotatedInstruction* instruction;
    AnnotatedFunction* function;  // that it is of
  };

  static void add(Counter& counter, uint64_t stack, uint64_t amount, bool is_self) {
    if (is_self)
      counter.samples->self += amount;
    if (std::exchange(counter.last_stack, stack) != stack)
      counter.samples->total += amount;
  }

  const CodeAt* instruction_at(const Location& location) const {
    if (!location.image_address || location.is_creator ||
        profile_.mappings[to_index(location.mapping)].image != image_)
      return nullptr;
    uint64_t address = location.call_of(to_integer(*location.image_address));
    auto after = std::ranges::upper_bound(instructions_, address, {}, &CodeAt::address);
    if (after == instructions_.begin())
      return nullptr;
    const CodeAt& known = *std::prev(after);
    return address - known.address < known.instruction->code.size ? &known : nullptr;
  }

  // A function of the profile is that of the code in which its calls are the outermost. One
  // that lies in several pieces is that of the first.
  void find_owners() {
    for (const Location& location : profile_.locations) {
      std::span<const Frame> frames = profile_.frames_of(location);
      const CodeAt* at = frames.empty() ? nullptr : instruction_at(location);
      if (!at)
        continue;
      AnnotatedFunction*& owner = owners_[to_index(frames.back().function)];
      owner = owner ? std::min(owner, at->function) : at->function;
    }
  }

  Place place_of(const Location& location) {
    Place place;
    if (const CodeAt* at = instruction_at(location)) {
      place.counted.push_back({counter_of(at->instruction->samples)});
      if (location.is_return && !at->instruction->code.target)
        place.indirect_call = at->instruction;
    }
    std::span<const Frame> frames =
        location.is_creator ? std::span<const Frame>() : profile_.frames_of(location);
    for (size_t i = 0; i < frames.size(); i++) {
      auto owner = owners_.find(to_index(frames[i].function));
      if (owner == owners_.end())
        continue;
      AnnotatedFunction& function = *owner->second;
      place.counted.push_back({counter_of(function.samples), i == 0});
      if (frames[i].line != 0)
        place.counted.push_back({counter_of(line_of(function, frames[i])), i == 0});
    }
    return place;
  }

  SelfAndTotal& line_of(AnnotatedFunction& function, const Frame& frame) const {
    std::string_view file = profile_.strings[profile_.functions[to_index(frame.function)].file];
    return function.lines[{std::string(file), frame.line}];
  }

  size_t counter_of(SelfAndTotal& samples) {
    auto [known, is_new] = counter_numbers_.try_emplace(&samples, counters_.size());
    if (is_new)
      counters_.push_back({&samples});
    return known->second;
  }

  const Profile& profile_;
  uint32_t image_;
  std::vector<CodeAt> instructions_;  // by address
  std::vector<Counter> counters_;
  tsl::robin_map<SelfAndTotal*, size_t> counter_numbers_;
  std::map<size_t, AnnotatedFunction*> owners_;  // by function of the profile
  std::vector<Place> places_;                    // by location
  std::map<std::pair<AnnotatedInstruction*, FunctionId>, uint64_t> called_;
};

}  // namespace

void count_samples(const Profile& profile, std::span<const SampleCount> samples, uint32_t image,
                   std::span<AnnotatedFunction> functions) {
  CodeCounter counter(profile, image, functions);
  counter.count(samples);
  counter.name_called();
}

}  // namespace gosym
