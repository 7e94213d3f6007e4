#include "exchange/pprof_reader.h"
#include "base/sequence_pool.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/protobuf.h"
#include "base/text.h"
#include "exchange/gunzip.h"
#include "exchange/profile_builder.h"
#include "profile/pprof_fields.h"

namespace gosym {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kNumber = pbf_wire_type::varint;
constexpr auto kBytes = pbf_wire_type::length_delimited;

// Frames of all stacks, inlined calls included: those of a day of a large host are some ten
// million, while a small file can name one location with many calls any number of times.
constexpr uint64_t kMaxFrames = 100'000'000;

// The fields of a message that are numbers, by field; others are skipped.
template <size_t kFields>
std::array<uint64_t, kFields + 1> numbers_of(pbf_reader message) {
  std::array<uint64_t, kFields + 1> numbers{};
  while (message.next())
    if (message.wire_type() == kNumber && message.tag() <= kFields)
      numbers[message.tag()] = message.get_uint64();
    else
      message.skip();
  return numbers;
}

// A repeated field of numbers, packed or not.
bool has_numbers(const pbf_reader& message) {
  return message.wire_type() == kNumber || message.wire_type() == kBytes;
}
// Appends no more than `most` + 1 numbers, one too many being enough to refuse the message.
void append_numbers(pbf_reader& message, std::vector<uint64_t>& numbers, uint64_t most) {
  auto append = [&](uint64_t number) {
    if (numbers.size() <= most)
      numbers.push_back(number);
  };
  if (message.wire_type() == kNumber)
    return append(message.get_uint64());
  for (uint64_t number : message.get_packed_uint64())
    append(number);
}

// The build id of GNU as raw bytes, of hexadecimal digits; none if it is another.
std::optional<std::string> gnu_build_id_of(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    auto byte = parse_hex(text.substr(i, 2));
    // parse_hex() would take "0x" as the beginning of a number.
    if (!byte || text[i + 1] == 'x')
      return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
  }
  if (bytes.empty() || text.size() % 2 != 0)
    return std::nullopt;
  return bytes;
}

bool is_kernel_file(std::string_view file) {
  return file.starts_with("[kernel") || file.starts_with("[guest.kernel");
}

ProfileImage::Kind kind_of(std::string_view file) {
  if (file == "[vdso]" || file == "linux-vdso.so.1" || file == "[vsyscall]")
    return ProfileImage::Kind::kVdso;
  return file.empty() || is_memory(file) ? ProfileImage::Kind::kAnonymous
                                         : ProfileImage::Kind::kFile;
}

// True if the function is Go's: functions that the compiler made have a file of Go; assembly
// functions have their package before their name.
bool is_go_function(std::string_view name, std::string_view file) {
  bool has_package = name.find('.') != name.npos && name.find("::") == name.npos;
  return file.ends_with(".go") || (file.ends_with(".s") && has_package);
}

// The length in nanoseconds of pprof's units of time; 0: it is no unit of time.
uint64_t nanoseconds_in(std::string_view unit) {
  constexpr std::pair<std::string_view, uint64_t> kUnits[] = {
      {"nanoseconds", 1},     {"nanosecond", 1},     {"ns", 1},
      {"microseconds", 1000}, {"microsecond", 1000}, {"us", 1000},
      {"milliseconds", 1e6},  {"millisecond", 1e6},  {"ms", 1e6},
      {"seconds", 1e9},       {"second", 1e9},       {"s", 1e9}};
  for (auto [name, nanoseconds] : kUnits)
    if (unit == name)
      return nanoseconds;
  return 0;
}

class PprofReader {
public:
  PprofReader(std::string_view data, uint64_t memory_budget)
      : data_(data),
        max_texts_(memory_budget / kTextSize),
        max_frames_(memory_budget / kFrameSize),
        builder_(memory_budget) {}

  // Entries that refer to a table are read after it: in the file they come in any order.
  Result<Profile> read() {
    builder_.take(2 * data_.size());  // twice, as what is unpacked grows by doubling
    for (auto step : {&PprofReader::read_texts, &PprofReader::read_header,
                      &PprofReader::read_functions, &PprofReader::read_mappings,
                      &PprofReader::read_locations, &PprofReader::read_samples}) {
      if (auto done = (this->*step)(); !done)
        return std::move(done).error();
      // Readers stop early at the limit, so that is an error of the file, not a short profile.
      if (builder_.is_full() || texts_.size() > max_texts_)
        return Error("what it says takes too much memory");
      builder_.take(std::exchange(new_texts_, 0) * kTextSize);
    }
    settle_values();
    Profile profile = std::move(builder_).finish();
    count_ticks(profile);
    return profile;
  }

private:
  static constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
  static constexpr uint64_t kTextSize = 32;  // what a text that is empty takes here, about
  static constexpr uint64_t kFrameSize =
      32;  // what a frame of a stack takes while that is read

  // The use that is made of one of a sample's values.
  struct Value {
    std::optional<uint32_t> number;  // of the event's; none: it is the count of samples
    uint64_t unit = 1;               // in what the event's amounts are in
    uint64_t total = 0;              // so far
    bool counts = false;             // an amount is a number of samples
  };

  // Calls `read` with each message of a field, until one is wrong.
  template <class Read>
  Result<> each(uint32_t tag, std::string_view what, Read read) {
    Result<> done = Ok{};
    uint64_t number = 0;
    auto decoded = read_protobuf(as_bytes(data_), [&](pbf_reader message) {
      // A full builder ends the loop without an error; read() tells it.
      while (done && !builder_.is_full() && message.next(tag, kBytes)) {
        number++;
        done = read(message.get_message());
      }
    });
    if (decoded && done)
      return done;
    return std::move(done ? decoded : done).error().context(fmt::format("{} {}", what, number));
  }

  Result<std::string_view> text(uint64_t index) const {
    if (index < texts_.size())
      return texts_[index];
    return errorf("text {} of a table of {}", index, texts_.size());
  }

  Result<StringId> intern(uint64_t index) {
    auto found = text(index);
    if (!found)
      return std::move(found).error();
    return builder_.intern(*found);
  }

  Result<> read_texts() {
    return read_protobuf(as_bytes(data_), [&](pbf_reader message) {
      while (texts_.size() <= max_texts_ && message.next(pprof_field::kStringTable, kBytes)) {
        auto view = message.get_view();
        texts_.emplace_back(view.data(), view.size());
        new_texts_++;
      }
    });
  }

  Result<> read_header() {
    // Numbers of texts: of a type and its unit, and of each comment.
    std::vector<std::pair<uint64_t, uint64_t>> types;
    std::vector<uint64_t> comments;
    auto numbers = numbers_of_profile(types, comments);
    if (!numbers)
      return std::move(numbers).error();
    Profile& profile = builder_.profile();
    profile.info.source = "a pprof profile";
    profile.start_realtime_ns = (*numbers)[pprof_field::kTimeNanos];
    profile.duration_ns = (*numbers)[pprof_field::kDurationNanos];
    if (auto read = read_comments(comments); !read)
      return read;
    return read_events(types, (*numbers)[pprof_field::kPeriod],
                       (*numbers)[pprof_field::kDefaultSampleType]);
  }

  using HeaderNumbers = std::array<uint64_t, pprof_field::kDefaultSampleType + 1>;
  Result<HeaderNumbers> numbers_of_profile(std::vector<std::pair<uint64_t, uint64_t>>& types,
                                           std::vector<uint64_t>& comments) {
    constexpr size_t kMaxTypes = 100;  // each sample has a value of each
    constexpr size_t kMaxComments = 1000;
    HeaderNumbers numbers{};
    auto decoded = read_protobuf(as_bytes(data_), [&](pbf_reader message) {
      while (message.next())
        switch (message.tag_and_type()) {
          case tag_and_type(pprof_field::kSampleType, kBytes): {
            auto type = numbers_of<2>(message.get_message());
            // One too many is kept, so that the check below sees it.
            if (types.size() <= kMaxTypes)
              types.emplace_back(type[1], type[2]);
            break;
          }
          case tag_and_type(pprof_field::kComment, kNumber):
          case tag_and_type(pprof_field::kComment, kBytes):
            append_numbers(message, comments, kMaxComments);
            break;
          default:
            if (message.wire_type() == kNumber && message.tag() < numbers.size())
              numbers[message.tag()] = message.get_uint64();
            else
              message.skip();
        }
    });
    if (!decoded)
      return std::move(decoded).error();
    if (types.empty())
      return Error("it has no sample types");
    if (types.size() > kMaxTypes)
      return errorf("more than {} sample types", kMaxTypes);
    return numbers;
  }

  // Recordings count ticks, our own profiles of them nanoseconds: ticks again, where all
  // samples are some number of them. Profiles of others have no clock_, and no ticks.
  void count_ticks(Profile& profile) const {
    std::vector<RecordedEvent>& events = profile.info.events;
    if (!profile.info.has_counts || !has_ticks(clock_))
      return;
    // The event is replaced first, for period() depends on it.
    RecordedEvent given = std::exchange(events[0], clock_);
    uint64_t tick = profile.period();
    auto are_ticks = [&](const SampleCount& sample) {
      return sample.weight % tick == 0 && sample.weight / tick >= sample.count;
    };
    // An amount that is no number of ticks was recorded in another way: the event stays as it
    // was given.
    if (!std::ranges::all_of(profile.samples, are_ticks)) {
      events[0] = std::move(given);
      return;
    }
    for (SampleCount& sample : profile.samples)
      sample.skipped = std::exchange(sample.weight, 0) / tick - sample.count;
  }

  static bool has_ticks(const RecordedEvent& clock) {
    return clock.frequency != 0 && clock.frequency <= kNanosecondsPerSecond &&
           measures_cpu_time(clock);
  }

  // "cpu-clock at 99 Hz", as event_text() has it.
  static RecordedEvent event_of(std::string_view text) {
    size_t at = text.find(" at ");
    auto hertz = text.ends_with(" Hz") && at != text.npos
                     ? parse_decimal(text.substr(at + 4, text.size() - at - 7))
                     : std::nullopt;
    return {.name = std::string(text.substr(0, at)), .frequency = hertz.value_or(0)};
  }

  // Comments of gosym's own profiles tell how it was recorded.
  Result<> read_comments(const std::vector<uint64_t>& comments) {
    constexpr std::string_view kTool = "gosym ";
    constexpr std::string_view kRecordedBy = "recorded by: ";
    constexpr std::string_view kEvent = "event: ";
    RecordingInfo& info = builder_.profile().info;
    for (uint64_t comment : comments) {
      auto line = text(comment);
      if (!line)
        return std::move(line).error().context("comment");
      // Comments of others may look alike: they count only after the one with the version.
      if (line->starts_with(kTool) && info.gosym_version.empty())
        info.gosym_version = line->substr(kTool.size());
      else if (line->starts_with(kRecordedBy) && !info.gosym_version.empty())
        info.command_line = line->substr(kRecordedBy.size());
      else if (line->starts_with(kEvent) && !info.gosym_version.empty())
        clock_ = event_of(line->substr(kEvent.size()));
    }
    return Ok{};
  }

  Result<> read_events(const std::vector<std::pair<uint64_t, uint64_t>>& types, uint64_t period,
                       uint64_t default_type) {
    std::vector<RecordedEvent> shown;
    size_t first = 0;  // the value that is the default
    for (auto [type_index, unit_index] : types) {
      auto type = text(type_index);
      auto unit = text(unit_index);
      if (!type || !unit)
        return std::move(type ? unit : type).error().context("sample type");
      Value& value = values_.emplace_back();
      // The count of samples beside one other type is no value of its own.
      if (types.size() == 2 && values_.size() == 1 && *type == "samples" && *unit == "count")
        continue;
      uint64_t nanoseconds = nanoseconds_in(*unit);
      value.unit = std::max<uint64_t>(1, nanoseconds);
      value.number = static_cast<uint32_t>(shown.size());
      value.counts = *type == "samples" && types.size() == 1;
      if (default_type == 0 || default_type == type_index)
        first = shown.size();
      shown.push_back({.name = std::string(*type),
                       .period = 1,
                       .unit = nanoseconds > 0 ? "nanoseconds"
                               : unit->empty() ? "count"
                                               : std::string(*unit)});
    }
    RecordingInfo& info = builder_.profile().info;
    info.has_counts = shown.size() < types.size();
    // The default type is shown first: the value that the event has itself. There is one at the
    // least, for only one of two types is passed over.
    std::swap(shown[0], shown[first]);
    RecordedEvent event = shown[0];
    event.period = period > INT64_MAX ? 1 : std::max<uint64_t>(1, period);
    event.place = static_cast<uint32_t>(first);
    for (const RecordedEvent& other : std::span(shown).subspan(1))
      event.others.push_back({other.name, other.unit, other.measure});
    for (Value& value : values_)
      if (value.number)
        value.number = in_file_order(event, *value.number);
    others_.resize(event.others.size());
    info.events = {std::move(event)};
    return Ok{};
  }

  Result<> read_functions() {
    return each(pprof_field::kFunction, "function", [&](pbf_reader message) -> Result<> {
      // Fields by their numbers in profile.proto, of which 0 is none.
      auto [skip, id, name, system_name, file, start_line] = numbers_of<5>(message);
      auto name_id = intern(name);
      auto system_id = intern(system_name == 0 ? name : system_name);
      auto file_id = intern(file);
      for (auto* read : {&name_id, &system_id, &file_id})
        if (!*read)
          return std::move(*read).error();
      // Ids of files may be any numbers; here functions are numbered in their order.
      bool is_new = functions_.try_emplace(id, FunctionId(functions_.size())).second;
      if (id == 0 || !is_new)
        return errorf("its id {} is {}", id, id == 0 ? "none" : "another's as well");
      builder_.add_function({.name = *name_id,
                             .system_name = *system_id,
                             .file = *file_id,
                             .start_line = line_of(start_line)});
      return Ok{};
    });
  }

  // A line that no file has is none.
  static uint32_t line_of(uint64_t line) {
    return line <= INT32_MAX ? static_cast<uint32_t>(line) : 0;
  }

  Result<> read_mappings() {
    return each(pprof_field::kMapping, "mapping", [&](pbf_reader message) -> Result<> {
      auto [skip, id, start, limit, offset, file, build_id] = numbers_of<6>(message);
      auto path = text(file);
      auto build = text(build_id);
      if (!path || !build)
        return std::move(path ? build : path).error();
      auto [known, is_new] = mappings_.try_emplace(id, kKernelMapping);
      if (id == 0 || !is_new)
        return errorf("its id {} is {}", id, id == 0 ? "none" : "another's as well");
      // All parts of the kernel are in one mapping, as in recordings.
      if (!is_kernel_file(*path))
        known.value() = builder_.add_mapping({.image = image_of(*path, *build),
                                              .start = start,
                                              .limit = limit,
                                              .file_offset = offset});
      return Ok{};
    });
  }

  // A file that is mapped in several parts is one image.
  uint32_t image_of(std::string_view path, std::string_view build_id) {
    auto [known, is_new] = images_.try_emplace({path, build_id});
    if (!is_new)
      return known->second;
    ProfileImage image;
    image.kind = kind_of(path);
    image.file.path = path;
    // The file has one field for ids of both kinds: what is not hexadecimal is Go's.
    if (auto gnu = gnu_build_id_of(build_id))
      image.file.gnu_build_id = *std::move(gnu);
    else
      image.file.go_build_id = build_id;
    return known->second = builder_.add_image(std::move(image));
  }

  Result<> read_locations() {
    std::vector<Frame> frames;
    return each(pprof_field::kLocation, "location", [&](pbf_reader message) -> Result<> {
      auto [skip, id, mapping, address] = numbers_of<3>(message);
      Location location;
      location.address = RuntimeAddress{address};
      if (mapping != 0) {
        auto found = mappings_.find(mapping);
        if (found == mappings_.end())
          return errorf("there is no mapping {}", mapping);
        location.mapping = found->second;
      }
      frames.clear();
      // Lines are innermost first, as frames are. numbers_of() has read a copy of the message,
      // so that none of them has been passed.
      while (message.next(4, kBytes)) {
        auto [none, function, line] = numbers_of<2>(message.get_message());
        auto found = functions_.find(function);
        if (function != 0 && found == functions_.end())
          return errorf("there is no function {}", function);
        if (frames.size() > max_frames_)
          return errorf("more than {} calls at one place", with_commas(max_frames_));
        // A line without a function says nothing.
        if (function != 0)
          frames.push_back({.function = found->second, .line = line_of(line)});
      }
      set_sources(location, frames);
      bool is_new = locations_.try_emplace(id, LocationId(locations_.size())).second;
      if (id == 0 || !is_new)
        return errorf("its id {} is {}", id, id == 0 ? "none" : "another's as well");
      builder_.add_location(location, frames);
      return Ok{};
    });
  }

  // Decides for each frame whether its text is a name, or stands for code without one.
  void set_sources(Location& location, std::vector<Frame>& frames) {
    const Profile& profile = builder_.profile();
    for (Frame& frame : frames) {
      const Function& function = profile.functions[to_index(frame.function)];
      std::string_view file = profile.strings[function.file];
      std::string_view name = profile.strings[function.name];
      frame.source = is_go_function(name, file) ? FrameSource::kGivenGo : FrameSource::kGiven;
      // A text in brackets with a file is a name that looks like one.
      if (!is_stand_in(name) || !file.empty())
        continue;
      frame.source = FrameSource::kCallFrames;
      location.unnamed = unnamed_by(name);
    }
    // Stand-ins for left-out frames are alone at their location.
    if (frames.size() != 1)
      return;
    if (auto count = left_out_frames(profile.name_of(frames[0].function))) {
      location.unnamed = Unnamed::kLeftOut;
      location.address = RuntimeAddress{*count};
      frames.clear();
    }
  }

  Result<> read_samples() {
    std::vector<uint64_t> ids;
    std::vector<uint64_t> values;
    return each(pprof_field::kSample, "sample", [&](pbf_reader message) -> Result<> {
      ids.clear();
      values.clear();
      SampleCount sample;
      Owner owner;
      std::vector<ProfileLabel> labels;
      Result<> done = Ok{};
      // Fields of a sample may be mixed, so they are collected before any is used: 1 are ids of
      // locations, 2 values, 3 labels.
      while (done && message.next())
        if (message.tag() == 1 && has_numbers(message))
          append_numbers(message, ids, max_frames_);
        else if (message.tag() == 2 && has_numbers(message))
          append_numbers(message, values, values_.size());
        else if (message.tag_and_type() == tag_and_type(3, kBytes))
          done = read_label(message.get_message(), owner, labels);
        else
          message.skip();
      if (!done)
        return done;
      if (auto found = set_stack(ids, sample); !found)
        return found;
      owner.label_set = builder_.add_label_set(labels);
      return add_values(values, owner, sample);
    });
  }

  Result<> read_label(pbf_reader message, Owner& owner, std::vector<ProfileLabel>& labels) {
    auto [skip, key_index, text_index, number_given] = numbers_of<3>(message);
    uint64_t number = number_given;  // clang 14 captures no structured binding
    auto key = text(key_index);
    auto value = text(text_index);
    if (!key || !value)
      return std::move(key ? value : key).error().context("label");
    bool is_number = text_index == 0;  // a label has a text or a number; text 0 is none
    if (is_number && number == 0 && *key == "thread")
      return Ok{};  // of a thread without a name
    bool is_owners = false;
    // Fields without a label, as the number of the event, are none that a file may set.
    for_each_owner_field([&](const auto& field) {
      if (!field.label.empty() && field.label == *key && is_meant(*key))
        is_owners = set_field(owner.*field.member, is_number, number, *value);
    });
    // In profiles of ours the cgroup's path has it.
    bool is_told = *key == "container_id" && is_ours();
    if (!is_owners && !is_told)
      labels.push_back({builder_.intern(*key),
                        builder_.intern(is_number ? std::to_string(static_cast<int64_t>(number))
                                                  : std::string(*value))});
    return Ok{};
  }

  // Sets a field of an owner to what a label has. False: it is of another kind, or too large.
  template <class T>
  bool set_field(T& field, bool is_number, uint64_t number, std::string_view text) {
    if constexpr (std::is_same_v<T, StringId>) {
      if (!is_number)
        field = builder_.intern(text);
      return !is_number;
    } else {
      bool fits = is_number && number <= std::numeric_limits<T>::max();
      if (fits)
        field = static_cast<T>(number);
      return fits;
    }
  }

  // True if a label of this key, if it is that of a field of owners, means this field. All
  // profiles mean the same by these; labels of other tools may be called as the rest is.
  bool is_meant(std::string_view key) {
    constexpr std::string_view kCommon[] = {"thread", "cgroup", "pid", "tid", "goid"};
    return is_ours() || std::ranges::find(kCommon, key) != std::end(kCommon);
  }

  bool is_ours() { return !builder_.profile().info.gosym_version.empty(); }

  Result<> set_stack(const std::vector<uint64_t>& ids, SampleCount& sample) {
    std::vector<LocationId> stack;
    uint64_t frames = 0;
    for (uint64_t id : ids) {
      auto found = locations_.find(id);
      if (found == locations_.end())
        return errorf("there is no location {}", id);
      stack.push_back(found->second);
      // A location costs as many frames as it has: a stack of few ids may be long.
      frames += std::max(1U, builder_.profile().locations[to_index(found->second)].frame_count);
    }
    uint32_t known = builder_.stack_count();
    sample.stack = builder_.add_stack(stack);
    // Two bounds: what is read takes time, and what is new takes memory. A stack that was there
    // before takes none.
    frames_ += frames;
    different_frames_ += builder_.stack_count() > known ? frames : 0;
    if (frames_ > kMaxFrames)
      return errorf("stacks of more than {} frames in all", with_commas(kMaxFrames));
    if (different_frames_ > max_frames_)
      return errorf("stacks of more than {} frames in all, which no profile of its size needs",
                    with_commas(max_frames_));
    return Ok{};
  }

  Result<> add_values(const std::vector<uint64_t>& values, const Owner& owner,
                      SampleCount sample) {
    if (values.size() != values_.size())
      return errorf("it has {} values, there are {} sample types", values.size(),
                    values_.size());
    sample.count = 1;
    for (size_t i = 0; i < values.size(); i++) {
      Value& value = values_[i];
      if (values[i] > INT64_MAX)
        return errorf("the value {} is negative: this is a difference of two profiles",
                      static_cast<int64_t>(values[i]));
      // Sums are checked here once, so that no reader of the profile need do so.
      if (values[i] > (INT64_MAX - value.total) / value.unit)
        return Error("the values have no sum of 63 bits");
      uint64_t amount = values[i] * value.unit;
      value.total += amount;
      if (!value.number || value.counts)
        sample.count = values[i];
      if (value.number)
        (*value.number == 0 ? sample.weight : others_[*value.number - 1]) = amount;
    }
    // A sample of nothing tells nothing, unless such are counted: then the first value is that
    // count, and has no number. With several values it stays:
    // Go's heap profiles have those, and are to be written as they were.
    bool is_empty = sample.weight == 0 && (values_[0].number || sample.count == 0);
    if (is_empty && others_.empty())
      return Ok{};
    auto has_any = static_cast<size_t>(sample.weight != 0) + others_.size() -
                   static_cast<size_t>(std::ranges::count(others_, 0U));
    has_several_ |= has_any > 1;
    sample.owner = builder_.add_owner(owner);
    builder_.add_sample(sample, others_);
    return Ok{};
  }

  // A file of ours may be of a recording of several events: each sample has an amount of one of
  // them, and those of waits are told by their event.
  void settle_values() {
    Profile& profile = builder_.profile();
    if (others_.empty())
      return;
    // Rows of zeros are no samples: whoever shows the profile says that it has none.
    if (std::ranges::all_of(values_, [](const Value& value) { return value.total == 0; }))
      profile.samples.clear();
    if (is_ours() && !has_several_)
      profile = with_values_apart(profile);
  }

  std::string_view data_;
  uint64_t max_texts_;
  uint64_t max_frames_;
  ProfileBuilder builder_;
  std::vector<std::string_view> texts_;
  uint64_t new_texts_ = 0;        // that are not counted yet
  std::vector<Value> values_;     // of the sample types
  std::vector<uint64_t> others_;  // of a sample: amounts of all values but the first shown
  bool has_several_ = false;      // a sample has several values that are not 0
  RecordedEvent clock_;           // as a comment of ours tells it
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> images_;  // path, build id
  // By their ids in the file.
  tsl::robin_map<uint64_t, FunctionId, BytesHash> functions_;
  tsl::robin_map<uint64_t, MappingId, BytesHash> mappings_;
  tsl::robin_map<uint64_t, LocationId, BytesHash> locations_;
  uint64_t frames_ = 0;            // of the stacks of all samples
  uint64_t different_frames_ = 0;  // of equal stacks those of one
};

}  // namespace

Result<Profile> read_pprof(std::string_view file, uint64_t memory_budget) {
  if (!file.starts_with(kGzipMagic))
    return PprofReader(file, memory_budget).read();
  // The profile takes some times as much memory as the file, so that a larger one would be
  // refused anyway.
  auto unpacked = gunzip(file, memory_budget / 4);
  if (!unpacked)
    return std::move(unpacked).error();
  return PprofReader(*unpacked, memory_budget).read();
}

}  // namespace gosym
