#include "output/firefox.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/sequence_pool.h"
#include "base/text.h"
#include "output/json.h"
#include "output/thread_samples.h"
#include "view/frame_keys.h"

// The file is written front to back: what is about the profile as a whole first (meta, libs),
// then thread after thread. Only while the samples of a thread are written does it turn out
// which stacks, frames and functions it needs; its tables come after them, in a FirefoxThread
// that lives as long as the thread is written.
namespace gosym {

namespace {

constexpr uint32_t kProcessedVersion = 48;
constexpr uint32_t kGeckoVersion = 27;  // the format of Gecko that came with kProcessedVersion

// IntColumn values; a column of them may have none.
constexpr int32_t kNoValue = std::numeric_limits<int32_t>::min();
using IntColumn = std::vector<int32_t>;

// The names that the viewer has for colours. Readers demand a category that is grey.
constexpr std::array kCategoryColours = {"blue",       "orange",  "green",     "purple",
                                         "yellow",     "magenta", "lightblue", "red",
                                         "lightgreen", "brown"};
constexpr int32_t kOtherCategory = 0;

double firefox_ms(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e6;
}

int32_t row_number_of(size_t number) {
  return static_cast<int32_t>(number);
}

// Distinct texts, with their numbers.
class FirefoxTexts {
public:
  int32_t number(std::string_view text) {
    auto [known, is_new] =
        numbers_.try_emplace(std::string(text), static_cast<int32_t>(texts_.size()));
    if (is_new)
      texts_.emplace_back(text);
    return known->second;
  }
  const std::vector<std::string>& all() const { return texts_; }

private:
  tsl::robin_map<std::string, int32_t> numbers_;
  std::vector<std::string> texts_;
};

// A frame of a location, as a thread's table has it.
struct FrameOfThread {
  uint32_t function = 0;  // a KeyId
  uint32_t line = 0;      // 0: unknown
  uint32_t depth = 0;     // of inlined calls: 0 the function that is there
  uint32_t image = 0;
  int32_t category = kOtherCategory;
};

// The tables of a thread, filled stack by stack.
class FirefoxThread {
public:
  FirefoxThread(const Profile& profile, const FrameKeys& functions, const FrameKeys& categories)
      : profile_(profile), functions_(functions), categories_(categories) {}

  // The row of a stack; kNoValue of an empty one.
  int32_t stack(StackId id) {
    // Each frame is a child of the one that calls it: stacks that begin alike share these
    // rows.
    int32_t prefix = kNoValue;
    std::span<const LocationId> locations = profile_.stack(id);
    // The viewer's stacks are a tree by prefix, from the root: the outermost frame comes first.
    for (size_t i = locations.size(); i-- > 0;) {
      std::span<const KeyId> keys = functions_.of(locations[i]);
      for (size_t inner = keys.size(); inner-- > 0;)
        prefix = child(prefix, frame_of(locations[i], inner));
    }
    return prefix;
  }

  int32_t text(std::string_view text) { return texts_.number(text); }

  // Columns of all tables, in the order of the members of a thread.
  void write(JsonWriter& json) const;

private:
  FrameOfThread frame_of(LocationId id, size_t inner) const {
    const Location& location = profile_.locations[to_index(id)];
    std::span<const KeyId> keys = functions_.of(id);
    std::span<const KeyId> kinds = categories_.of(id);
    std::span<const Frame> frames = profile_.frames_of(location);
    // Category 0 is "Other"; those of the profile follow. A gap in the stack has none of these.
    return {.function = static_cast<uint32_t>(to_index(keys[inner])),
            .line = inner < frames.size() ? frames[inner].line : 0,
            // The last key of a location is the function whose code it is, all before it were
            // inlined.
            .depth = static_cast<uint32_t>(keys.size() - 1 - inner),
            .image = profile_.mappings[to_index(location.mapping)].image,
            .category = inner < kinds.size() ? row_number_of(to_index(kinds[inner])) + 1
                                             : kOtherCategory};
  }

  int32_t child(int32_t prefix, const FrameOfThread& frame) {
    int32_t row = frame_row(frame);
    // A prefix of none is -2^31: as 32 bits it is no row.
    auto key =
        static_cast<uint64_t>(static_cast<uint32_t>(prefix)) << 32 | static_cast<uint32_t>(row);
    auto [known, is_new] = stacks_.try_emplace(key, row_number_of(stack_frames_.size()));
    if (is_new) {
      stack_prefixes_.push_back(prefix);
      stack_frames_.push_back(row);
      stack_categories_.push_back(frame.category);
    }
    return known->second;
  }

  int32_t frame_row(const FrameOfThread& frame) {
    // The function tells the image and the category, so that the row needs no more than these
    // three. A frame that is new has the number of rows as its own.
    uint32_t row = frames_.number(std::array{frame.function, frame.line, frame.depth});
    if (row == frame_functions_.size()) {
      frame_functions_.push_back(function_row(frame));
      frame_lines_.push_back(frame.line == 0 ? kNoValue : static_cast<int32_t>(frame.line));
      frame_depths_.push_back(static_cast<int32_t>(frame.depth));
      frame_categories_.push_back(frame.category);
    }
    return static_cast<int32_t>(row);
  }

  int32_t function_row(const FrameOfThread& frame) {
    auto [known, is_new] =
        rows_of_functions_.try_emplace(frame.function, row_number_of(function_names_.size()));
    if (!is_new)
      return known->second;
    const ViewKey& key = functions_[KeyId{frame.function}];
    function_names_.push_back(text(key.text));
    function_resources_.push_back(resource_row(frame.image));
    // Code without a name is a function to the viewer, of which nothing but the text is known.
    bool has_place = key.function != ViewKey::kNoFunction;
    const Function* function =
        has_place ? &profile_.functions[to_index(key.function)] : nullptr;
    bool has_file = function && function->file != StringId{};
    function_files_.push_back(has_file ? text(profile_.strings[function->file]) : kNoValue);
    bool has_line = function && function->start_line != 0;
    function_lines_.push_back(has_line ? static_cast<int32_t>(function->start_line) : kNoValue);
    return known->second;
  }

  // A resource is a file; of the profile's images the first is none.
  int32_t resource_row(uint32_t image) {
    constexpr int32_t kNoResource = -1;
    if (image == 0)
      return kNoResource;
    auto [known, is_new] = rows_of_images_.try_emplace(image, row_number_of(resources_.size()));
    if (is_new) {
      resources_.push_back(static_cast<int32_t>(image));
      resource_names_.push_back(text(base_name(profile_.images[image].file.path)));
    }
    return known->second;
  }

  const Profile& profile_;
  const FrameKeys& functions_;
  const FrameKeys& categories_;
  FirefoxTexts texts_;
  tsl::robin_map<uint64_t, int32_t, BytesHash> stacks_;
  IntColumn stack_prefixes_;
  IntColumn stack_frames_;
  IntColumn stack_categories_;
  SequenceNumbers<uint32_t> frames_;
  IntColumn frame_functions_;
  IntColumn frame_lines_;
  IntColumn frame_depths_;
  IntColumn frame_categories_;
  tsl::robin_map<uint32_t, int32_t, BytesHash> rows_of_functions_;
  IntColumn function_names_;
  IntColumn function_resources_;
  IntColumn function_files_;
  IntColumn function_lines_;
  tsl::robin_map<uint32_t, int32_t, BytesHash> rows_of_images_;
  IntColumn resources_;  // images
  IntColumn resource_names_;
};

void write_integers(JsonWriter& json, std::string_view name, const IntColumn& column) {
  json.key(name);
  json.begin_array();
  for (int32_t value : column)
    value == kNoValue ? json.null() : json.value(value);
  json.end_array();
}

// Writes a column that the format demands and that says the same of each row.
void write_same(JsonWriter& json, std::string_view name, size_t length, int32_t value) {
  write_integers(json, name, IntColumn(length, value));
}

void FirefoxThread::write(JsonWriter& json) const {
  // Ends a table: its last member is the number of its rows.
  auto length = [&json](const IntColumn& column) {
    json.field("length", static_cast<uint64_t>(column.size()));
    json.end_object();
  };
  auto table = [&json](std::string_view name) {
    json.key(name);
    json.begin_object();
  };
  // Tables are columns, one array each, in the names of the processed format.
  table("stackTable");
  write_integers(json, "prefix", stack_prefixes_);
  write_integers(json, "frame", stack_frames_);
  write_integers(json, "category", stack_categories_);
  write_same(json, "subcategory", stack_frames_.size(), 0);
  length(stack_frames_);

  table("frameTable");
  // -1: no address.
  write_same(json, "address", frame_functions_.size(), -1);
  write_integers(json, "inlineDepth", frame_depths_);
  write_integers(json, "category", frame_categories_);
  write_same(json, "subcategory", frame_functions_.size(), 0);
  write_integers(json, "func", frame_functions_);
  for (const char* empty : {"nativeSymbol", "innerWindowID", "implementation", "column"})
    write_same(json, empty, frame_functions_.size(), kNoValue);
  write_integers(json, "line", frame_lines_);
  length(frame_functions_);

  table("funcTable");
  for (const char* flag : {"isJS", "relevantForJS"}) {
    json.key(flag);
    json.begin_array();
    for (size_t i = 0; i < function_names_.size(); i++)
      json.value(false);
    json.end_array();
  }
  write_integers(json, "name", function_names_);
  write_integers(json, "resource", function_resources_);
  write_integers(json, "fileName", function_files_);
  write_integers(json, "lineNumber", function_lines_);
  write_same(json, "columnNumber", function_names_.size(), kNoValue);
  length(function_names_);

  constexpr int32_t kLibrary = 1;
  table("resourceTable");
  write_integers(json, "lib", resources_);
  write_integers(json, "name", resource_names_);
  write_same(json, "host", resources_.size(), kNoValue);
  write_same(json, "type", resources_.size(), kLibrary);
  length(resources_);

  // Symbols of binaries, to which no frame refers; the format demands the table.
  table("nativeSymbols");
  for (const char* column : {"libIndex", "address", "name", "functionSize"})
    write_integers(json, column, {});
  length({});

  json.key("stringArray");
  json.begin_array();
  for (const std::string& text : texts_.all())
    json.value(text);
  json.end_array();
}

class FirefoxWriter {
public:
  FirefoxWriter(const Profile& profile, const Write& write)
      : profile_(profile),
        write_(write),
        functions_(profile, Dimension::Kind::kFunction),
        categories_(profile, Dimension::Kind::kCategory) {}

  void write() && {
    json_.begin_object();
    write_meta();
    write_libraries();
    // The viewer demands these, of which there is nothing.
    for (const char* none : {"pages", "counters", "profilerOverhead"}) {
      json_.key(none);
      json_.begin_array();
      json_.end_array();
    }
    json_.key("threads");
    json_.begin_array();
    bool is_first = true;
    // A thread's tables are made when it is written, and freed after that: only one thread's
    // are in memory.
    for (const ThreadSamples& thread : samples_by_thread(profile_)) {
      write_thread(thread, is_first);
      is_first = false;
    }
    json_.end_array();
    json_.end_object();
    json_.flush(write_);
  }

private:
  // The sampling interval in milliseconds, of the first clock; 1 without one: samples of waits
  // have the time that each of them took.
  double interval() const {
    const std::vector<RecordedEvent>& events = profile_.info.events;
    for (uint32_t i = 0; i < events.size(); i++)
      if (measures_time(events[i]) && !is_weighted(events[i]))
        return firefox_ms(profile_.period(i));
    return 1;
  }

  void write_meta() {
    const RecordingInfo& info = profile_.info;
    // Members without a meaning here are there because the viewer demands them.
    json_.key("meta");
    json_.begin_object();
    json_.field("version", kGeckoVersion);
    json_.field("preprocessedProfileVersion", kProcessedVersion);
    json_.field("interval", interval());
    json_.field("startTime", firefox_ms(profile_.start_realtime_ns));
    json_.field("processType", 0u);
    json_.field("product", info.command_line.empty() ? "gosym" : info.command_line);
    json_.field("stackwalk", 1u);
    json_.field("symbolicated", true);
    json_.field("importedFrom", "gosym " GOSYM_VERSION);
    json_.field("abi", info.machine);
    json_.field("oscpu", fmt::format("Linux {} {}", info.kernel_release, info.machine));
    json_.field("platform", "Linux");
    json_.field("toolkit", "");
    json_.field("misc", "");
    json_.field("logicalCPUs", info.cpu_count);
    write_categories();
    write_marker_schema();
    json_.end_object();
  }

  void write_categories() {
    json_.key("categories");
    json_.begin_array();
    write_category("Other", "grey");
    for (size_t i = 0; i < categories_.size(); i++)
      write_category(categories_.all()[i].text, kCategoryColours[i % kCategoryColours.size()]);
    json_.end_array();
  }

  void write_category(std::string_view name, std::string_view colour) {
    json_.begin_object();
    json_.field("name", name);
    json_.field("color", colour);
    // Frames refer to subcategory 0, so that each category has one.
    json_.key("subcategories");
    json_.begin_array();
    json_.value("Other");
    json_.end_array();
    json_.end_object();
  }

  void write_marker_schema() {
    json_.key("markerSchema");
    json_.begin_array();
    json_.begin_object();
    json_.field("name", kMarkerType);
    json_.field("tableLabel", "{marker.name}: {marker.data.name}");
    json_.field("chartLabel", "{marker.data.name}");
    json_.key("display");
    json_.begin_array();
    // The schema names the places where the markers of losses are shown.
    for (const char* place : {"marker-chart", "marker-table", "timeline-overview"})
      json_.value(place);
    json_.end_array();
    json_.key("data");
    json_.begin_array();
    json_.begin_object();
    json_.field("key", "name");
    json_.field("label", "Details");
    json_.field("format", "string");
    json_.end_object();
    json_.end_array();
    json_.end_object();
    json_.end_array();
  }

  // All images, so that their numbers are those of the profile: resource_row() refers by them.
  void write_libraries() {
    json_.key("libs");
    json_.begin_array();
    for (const ProfileImage& image : profile_.images) {
      std::string_view path = image.file.path;
      std::string_view name = base_name(path);
      json_.begin_object();
      json_.field("arch", profile_.info.machine);
      json_.field("name", name);
      json_.field("path", path);
      json_.field("debugName", name);
      json_.field("debugPath", path);
      json_.field("breakpadId", "");
      json_.key("codeId");
      image.file.gnu_build_id.empty() ? json_.null()
                                      : json_.value(hex(image.file.gnu_build_id));
      json_.end_object();
    }
    json_.end_array();
  }

  void write_thread(const ThreadSamples& thread, bool is_first) {
    FirefoxThread tables(profile_, functions_, categories_);
    json_.begin_object();
    json_.field("processType", "default");
    // 0 and null stand for times that are not known, but demanded.
    json_.field("processStartupTime", 0u);
    json_.field("registerTime", 0u);
    for (const char* none : {"processShutdownTime", "unregisterTime"}) {
      json_.key(none);
      json_.null();
    }
    json_.key("pausedRanges");
    json_.begin_array();
    json_.end_array();
    json_.field("name", track_name(profile_, thread));
    json_.field("processName", thread.process);
    json_.field("isMainThread", thread.pid == thread.tid);
    // The format has the process as a text, and the thread as a number.
    json_.field("pid", fmt::format("{}", thread.pid));
    json_.field("tid", thread.tid);
    // The samples fill the tables, and so come before them.
    write_samples(thread, tables);
    // Losses are of CPUs: the first thread shows them for all.
    write_markers(is_first, tables);
    tables.write(json_);
    json_.end_object();
    json_.flush(write_, JsonWriter::kPart);
  }

  void write_samples(const ThreadSamples& thread, FirefoxThread& tables) {
    bool is_time = measures_time(profile_.info.events[thread.event]);
    json_.key("samples");
    json_.begin_object();
    // The columns are written one after the other, each by its own pass over the samples.
    IntColumn stacks;
    for (const SampleCount* sample : thread.samples)
      stacks.push_back(tables.stack(sample->stack));
    write_integers(json_, "stack", stacks);
    json_.key("time");
    json_.begin_array();
    for (const SampleCount* sample : thread.samples)
      json_.value(firefox_ms(time_of(profile_, *sample)));
    json_.end_array();
    json_.key("weight");
    json_.begin_array();
    for (const SampleCount* sample : thread.samples) {
      uint64_t value = value_of(profile_, *sample);
      is_time ? json_.value(firefox_ms(value)) : json_.value(value);
    }
    json_.end_array();
    // The viewer takes weights of the first type for milliseconds, and others for numbers.
    json_.field("weightType", is_time ? "tracing-ms" : "samples");
    json_.field("length", static_cast<uint64_t>(stacks.size()));
    json_.end_object();
  }

  void write_markers(bool has_losses, FirefoxThread& tables) {
    // The `phase` of a marker with a begin and an end.
    constexpr int32_t kInterval = 1;
    // Losses are of CPUs, not of threads: the first thread shows them.
    size_t count = has_losses ? profile_.losses.size() : 0;
    json_.key("markers");
    json_.begin_object();
    json_.key("data");
    json_.begin_array();
    for (size_t i = 0; i < count; i++) {
      json_.begin_object();
      json_.field("type", kMarkerType);
      json_.field("name",
                  fmt::format("{} samples on CPU {}", profile_.losses[i].counts.lost_samples,
                              profile_.losses[i].counts.cpu));
      json_.end_object();
    }
    json_.end_array();
    // Without markers the text must not get into the thread's stringArray, which nothing would
    // use.
    write_same(json_, "name", count, count == 0 ? 0 : tables.text("lost"));
    for (auto [name, member] :
         {std::pair{"startTime", &Loss::begin}, std::pair{"endTime", &Loss::end}}) {
      json_.key(name);
      json_.begin_array();
      for (size_t i = 0; i < count; i++)
        json_.value(firefox_ms(profile_.losses[i].*member));
      json_.end_array();
    }
    write_same(json_, "phase", count, kInterval);
    write_same(json_, "category", count, kOtherCategory);
    json_.field("length", static_cast<uint64_t>(count));
    json_.end_object();
  }

  static constexpr const char* kMarkerType = "Lost";

  const Profile& profile_;
  const Write& write_;
  FrameKeys functions_;
  FrameKeys categories_;
  JsonWriter json_;
};

}  // namespace

void write_firefox(const Profile& profile, const Write& write) {
  FirefoxWriter(profile, write).write();
}

}  // namespace gosym
