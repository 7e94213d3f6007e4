#include "output/report_json.h"

#include <algorithm>
#include <vector>

#include "output/json.h"
#include "output/text.h"
#include "profile/rewrite_stacks.h"
#include "view/call_tree.h"
#include "view/frame_keys.h"
#include "view/totals.h"

// The document is made in one pass from front to back, each member by the function of its name,
// and is whole in memory: what a report shows is small beside the samples. gosym-formats(5)
// tells of the keys.
namespace gosym {

namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kMaxLines = 10;  // the hottest ones of a function
// Readers of JSON take some hundred levels, python's 1,000; a call is two.
constexpr uint32_t kMaxDepth = 256;

// Amounts are written in the unit of the document: nanoseconds, or events.
class ReportJson {
public:
  ReportJson(const Profile& profile, const ViewOptions& options)
      : profile_(profile), options_(options), amounts_(profile) {}

  std::string make() {
    json_.object([&] {
      json_.field("version", kVersion);
      json_.object("recording", [&] { write_recording(); });
      json_.object("totals", [&] { write_totals(); });
      json_.object("quality", [&] { write_quality(); });
      write_functions();
      write_tree();
    });
    return std::string(json_.text()) + '\n';
  }

private:
  // Amounts are numbers of ticks or of samples, each worth a period; those of weighted events
  // are in the unit already, and have a period of 1.
  uint64_t value(uint64_t amount) const { return amount * profile_.period(); }

  void write_recording() {
    const RecordingInfo& info = profile_.info;
    json_.field("event", profile_.event().name);
    json_.field("frequency", profile_.event().frequency);
    json_.field("period", profile_.event().period);
    json_.field("start_ns", profile_.start_realtime_ns);
    json_.field("duration_ns", profile_.duration_ns);
    json_.field("host", info.host);
    json_.field("kernel", info.kernel_release);
    json_.field("machine", info.machine);
    json_.field("cpus", info.cpu_count);
    json_.field("command", info.command_line);
    json_.field("gosym", info.gosym_version);
    json_.field("selection", profile_.filter);
    if (std::string_view estimate = estimate_of(profile_); !estimate.empty())
      json_.field("estimate", estimate);
    write_recordings();
    write_thresholds();
  }

  // Processes whose samples weigh more, for they waited more often than is sampled.
  void write_thresholds() {
    if (!has_intervals(profile_.event()) || profile_.raised_thresholds.empty())
      return;
    Hosts hosts(profile_);
    json_.array("raised_thresholds", profile_.raised_thresholds,
                [&](const RaisedThreshold& one) {
                  json_.object([&] {
                    json_.field("pid", one.pid);
                    json_.field("process", profile_.strings[one.process]);
                    json_.field("host", hosts.name(hosts.of_recording(one.recording)));
                    json_.field("threshold_ns", one.nanoseconds);
                  });
                });
  }

  void write_recordings() {
    json_.array("files", profile_.recordings, [&](const ProfiledRecording& one) {
      json_.object([&] {
        json_.field("file", one.name);
        json_.field("host", one.info.host);
        json_.field("start_ns", one.start_realtime_ns);
        json_.field("duration_ns", one.duration_ns);
        json_.field("command", one.info.command_line);
      });
    });
  }

  void write_totals() {
    json_.field("samples", profile_.total_count());
    json_.field("value", value(amounts_.total()));
    if (uint64_t idle = idle_amount(); idle > 0)
      json_.field("idle_value", value(idle));
    const std::string& unit = profile_.event().unit;
    json_.field("unit", profile_.measures_time() ? "nanoseconds"
                        : unit.empty()           ? "events"
                                                 : std::string_view(unit));
  }

  // The part of the total that idle threads waited.
  uint64_t idle_amount() const {
    uint64_t idle = 0;
    for (const SampleCount& sample : profile_.samples)
      if (profile_.strings[profile_.owner(sample).state] == kIdleThread)
        idle += profile_.amount(sample);
    return idle;
  }

  void write_quality() {
    const RecordingStats& stats = profile_.stats;
    json_.field("recorded_samples", stats.samples);
    json_.field("lost_samples", stats.lost_samples);
    json_.field("lost_events", stats.lost_events);
    json_.field("skipped_ticks", stats.sum_of(&CpuCounts::skipped));
    json_.field("throttled_ns", stats.sum_of(&CpuCounts::throttled_ns));
    json_.field("charged_ns", stats.charged_ns);
    // Samples whose stack is not whole, or was mended.
    json_.field("truncated_samples", profile_.unwound.cut);
    json_.field("unknown_end_samples", profile_.unwound.unknown);
    json_.field("deep_samples", profile_.unwound.deep);
    json_.field("repaired_samples", profile_.unwound.repaired);
    json_.values("damage", profile_.damage);
  }

  void write_key(const ViewKey& key, FunctionId function) {
    json_.field("name", key.text);
    json_.field("module", profile_.images[key.image].file.path);
    if (function != ViewKey::kNoFunction) {
      // In the table of functions this is that of the hottest line, whose file may be another
      // than the key's.
      const Function& of = profile_.functions[to_index(function)];
      json_.field("file", profile_.strings[of.file]);
      json_.field("package", profile_.strings[of.package]);
    }
    if (!key.is_named)
      json_.field("unnamed", true);
    if (key.is_kernel)
      json_.field("kernel", true);
  }

  void write_amounts(uint64_t self, uint64_t total) {
    json_.field("self", value(self));
    json_.field("total", value(total));
  }

  // The lines of all functions, by function: the name, and the file that was mapped.
  using LinesOf = std::vector<std::pair<std::pair<StringId, uint32_t>, Total>>;
  LinesOf find_lines(const FrameKeys& keys) const {
    // One table for all functions: a pass for each would be quadratic in large programs.
    LinesOf lines;
    for (const Total& total : frame_totals(profile_, profile_.samples, keys)) {
      const ViewKey& key = keys[total.key];
      if (key.is_named && key.line != 0)
        lines.push_back({function_of(key), total});
    }
    // A stable sort keeps the hottest lines of a function first.
    std::ranges::stable_sort(lines, {}, [](const auto& line) { return line.first; });
    return lines;
  }

  std::pair<StringId, uint32_t> function_of(const ViewKey& key) const {
    return {profile_.functions[to_index(key.function)].name, key.image};
  }

  void write_lines(const LinesOf& lines, const ViewKey& key) {
    json_.key("lines");
    json_.begin_array();
    // The lines of one function stand together.
    auto line = std::ranges::lower_bound(lines, function_of(key), {},
                                         [](const auto& one) { return one.first; });
    for (size_t count = 0;
         line != lines.end() && line->first == function_of(key) && count < kMaxLines;
         ++line, ++count) {
      json_.begin_object();
      json_.field("line", line->second.line);
      write_amounts(line->second.self, line->second.total);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_functions() {
    FrameKeys keys(profile_, Dimension::Kind::kFunction);
    LinesOf lines = find_lines(FrameKeys(profile_, Dimension::Kind::kLine));
    // --top 0, and none, keep all functions.
    size_t top = options_.top.value_or(0);
    size_t count = 0;
    json_.key("functions");
    json_.begin_array();
    for (const Total& total : frame_totals(profile_, profile_.samples, keys)) {
      if (top > 0 && count++ == top)
        break;
      json_.begin_object();
      write_key(keys[total.key], total.function);
      write_amounts(total.self, total.total);
      if (keys[total.key].is_named)
        write_lines(lines, keys[total.key]);
      json_.end_object();
    }
    json_.end_array();
  }

  // Nested, as the calls are; by a stack of its own, for they may be deep.
  void write_tree() {
    CallTree tree =
        pruned(call_tree(profile_, profile_.samples,
                         FrameKeys(profile_, Dimension::Kind::kFunction), TreeShape()),
               amounts_.least(options_.least_percent),
               // UINT32_MAX: no --depth was given.
               options_.depth == UINT32_MAX ? kMaxDepth : options_.depth);
    json_.key("tree");
    size_t open = 0;  // nodes that are not ended yet
    // Nodes are in preorder: those that are not ancestors of the next node end before it.
    for (const CallNode& node : tree.nodes) {
      for (; open > node.depth; open--)
        end_node();
      json_.begin_object();
      if (node.depth == 0)
        json_.field("name", "all");
      else
        write_key(tree.key_of(node), tree.key_of(node).function);
      write_amounts(node.self, node.total);
      json_.key("children");
      json_.begin_array();
      open++;
    }
    for (; open > 0; open--)
      end_node();
  }

  void end_node() {
    json_.end_array();
    json_.end_object();
  }

  const Profile& profile_;
  const ViewOptions& options_;
  Amounts amounts_;
  JsonWriter json_;
};

}  // namespace

std::string make_report_json(const Profile& profile, const ViewOptions& options) {
  return ReportJson(profile, options).make();
}

}  // namespace gosym
