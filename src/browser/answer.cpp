#include "browser/answer.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/clock.h"
#include "base/percent.h"
#include "base/text.h"

namespace gosym::browser {

// An answer is made in layers, each of which needs those before it: the profile with the
// selection, the samples that are picked of it (Selected), the entries and their numbers, and
// what counts in these: trees, callers and callees, the search. answer() takes each layer from
// the answer before if the query asks for the same, so that a key costs no more than what it
// changes.

namespace {

bool is_same_selection(const Query& a, const Query& b) {
  return a.event == b.event && a.selection == b.selection;
}

std::shared_ptr<const Profile> profile_of(const Recorded& recorded, const Query& query,
                                          const Answer* before) {
  // The selection is the slowest part: a query that differs in the rest shares its profile.
  if (before && is_same_selection(before->query, query))
    return before->selected->profile;
  const std::shared_ptr<const Profile>& whole = recorded.events[query.event];
  if (query.selection.keeps_all())
    return whole;
  auto selected = std::make_shared<Profile>(*whole);
  select(*selected, query.selection);
  return selected;
}

std::vector<SampleCount> picked(const Profile& profile, std::vector<SampleCount> samples,
                                const Pick& pick) {
  SampleKeys keys = sample_keys(profile, samples, pick.dimension);
  // Texts are compared once for each key, not for each sample.
  std::vector<bool> is_meant;
  for (const ViewKey& key : keys.keys)
    is_meant.push_back((key.text == pick.text) != pick.is_left_out);
  std::vector<SampleCount> result;
  for (size_t i = 0; i < samples.size(); i++)
    if (is_meant[to_index(keys.ids[i])])
      result.push_back(samples[i]);
  return result;
}

// Samples with one stack become one sample. Its owner is of no use but to tell the event.
std::vector<SampleCount> merged(const Profile& profile, std::span<const SampleCount> samples) {
  constexpr uint32_t kNone = UINT32_MAX;
  // By number of the stack, so that no hash table is needed.
  std::vector<uint32_t> place(profile.stack_count(), kNone);
  std::vector<SampleCount> result;
  for (const SampleCount& sample : samples) {
    uint32_t& at = place[to_index(sample.stack)];
    if (at == kNone) {
      at = static_cast<uint32_t>(result.size());
      // The first one's: all are of one event (by_event()).
      result.push_back({.stack = sample.stack, .owner = sample.owner});
    }
    result[at].count += sample.count;
    result[at].weight += sample.weight;
    result[at].skipped += sample.skipped;
  }
  return result;
}

std::string shortcomings_of(const Profile& profile) {
  // Percent: less moves no share by more than a hundredth of all.
  constexpr double kNoticed = 1;
  std::vector<std::string> words;
  auto add = [&](double share, std::string_view what) {
    if (share >= kNoticed)
      words.push_back(fmt::format("{:.1f} % of the {}", share, what));
  };
  const RecordingStats& stats = profile.stats;
  const UnwindCounts& unwound = profile.unwound;
  add(percent(stats.lost_samples, stats.lost_samples + stats.samples), "samples lost");
  add(stats.skipped_percent(), "ticks skipped");
  add(percent(unwound.cut, unwound.samples), "stacks truncated");
  add(percent(unwound.deep, unwound.samples), "stacks too deep");
  return joined(words, ", ");
}

std::shared_ptr<const Selected> selected_of(const Recorded& recorded, const Query& query,
                                            const Answer* before) {
  if (before && selects_same(before->query, query))
    return before->selected;
  // `query.event` is one that there is: Worker::wait_for_question() sees to it.
  auto selected = std::make_shared<Selected>();
  selected->profile = profile_of(recorded, query, before);
  const Profile& profile = *selected->profile;
  selected->recorded = recorded.events[query.event]->total_amount();
  // Shortcomings are of all samples, for nothing tells those of the selected ones.
  selected->shortcomings = shortcomings_of(*recorded.events[query.event]);

  std::vector<SampleCount> samples = profile.samples;
  // Each pick leaves less for the next one.
  for (const Pick& pick : query.picks)
    samples = picked(profile, std::move(samples), pick);
  // The load is drawn for all time: before the chosen part is cut out.
  for (const SampleCount& sample : samples) {
    // Beyond kMaxSteps everything counts in the last step.
    uint32_t step = std::min(sample.step, kMaxSteps - 1);
    if (step >= selected->load.size())
      selected->load.resize(step + 1);
    selected->load[step] += profile.amount(sample);
  }
  std::erase_if(samples, [&](const SampleCount& sample) {
    return sample.step < query.time.begin || sample.step >= query.time.end;
  });
  for (const SampleCount& sample : samples)
    selected->total += profile.amount(sample);
  selected->stacks = merged(profile, samples);
  selected->samples = std::move(samples);
  return selected;
}

std::shared_ptr<const Entries> entries_of(const Selected& selected, Dimension::Kind by) {
  FrameKeys keys(*selected.profile, by);
  std::vector<Total> totals = frame_totals(*selected.profile, selected.stacks, keys,
                                           charge_for_people(*selected.profile));
  std::vector<std::string> programs =
      programs_of_keys(*selected.profile, selected.samples, keys);
  auto entries = std::make_shared<Entries>(Entries{.keys = std::move(keys),
                                                   .totals = std::move(totals),
                                                   .by_self = {},
                                                   .by_total = {},
                                                   .by_name = {},
                                                   .programs = std::move(programs)});
  // All orders are made at once: a key that changes the order then waits for nothing.
  const std::vector<Total>& all = entries->totals;
  entries->by_self.resize(all.size());
  // frame_totals() gives this order already.
  std::iota(entries->by_self.begin(), entries->by_self.end(), 0);
  entries->by_total = entries->by_name = entries->by_self;
  std::ranges::stable_sort(entries->by_total, [&](uint32_t a, uint32_t b) {
    return std::pair(all[a].total, all[a].self) > std::pair(all[b].total, all[b].self);
  });
  std::ranges::stable_sort(entries->by_name, {}, [&](uint32_t row) {
    return std::string_view(entries->keys[all[row].key].text);
  });
  // A share of all that was recorded, not of what is selected: the title's percentages are of
  // that first.
  double least = kLeastNoticed * static_cast<double>(selected.recorded);
  for (std::vector<uint32_t>* order :
       {&entries->by_self, &entries->by_total, &entries->by_name}) {
    // Rows with next to nothing are put behind the others, and shown on demand.
    auto rest = std::stable_partition(order->begin(), order->end(), [&](uint32_t row) {
      return static_cast<double>(all[row].total) >= least;
    });
    entries->noticed = static_cast<size_t>(rest - order->begin());
  }
  return entries;
}

std::shared_ptr<const PathTree> with_paths(CallTree tree) {
  auto result = std::make_shared<PathTree>();
  std::vector<uint64_t> hashes;
  for (const ViewKey& key : tree.keys)
    // Keys of groups have no identity: their text is one.
    hashes.push_back(key.identity != 0 ? key.identity : std::hash<std::string>()(key.text));
  // A path is told by a hash of its keys, so that a cursor finds its node again in another
  // tree.
  // Nodes stand in the order of a walk, so the parent is the last node that is one less deep.
  std::vector<uint32_t> open = {0};  // the last node of each depth
  result->paths = {kRootPath};
  result->parents = {0};
  for (uint32_t i = 1; i < tree.nodes.size(); i++) {
    const CallNode& node = tree.nodes[i];
    open.resize(node.depth);
    uint32_t parent = open.back();
    open.push_back(i);
    // An odd factor loses no bits, and lets the order of the keys matter. Two paths of one hash
    // would share a cursor, and nothing else.
    uint64_t path = (result->paths[parent] + hashes[to_index(node.key)]) * 0x9e3779b97f4a7c15;
    result->paths.push_back(path ^ (path >> 29));
    result->parents.push_back(parent);
  }
  result->tree = std::move(tree);
  return result;
}

std::shared_ptr<const PathTree> tree_of(const Selected& selected, const FrameKeys& keys,
                                        const Query& query) {
  std::vector<SampleKeys> groups;
  // Paths from the root of all Go programs begin alike, with runtime.goexit, and need their
  // programs above them (program_groups()).
  if (query.groups.empty() && query.is_by_program && query.direction == Direction::kFromRoot)
    groups = program_groups(*selected.profile, selected.samples);
  for (const Dimension& dimension : query.groups)
    groups.push_back(sample_keys(*selected.profile, selected.samples, dimension));
  // Whose they are matters to groups alone.
  std::span<const SampleCount> samples = groups.empty() ? selected.stacks : selected.samples;
  return with_paths(
      call_tree(*selected.profile, samples, keys, {query.direction, query.folds}, groups));
}

std::shared_ptr<const PathTree> around(const Selected& selected, const FrameKeys& keys,
                                       Direction direction, const ChosenKey& centre) {
  return with_paths(calls_around(*selected.profile, selected.stacks, keys, direction,
                                 [&](const ViewKey& key) { return centre.is(key); }));
}

uint64_t matched_amount(const Selected& selected, const FrameKeys& keys,
                        const Pattern& pattern) {
  // The pattern is tried on each key once, and not on each frame; a sample counts once, however
  // many of its frames match.
  std::vector<bool> matches;
  for (const ViewKey& key : keys.all())
    matches.push_back(pattern.matches(key.text));
  uint64_t amount = 0;
  for (const SampleCount& sample : selected.stacks) {
    std::span<const LocationId> stack = selected.profile->stack(sample.stack);
    bool has_match = std::ranges::any_of(stack, [&](LocationId location) {
      return std::ranges::any_of(keys.of(location),
                                 [&](KeyId key) { return matches[to_index(key)]; });
    });
    amount += has_match ? selected.profile->amount(sample) : 0;
  }
  return amount;
}

// The texts of a dimension to choose one from (Overlay::kMenu), those with the most first.
std::shared_ptr<const std::vector<MenuEntry>> menu_of(const Selected& selected,
                                                      const Dimension& dimension) {
  SampleKeys keys = sample_keys(*selected.profile, selected.samples, dimension);
  auto menu = std::make_shared<std::vector<MenuEntry>>();
  for (const ViewKey& key : keys.keys)
    menu->push_back({key.text});
  for (size_t i = 0; i < keys.ids.size(); i++)
    (*menu)[to_index(keys.ids[i])].amount += selected.profile->amount(selected.samples[i]);
  std::erase_if(*menu, [](const MenuEntry& entry) { return entry.amount == 0; });
  std::ranges::stable_sort(*menu, std::greater<>(), &MenuEntry::amount);
  return menu;
}

bool is_same_search(const Query& a, const Query& b) {
  return a.search.has_value() == b.search.has_value() &&
         (!a.search || a.search->text() == b.search->text());
}

// The tree.
bool has_same_shape(const Query& a, const Query& b) {
  return a.direction == b.direction && a.folds == b.folds && a.groups == b.groups &&
         a.is_by_program == b.is_by_program;
}

}  // namespace

bool is_same(const Query& a, const Query& b) {
  return selects_same(a, b) && a.by == b.by && has_same_shape(a, b) && a.centre == b.centre &&
         a.code == b.code && is_same_search(a, b) && a.menu == b.menu;
}

bool selects_same(const Query& a, const Query& b) {
  return is_same_selection(a, b) && a.picks == b.picks && a.time == b.time;
}

std::vector<std::string> words_of(const Query& query, uint64_t time_step) {
  std::vector<std::string> words;
  const Selection& selection = query.selection;
  auto add = [&](std::string_view what, const auto& patterns) {
    for (const auto& pattern : patterns)
      words.push_back(fmt::format("{} {}", what, printable(pattern.text())));
  };
  add("with", selection.focus);
  add("without", selection.ignore);
  add("module", selection.modules);
  add("hide", selection.hide);
  add("show", selection.show);
  for (const Pick& pick : query.picks)
    words.push_back(fmt::format("{}{} {}", pick.is_left_out ? "not " : "",
                                to_string(pick.dimension), pick.text));
  // The end of a selection that reaches to the end is not told: it moves while samples come.
  if (query.time != Steps()) {
    auto seconds = [&](uint64_t step) { return to_seconds(step * time_step); };
    words.push_back(query.time.end == UINT32_MAX
                        ? fmt::format("from {:.2f} s", seconds(query.time.begin))
                        : fmt::format("{:.2f} to {:.2f} s", seconds(query.time.begin),
                                      seconds(query.time.end)));
  }
  if (selection.is_mine && selection.mine.empty())
    words.emplace_back("own code");
  add("own code", selection.mine);
  if (!selection.has_kernel)
    words.emplace_back("no kernel");
  if (!selection.has_inlines)
    words.emplace_back("no inlined calls");
  return words;
}

std::vector<std::shared_ptr<const Profile>> by_event(Profile profile) {
  std::vector<std::shared_ptr<const Profile>> events;
  uint32_t count = shown_count(profile.info.events);
  if (count == 1)
    return {std::make_shared<Profile>(std::move(profile))};
  for (uint32_t shown = 0; shown < count; shown++)
    events.push_back(std::make_shared<Profile>(of_event(profile, shown)));
  return events;
}

std::shared_ptr<const Answer> answer(const Recorded& recorded, const Query& query,
                                     const Answer* before) {
  auto result = std::make_shared<Answer>();
  result->query = query;
  result->event_count = static_cast<uint32_t>(recorded.events.size());
  result->is_last = recorded.is_last;
  result->share = recorded.share;
  result->selected = selected_of(recorded, query, before);
  const Selected& selected = *result->selected;
  bool is_same = before && before->selected == result->selected;
  // With other samples nothing of the answer before can be used.
  if (!is_same)
    before = nullptr;

  if (before && before->query.by == query.by) {
    result->entries = before->entries;
  } else {
    result->entries = entries_of(selected, query.by);
  }
  const FrameKeys& keys = result->entries->keys;
  // Keys are numbered by `entries`: what was made with other numbers is made again.
  bool has_same_keys = before && before->entries == result->entries;

  bool is_same_tree = has_same_keys && has_same_shape(before->query, query);
  result->tree = is_same_tree ? before->tree : tree_of(selected, keys, query);

  if (has_same_keys && before->query.centre == query.centre) {
    result->callers = before->callers;
    result->callees = before->callees;
  } else if (!query.centre.empty()) {
    result->callers = around(selected, keys, Direction::kFromLeaf, query.centre);
    result->callees = around(selected, keys, Direction::kFromRoot, query.centre);
  }

  if (has_same_keys && is_same_search(before->query, query))
    result->matched = before->matched;
  else if (query.search)
    result->matched = matched_amount(selected, keys, *query.search);

  if (query.menu)
    result->menu = before && before->query.menu == query.menu ? before->menu
                                                              : menu_of(selected, *query.menu);
  if (before && before->query.code == query.code)
    result->code = before->code;
  else if (!query.code.empty() && recorded.find_code)
    result->code = std::make_shared<Code>(
        recorded.find_code(*selected.profile, selected.samples, query.code));
  return result;
}

}  // namespace gosym::browser
