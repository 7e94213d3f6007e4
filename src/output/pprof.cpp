#include "output/pprof.h"
#include "base/sequence_pool.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "base/text.h"
#include "model/container.h"
#include "output/output_file.h"
#include "output/services.h"
#include "profile/accumulated_profile.h"
#include "profile/pprof_fields.h"
#include "profile/rewrite_stacks.h"
#include "view/frame_keys.h"

// The message Profile of profile.proto is written part by part, the table of texts last, as all
// other parts refer to texts by their numbers. pprof.h tells what is where.
namespace gosym {

namespace {

// The properties of a mapping that its locations decide.
struct Named {
  bool is_used = false;
  bool functions = false;
  bool files = false;
  bool lines = false;
  bool inlined = false;
};

// Locations without a number, which no sample has, tell nothing.
std::vector<Named> find_named(const Profile& profile, std::span<const uint64_t> numbers) {
  std::vector<Named> named(profile.mappings.size());
  for (size_t i = 0; i < profile.locations.size(); i++) {
    if (numbers[i] == 0)
      continue;
    const Location& location = profile.locations[i];
    Named& mapping = named[to_index(location.mapping)];
    mapping.is_used = true;
    mapping.inlined |= location.frame_count > 1;
    if (!profile.is_named(location))
      continue;
    for (const Frame& frame : profile.frames_of(location)) {
      mapping.functions = true;
      mapping.files |= profile.functions[to_index(frame.function)].file != StringId{};
      mapping.lines |= frame.line != 0;
    }
  }
  return named;
}

bool is_of_one_event(const Profile& profile) {
  return profile.info.events.size() == 1;
}

// A process of one recording: hosts and containers give the same numbers.
uint64_t process_of(const Owner& owner) {
  return uint64_t{owner.recording} << 32 | owner.pid;
}

uint64_t most_sampled_process(const Profile& profile, std::span<const SampleCount> samples) {
  tsl::robin_map<uint64_t, uint64_t, BytesHash> counts;
  std::pair<uint64_t, uint64_t> most;  // an amount, and whose
  for (const SampleCount& sample : samples) {
    uint64_t process = process_of(profile.owner(sample));
    // Amounts of different events have no common unit, but their numbers of samples have.
    uint64_t& amount = counts[process];
    amount += is_of_one_event(profile) ? profile.amount(sample) : sample.count;
    if (amount > most.first)
      most = {amount, process};
  }
  return most.second;
}

// The mapping of the program that the most sampled process runs: of all files mapped there,
// Linux puts the program lowest.
MappingId main_mapping(const Profile& profile, std::span<const SampleCount> samples) {
  uint64_t most = most_sampled_process(profile, samples);
  MappingId lowest = kNoMapping;
  uint64_t lowest_start = UINT64_MAX;
  for (const SampleCount& sample : samples) {
    if (process_of(profile.owner(sample)) != most)
      continue;
    for (LocationId id : profile.stack(sample.stack)) {
      MappingId mapping = profile.locations[to_index(id)].mapping;
      uint64_t start = profile.mappings[to_index(mapping)].start;
      bool is_file = profile.image_of(mapping).kind == ProfileImage::Kind::kFile;
      if (!is_file || start >= lowest_start)
        continue;
      lowest = mapping;
      lowest_start = start;
    }
  }
  return lowest;
}

struct ValueType {
  std::string_view type;
  std::string_view unit;
};

std::string_view unit_of(const RecordedEvent& event) {
  if (!event.unit.empty())
    return event.unit;
  return measures_time(event) ? "nanoseconds" : "count";
}

// The first that measures CPU time is called as Go's own profiles call it.
std::vector<ValueType> value_types(std::span<const RecordedEvent> events) {
  std::vector<ValueType> types;
  bool has_cpu_time = false;
  for (const RecordedEvent& event : events) {
    bool is_first = measures_cpu_time(event) && !has_cpu_time;
    types.push_back({is_first ? std::string_view("cpu") : event.name, unit_of(event)});
    has_cpu_time |= is_first;
  }
  return types;
}

// A profile of Go's own: what compares two of them wants the order of their values and the type
// of their period to be the same.
struct GoProfileTypes {
  std::vector<std::string_view> events;  // in order
  ValueType period;
};
const GoProfileTypes kGoProfiles[] = {
    {{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}, {"space", "bytes"}},
    {{"contentions", "delay"}, {"contentions", "count"}}};

// Null: it is none of Go's own.
const GoProfileTypes* find_go_profile(std::span<const RecordedEvent> events) {
  auto is_it = [&](const GoProfileTypes& types) {
    return events.size() == types.events.size() &&
           std::ranges::all_of(types.events, [&](std::string_view name) {
             return std::ranges::find(events, name, &RecordedEvent::name) != events.end();
           });
  };
  auto found = std::ranges::find_if(kGoProfiles, is_it);
  return found == std::end(kGoProfiles) ? nullptr : found;
}

// Numbers of values, as shown_events() has them, in the order in which they are written.
std::vector<uint32_t> order_of(std::span<const RecordedEvent> events,
                               std::span<const RecordedEvent> shown) {
  std::vector<uint32_t> order;
  // The order of Go's own is by name: gosym heap has the value first that was asked for.
  if (const GoProfileTypes* of_go = find_go_profile(shown)) {
    for (std::string_view name : of_go->events)
      order.push_back(static_cast<uint32_t>(
          std::ranges::find(shown, name, &RecordedEvent::name) - shown.begin()));
    return order;
  }
  for (const RecordedEvent& event : events) {
    auto first = static_cast<uint32_t>(order.size());
    // in_file_order() gives the value that had this place in the file that was read.
    for (uint32_t place = 0; place < value_count(event); place++)
      order.push_back(first + in_file_order(event, place));
  }
  return order;
}

// The numbers of samples of several events have no sum that means anything.
bool has_counts(const Profile& profile) {
  const RecordingInfo& info = profile.info;
  return info.events.size() == 1 && info.has_counts &&
         info.events[0].measure != Measure::kSamples;
}

// The side of a comparison whose amounts are taken away: the first recordings of a profile.
struct Base {
  double scale;         // of its amounts
  uint32_t recordings;  // how many are of it
};

class PprofWriter {
public:
  // With a scale the samples of the first recording are those that the others are compared
  // with.
  PprofWriter(const Profile& profile, std::span<const SampleCount> samples, const Write& write,
              std::optional<Base> base = {})
      : profile_(profile),
        samples_(samples),
        write_(write),
        base_(base),
        shown_(shown_events(profile.info.events)),
        firsts_(first_shown(profile.info.events)),
        order_(order_of(profile.info.events, shown_)),
        columns_(order_.size()),
        of_go_(find_go_profile(shown_)) {
    for (size_t column = 0; column < order_.size(); column++)
      columns_[order_[column]] = column;
  }

  // Names of events and labels are those that stores take.
  PprofWriter& for_store() {
    is_for_store_ = true;
    return *this;
  }

  void write() {
    number_used();
    write_header();
    write_mappings();
    write_locations();
    write_functions();
    write_samples();
    write_comments();
    // All that is written before adds its texts to the table.
    for (size_t i = 0; i < strings_.size(); i++) {
      std::string_view text = strings_[StringId(i)];
      out_.add_string(pprof_field::kStringTable, text.data(), text.size());
      flush(kStep);
    }
    flush(0);
  }

private:
  static constexpr size_t kStep = 1 << 20;

  // Passes on what there is, if it is that much. Only between fields of the profile.
  void flush(size_t least) {
    if (data_.size() <= least)
      return;
    write_(data_);
    data_.clear();
  }

  // Numbers the locations and functions that the samples have, from 1 on without a gap: Parca
  // takes other numbers for damaged. A profile of one service among many has few of them.
  void number_used() {
    location_numbers_.assign(profile_.locations.size(), 0);
    function_numbers_.assign(profile_.functions.size(), 0);
    for (const SampleCount& sample : samples_)
      for (LocationId id : profile_.stack(sample.stack))
        location_numbers_[to_index(id)] = 1;
    for (size_t i = 0; i < location_numbers_.size(); i++)
      if (location_numbers_[i] != 0)
        for (const Frame& frame : profile_.frames_of(profile_.locations[i]))
          function_numbers_[to_index(frame.function)] = 1;
    // Gives the marked ones their numbers, and says how many they are.
    auto number = [](std::vector<uint64_t>& marks) {
      uint64_t last = 0;
      for (uint64_t& mark : marks)
        mark = mark == 0 ? 0 : ++last;
      return last;
    };
    number(location_numbers_);
    function_count_ = number(function_numbers_);
  }

  void write_header() {
    if (has_counts(profile_))
      write_value_type(pprof_field::kSampleType, {"samples", "count"});
    std::vector<ValueType> types = value_types(shown_);
    for (uint32_t shown : order_)
      write_value_type(pprof_field::kSampleType, types[shown]);
    write_value_type(pprof_field::kPeriodType, of_go_ ? of_go_->period : types.front());
    const RecordedEvent& first = profile_.info.events.front();
    // The period of an event with a unit of its own is kept as it was read; that of others is
    // nanoseconds or events.
    out_.add_int64(pprof_field::kPeriod,
                   signed_of(first.unit.empty() ? profile_.period() : first.period));
    // The first value, whatever the order of the columns: gosym heap puts there what was asked
    // for.
    out_.add_int64(pprof_field::kDefaultSampleType, string(type_text(types.front().type)));
    out_.add_int64(pprof_field::kTimeNanos, signed_of(profile_.start_realtime_ns));
    out_.add_int64(pprof_field::kDurationNanos, signed_of(recorded_ns()));
  }

  std::string type_text(std::string_view type) const {
    return is_for_store_ ? event_for_store(type) : std::string(type);
  }

  void write_value_type(pprof_field::Profile where, const ValueType& type) {
    protozero::pbf_writer value(out_, where);
    value.add_int64(pprof_field::kType, string(type_text(type.type)));
    value.add_int64(pprof_field::kUnit, string(type.unit));
  }

  // Readers take the first for the program, and Parca one that is not numbered in its order for
  // damaged, as of functions and locations.
  void write_mappings() {
    named_ = find_named(profile_, location_numbers_);
    mapping_numbers_.assign(profile_.mappings.size(), 0);
    MappingId first = main_mapping(profile_, samples_);
    if (first != kNoMapping)
      write_mapping(first);
    for (size_t i = 0; i < profile_.mappings.size(); i++) {
      MappingId id{static_cast<uint32_t>(i)};
      if (id != kNoMapping && id != first && named_[i].is_used)
        write_mapping(id);
    }
  }

  void write_mapping(MappingId id) {
    const Mapping& mapping = profile_.mappings[to_index(id)];
    const RecordedImage& file = profile_.image_of(id).file;
    // Flags tell pprof what it need not look up itself: a mapping without functions is
    // symbolized by it.
    const Named& named = named_[to_index(id)];
    mapping_numbers_[to_index(id)] = ++mapping_count_;
    protozero::pbf_writer out(out_, pprof_field::kMapping);
    out.add_uint64(pprof_field::kMappingId, mapping_count_);
    out.add_uint64(pprof_field::kStart, mapping.start);
    out.add_uint64(pprof_field::kLimit, mapping.limit);
    out.add_uint64(pprof_field::kOffset, mapping.file_offset);
    out.add_int64(pprof_field::kFile, string(file.path));
    out.add_int64(
        pprof_field::kBuildId,
        string(file.gnu_build_id.empty() ? file.go_build_id : hex(file.gnu_build_id)));
    out.add_bool(pprof_field::kHasFunctions, named.functions);
    out.add_bool(pprof_field::kHasFilenames, named.files);
    out.add_bool(pprof_field::kHasLineNumbers, named.lines);
    out.add_bool(pprof_field::kHasInlineFrames, named.inlined);
  }

  void write_locations() {
    for (size_t i = 0; i < profile_.locations.size(); i++) {
      if (location_numbers_[i] == 0)
        continue;
      const Location& location = profile_.locations[i];
      uint64_t address = to_integer(location.address);
      protozero::pbf_writer out(out_, pprof_field::kLocation);
      out.add_uint64(pprof_field::kLocationId, location_numbers_[i]);
      out.add_uint64(pprof_field::kLocationMapping,
                     mapping_numbers_[to_index(location.mapping)]);
      // Locations that stand for no code keep a number in the address, which is none. A return
      // address is behind its call: call_of() gives one less.
      if (!is_no_code(location.unnamed))
        out.add_uint64(pprof_field::kAddress, location.call_of(address));
      for (const Frame& frame : profile_.frames_of(location))
        write_line(out, function_numbers_[to_index(frame.function)], frame.line);
      // Code without a name in a mapping without any names is left to pprof, which may have the
      // file. In others pprof would not look, so a function stands for the reason.
      bool may_be_named_later =
          location.mapping != kNoMapping && !named_[to_index(location.mapping)].functions;
      if (location.frame_count == 0 && !may_be_named_later)
        write_line(out, reason_function(location), 0);
    }
  }

  void write_line(protozero::pbf_writer& location, uint64_t function, uint32_t line) {
    protozero::pbf_writer out(location, pprof_field::kLine);
    out.add_uint64(pprof_field::kLineFunction, function);
    out.add_int64(pprof_field::kLineNumber, line);
  }

  // The id of the function that stands for all code without a name for this reason.
  uint64_t reason_function(const Location& location) {
    std::string text = unnamed_function(profile_, location);
    auto [known, is_new] = reason_numbers_.try_emplace(string(text), reasons_.size());
    if (is_new)
      reasons_.push_back(known->first);
    return function_count_ + known->second + 1;
  }

  void write_functions() {
    // Numbers of reasons follow those of functions, as reason_function() promised.
    for (size_t i = 0; i < profile_.functions.size(); i++) {
      if (function_numbers_[i] == 0)
        continue;
      const Function& function = profile_.functions[i];
      write_function(function_numbers_[i], string(profile_.strings[function.name]),
                     string(profile_.strings[function.system_name]),
                     string(profile_.strings[function.file]), function.start_line);
    }
    for (size_t i = 0; i < reasons_.size(); i++)
      write_function(function_count_ + i + 1, reasons_[i], reasons_[i], 0, 0);
  }

  void write_function(uint64_t id, int64_t name, int64_t system_name, int64_t file,
                      uint32_t start_line) {
    protozero::pbf_writer out(out_, pprof_field::kFunction);
    out.add_uint64(pprof_field::kFunctionId, id);
    out.add_int64(pprof_field::kName, name);
    out.add_int64(pprof_field::kSystemName, system_name);
    out.add_int64(pprof_field::kFilename, file);
    out.add_int64(pprof_field::kStartLine, start_line);
  }

  // One for each of the sample types: 0 for events that it is no sample of.
  void set_values(const SampleCount& sample, std::vector<int64_t>& values) const {
    uint32_t event = profile_.owner(sample).event;
    // The period turns amounts into the units of the value types.
    int64_t value = scaled(profile_.amount(sample) * profile_.period(event), sample);
    if (has_counts(profile_)) {
      values = {scaled(sample.count, sample), value};
      return;
    }
    // Called once for each event of the same place: the other values stay. firsts_ has the
    // number of the event's first value, columns_ the column of each number.
    values.resize(order_.size(), 0);
    values[columns_[firsts_[event]]] += value;
    std::span<const uint64_t> others = profile_.others_of(sample);
    for (size_t i = 0; i < others.size(); i++)
      values[columns_[firsts_[event] + 1 + i]] += scaled(others[i], sample);
  }

  // True if the sample of another event is of what this one is of, but for the number of it.
  bool is_of_same(const SampleCount& one, const SampleCount& other) const {
    Owner owner = profile_.owner(other);
    uint32_t event = std::exchange(owner.event, profile_.owner(one).event);
    return event != owner.event && one.stack == other.stack && profile_.owner(one) == owner;
  }

  bool is_base(const SampleCount& sample) const {
    return base_ && profile_.owner(sample).recording < base_->recordings;
  }

  int64_t scaled(uint64_t value, const SampleCount& sample) const {
    return is_base(sample) ? -std::llround(base_->scale * static_cast<double>(value))
                           : signed_of(value);
  }

  void write_samples() {
    std::vector<uint64_t> locations;
    std::vector<int64_t> values;
    for (size_t i = 0; i < samples_.size(); i++) {
      const SampleCount& sample = samples_[i];
      locations.clear();
      for (LocationId id : profile_.stack(sample.stack))
        locations.push_back(location_numbers_[to_index(id)]);
      values.clear();
      set_values(sample, values);
      // A page has a sample of each value for each place: they are one in a profile of Go's
      // own.
      while (of_go_ && i + 1 < samples_.size() && is_of_same(sample, samples_[i + 1]))
        set_values(samples_[++i], values);
      protozero::pbf_writer out(out_, pprof_field::kSample);
      out.add_packed_uint64(pprof_field::kSampleLocations, locations.begin(), locations.end());
      out.add_packed_int64(pprof_field::kValues, values.begin(), values.end());
      write_owner(out, profile_.owner(sample));
      if (is_base(sample))
        write_label(out, "pprof::base", pprof_field::kText, string("true"));
      // The message must be complete before its bytes are handed on.
      out.commit();
      flush(kStep);
    }
  }

  // A size of objects is a number, as Go has it.
  void write_own_label(protozero::pbf_writer& out, std::string_view key,
                       std::string_view value) {
    auto number = of_go_ && key == "bytes" ? parse_decimal(value) : std::nullopt;
    if (number && *number <= INT64_MAX)
      write_label(out, key, pprof_field::kNumber, signed_of(*number));
    else
      write_label(out, key, pprof_field::kText, string(value));
  }

  // The sum of the recordings' durations, without the time between them, as pprof does when it
  // merges.
  uint64_t recorded_ns() const {
    if (profile_.recordings.size() <= 1)
      return profile_.duration_ns;
    uint64_t sum = 0;
    for (const ProfiledRecording& one : profile_.recordings)
      sum += one.duration_ns;
    return sum;
  }

  void write_owner(protozero::pbf_writer& out, const Owner& owner) {
    for_each_owner_field([&](const auto& field) {
      auto value = owner.*field.member;
      // Fields without a label are told in another way: the event by the column of its value,
      // labels of goroutines and the recording below.
      // A profile that was read may not know the thread; in others there is one of number 0.
      bool is_told = static_cast<uint64_t>(value) != 0 ||
                     (field.role == OwnerRole::kTask && profile_.info.source.empty());
      if (field.label.empty() || !is_told)
        return;
      if (field.role != OwnerRole::kText)
        write_label(out, field.label, pprof_field::kNumber, static_cast<int64_t>(value));
      else if (StringId text{static_cast<uint32_t>(value)}; field.label == "cgroup")
        write_cgroup(out, profile_.strings[text]);
      else
        write_text(out, field.label, profile_.strings[text]);
    });
    if (profile_.recordings.size() > 1)
      write_text(out, "host", profile_.recordings[owner.recording].info.host);
    for (const ProfileLabel& label : profile_.label_sets[owner.label_set]) {
      std::string_view key = profile_.strings[label.key];
      write_own_label(out, is_for_store_ ? label_for_store(key) : std::string(key),
                      profile_.strings[label.value]);
    }
  }

  void write_cgroup(protozero::pbf_writer& sample, std::string_view path) {
    if (path.empty() || path == "/")
      return;
    write_label(sample, "cgroup", pprof_field::kText, string(path));
    if (std::string_view id = container_id(path); !id.empty())
      write_label(sample, "container_id", pprof_field::kText, string(id));
  }

  void write_text(protozero::pbf_writer& sample, std::string_view key, std::string_view text) {
    if (!text.empty())
      write_label(sample, key, pprof_field::kText, string(text));
  }

  void write_label(protozero::pbf_writer& sample, std::string_view key, pprof_field::Label kind,
                   int64_t value) {
    protozero::pbf_writer out(sample, pprof_field::kLabel);
    out.add_int64(pprof_field::kKey, string(key));
    out.add_int64(kind, value);
  }

  void write_comments() {
    const RecordingInfo& info = profile_.info;
    write_comment("gosym " GOSYM_VERSION);
    if (!info.command_line.empty())
      write_comment(fmt::format("recorded by: {}", info.command_line));
    for (const RecordedEvent& event : shown_)
      write_comment(fmt::format("event: {}", event_text(event)));
    if (!profile_.filter.empty())
      write_comment(fmt::format("filter: {}", profile_.filter));
    if (std::string_view estimate = estimate_of(profile_); !estimate.empty())
      write_comment(fmt::format("estimate: {}", estimate));
    if (uint64_t lost = profile_.stats.lost_samples; lost > 0)
      write_comment(fmt::format("lost: {} of {} samples", lost, lost + profile_.stats.samples));
    for (const std::string& what : profile_.damage)
      write_comment(fmt::format("damaged: {}", what));
  }

  void write_comment(std::string_view text) {
    out_.add_int64(pprof_field::kComment, string(text));
  }

  // The wire format of a string is UTF-8; readers refuse a file with any other.
  int64_t string(std::string_view text) {
    return static_cast<int64_t>(strings_.intern(printable(text)));
  }

  static int64_t signed_of(uint64_t value) { return static_cast<int64_t>(value); }

  const Profile& profile_;
  std::span<const SampleCount> samples_;
  const Write& write_;
  std::optional<Base> base_;
  bool is_for_store_ = false;
  std::vector<RecordedEvent> shown_;  // what has a column
  std::vector<uint32_t> firsts_;      // by event: the number of its first value among these
  std::vector<uint32_t> order_;       // of each column its number among these
  std::vector<size_t> columns_;       // by number among these
  const GoProfileTypes* of_go_;       // null: of no profile that Go's runtime makes
  std::string data_;                  // that is not written yet
  protozero::pbf_writer out_{data_};
  StringPool strings_;
  std::vector<uint64_t> location_numbers_;  // 0: not written
  std::vector<uint64_t> function_numbers_;  // likewise
  uint64_t function_count_ = 0;
  std::vector<Named> named_;               // by mapping
  std::vector<uint64_t> mapping_numbers_;  // likewise; 0: not written
  uint64_t mapping_count_ = 0;
  std::vector<int64_t> reasons_;              // texts
  std::map<int64_t, size_t> reason_numbers_;  // text -> index of it
};

}  // namespace

void encode_pprof(const Profile& profile, const Write& write) {
  PprofWriter(profile, profile.samples, write).write();
}

void write_pprof(const Profile& profile, const Write& write) {
  write_gzipped([&](const Write& compress) { encode_pprof(profile, compress); }, write);
}

void write_pprof_for_store(const Profile& profile, std::span<const SampleCount> samples,
                           const Write& write) {
  write_gzipped(
      [&](const Write& compress) {
        PprofWriter(profile, samples, compress).for_store().write();
      },
      write);
}

void write_pprof_difference(const Profile& before, const Profile& after, double scale,
                            const Write& write) {
  // Merging both makes one table of strings, functions and locations. The recordings' numbers
  // keep the sides apart: a side of several files has as many, of one file none is listed.
  Base base = {scale, static_cast<uint32_t>(std::max<size_t>(before.recordings.size(), 1))};
  AccumulatedProfile both(AccumulatedProfile::kNoLimits);
  both.add(before, 0);
  both.add(after, base.recordings);
  write_gzipped(
      [&](const Write& compress) {
        PprofWriter(both.profile(), both.profile().samples, compress, base).write();
      },
      write);
}

}  // namespace gosym
