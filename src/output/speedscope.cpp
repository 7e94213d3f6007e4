#include "output/speedscope.h"

#include <string_view>

#include "base/text.h"
#include "output/json.h"
#include "output/thread_samples.h"
#include "view/frame_keys.h"

// speedscope.h has the form of the file.
namespace gosym {

namespace {

// Frames are shared by all threads, and come before them: each function is a frame, with the
// number of its key.
class SpeedscopeWriter {
public:
  SpeedscopeWriter(const Profile& profile, const Write& write)
      : profile_(profile), write_(write), keys_(profile, Dimension::Kind::kFunction) {}

  void write() && {
    json_.begin_object();
    json_.field("$schema", "https://www.speedscope.app/file-format-schema.json");
    json_.field("exporter", "gosym " GOSYM_VERSION);
    json_.field("name", profile_.info.command_line);
    json_.field("activeProfileIndex", 0u);
    write_frames();
    json_.key("profiles");
    json_.begin_array();
    for (const ThreadSamples& thread : samples_by_thread(profile_))
      write_thread(thread);
    json_.end_array();
    json_.end_object();
    json_.flush(write_);
  }

private:
  void write_frames() {
    json_.key("shared");
    json_.begin_object();
    json_.key("frames");
    json_.begin_array();
    // A frame has the number of its key, by which write_stack() refers to it.
    for (const ViewKey& key : keys_.all()) {
      json_.begin_object();
      json_.field("name", key.text);
      if (key.function != ViewKey::kNoFunction)
        write_place(profile_.functions[to_index(key.function)]);
      json_.end_object();
      json_.flush(write_, JsonWriter::kPart);
    }
    json_.end_array();
    json_.end_object();
  }

  // Both are optional in the format: what is not known is left out.
  void write_place(const Function& function) {
    if (function.file != StringId{})
      json_.field("file", profile_.strings[function.file]);
    if (function.start_line != 0)
      json_.field("line", function.start_line);
  }

  // Its values are numbers from 0 to the sum of the weights, whenever the samples were.
  void write_thread(const ThreadSamples& thread) {
    json_.begin_object();
    json_.field("type", "sampled");
    json_.field("name", track_name(profile_, thread));
    json_.field("unit", unit_of(profile_.info.events[thread.event]));
    json_.field("startValue", 0u);
    json_.field("endValue", thread.amount);
    json_.key("samples");
    json_.begin_array();
    for (const SampleCount* sample : thread.samples)
      write_stack(profile_.stack(sample->stack));
    json_.end_array();
    json_.key("weights");
    json_.begin_array();
    for (const SampleCount* sample : thread.samples)
      json_.value(value_of(profile_, *sample));
    json_.end_array();
    json_.end_object();
  }

  static std::string_view unit_of(const RecordedEvent& event) {
    if (gosym::measures_time(event))
      return kNanoseconds;
    return event.unit == "bytes" ? "bytes" : "none";
  }

  // Stacks are passed on one by one, since a thread may have any number of samples.
  void write_stack(std::span<const LocationId> stack) {
    json_.begin_array();
    for (size_t i = stack.size(); i-- > 0;) {
      // Both loops go backwards: locations and the frames inlined at one are innermost first,
      // the file wants the outermost.
      std::span<const KeyId> keys = keys_.of(stack[i]);
      for (size_t inner = keys.size(); inner-- > 0;)
        json_.value(static_cast<uint32_t>(to_index(keys[inner])));
    }
    json_.end_array();
    json_.flush(write_, JsonWriter::kPart);
  }

  const Profile& profile_;
  const Write& write_;
  JsonWriter json_;
  FrameKeys keys_;
};

}  // namespace

void write_speedscope(const Profile& profile, const Write& write) {
  SpeedscopeWriter(profile, write).write();
}

}  // namespace gosym
