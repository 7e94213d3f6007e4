#include "view/compared_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "view/same_code.h"
#include "view/totals.h"

namespace gosym {

namespace {

using Kind = Dimension::Kind;

void count_inlined(const FrameKeys& keys, double period, Counts& counts) {
  for (const SampleCount& sample : counts.profile.samples) {
    std::span<const LocationId> stack = counts.profile.stack(sample.stack);
    if (stack.empty() || keys.of(stack.front()).empty())
      continue;
    KeyId key = keys.of(stack.front()).front();
    double amount = static_cast<double>(counts.profile.amount(sample)) * period;
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
  // profile has one such.
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
    // Half of a row's own amount decides.
    auto is_inlined = [](const Counted* row) { return row && 2 * row->inlined > row->own; };
    auto is_called = [](const Counted* row) {
      return row && row->own > 0 && 2 * row->inlined <= row->own;
    };
    auto note = [](Pair& pair, std::string_view text) {
      pair.note += (pair.note.empty() ? "" : ", ") + std::string(text);
    };
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

double in_seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

Blocks blocks_of(const ComparedProfile& compared, Per per) {
  const Profile& profile = compared.profile;
  Blocks blocks;
  size_t runs = std::max<size_t>(1, profile.recordings.size());
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
      blocks.seconds.push_back(in_seconds(end - at));
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
    size_t run = std::min<size_t>(sample.recording, runs - 1);
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
  std::map<std::string_view, std::string> files;
  std::map<std::pair<std::string_view, uint32_t>, uint64_t>
      identities;  // of a name in an image
  for (size_t i = 0; i < keys.size(); i++) {
    if (!is_sampled[i])
      continue;
    const ViewKey& key = keys.all()[i];
    std::string file = file_text(profile, key);
    if (files.try_emplace(key.text, file).first->second != file)
      apart_[key.text].by_file = true;
    auto known = identities.try_emplace({key.text, key.image}, key.identity).first;
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

}  // namespace gosym
