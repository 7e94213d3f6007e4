#include "output/otlp.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <map>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "base/sequence_pool.h"
#include "base/text.h"
#include "output/services.h"
#include "view/frame_keys.h"

// Resources with their profiles are written first, then the tables to which they refer by
// number (OtlpDictionary), which are filled meanwhile. otlp.h tells what is where.
namespace gosym {

namespace {

// Field numbers of opentelemetry-proto: profiles.proto, and of common.proto and service.proto
// what is used here.
namespace otlp_field {

enum Data { kResourceProfiles = 1, kDictionary = 2 };
enum ResourceProfiles { kResource = 1, kScopeProfiles = 2 };
enum Resource { kResourceAttribute = 1 };
enum ScopeProfiles { kScope = 1, kProfile = 2 };
enum Scope { kScopeName = 1, kScopeVersion = 2 };
enum KeyValue { kKey = 1, kKeyValue = 2 };
enum AnyValue { kText = 1, kInteger = 3 };
enum Dictionary {
  kMapping = 1,
  kLocation = 2,
  kFunction = 3,
  kLink = 4,
  kString = 5,
  kAttribute = 6,
  kStack = 7,
};
enum Profile {
  kSampleType = 1,
  kSample = 2,
  kTime = 3,
  kDuration = 4,
  kPeriodType = 5,
  kPeriod = 6,
  kProfileId = 7,
};
enum ValueType { kType = 1, kUnit = 2 };
enum Sample { kSampleStack = 1, kSampleAttributes = 2, kValues = 4 };
enum Mapping { kStart = 1, kLimit = 2, kOffset = 3, kMappingFile = 4, kMappingAttributes = 5 };
enum Stack { kLocations = 1 };
enum Location { kLocationMapping = 1, kAddress = 2, kLine = 3, kLocationAttributes = 4 };
enum Line { kLineFunction = 1, kLineNumber = 2 };
enum Function { kName = 1, kSystemName = 2, kFile = 3, kStartLine = 4 };
enum Attribute { kAttributeKey = 1, kAttributeValue = 2 };

}  // namespace otlp_field

// The tables to which all profiles of a request refer by number. Entry 0 of each is empty.
class OtlpDictionary {
public:
  // The wire format of a string is UTF-8: a reader refuses a message with any other.
  int32_t string(std::string_view text) {
    return static_cast<int32_t>(strings_.intern(printable(text)));
  }

  uint32_t attribute(std::string_view key, std::string_view value) {
    return attribute(key, [&](protozero::pbf_writer& any) {
      any.add_string(otlp_field::kText, printable(value));
    });
  }
  uint32_t attribute(std::string_view key, int64_t value) {
    return attribute(
        key, [&](protozero::pbf_writer& any) { any.add_int64(otlp_field::kInteger, value); });
  }

  uint32_t stack(std::string message) {
    return intern(std::move(message), stack_numbers_, stacks_);
  }

  // A function that has only a name.
  uint32_t named_function(std::string_view name) {
    auto [known, is_new] = named_functions_.try_emplace(std::string(name), 0);
    if (is_new)
      known->second = add_function(string(name), string(name), 0, 0);
    return known->second;
  }
  uint32_t add_function(int32_t name, int32_t system_name, int32_t file, uint32_t line) {
    std::string message;
    protozero::pbf_writer out(message);
    out.add_int32(otlp_field::kName, name);
    out.add_int32(otlp_field::kSystemName, system_name);
    out.add_int32(otlp_field::kFile, file);
    out.add_int64(otlp_field::kStartLine, line);
    return append(std::move(message), functions_);
  }
  uint32_t add_mapping(std::string message) { return append(std::move(message), mappings_); }
  uint32_t add_location(std::string message) { return append(std::move(message), locations_); }

  void write(protozero::pbf_writer& out) const {
    write_table(out, otlp_field::kMapping, mappings_);
    write_table(out, otlp_field::kLocation, locations_);
    write_table(out, otlp_field::kFunction, functions_);
    // Links to spans of a trace are not written: their table has nothing but its entry 0.
    out.add_message(otlp_field::kLink, std::string());
    for (size_t i = 0; i < strings_.size(); i++)
      out.add_string(otlp_field::kString, strings_[StringId(i)].data(),
                     strings_[StringId(i)].size());
    write_table(out, otlp_field::kAttribute, attributes_);
    write_table(out, otlp_field::kStack, stacks_);
  }

private:
  using Table = std::vector<std::string>;  // of messages
  using Numbers = std::map<std::string, uint32_t>;

  // The nested message is complete only when its writer is gone: hence the block.
  uint32_t attribute(std::string_view key, auto&& write_value) {
    std::string message;
    protozero::pbf_writer out(message);
    out.add_int32(otlp_field::kAttributeKey, string(key));
    {
      protozero::pbf_writer any(out, otlp_field::kAttributeValue);
      write_value(any);
    }
    return intern(std::move(message), attribute_numbers_, attributes_);
  }

  static uint32_t append(std::string message, Table& table) {
    table.push_back(std::move(message));
    return static_cast<uint32_t>(table.size() - 1);
  }

  // Compares messages by their bytes, which are equal where all fields are.
  static uint32_t intern(std::string message, Numbers& numbers, Table& table) {
    auto [known, is_new] = numbers.try_emplace(message, 0);
    if (is_new)
      known->second = append(std::move(message), table);
    return known->second;
  }

  static void write_table(protozero::pbf_writer& out, otlp_field::Dictionary field,
                          const Table& table) {
    for (const std::string& message : table)
      out.add_message(field, message);
  }

  StringPool strings_;
  Table mappings_{1}, locations_{1}, functions_{1}, attributes_{1}, stacks_{1};
  Numbers attribute_numbers_, stack_numbers_;
  std::map<std::string, uint32_t> named_functions_;
};

class OtlpWriter {
public:
  explicit OtlpWriter(const Profile& profile) : profile_(profile) {}

  std::string write() && {
    add_mappings();
    add_functions();
    // Mappings and functions are added whole; stacks and locations when the first sample asks
    // for them.
    attributes_.resize(profile_.owners.size());
    stacks_.assign(profile_.stack_count(), 0);
    locations_.assign(profile_.locations.size(), 0);

    std::string data;
    protozero::pbf_writer out(data);
    for (const auto& [service, samples] : samples_by_service(profile_))
      write_resource(out, service, samples);
    // Last, for writing samples fills the tables.
    protozero::pbf_writer dictionary(out, otlp_field::kDictionary);
    tables_.write(dictionary);
    dictionary.commit();
    return data;
  }

private:
  struct SampleKey {
    uint32_t stack;
    uint32_t attributes;  // number of the list
    bool operator==(const SampleKey&) const = default;
  };
  // The samples of an event of a resource, in order of first sight.
  struct Samples {
    std::vector<std::pair<SampleKey, uint64_t>> sums;
    tsl::robin_map<SampleKey, size_t, BytesHash> places;
  };

  void add_mappings() {
    mappings_.assign(profile_.mappings.size(), 0);
    // Mapping 0 of a profile is none, and so is entry 0 of the table.
    for (size_t i = 1; i < profile_.mappings.size(); i++) {
      const Mapping& mapping = profile_.mappings[i];
      // Keys of attributes are those of OpenTelemetry's semantic conventions, as far as these
      // have one.
      const RecordedImage& file = profile_.image_of(MappingId(static_cast<uint32_t>(i))).file;
      std::vector<uint32_t> attributes;
      if (!file.gnu_build_id.empty())
        attributes.push_back(tables_.attribute("process.executable.build_id.gnu",
                                               std::string_view(hex(file.gnu_build_id))));
      if (!file.go_build_id.empty())
        attributes.push_back(tables_.attribute("process.executable.build_id.go",
                                               std::string_view(file.go_build_id)));
      std::string message;
      protozero::pbf_writer out(message);
      out.add_uint64(otlp_field::kStart, mapping.start);
      out.add_uint64(otlp_field::kLimit, mapping.limit);
      out.add_uint64(otlp_field::kOffset, mapping.file_offset);
      out.add_int32(otlp_field::kMappingFile, tables_.string(file.path));
      out.add_packed_int32(otlp_field::kMappingAttributes, attributes.begin(),
                           attributes.end());
      mappings_[i] = tables_.add_mapping(std::move(message));
    }
  }

  void add_functions() {
    for (const Function& function : profile_.functions)
      functions_.push_back(tables_.add_function(
          tables_.string(profile_.strings[function.name]),
          tables_.string(profile_.strings[function.system_name]),
          tables_.string(profile_.strings[function.file]), function.start_line));
  }

  std::string_view frame_type(const Location& location) const {
    if (profile_.is_kernel(location))
      return "kernel";
    bool is_of_go =
        location.frame_count > 0 && is_go(profile_.frames[location.first_frame].source);
    return is_of_go ? "go" : "native";
  }

  static void add_line(protozero::pbf_writer& location, uint32_t function, uint32_t line) {
    protozero::pbf_writer out(location, otlp_field::kLine);
    out.add_int32(otlp_field::kLineFunction, static_cast<int32_t>(function));
    out.add_int64(otlp_field::kLineNumber, line);
  }

  uint32_t location(LocationId id) {
    // The tables grow below, locations_ does not: the reference stays valid.
    uint32_t& number = locations_[to_index(id)];
    if (number != 0)
      return number;
    const Location& location = profile_.locations[to_index(id)];
    std::string message;
    protozero::pbf_writer out(message);
    out.add_int32(otlp_field::kLocationMapping,
                  static_cast<int32_t>(mappings_[to_index(location.mapping)]));
    // A return address is behind its call: call_of() gives one less. What stands for no code
    // has no address.
    if (!is_no_code(location.unnamed))
      out.add_uint64(otlp_field::kAddress, location.call_of(to_integer(location.address)));
    // Lines are innermost first, as frames of a profile are.
    for (const Frame& frame : profile_.frames_of(location))
      add_line(out, functions_[to_index(frame.function)], frame.line);
    // No server has the files: one that shows nothing where a name is missing hides the frame.
    if (location.frame_count == 0)
      add_line(out, tables_.named_function(unnamed_function(profile_, location)), 0);
    if (!is_no_code(location.unnamed)) {
      uint32_t type = tables_.attribute("profile.frame.type", frame_type(location));
      out.add_packed_int32(otlp_field::kLocationAttributes, &type, &type + 1);
    }
    return number = tables_.add_location(std::move(message));
  }

  uint32_t stack(StackId id) {
    uint32_t& number = stacks_[to_index(id)];
    // A stack without frames is entry 0, which is empty as well.
    if (number != 0 || profile_.stack(id).empty())
      return number;
    std::vector<uint32_t> locations;
    for (LocationId of : profile_.stack(id))
      locations.push_back(location(of));
    std::string message;
    protozero::pbf_writer out(message);
    out.add_packed_int32(otlp_field::kLocations, locations.begin(), locations.end());
    return number = tables_.stack(std::move(message));
  }

  // Keys are unique within a sample: a label that has one of ours is left out.
  uint32_t add_attributes(const Owner& owner) {
    std::vector<uint32_t> list;
    std::vector<std::string> keys;
    auto add = [&](std::string_view key, auto value) {
      if (std::ranges::find(keys, key) != keys.end())
        return;
      keys.emplace_back(key);
      list.push_back(tables_.attribute(key, value));
    };
    auto add_text = [&](std::string_view key, StringId text) {
      if (text != StringId{})
        add(key, profile_.strings[text]);
    };
    if (owner.pid != 0)
      add("process.pid", int64_t{owner.pid});
    add_text("process.executable.name", owner.process_name());
    add_text("thread.name", owner.comm);
    add_text("thread.state", owner.state);
    for (const ProfileLabel& label : profile_.label_sets[owner.label_set])
      add(label_for_store(profile_.strings[label.key]), profile_.strings[label.value]);
    return lists_.intern(list);
  }

  // The number of the list, which all samples of an owner share.
  uint32_t attributes_of(const SampleCount& sample) {
    std::optional<uint32_t>& number = attributes_[to_index(sample.owner)];
    if (!number)
      number = add_attributes(profile_.owner(sample));
    return *number;
  }

  // CPU time counts ticks, each of which is a period: a store that knows the profile of Go's
  // own by this takes it for that.
  bool counts_ticks(uint32_t event) const {
    const RecordedEvent& of = profile_.info.events[event];
    return measures_cpu_time(of) && !is_weighted(of);
  }

  void add_sample(const SampleCount& sample, std::vector<Samples>& by_event) {
    const Owner& owner = profile_.owner(sample);
    Samples& samples = by_event[owner.event];
    SampleKey key = {stack(sample.stack), attributes_of(sample)};
    auto [place, is_new] = samples.places.try_emplace(key, samples.sums.size());
    if (is_new)
      samples.sums.emplace_back(key, 0);
    // In ticks, as the period is told beside them, or else in nanoseconds or events.
    samples.sums[place->second].second +=
        profile_.amount(sample) *
        (counts_ticks(owner.event) ? 1 : profile_.period(owner.event));
  }

  static void write_attribute(protozero::pbf_writer& resource, std::string_view key,
                              std::string_view value) {
    if (value.empty())
      return;
    protozero::pbf_writer out(resource, otlp_field::kResourceAttribute);
    out.add_string(otlp_field::kKey, key.data(), key.size());
    protozero::pbf_writer any(out, otlp_field::kKeyValue);
    any.add_string(otlp_field::kText, printable(value));
  }

  void write_resource(protozero::pbf_writer& data, const Service& service,
                      const std::vector<size_t>& numbers) {
    // The format has one type of values a profile: each event of the service has its own.
    std::vector<Samples> by_event(profile_.info.events.size());
    for (size_t number : numbers)
      add_sample(profile_.samples[number], by_event);
    protozero::pbf_writer out(data, otlp_field::kResourceProfiles);
    // A writer sets the length of its message when it ends, which the block is for.
    {
      protozero::pbf_writer attributes(out, otlp_field::kResource);
      write_attribute(attributes, "service.name", service.name);
      write_attribute(attributes, "host.name", service.host);
      write_attribute(attributes, "host.arch", service.machine);
      write_attribute(attributes, "os.type", "linux");
      write_attribute(attributes, "container.id", service.container);
      write_attribute(attributes, "k8s.pod.uid", service.pod);
    }
    protozero::pbf_writer scoped(out, otlp_field::kScopeProfiles);
    {
      protozero::pbf_writer scope(scoped, otlp_field::kScope);
      scope.add_string(otlp_field::kScopeName, "gosym");
      scope.add_string(otlp_field::kScopeVersion, GOSYM_VERSION);
    }
    for (uint32_t event = 0; event < by_event.size(); event++)
      if (!by_event[event].sums.empty())
        write_profile(scoped, service, event, by_event[event]);
  }

  void write_value_type(protozero::pbf_writer& profile, otlp_field::Profile field,
                        std::string_view type, std::string_view unit) {
    protozero::pbf_writer out(profile, field);
    out.add_int32(otlp_field::kType, tables_.string(type));
    out.add_int32(otlp_field::kUnit, tables_.string(unit));
  }

  // A server knows time by the name that other profilers give it.
  void write_types(protozero::pbf_writer& out, uint32_t event) {
    const RecordedEvent& of = profile_.info.events[event];
    if (counts_ticks(event)) {
      write_value_type(out, otlp_field::kSampleType, "samples", "count");
      write_value_type(out, otlp_field::kPeriodType, "cpu", kNanoseconds);
      out.add_int64(otlp_field::kPeriod, static_cast<int64_t>(profile_.period(event)));
      return;
    }
    std::string name = event_for_store(of.name);
    std::string_view unit = measures_time(of) ? kNanoseconds
                            : of.unit.empty() ? "count"
                                              : std::string_view(of.unit);
    write_value_type(out, otlp_field::kSampleType, name, unit);
    // Waits are known by having none; others are called by the type of their period.
    if (of.measure == Measure::kWaiting)
      return;
    write_value_type(out, otlp_field::kPeriodType, name, unit);
    out.add_int64(otlp_field::kPeriod, 1);
  }

  void write_profile(protozero::pbf_writer& scoped, const Service& service, uint32_t event,
                     const Samples& samples) {
    protozero::pbf_writer out(scoped, otlp_field::kProfile);
    write_types(out, event);
    for (const auto& [key, value] : samples.sums) {
      protozero::pbf_writer sample(out, otlp_field::kSample);
      sample.add_int32(otlp_field::kSampleStack, static_cast<int32_t>(key.stack));
      std::span<const uint32_t> attributes = lists_[key.attributes];
      sample.add_packed_int32(otlp_field::kSampleAttributes, attributes.begin(),
                              attributes.end());
      // A single value, without a time: it is the sum of all samples of this stack and these
      // attributes.
      auto signed_value = static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
      sample.add_packed_int64(otlp_field::kValues, &signed_value, &signed_value + 1);
    }
    out.add_fixed64(otlp_field::kTime, profile_.start_realtime_ns);
    out.add_uint64(otlp_field::kDuration, profile_.duration_ns);
    out.add_bytes(otlp_field::kProfileId,
                  profile_id(profile_, service, profile_.info.events[event].name));
  }

  const Profile& profile_;
  OtlpDictionary tables_;
  SequencePool<uint32_t> lists_;                     // of attributes
  std::vector<std::optional<uint32_t>> attributes_;  // their lists, by owner; none: not yet
  std::vector<uint32_t> mappings_;  // numbers in the tables, by those in the profile
  std::vector<uint32_t> functions_;
  std::vector<uint32_t> locations_;  // 0: not there yet
  std::vector<uint32_t> stacks_;
};

}  // namespace

void write_otlp(const Profile& profile, const Write& write) {
  write(OtlpWriter(profile).write());
}

}  // namespace gosym
