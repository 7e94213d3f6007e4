#include "commands/goroutines/views.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <tuple>

#include "base/text.h"
#include "output/folded.h"
#include "output/json.h"
#include "output/table.h"
#include "symbolize/names.h"
#include "view/recursion.h"

namespace gosym {

// All views write one text or document of the goroutines that GoroutineView has chosen. Forms
// for people and for programs share the parts below: names and stacks as Go's tracebacks have
// them, groups of goroutines that a reader takes for the same, and counts by the value of a
// key.

namespace {

constexpr std::string_view kLabelKey = "label:";
constexpr std::string_view kNone = "(none)";
constexpr std::string_view kUnknownStack = "(unknown: it ran)";
// At either end of a deep stack, as tracebacks have them from Go 1.21 on.
constexpr size_t kMostFrames = 50;

// A name as tracebacks have it.
std::string shown_name(std::string_view function) {
  if (function == "runtime.gopanic")
    return "panic";
  return printable(display_name(function, FrameSource::kPclntab, NameForm::kShort));
}

void append_place(const Call& call, std::string& text) {
  text += fmt::format("\t{}:{}\n", call.file.empty() ? "?" : printable(call.file), call.line);
}

// Calls that follow each other, and how often they do: more than once in a recursion.
struct Turns {
  std::span<const Call> calls;
  size_t times = 1;
};

bool is_same_call(const Call& one, const Call& other) {
  return std::tie(one.function, one.file, one.line) ==
         std::tie(other.function, other.file, other.line);
}

// Number of times that `stack` begins with the same `count` calls.
size_t times_at_begin(std::span<const Call> stack, size_t count) {
  // The first repetition compares the calls behind `count` with the first ones, and so each
  // further one with the one before it: one pass, however often they repeat.
  size_t same = count;
  while (same < stack.size() && is_same_call(stack[same], stack[same - count]))
    same++;
  return same / count;
}

// A stack in parts, innermost first; unless it `folds` each of a call.
std::vector<Turns> parts_of(std::span<const Call> stack, bool folds) {
  constexpr size_t kLeastFolded = 4;
  std::vector<Turns> parts;
  // Each round takes off one call, or the turns of one cycle. A cycle is folded where it saves
  // kLeastFolded calls: less would hide a stack that is short enough to be read.
  while (!stack.empty()) {
    Turns part = {stack.first(1)};
    for (size_t count = 1; folds && count <= std::min<size_t>(kMostFolded, stack.size());
         count++)
      // The shortest cycle is tried first, as longer ones may be made of it.
      if (size_t times = times_at_begin(stack, count); (times - 1) * count >= kLeastFolded) {
        part = {stack.first(count), times};
        break;
      }
    parts.push_back(part);
    stack = stack.subspan(part.calls.size() * part.times);
  }
  return parts;
}

void append_part(const Turns& part, std::string& text) {
  for (const Call& call : part.calls) {
    text += shown_name(call.function) + "(...)\n";
    append_place(call, text);
  }
  if (part.times > 1)
    text += fmt::format(
        "...the same {} {} more times...\n",
        part.calls.size() == 1 ? "frame" : fmt::format("{} frames", part.calls.size()),
        with_commas(part.times - 1));
}

// `folds`: what a recursion calls again and again is shown once.
void append_stack(const NamedGoroutines& named, const Goroutine& goroutine, bool has_system,
                  bool folds, std::string& text) {
  // The words of the runtime's own tracebacks, so that programs that read those know them.
  switch (goroutine.stack_state) {
    case GoroutineStack::kRunning:
      text += "\tgoroutine running on other thread; stack unavailable\n";
      break;
    case GoroutineStack::kMoving:
      text += "\tgoroutine ran whenever it was looked at; stack unavailable\n";
      break;
    default:
      break;
  }
  std::vector<Call> stack = named.stack(goroutine, has_system);
  std::vector<Turns> parts = parts_of(stack, folds);
  // Both ends tell most: where it waits, and what it works for.
  size_t left_out = parts.size() > 2 * kMostFrames ? parts.size() - 2 * kMostFrames : 0;
  size_t elided = 0;
  for (size_t i = 0; i < parts.size(); i++) {
    if (kMostFrames <= i && i < kMostFrames + left_out) {
      elided += parts[i].calls.size() * parts[i].times;
      continue;
    }
    if (elided > 0)
      text += fmt::format("...{} frames elided...\n", std::exchange(elided, 0));
    append_part(parts[i], text);
  }
  // The walk ended before the goroutine's first function.
  if (goroutine.stack_state == GoroutineStack::kCut ||
      goroutine.stack_state == GoroutineStack::kDeep)
    text += "...additional frames elided...\n";
}

// `parent`: 0 is not told.
void append_creator(const NamedGoroutines& named, const Goroutine& goroutine, uint64_t parent,
                    bool has_system, std::string& text) {
  Call creator = named.creator(goroutine, has_system);
  // Nobody created the main goroutine, as Go's tracebacks have it.
  if (creator.function.empty() || goroutine.number == 1)
    return;
  text += "created by " + shown_name(creator.function);
  if (parent != 0)
    text += fmt::format(" in goroutine {}", parent);
  text += '\n';
  append_place(creator, text);
}

std::string labels_text(const std::vector<GoroutineLabel>& labels) {
  std::vector<std::string> pairs;
  for (const GoroutineLabel& label : labels)
    pairs.push_back(fmt::format("{}: {}", printable(label.key), printable(label.value)));
  return pairs.empty() ? "" : fmt::format(" {{{}}}", joined(pairs, ", "));
}

std::string minutes_text(uint64_t least, uint64_t most) {
  if (most == 0)
    return "";
  if (least == most)
    return fmt::format(", {} minutes", most);
  return least == 0 ? fmt::format(", up to {} minutes", most)
                    : fmt::format(", {} to {} minutes", least, most);
}

// Goroutines that a reader takes for the same.
struct GroupKey {
  std::string state;
  bool is_locked;
  GoroutineStack stack_state;
  uint32_t stack;
  uint64_t created_at;

  auto operator<=>(const GroupKey&) const = default;
};

using Group = std::vector<const Goroutine*>;

std::vector<Group> group(const NamedGoroutines& named, const GoroutineView& view) {
  std::map<GroupKey, Group> groups;
  // The goroutines come by number, and so do the members of each group: the first is the
  // oldest.
  for (const Goroutine* goroutine : view.shown)
    groups[{named.state(*goroutine), goroutine->is_locked, goroutine->stack_state,
            goroutine->stack, goroutine->created_at}]
        .push_back(goroutine);
  std::vector<Group> sorted;
  for (auto& [key, members] : groups)
    sorted.push_back(std::move(members));
  // The thread that the signal came to had this goroutine.
  auto is_crashed = [&](const Group& members) {
    return named.crashed != 0 &&
           std::ranges::count(members, named.crashed,
                              [](const Goroutine* one) { return one->thread; }) > 0;
  };
  // The goroutine that crashed comes first, then the largest groups.
  std::ranges::sort(sorted, [&](const Group& one, const Group& other) {
    return std::tuple(!is_crashed(one), other.size(), one.front()->number) <
           std::tuple(!is_crashed(other), one.size(), other.front()->number);
  });
  return sorted;
}

std::string numbers_text(const Group& group) {
  constexpr size_t kMost = 8;
  std::vector<std::string> numbers;
  for (size_t i = 0; i < std::min(group.size(), kMost); i++)
    numbers.push_back(std::to_string(group[i]->number));
  return joined(numbers, " ") + (group.size() > kMost ? " ..." : "");
}

// "{tenant: 17 values, zone: eu}": what all have is named, of the rest how much there is.
std::string labels_text(const NamedGoroutines& named, const Group& group) {
  struct Values {
    std::set<std::string_view> all;
    size_t count = 0;  // of goroutines that have one
  };
  std::map<std::string_view, Values> by_key;
  for (const Goroutine* goroutine : group)
    for (const GoroutineLabel& label : named.labels_of(*goroutine)) {
      by_key[label.key].all.insert(label.value);
      by_key[label.key].count++;
    }
  std::vector<GoroutineLabel> labels;
  for (const auto& [key, values] : by_key) {
    std::string text = values.all.size() == 1
                           ? std::string(*values.all.begin())
                           : fmt::format("{} values", with_commas(values.all.size()));
    // Labels that only some have are told as such: "tenant: eu in 17".
    if (values.count < group.size())
      text += fmt::format(" in {}", with_commas(values.count));
    labels.push_back({std::string(key), std::move(text)});
  }
  return labels_text(labels);
}

void append_header(const NamedGoroutines& named, const Goroutine& goroutine,
                   std::string& text) {
  uint64_t minutes = named.minutes(goroutine);
  text += fmt::format("goroutine {} [{}{}{}]{}:\n", goroutine.number, named.state(goroutine),
                      minutes_text(minutes, minutes),
                      goroutine.is_locked ? ", locked to thread" : "",
                      labels_text(named.labels_of(goroutine)));
}

void append_group(const NamedGoroutines& named, const Group& group, bool has_system,
                  std::string& text) {
  const Goroutine& first = *group.front();
  auto by_minutes = [&](const Goroutine* one, const Goroutine* other) {
    return named.minutes(*one) < named.minutes(*other);
  };
  auto [least, most] = std::ranges::minmax_element(group, by_minutes);
  // A group can have its creator's place and many creators: the number is told if there is one
  // only.
  bool has_one_parent = std::ranges::all_of(
      group, [&](const Goroutine* one) { return one->parent == first.parent; });
  if (group.size() == 1)
    append_header(named, first, text);
  else
    text += fmt::format("{} goroutines [{}{}{}]{}: {}\n", with_commas(group.size()),
                        named.state(first),
                        minutes_text(named.minutes(**least), named.minutes(**most)),
                        first.is_locked ? ", locked to thread" : "", labels_text(named, group),
                        numbers_text(group));
  append_stack(named, first, has_system, /*folds=*/true, text);
  append_creator(named, first, has_one_parent ? first.parent : 0, has_system, text);
}

// True if a function is there to wait for others, so that its caller tells more.
bool is_of_waiting(std::string_view function) {
  constexpr std::string_view kPackages[] = {"internal/", "runtime.", "sync.", "syscall.",
                                            "time."};
  return std::ranges::any_of(
      kPackages, [&](std::string_view package) { return function.starts_with(package); });
}

std::string value_of(const NamedGoroutines& named, const Goroutine& goroutine, bool has_system,
                     std::string_view key) {
  if (key == "state")
    return named.state(goroutine);
  if (key == "creator") {
    Call creator = named.creator(goroutine, has_system);
    return creator.function.empty() ? std::string(kNone) : shown_name(creator.function);
  }
  if (key == "function") {
    std::vector<Call> stack = named.stack(goroutine, has_system);
    // The innermost function is nearly always one that waits; the first of the program tells
    // more.
    auto waits = std::ranges::find_if_not(stack, is_of_waiting, &Call::function);
    if (waits == stack.end())
      waits = stack.begin();
    if (!stack.empty())
      return shown_name(waits->function);
    bool is_running = goroutine.stack_state == GoroutineStack::kRunning ||
                      goroutine.stack_state == GoroutineStack::kMoving;
    return std::string(is_running ? kUnknownStack : kNone);
  }
  // Any other key is "label:KEY": is_goroutine_key() has refused what is none.
  key.remove_prefix(kLabelKey.size());
  for (const GoroutineLabel& label : named.labels_of(goroutine))
    if (label.key == key)
      return printable(label.value);
  return std::string(kNone);
}

using ValueCounts = std::vector<std::pair<std::string, uint64_t>>;

ValueCounts count_values(const NamedGoroutines& named, const GoroutineView& view,
                         std::string_view key) {
  std::map<std::string, uint64_t> counts;
  for (const Goroutine* goroutine : view.shown)
    counts[value_of(named, *goroutine, view.has_system, key)]++;
  ValueCounts sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &ValueCounts::value_type::second);
  return sorted;
}

void write_call(const Call& call, JsonWriter& json) {
  json.object([&] {
    json.field("function", call.function);
    json.field("file", call.file);
    json.field("line", call.line);
    if (call.is_inlined)
      json.field("inlined", true);
  });
}

std::string_view state_word(GoroutineStack state) {
  switch (state) {
    case GoroutineStack::kWhole:
      return "whole";
    case GoroutineStack::kCut:
      return "cut";
    case GoroutineStack::kDeep:
      return "deep";
    case GoroutineStack::kRunning:
      return "running";
    case GoroutineStack::kMoving:
      return "moving";
  }
  return "";
}

void write_goroutine(const NamedGoroutines& named, const Goroutine& goroutine, bool has_system,
                     JsonWriter& json) {
  json.field("id", goroutine.number);
  json.field("state", named.state(goroutine));
  json.field("status", go::to_string(goroutine.status));
  if (uint64_t minutes = named.minutes(goroutine); minutes > 0)
    json.field("minutes", minutes);
  if (goroutine.is_locked)
    json.field("locked", true);
  if (goroutine.thread != 0)
    json.field("thread", goroutine.thread);
  if (!named.labels_of(goroutine).empty())
    json.object("labels", [&] {
      for (const GoroutineLabel& label : named.labels_of(goroutine))
        json.field(label.key, label.value);
    });
  json.field("stack_state", state_word(goroutine.stack_state));
  json.array("stack", named.stack(goroutine, has_system),
             [&](const Call& call) { write_call(call, json); });
  if (Call creator = named.creator(goroutine, has_system); !creator.function.empty()) {
    json.key("created_by");
    write_call(creator, json);
  }
  if (goroutine.parent != 0)
    json.field("parent", goroutine.parent);
}

void write_program(const NamedGoroutines& named, const GoroutineView& view, JsonWriter& json) {
  json.field("file", named.program);
  json.field("go_version", named.go_version);
  json.values("notes", named.goroutines.notes);
  json.array("goroutines", view.shown, [&](const Goroutine* goroutine) {
    json.object([&] { write_goroutine(named, *goroutine, view.has_system, json); });
  });
}

}  // namespace

std::string traceback_of(const NamedGoroutines& named, const GoroutineView& view) {
  std::string text;
  for (const Goroutine* goroutine : view.shown) {
    if (!text.empty())
      text += '\n';
    append_header(named, *goroutine, text);
    append_stack(named, *goroutine, view.has_system, /*folds=*/false, text);
    append_creator(named, *goroutine, goroutine->parent, view.has_system, text);
  }
  return text;
}

std::string groups_of(const NamedGoroutines& named, const GoroutineView& view) {
  std::vector<std::string> states;
  for (const auto& [state, number] : count_values(named, view, "state"))
    states.push_back(fmt::format("{} {}", with_commas(number), state));
  std::string text = fmt::format(
      "{} goroutine{} of {} ({}){}{}\n", with_commas(view.shown.size()),
      view.shown.size() == 1 ? "" : "s", printable(base_name(named.program)),
      named.go_version.empty() ? "unknown version of Go" : printable(named.go_version),
      states.empty() ? "" : ": ", joined(states, ", "));
  for (const Group& members : group(named, view)) {
    text += '\n';
    append_group(named, members, view.has_system, text);
  }
  return text;
}

std::string stack_text_of(const NamedGoroutines& named, const Goroutine& goroutine,
                          bool has_system) {
  std::string text;
  append_stack(named, goroutine, has_system, /*folds=*/true, text);
  append_creator(named, goroutine, 0, has_system, text);
  return text;
}

std::string folded_of(Profile profile) {
  // Tracebacks and these lines name functions in one way, profiles keep the linker's names.
  for (Function& function : profile.functions)
    function.name =
        profile.strings.intern(shown_name(std::string(profile.strings[function.name])));
  // Lines begin with the name of a thread: here it is what the goroutine waits for.
  for (SampleCount& sample : profile.samples)
    profile.change_owner(
        sample, [](Owner& owner) { owner.comm = std::exchange(owner.state, StringId{}); });
  return written_by(write_folded, profile);
}

bool is_goroutine_key(std::string_view key) {
  return key == "state" || key == "creator" || key == "function" ||
         (key.starts_with(kLabelKey) && key.size() > kLabelKey.size());
}

std::string counts_of(const NamedGoroutines& named, const GoroutineView& view,
                      std::string_view key) {
  std::string text = fmt::format("{:>10}  {:>7}  {}\n", "GOROUTINES", "SHARE", printable(key));
  // Shares are of what is shown, not of all.
  for (const auto& [value, number] : count_values(named, view, key))
    text += fmt::format(
        "{:>10}  {:>6.1f}%  {}\n", with_commas(number),
        100.0 * static_cast<double>(number) / static_cast<double>(view.shown.size()), value);
  return text;
}

GoroutineCounts count_places(const NamedGoroutines& named, const GoroutineView& view) {
  GoroutineCounts counts;
  for (const Goroutine* goroutine : view.shown)
    counts[{named.state(*goroutine), value_of(named, *goroutine, view.has_system, "function"),
            value_of(named, *goroutine, view.has_system, "creator")}]++;
  return counts;
}

std::string changes_of(const GoroutineCounts* before, const GoroutineCounts& now) {
  constexpr size_t kMostRows = 20;
  struct Row {
    std::array<std::string, 3> place;
    uint64_t count;
    int64_t change;
  };
  std::vector<Row> rows;
  int64_t total = 0;
  int64_t total_change = 0;
  // Without a look before, every place is a row, whose count stands for its change: rows are
  // sorted by it. With one, only what changed is a row.
  auto add = [&](const std::array<std::string, 3>& place, uint64_t count, uint64_t old) {
    int64_t change = static_cast<int64_t>(count) - static_cast<int64_t>(old);
    total += static_cast<int64_t>(count);
    total_change += change;
    if (!before || change != 0)
      rows.push_back({place, count, change});
  };
  for (const auto& [place, count] : now) {
    auto old = before ? before->find(place) : now.end();
    add(place, count, before && old != before->end() ? old->second : 0);
  }
  // Places that are gone have no count now, so they are only found from here.
  if (before)
    for (const auto& [place, count] : *before)
      if (!now.contains(place))
        add(place, 0, count);
  // Equal changes stay in order of place, so that looks are easy to compare.
  std::ranges::stable_sort(rows, [](const Row& one, const Row& other) {
    return std::abs(one.change) > std::abs(other.change);
  });
  std::string text = fmt::format("{} goroutines{}\n", with_commas(static_cast<uint64_t>(total)),
                                 before ? fmt::format(" ({:+})", total_change) : "");
  if (!rows.empty())
    text += fmt::format("{:>10} {:>8}  {:<22} {}\n", "NOW", before ? "CHANGE" : "", "STATE",
                        "FUNCTION, CREATED BY");
  for (const Row& row : std::span(rows).first(std::min(rows.size(), kMostRows)))
    text += fmt::format("{:>10} {:>8}  {:<22} {}, {}\n", with_commas(row.count),
                        before ? fmt::format("{:+}", row.change) : "", row.place[0],
                        row.place[1], row.place[2]);
  if (rows.size() > kMostRows)
    text += fmt::format("{:>10} more\n", with_commas(rows.size() - kMostRows));
  return text;
}

std::string json_of(const std::vector<NamedGoroutines>& all,
                    const std::vector<GoroutineView>& views, uint32_t pid) {
  JsonWriter json;
  json.object([&] {
    json.field("pid", pid);
    // The array hands out the runtimes alone; their views lie beside them.
    size_t runtime = 0;
    json.array("programs", all, [&](const NamedGoroutines& named) {
      json.object([&] { write_program(named, views[runtime++], json); });
    });
  });
  return fmt::format("{}\n", json.text());
}

}  // namespace gosym
