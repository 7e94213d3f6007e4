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
    for (AnnotatedFunction& function : functions) {
      function_counters_.push_back(counters_.size());
      counters_.push_back({&function.samples});
      for (AnnotatedInstruction& instruction : function.instructions)
        instructions_.push_back({to_integer(instruction.address), &instruction});
    }
    std::ranges::sort(instructions_);
    find_owners(functions);
    places_.reserve(profile.locations.size());
    for (const Location& location : profile.locations)
      places_.push_back(place_of(location, functions));
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
  static void add(Counter& counter, uint64_t stack, uint64_t amount, bool is_self) {
    if (is_self)
      counter.samples->self += amount;
    if (std::exchange(counter.last_stack, stack) != stack)
      counter.samples->total += amount;
  }

  AnnotatedInstruction* instruction_at(const Location& location) const {
    if (!location.image_address || location.is_creator ||
        profile_.mappings[to_index(location.mapping)].image != image_)
      return nullptr;
    uint64_t address = location.call_of(to_integer(*location.image_address));
    auto after = std::ranges::upper_bound(instructions_, address, {},
                                          &std::pair<uint64_t, AnnotatedInstruction*>::first);
    if (after == instructions_.begin())
      return nullptr;
    auto [begin, instruction] = *std::prev(after);
    return address - begin < instruction->code.size ? instruction : nullptr;
  }

  // A function of the profile is that of the code in which its calls are the outermost. One
  // that lies in several pieces is that of the first.
  void find_owners(std::span<AnnotatedFunction> functions) {
    for (const Location& location : profile_.locations) {
      std::span<const Frame> frames = profile_.frames_of(location);
      const AnnotatedInstruction* at = frames.empty() ? nullptr : instruction_at(location);
      if (!at)
        continue;
      auto holds = [&](const AnnotatedFunction& function) {
        return to_integer(at->address) - to_integer(function.range.address) <
               function.range.size;
      };
      auto function = std::ranges::find_if(functions, holds);
      if (function == functions.end())
        continue;
      auto index = static_cast<size_t>(function - functions.begin());
      auto [known, is_new] = owners_.try_emplace(to_index(frames.back().function), index);
      if (!is_new)
        known.value() = std::min(known->second, index);
    }
  }

  Place place_of(const Location& location, std::span<AnnotatedFunction> functions) {
    Place place;
    if (AnnotatedInstruction* instruction = instruction_at(location)) {
      auto [known, is_new] = instruction_counters_.try_emplace(instruction, counters_.size());
      if (is_new)
        counters_.push_back({&instruction->samples});
      place.counted.push_back({known->second});
      if (location.is_return && !instruction->code.target)
        place.indirect_call = instruction;
    }
    std::span<const Frame> frames =
        location.is_creator ? std::span<const Frame>() : profile_.frames_of(location);
    for (size_t i = 0; i < frames.size(); i++) {
      auto owner = owners_.find(to_index(frames[i].function));
      if (owner == owners_.end())
        continue;
      place.counted.push_back({function_counters_[owner->second], i == 0});
      if (frames[i].line != 0)
        place.counted.push_back({line_counter(functions[owner->second], frames[i]), i == 0});
    }
    return place;
  }

  size_t line_counter(AnnotatedFunction& function, const Frame& frame) {
    std::string_view file = profile_.strings[profile_.functions[to_index(frame.function)].file];
    SelfAndTotal* samples = &function.lines[{std::string(file), frame.line}];
    auto [known, is_new] = line_counters_.try_emplace(samples, counters_.size());
    if (is_new)
      counters_.push_back({samples});
    return known->second;
  }

  const Profile& profile_;
  uint32_t image_;
  std::vector<std::pair<uint64_t, AnnotatedInstruction*>> instructions_;  // by address
  std::vector<Counter> counters_;
  std::vector<size_t> function_counters_;  // of the functions
  tsl::robin_map<AnnotatedInstruction*, size_t> instruction_counters_;
  tsl::robin_map<SelfAndTotal*, size_t> line_counters_;
  tsl::robin_map<size_t, size_t> owners_;  // function of the profile -> one of these
  std::vector<Place> places_;              // by location
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
