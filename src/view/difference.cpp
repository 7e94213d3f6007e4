#include "view/difference.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/clock.h"
#include "base/sequence_pool.h"
#include "base/text.h"
#include "view/comparer.h"
#include "view/same_code.h"
#include "view/totals.h"

// Both profiles are counted by rows and blocks (counts_of()), rows of equal code are paired
// (matched()), and the Comparer (comparer.h) gives each pair its rates and verdict.
// difference_tree() does the same for the nodes of one tree that both profiles are put into.
namespace gosym {

namespace {

constexpr uint64_t kTimeBlocks = 20;  // for fewer recordings than kManyRuns

// Significant changes come first. Rows without a verdict are sorted by the size of their
// change.
void sort_rows(std::vector<DifferenceRow>& rows, bool has_verdicts) {
  std::ranges::stable_sort(rows, [&](const DifferenceRow& a, const DifferenceRow& b) {
    if (a.is_significant() != b.is_significant())
      return a.is_significant();
    // Without a change, large rows say most: that they did not change.
    if (a.is_significant() || !has_verdicts)
      return std::abs(a.change.value) > std::abs(b.change.value);
    return a.before.value + a.after.value > b.before.value + b.after.value;
  });
}

}  // namespace

std::string_view to_string(Per per) {
  switch (per) {
    case Per::kSecond:
      return "second";
    case Per::kRun:
      return "run";
    case Per::kShare:
      break;
  }
  return "share";
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kDearer:
      return "dearer";
    case Verdict::kCheaper:
      return "cheaper";
    case Verdict::kMore:
      return "more";
    case Verdict::kFewer:
      return "fewer";
    case Verdict::kAsMany:
      return "as many";
    case Verdict::kSame:
      return "no difference seen";
    case Verdict::kUntold:
      return "cannot tell";
    case Verdict::kTooUneven:
      return "varies too much to tell";
    case Verdict::kTooFew:
      break;
  }
  return "too few samples to tell";
}

double DifferenceRow::relative() const {
  return before.value > 0 ? change.value / before.value
                          : std::numeric_limits<double>::infinity();
}

TimeRange recorded_time(const ComparedProfile& compared, size_t recording) {
  // Without recordings the profile is of one, which began when it did.
  const Profile& profile = compared.profile;
  uint64_t begin = 0;
  uint64_t end = profile.duration_ns;
  if (!profile.recordings.empty()) {
    const ProfiledRecording& one = profile.recordings[recording];
    begin = one.start_realtime_ns - profile.recordings.front().start_realtime_ns;
    end = begin + one.duration_ns;
  }
  // A page may hold a part of the time only: [time_begin, time_begin + duration).
  uint64_t profiled = profile.time_begin();
  begin = std::max({begin, compared.time.begin, profiled});
  end = std::min({end, compared.time.end, profiled + profile.duration_ns});
  return {begin, std::max(begin, end)};
}

double scale_of(const ComparedProfile& before, const ComparedProfile& after, Per per) {
  auto base_of = [per](const ComparedProfile& compared) {
    if (per == Per::kShare)
      return static_cast<double>(compared.profile.total_amount());
    size_t runs = std::max<size_t>(1, compared.profile.recordings.size());
    if (per == Per::kRun)
      return static_cast<double>(runs);
    double seconds = 0;
    // Recordings of several hosts overlap in time: their times are added up, not spanned.
    for (size_t run = 0; run < runs; run++) {
      TimeRange time = recorded_time(compared, run);
      seconds += to_seconds(time.end - time.begin);
    }
    return seconds;
  };
  // An empty profile cannot be scaled to anything.
  double base = base_of(before);
  return base > 0 ? base_of(after) / base : 1;
}

uint64_t block_step(uint64_t duration) {
  constexpr uint64_t kLeast = 1'000'000;
  // Rounded up, or a short rest at the end would be one more block.
  return std::max(kLeast, duration / kTimeBlocks + 1);
}

Difference difference(const ComparedProfile& before, const ComparedProfile& after,
                      const DifferenceOptions& options) {
  RowNames names(options.by.kind, before.profile, after.profile);
  Counts counts_before = counts_of(before, options, names);
  Counts counts_after = counts_of(after, options, names);
  Pairs pairs = matched(counts_before, counts_after, options.by.kind);
  Comparer comparer(counts_before, counts_after, options);
  Difference result = comparer.summary();
  for (const Pair& pair : pairs.pairs) {
    DifferenceRow row = comparer.row(pair);
    // Samples may weigh nothing, and then a row has nothing to compare.
    if (row.before.value > 0 || row.after.value > 0)
      result.rows.push_back(std::move(row));
  }
  std::vector<DifferenceRow*> rows;
  for (DifferenceRow& row : result.rows)
    rows.push_back(&row);
  result.compared = comparer.judge(rows);
  sort_rows(result.rows, has_verdicts(result));
  return result;
}

namespace {

using Kind = Dimension::Kind;

// `period` makes nanoseconds or events of amounts, as Counted has them.
void count_inlined(const FrameKeys& keys, double period, Counts& counts) {
  for (const SampleCount& sample : counts.profile.samples) {
    std::span<const LocationId> stack = counts.profile.stack(sample.stack);
    if (stack.empty() || keys.of(stack.front()).empty())
      continue;
    KeyId key = keys.of(stack.front()).front();
    double amount = static_cast<double>(counts.profile.amount(sample)) * period;
    // Blocks do not matter here: only the whole is asked whether it was inlined.
    Counted& row = counts.row(counts.names[to_index(key)], keys[key]);
    row.own += amount;
    if (counts.profile.locations[to_index(stack.front())].frame_count > 1)
      row.inlined += amount;
  }
}

void count_frames(const DifferenceOptions& options, double period, const RowNames& names,
                  Counts& counts) {
  const FrameKeys& keys = counts.keys.emplace(counts.profile, options.by.kind);
  counts.names = names.of(counts.profile, keys);
  for (size_t block = 0; block < counts.whole.size(); block++)
    for (const Total& total :
         frame_totals(counts.profile, counts.blocks.samples[block], keys)) {
      uint64_t amount = options.is_of_totals ? total.total : total.self;
      if (amount == 0)
        continue;
      Counted& row = counts.row(counts.names[to_index(total.key)], keys[total.key]);
      row.amounts[block] += static_cast<double>(amount) * period;
      if (keys.has_places())
        // The last block that has samples of the row decides.
        row.place = hottest_line(counts.profile, total);
    }
  // Only functions are paired with notes about inlining.
  if (options.by.kind == Kind::kFunction)
    count_inlined(keys, period, counts);
}

// "server (4242)" without the number: that is another one in each recording.
std::string without_number(const std::string& name, Kind kind) {
  size_t open = name.rfind(" (");
  bool has_number = (kind == Kind::kProcess || kind == Kind::kThread) && open != name.npos;
  return has_number ? name.substr(0, open) : name;
}

void count_samples(const DifferenceOptions& options, double period, Counts& counts) {
  for (size_t block = 0; block < counts.whole.size(); block++) {
    const std::vector<SampleCount>& samples = counts.blocks.samples[block];
    SampleKeys keys = sample_keys(counts.profile, samples, options.by);
    for (size_t i = 0; i < samples.size(); i++) {
      const ViewKey& key = keys.keys[to_index(keys.ids[i])];
      counts.row(without_number(key.text, options.by.kind), key).amounts[block] +=
          static_cast<double>(counts.profile.amount(samples[i])) * period;
    }
  }
}

// The builds of each file that has samples, by its name.
using Builds = std::map<std::string, std::set<std::string>>;

Builds builds_of(const Profile& profile) {
  std::vector<bool> has_samples(profile.images.size());
  for (LocationId id : profile.stack_locations) {
    MappingId mapping = profile.locations[to_index(id)].mapping;
    has_samples[profile.mappings[to_index(mapping)].image] = true;
  }
  Builds builds;
  for (size_t i = 0; i < has_samples.size(); i++) {
    const ProfileImage& image = profile.images[i];
    // Other images, such as the kernel, are taken for one build (is_of_one_build()).
    if (has_samples[i] && image.kind == ProfileImage::Kind::kFile)
      builds[std::string(base_name(image.file.path))].insert(image.file.gnu_build_id + '/' +
                                                             image.file.go_build_id);
  }
  return builds;
}

// Pairs functions; see matched().
class Matcher {
public:
  Matcher(const Counts& before, const Counts& after)
      : before_(before),
        after_(after),
        builds_before_(builds_of(before.profile)),
        builds_after_(builds_of(after.profile)) {}

  Pairs match() {
    // Rows of one group are the same code in one of two builds: closures, say, whose numbers
    // changed.
    for (const auto& [name, row] : before_.rows)
      groups_[group_of(name, row, before_)].before.emplace_back(name, &row);
    for (const auto& [name, row] : after_.rows)
      groups_[group_of(name, row, after_)].after.emplace_back(name, &row);
    for (const auto& [name, group] : groups_)
      append(name, group);
    // Code that moved is looked for among the names that found no partner, first the same
    // package in another directory, then the same name in another package of its directory.
    join_moved(name_without_directories);
    join_moved(name_without_package);
    note_inlining();
    return {std::move(pairs_), std::move(sums_)};
  }

private:
  using Named = std::pair<std::string_view, const Counted*>;
  struct Group {
    std::vector<Named> before;
    std::vector<Named> after;
  };

  bool is_of_one_build(const Counted& row, const Profile& profile) const {
    const ProfileImage& image = profile.images[row.key.image];
    if (image.kind != ProfileImage::Kind::kFile)
      return true;
    // One build has one set of numbers of closures and clones, so its names are compared
    // unchanged.
    std::string name(base_name(image.file.path));
    auto before = builds_before_.find(name);
    auto after = builds_after_.find(name);
    return before != builds_before_.end() && after != builds_after_.end() &&
           before->second == after->second;
  }

  std::string group_of(const std::string& name, const Counted& row, const Counts& of) const {
    // The part that tells it from others of its name stays.
    return is_of_one_build(row, of.profile)
               ? name
               : name_across_builds(row.key.text) + name.substr(row.key.text.size());
  }

  // Makes the pairs of a group; `name` is that of group_of(), "main.run.*".
  void append(const std::string& name, const Group& group) {
    auto names_of = [](const std::vector<Named>& rows) {
      std::vector<std::string_view> names;
      for (const Named& row : rows)
        names.push_back(row.first);
      return names;
    };
    // Equal names on both sides pair one to one. Otherwise nothing tells which of a group's
    // functions is which, and the group is one row.
    if (names_of(group.before) == names_of(group.after)) {
      for (size_t i = 0; i < group.before.size(); i++)
        pairs_.push_back({.name = std::string(group.before[i].first),
                          .before = group.before[i].second,
                          .after = group.after[i].second,
                          .names_before = {group.before[i].first},
                          .names_after = {group.after[i].first}});
      return;
    }
    Pair& pair = pairs_.emplace_back(Pair{.name = name,
                                          .names_before = names_of(group.before),
                                          .names_after = names_of(group.after)});
    pair.before = sum_of_rows(group.before);
    pair.after = sum_of_rows(group.after);
    if (group.before.size() > 1 || group.after.size() > 1) {
      pair.note =
          fmt::format("{} functions", std::max(group.before.size(), group.after.size()));
      return;
    }
    pair.name = (group.after.empty() ? group.before : group.after).front().first;
    if (!group.before.empty() && !group.after.empty())
      pair.note = fmt::format("was {}", group.before.front().first);
  }

  const Counted* sum_of_rows(const std::vector<Named>& rows) {
    if (rows.size() < 2)
      return rows.empty() ? nullptr : rows.front().second;
    Counted& sum = sums_.emplace_back(*rows.front().second);
    for (size_t i = 1; i < rows.size(); i++)
      sum.add(*rows[i].second);
    return &sum;
  }

  // Pairs a name that is in one profile only with the one of which the same is left, where each
  // profile has one such. `name_left` gives what of a name is the same after a move.
  void join_moved(std::string (*name_left)(std::string_view)) {
    struct Only {
      std::vector<size_t> before;
      std::vector<size_t> after;
    };
    std::map<std::string, Only> only;
    for (size_t i = 0; i < pairs_.size(); i++) {
      const Pair& pair = pairs_[i];
      const Counted* row = pair.before ? pair.before : pair.after;
      const Profile& profile = pair.before ? before_.profile : after_.profile;
      // Code of the same build cannot have moved.
      if ((pair.before && pair.after) || !row->key.is_named || is_of_one_build(*row, profile))
        continue;
      Only& same = only[name_left(pair.name)];
      (pair.before ? same.before : same.after).push_back(i);
    }
    std::set<size_t> joined;
    // One on each side, or nothing tells which of several has become which.
    for (const auto& [name, same] : only) {
      if (same.before.size() != 1 || same.after.size() != 1)
        continue;
      Pair& pair = pairs_[same.after.front()];
      const Pair& moved = pairs_[same.before.front()];
      pair.before = moved.before;
      pair.names_before = moved.names_before;
      pair.note = "was " + moved.name;
      joined.insert(same.before.front());
    }
    std::vector<Pair> left;
    for (size_t i = 0; i < pairs_.size(); i++)
      if (!joined.contains(i))
        left.push_back(std::move(pairs_[i]));
    pairs_ = std::move(left);
  }

  // The rows of functions that samples passed through only as part of another that has their
  // code.
  static std::set<std::string> only_inlined(const Counts& of) {
    std::vector<bool> is_inlined(of.names.size());
    std::vector<bool> is_called(of.names.size());
    for (size_t i = 0; i < of.profile.locations.size(); i++) {
      if (of.profile.locations[i].frame_count == 0)
        continue;
      std::span<const KeyId> keys = of.keys->of(static_cast<LocationId>(i));
      for (KeyId key : keys)
        is_inlined[to_index(key)] = true;
      is_called[to_index(keys.back())] = true;
    }
    std::set<std::string> names;
    // A name that is inlined at one place and called at another is no reason for a note.
    for (size_t i = 0; i < is_inlined.size(); i++)
      if (is_inlined[i])
        names.insert(of.names[i]);
    for (size_t i = 0; i < is_called.size(); i++)  // functions may share a row
      if (is_called[i])
        names.erase(of.names[i]);
    return names;
  }

  void note_inlining() {
    std::set<std::string> inlined_before = only_inlined(before_);
    std::set<std::string> inlined_after = only_inlined(after_);
    // Half of a row's own amount decides. A row in which no sample ran is neither.
    auto is_inlined = [](const Counted* row) { return row && 2 * row->inlined > row->own; };
    auto is_called = [](const Counted* row) {
      return row && row->own > 0 && 2 * row->inlined <= row->own;
    };
    auto note = [](Pair& pair, std::string_view text) {
      pair.note += (pair.note.empty() ? "" : ", ") + std::string(text);
    };
    // A note is a hint at where the cost has gone, so what was seen on both sides comes before
    // what is only absent.
    for (Pair& pair : pairs_) {
      if (is_called(pair.before) && is_inlined(pair.after))
        note(pair, "inlined now");
      else if (is_inlined(pair.before) && is_called(pair.after))
        note(pair, "no longer inlined");
      else if (!pair.after)
        note(pair, !is_inlined(pair.before) && inlined_after.contains(pair.name)
                       ? "inlined now: its callers have its cost"
                       : "none after");
      else if (!pair.before)
        note(pair, !is_inlined(pair.after) && inlined_before.contains(pair.name)
                       ? "no longer inlined"
                       : "none before");
    }
  }

  const Counts& before_;
  const Counts& after_;
  Builds builds_before_;
  Builds builds_after_;
  std::map<std::string, Group> groups_;
  std::deque<Counted> sums_;  // that pairs point to
  std::vector<Pair> pairs_;
};

std::vector<Pair> pairs_by_name(const Counts& before, const Counts& after) {
  std::map<std::string, Pair> pairs;
  for (const auto& [name, row] : before.rows)
    pairs[name] = {.name = name, .before = &row, .names_before = {name}};
  for (const auto& [name, row] : after.rows) {
    Pair& pair = pairs[name];
    pair.name = name;
    pair.after = &row;
    pair.names_after = {name};
  }
  std::vector<Pair> result;
  for (auto& [name, pair] : pairs)
    result.push_back(std::move(pair));
  return result;
}

}  // namespace

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

Blocks blocks_of(const ComparedProfile& compared, Per per) {
  const Profile& profile = compared.profile;
  Blocks blocks;
  size_t runs = std::max<size_t>(1, profile.recordings.size());
  // Samples without times cannot be cut by time, and rates of a run need whole runs. Steps are
  // those of the profile: whoever loads it has made them as long as block_step() says, or there
  // would be any number of blocks.
  blocks.are_runs = per == Per::kRun || runs >= kManyRuns || profile.time_step == 0;
  std::vector<size_t> first;  // block of each recording
  std::vector<uint64_t> first_step;
  for (size_t run = 0; run < runs; run++) {
    TimeRange time = recorded_time(compared, run);
    uint64_t step = blocks.are_runs ? UINT64_MAX : std::max<uint64_t>(1, profile.time_step);
    first.push_back(blocks.seconds.size());
    first_step.push_back(time.begin / step);
    // Blocks end at multiples of the step on the profile's clock, as the steps of its samples
    // do, so the first and the last may be shorter.
    for (uint64_t at = time.begin;;) {
      uint64_t end = at - at % step > UINT64_MAX - step ? UINT64_MAX : at - at % step + step;
      end = std::min(end, time.end);
      blocks.seconds.push_back(to_seconds(end - at));
      if (end >= time.end)
        break;
      at = end;
    }
  }
  first.push_back(blocks.seconds.size());
  blocks.samples.resize(blocks.seconds.size());
  for (const SampleCount& sample : profile.samples) {
    // Steps outside of the recording's time, as of a damaged one, go to its first or last
    // block.
    size_t run = std::min<size_t>(profile.owner(sample).recording, runs - 1);
    size_t last = first[run + 1] - 1;
    uint64_t step = sample.step - std::min<uint64_t>(sample.step, first_step[run]);
    size_t block = blocks.are_runs ? first[run] : std::min<size_t>(first[run] + step, last);
    blocks.samples[block].push_back(sample);
  }
  return blocks;
}

RowNames::RowNames(Kind kind, const Profile& before, const Profile& after) : kind_(kind) {
  if (kind != Kind::kFunction && kind != Kind::kLine)
    return;
  note_namesakes(before);
  note_namesakes(after);
}

void RowNames::note_namesakes(const Profile& profile) {
  FrameKeys keys(profile, kind_);
  // Functions that no sample passed through would add places to names that need none.
  std::vector<bool> is_sampled(keys.size());
  for (LocationId location : profile.stack_locations)
    for (KeyId key : keys.of(location))
      is_sampled[to_index(key)] = true;
  std::map<std::string_view, std::string> files;  // the first of each name
  std::map<std::pair<std::string_view, uint32_t>, uint64_t>
      identities;  // of a name in an image
  // Two functions of one name are told apart by file if those differ, else by source; both are
  // asked of both profiles, so that a name is equally long on both sides.
  for (size_t i = 0; i < keys.size(); i++) {
    if (!is_sampled[i])
      continue;
    const ViewKey& key = keys.all()[i];
    std::string file = file_text(profile, key);
    if (files.try_emplace(key.text, file).first->second != file)
      apart_[key.text].by_file = true;
    auto known = identities.try_emplace({key.text, key.image}, key.identity).first;
    // A line has its source in its text already.
    if (known->second != key.identity && kind_ == Kind::kFunction)
      apart_[key.text].by_source = true;
  }
}

std::vector<std::string> RowNames::of(const Profile& profile, const FrameKeys& keys) const {
  std::vector<std::string> names;
  for (const ViewKey& key : keys.all()) {
    names.push_back(key.text);
    auto apart = apart_.find(key.text);
    if (apart == apart_.end())
      continue;
    std::string place = apart->second.by_file ? file_text(profile, key) : "";
    if (std::string source = apart->second.by_source ? source_text(profile, key) : "";
        !source.empty())
      place += (place.empty() ? "" : ", ") + source;
    if (!place.empty())
      names.back() += fmt::format(" ({})", place);
  }
  return names;
}

Counts counts_of(const ComparedProfile& compared, const DifferenceOptions& options,
                 const RowNames& names) {
  const Profile& profile = compared.profile;
  // Sides may have different periods: nanoseconds, or events, compare.
  auto period = static_cast<double>(profile.period());
  Counts counts = {.profile = profile, .blocks = blocks_of(compared, options.per), .whole = {}};
  for (const std::vector<SampleCount>& samples : counts.blocks.samples) {
    double& whole = counts.whole.emplace_back();
    for (const SampleCount& sample : samples) {
      whole += static_cast<double>(profile.amount(sample)) * period;
      counts.samples += static_cast<double>(sample.count);
    }
  }
  if (options.by.is_of_frames())
    count_frames(options, period, names, counts);
  else
    count_samples(options, period, counts);
  return counts;
}

Pairs matched(const Counts& before, const Counts& after, Kind kind) {
  if (kind != Kind::kFunction)
    return {pairs_by_name(before, after), {}};
  return Matcher(before, after).match();
}

namespace {

constexpr size_t kMostCalls = 20'000;  // the largest ones are compared
// The total of each profile in a tree of two, whatever it really is: so both have the same
// weight.
constexpr double kSideAmount = uint64_t{1} << 40;
constexpr double kNearlyAll = 0.95;

// One of the two profiles of a tree.
struct TreeSide {
  const Counts& counts;
  const FrameKeys& frames;
  std::vector<KeyId> keys = {};     // what each key of `frames` is in the tree
  std::vector<Counted> nodes = {};  // of the tree

  // Trees are compared by dimensions of frames only (check_by() in diff.cpp), which have keys.
  explicit TreeSide(const Counts& of) : counts(of), frames(*of.keys) {}

  CallSource source() const {
    auto total = static_cast<double>(counts.profile.total_amount());
    return {counts.profile, frames, keys, total > 0 ? kSideAmount / total : 0};
  }
};

// A key a pair, and one for each name that no sample counts for.
std::vector<ViewKey> share_keys(const Pairs& pairs, TreeSide& before, TreeSide& after) {
  std::vector<ViewKey> keys;
  // Names without a pair belong to functions that samples do not count for: they keep a key of
  // their own, so that no two of them merge.
  auto share = [&](TreeSide& side, std::vector<std::string_view> Pair::*names) {
    std::map<std::string_view, uint32_t> pair_of;
    for (size_t i = 0; i < pairs.pairs.size(); i++)
      for (std::string_view name : pairs.pairs[i].*names)
        pair_of[name] = static_cast<uint32_t>(i);
    for (size_t i = 0; i < side.frames.size(); i++) {
      auto pair = pair_of.find(side.counts.names[i]);
      side.keys.push_back(
          KeyId{pair != pair_of.end() ? pair->second : static_cast<uint32_t>(keys.size())});
      if (pair == pair_of.end())
        keys.push_back(side.frames.all()[i]);
    }
  };
  // The number of a pair is its key: pairs come first.
  for (const Pair& pair : pairs.pairs) {
    ViewKey& key = keys.emplace_back((pair.after ? pair.after : pair.before)->key);
    key.text = pair.name;
  }
  share(before, &Pair::names_before);
  share(after, &Pair::names_after);
  return keys;
}

// The calls that are compared. What is deeper than memory allows is left to its callers: it has
// one key, behind those of functions.
CallTree common_tree(const TreeSide& before, const TreeSide& after, std::vector<ViewKey> keys,
                     const DifferenceTreeOptions& limits) {
  size_t functions = keys.size();
  CallSource sources[] = {before.source(), after.source()};
  CallTree tree = call_tree(sources, std::move(keys));
  double least = limits.least_percent / 100 * static_cast<double>(tree.nodes[0].total);
  std::vector<bool> is_kept;
  for (const CallNode& node : tree.nodes)
    is_kept.push_back(to_index(node.key) < functions && node.total > 0 &&
                      static_cast<double>(node.total) >= least && node.depth <= limits.depth);
  // The limits apply to each node by itself; a child has no more than its parent, so that what
  // is kept hangs together.
  return largest(with_nodes(tree, is_kept), kMostCalls);
}

// Finds the node of a tree that a path of calls leads to.
class Paths {
public:
  explicit Paths(const CallTree& tree) : parents_(parents_of(tree)) {
    for (uint32_t i = 1; i < tree.nodes.size(); i++)
      children_.try_emplace(Edge{parents_[i], tree.nodes[i].key}, i);
  }

  uint32_t parent(uint32_t node) const { return parents_[node]; }

  // The innermost node of each stack of a profile.
  std::vector<uint32_t> ends_of(const TreeSide& side) const {
    const Profile& profile = side.counts.profile;
    std::vector<uint32_t> ends;
    std::vector<KeyId> path;
    for (size_t stack = 0; stack < profile.stack_count(); stack++) {
      path.clear();
      side.frames.append(profile.stack(StackId{static_cast<uint32_t>(stack)}), path);
      uint32_t node = 0;
      // A stack that leaves the tree counts for the deepest node that is in it.
      for (size_t i = path.size(); i-- > 0;) {
        auto child = children_.find(Edge{node, side.keys[to_index(path[i])]});
        if (child == children_.end())
          break;
        node = child->second;
      }
      ends.push_back(node);
    }
    return ends;
  }

private:
  struct Edge {
    uint32_t parent;
    KeyId key;
    bool operator==(const Edge&) const = default;
  };

  std::vector<uint32_t> parents_;
  tsl::robin_map<Edge, uint32_t, BytesHash> children_;
};

void count_side(const CallTree& tree, const Paths& paths, TreeSide& side) {
  const Profile& profile = side.counts.profile;
  auto period = static_cast<double>(profile.period());
  std::vector<uint32_t> ends = paths.ends_of(side);
  side.nodes.resize(tree.nodes.size());
  for (Counted& node : side.nodes)
    node.amounts.resize(side.counts.whole.size());
  for (size_t block = 0; block < side.counts.whole.size(); block++)
    for (const SampleCount& sample : side.counts.blocks.samples[block]) {
      double amount = static_cast<double>(profile.amount(sample)) * period;
      // Up to the root, so that each node has what it calls; the root, node 0, is not counted.
      for (uint32_t node = ends[to_index(sample.stack)]; node != 0; node = paths.parent(node))
        side.nodes[node].amounts[block] += amount;
    }
}

// Gives the rows of a tree their verdicts. Callers come before what they call.
size_t judge_tree(std::vector<DifferenceRow>& rows, const Paths& paths,
                  const Comparer& comparer) {
  // A node that has nearly all of its caller says nothing new: it takes the caller's verdict,
  // and does not use up a part of the chance to err.
  auto has_nearly_all = [](const Rate& of, const Rate& caller) {
    return of.value >= kNearlyAll * caller.value;
  };
  std::vector<DifferenceRow*> judged;
  std::vector<size_t> judge_of;  // whose verdict each row has
  for (size_t i = 0; i < rows.size(); i++) {
    // Row i is of node i + 1. A call from the root has no caller, and is judged by itself.
    uint32_t parent = paths.parent(static_cast<uint32_t>(i + 1));
    size_t caller = parent == 0 ? i : judge_of[parent - 1];
    rows[i].is_as_caller = caller != i && has_nearly_all(rows[i].before, rows[caller].before) &&
                           has_nearly_all(rows[i].after, rows[caller].after);
    judge_of.push_back(rows[i].is_as_caller ? caller : i);
    if (!rows[i].is_as_caller)
      judged.push_back(&rows[i]);
  }
  size_t compared = comparer.judge(judged);
  for (size_t i = 0; i < rows.size(); i++) {
    rows[i].verdict = rows[judge_of[i]].verdict;
    rows[i].corrected_chance = rows[judge_of[i]].corrected_chance;
    rows[i].least_seen = rows[judge_of[i]].least_seen;
  }
  return compared;
}

// The nodes of a tree that are kept, and their rows.
Difference with_nodes(Difference difference, const std::vector<bool>& is_kept) {
  difference.tree = with_nodes(*difference.tree, is_kept);
  std::vector<DifferenceRow> rows;
  for (size_t i = 1; i < is_kept.size(); i++)
    if (is_kept[i])
      rows.push_back(std::move(difference.rows[i - 1]));
  difference.rows = std::move(rows);
  return difference;
}

}  // namespace

Difference difference_tree(const ComparedProfile& before, const ComparedProfile& after,
                           DifferenceOptions options, const DifferenceTreeOptions& limits) {
  // Nodes are compared by all that passed through them, not by their own samples only.
  options.is_of_totals = true;
  RowNames names(options.by.kind, before.profile, after.profile);
  Counts counts_before = counts_of(before, options, names);
  Counts counts_after = counts_of(after, options, names);
  Pairs pairs = matched(counts_before, counts_after, options.by.kind);
  TreeSide side_before(counts_before);
  TreeSide side_after(counts_after);
  std::vector<ViewKey> keys = share_keys(pairs, side_before, side_after);

  // Both profiles are put into one tree, so that limits apply to the sum and each node has both
  // amounts.
  CallTree tree = common_tree(side_before, side_after, std::move(keys), limits);
  Paths paths(tree);
  count_side(tree, paths, side_before);
  count_side(tree, paths, side_after);

  Comparer comparer(counts_before, counts_after, options);
  Difference result = comparer.summary();
  for (size_t i = 1; i < tree.nodes.size(); i++) {
    size_t key = to_index(tree.nodes[i].key);
    bool is_pair = key < pairs.pairs.size();
    DifferenceRow row = comparer.row({.name = tree.keys[key].text,
                                      .before = &side_before.nodes[i],
                                      .after = &side_after.nodes[i],
                                      .note = is_pair ? pairs.pairs[key].note : ""});
    row.is_named = tree.keys[key].is_named;
    result.rows.push_back(std::move(row));
  }
  result.compared = judge_tree(result.rows, paths, comparer);
  result.tree = std::move(tree);
  return result;
}

Difference changed_branches(Difference difference) {
  if (!has_verdicts(difference))
    return difference;
  std::vector<uint32_t> parents = parents_of(*difference.tree);
  std::vector<bool> is_kept(parents.size());
  is_kept[0] = true;
  for (uint32_t i = 1; i < parents.size(); i++)
    // Ancestors of a changed node are kept as the way to it.
    if (difference.rows[i - 1].is_significant())
      for (uint32_t node = i; !is_kept[node]; node = parents[node])
        is_kept[node] = true;
  return with_nodes(std::move(difference), is_kept);
}

Difference with_joined_chains(Difference difference) {
  CallTree& tree = *difference.tree;
  // Row i is of node i + 1, as the root has none: rows[node] is that of the node's only child.
  auto goes_on = [&](uint32_t, uint32_t node) { return difference.rows[node].is_as_caller; };
  std::vector<CallNode> nodes = {tree.nodes[0]};
  std::vector<DifferenceRow> rows;
  // A chain has the row of its first function; the rows of the others add nothing to it.
  for (const JoinedCalls& chain : chains_of(tree, goes_on)) {
    std::vector<std::string_view> names;
    for (uint32_t i = chain.first; i <= chain.last; i++)
      names.push_back(difference.rows[i - 1].name);
    std::string name = names.size() > 1 ? chain_text(names) : std::string(names[0]);
    rows.push_back(std::move(difference.rows[chain.first - 1]));
    rows.back().name = std::move(name);
    nodes.push_back(tree.nodes[chain.first]);
    nodes.back().depth = chain.depth;
  }
  set_sizes(nodes);
  tree.nodes = std::move(nodes);
  difference.rows = std::move(rows);
  return difference;
}

}  // namespace gosym
