#include "view/difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"
#include "view/frame_keys.h"
#include "view/same_code.h"
#include "view/totals.h"

namespace gosym {

namespace {

using Kind = Dimension::Kind;

constexpr uint64_t kTimeBlocks = 20;   // of a profile of fewer
constexpr double kLeastSamples = 10;   // of a row that is compared
constexpr double kPowerLimit = 0.842;  // what a normal variable is below, four times of five

double in_seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

struct Blocks {
  std::vector<std::vector<SampleCount>> samples;
  std::vector<double> seconds;  // of each
  bool are_runs = false;
};

// The time of a recording that samples are of, since the first recording began.
TimeRange recorded_time(const ComparedProfile& compared, size_t recording) {
  const Profile& profile = compared.profile;
  uint64_t begin = 0;
  uint64_t end = profile.duration_ns;
  if (!profile.recordings.empty()) {
    const ProfiledRecording& one = profile.recordings[recording];
    begin = one.start_realtime_ns - profile.recordings.front().start_realtime_ns;
    end = begin + one.duration_ns;
  }
  begin = std::max(begin, compared.time.begin);
  return {begin, std::max(begin, std::min(end, compared.time.end))};
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
    size_t run = std::min<size_t>(sample.recording, runs - 1);
    size_t last = first[run + 1] - 1;
    uint64_t step = sample.step - std::min<uint64_t>(sample.step, first_step[run]);
    size_t block = blocks.are_runs ? first[run] : std::min<size_t>(first[run] + step, last);
    blocks.samples[block].push_back(sample);
  }
  return blocks;
}

// What a profile has of one row.
struct Counted {
  std::vector<double> amounts;  // of each block, in nanoseconds or events
  double inlined = 0;           // of its own amount
  double own = 0;
  ViewKey key = {};
  std::string place = {};

  void add(const Counted& other) {
    for (size_t i = 0; i < amounts.size(); i++)
      amounts[i] += other.amounts[i];
    inlined += other.inlined;
    own += other.own;
  }
};
using Rows = std::map<std::string, Counted>;  // by name

// One side of the comparison, by rows.
struct Counts {
  const Profile& profile;
  Blocks blocks;
  std::vector<double> whole;  // amount of each block
  double samples = 0;
  Rows rows = {};

  Counted& row(const std::string& name, const ViewKey& key) {
    auto [row, is_new] = rows.try_emplace(name);
    if (is_new) {
      row->second.key = key;
      row->second.amounts.resize(whole.size());
    }
    return row->second;
  }
  double amount_of_sample() const { return samples == 0 ? 0 : sum_of(whole) / samples; }
};

std::string row_place(const Profile& profile, const Total& total) {
  if (total.function == ViewKey::kNoFunction)
    return {};
  std::string_view file = profile.strings[profile.functions[to_index(total.function)].file];
  if (file.empty() || total.line == 0)
    return printable(file);
  return fmt::format("{}:{}", printable(file), total.line);
}

void count_inlined(const FrameKeys& keys, double period, Counts& counts) {
  for (const SampleCount& sample : counts.profile.samples) {
    std::span<const LocationId> stack = counts.profile.stack(sample.stack);
    if (stack.empty() || keys.of(stack.front()).empty())
      continue;
    KeyId key = keys.of(stack.front()).front();
    double amount = static_cast<double>(counts.profile.amount(sample)) * period;
    Counted& row = counts.row(keys[key].text, keys[key]);
    row.own += amount;
    if (counts.profile.locations[to_index(stack.front())].frame_count > 1)
      row.inlined += amount;
  }
}

void count_frames(const DifferenceOptions& options, double period, Counts& counts) {
  FrameKeys keys(counts.profile, options.by.kind);
  for (size_t block = 0; block < counts.whole.size(); block++)
    for (const Total& total :
         frame_totals(counts.profile, counts.blocks.samples[block], keys)) {
      uint64_t amount = options.is_of_totals ? total.total : total.self;
      if (amount == 0)
        continue;
      Counted& row = counts.row(keys[total.key].text, keys[total.key]);
      row.amounts[block] += static_cast<double>(amount) * period;
      if (keys.has_places())
        row.place = row_place(counts.profile, total);
    }
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

Counts counts_of(const ComparedProfile& compared, const DifferenceOptions& options) {
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
    count_frames(options, period, counts);
  else
    count_samples(options, period, counts);
  return counts;
}

// ---- which rows are of the same code ----------------------------------------------------

struct Pair {
  std::string name;
  const Counted* before = nullptr;  // null: none
  const Counted* after = nullptr;
  std::string note = {};
};

// The build of each file of a profile, by its name.
std::map<std::string, std::string> builds_of(const Profile& profile) {
  std::map<std::string, std::string> builds;
  for (const ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile)
      builds[std::string(base_name(image.file.path))] +=
          image.file.gnu_build_id + '/' + image.file.go_build_id + '\n';
  return builds;
}

// Pairs the functions of two profiles, and lives as long as the pairs. Those of files of one
// build have the same names in both. Of others, functions that a new build may have numbered or
// instantiated anew are one row where not all of them are in both; and what is in one only is
// taken for the same as the one in the other whose package has moved.
class Matcher {
public:
  Matcher(const Counts& before, const Counts& after)
      : before_(before),
        after_(after),
        builds_before_(builds_of(before.profile)),
        builds_after_(builds_of(after.profile)) {}

  std::vector<Pair> match() {
    for (const auto& [name, row] : before_.rows)
      groups_[group_of(name, row, before_)].before.emplace_back(name, &row);
    for (const auto& [name, row] : after_.rows)
      groups_[group_of(name, row, after_)].after.emplace_back(name, &row);
    for (const auto& [name, group] : groups_)
      append(name, group);
    join_moved();
    note_inlining();
    return std::move(pairs_);
  }

private:
  using Named = std::pair<std::string, const Counted*>;
  struct Group {
    std::vector<Named> before;
    std::vector<Named> after;
  };

  bool is_of_one_build(const Counted& row, const Profile& profile) const {
    const ProfileImage& image = profile.images[row.key.image];
    if (image.kind != ProfileImage::Kind::kFile)
      return true;
    std::string name(base_name(image.file.path));
    auto before = builds_before_.find(name);
    auto after = builds_after_.find(name);
    return before != builds_before_.end() && after != builds_after_.end() &&
           before->second == after->second;
  }

  std::string group_of(const std::string& name, const Counted& row, const Counts& of) const {
    return is_of_one_build(row, of.profile) ? name : name_across_builds(name);
  }

  void append(const std::string& name, const Group& group) {
    auto names_of = [](const std::vector<Named>& rows) {
      std::vector<std::string> names;
      for (const Named& row : rows)
        names.push_back(row.first);
      return names;
    };
    if (names_of(group.before) == names_of(group.after)) {
      for (size_t i = 0; i < group.before.size(); i++)
        pairs_.push_back(
            {group.before[i].first, group.before[i].second, group.after[i].second});
      return;
    }
    Pair& pair = pairs_.emplace_back(Pair{.name = name});
    pair.before = sum_of_rows(group.before);
    pair.after = sum_of_rows(group.after);
    if (group.before.size() > 1 || group.after.size() > 1) {
      pair.note =
          fmt::format("{} functions", std::max(group.before.size(), group.after.size()));
      return;
    }
    pair.name = (group.after.empty() ? group.before : group.after).front().first;
    if (!group.before.empty() && !group.after.empty())
      pair.note = "was " + group.before.front().first;
  }

  const Counted* sum_of_rows(const std::vector<Named>& rows) {
    if (rows.size() < 2)
      return rows.empty() ? nullptr : rows.front().second;
    Counted& sum = sums_.emplace_back(*rows.front().second);
    for (size_t i = 1; i < rows.size(); i++)
      sum.add(*rows[i].second);
    return &sum;
  }

  // A name that is in one profile only and, without its directories, once in each.
  void join_moved() {
    struct Only {
      std::vector<size_t> before;
      std::vector<size_t> after;
    };
    std::map<std::string_view, Only> only;
    for (size_t i = 0; i < pairs_.size(); i++) {
      const Pair& pair = pairs_[i];
      const Counted* row = pair.before ? pair.before : pair.after;
      const Profile& profile = pair.before ? before_.profile : after_.profile;
      if ((pair.before && pair.after) || !row->key.is_named || is_of_one_build(*row, profile))
        continue;
      Only& same = only[name_without_directories(pair.name)];
      (pair.before ? same.before : same.after).push_back(i);
    }
    std::set<size_t> joined;
    for (const auto& [name, same] : only) {
      if (same.before.size() != 1 || same.after.size() != 1)
        continue;
      Pair& pair = pairs_[same.after.front()];
      pair.before = pairs_[same.before.front()].before;
      pair.note = "was " + pairs_[same.before.front()].name;
      joined.insert(same.before.front());
    }
    std::vector<Pair> left;
    for (size_t i = 0; i < pairs_.size(); i++)
      if (!joined.contains(i))
        left.push_back(std::move(pairs_[i]));
    pairs_ = std::move(left);
  }

  // The functions that samples passed through only as part of another that has their code.
  static std::set<std::string> only_inlined(const Profile& profile) {
    std::vector<bool> is_inlined(profile.functions.size());
    std::vector<bool> is_called(profile.functions.size());
    for (const Location& location : profile.locations) {
      std::span<const Frame> frames = profile.frames_of(location);
      for (const Frame& frame : frames)
        is_inlined[to_index(frame.function)] = true;
      if (!frames.empty())
        is_called[to_index(frames.back().function)] = true;
    }
    std::set<std::string> names;
    auto name_of = [&](size_t i) {
      return printable(profile.strings[profile.functions[i].name]);
    };
    for (size_t i = 0; i < is_inlined.size(); i++)
      if (is_inlined[i])
        names.insert(name_of(i));
    for (size_t i = 0; i < is_called.size(); i++)  // functions may share a name
      if (is_called[i])
        names.erase(name_of(i));
    return names;
  }

  void note_inlining() {
    std::set<std::string> inlined_before = only_inlined(before_.profile);
    std::set<std::string> inlined_after = only_inlined(after_.profile);
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
        note(pair, inlined_after.contains(pair.name) ? "inlined now: its callers have its cost"
                                                     : "none after");
      else if (!pair.before)
        note(pair, inlined_before.contains(pair.name) ? "no longer inlined" : "none before");
    }
  }

  const Counts& before_;
  const Counts& after_;
  std::map<std::string, std::string> builds_before_;
  std::map<std::string, std::string> builds_after_;
  std::map<std::string, Group> groups_;
  std::deque<Counted> sums_;  // that pairs point to
  std::vector<Pair> pairs_;
};

std::vector<Pair> pairs_by_name(const Counts& before, const Counts& after) {
  std::map<std::string, Pair> pairs;
  for (const auto& [name, row] : before.rows)
    pairs[name] = {.name = name, .before = &row};
  for (const auto& [name, row] : after.rows) {
    pairs[name].name = name;
    pairs[name].after = &row;
  }
  std::vector<Pair> result;
  for (auto& [name, pair] : pairs)
    result.push_back(std::move(pair));
  return result;
}

// ---- rates ------------------------------------------------------------------------------

std::vector<double> bases_of(const Counts& counts, Per per) {
  if (per == Per::kShare)
    return counts.whole;
  if (per == Per::kSecond)
    return counts.blocks.seconds;
  return std::vector<double>(counts.whole.size(), 1.0);
}

class Comparer {
public:
  Comparer(const Counts& before, const Counts& after, const DifferenceOptions& options)
      : before_(before),
        after_(after),
        options_(options),
        bases_before_(bases_of(before, options.per)),
        bases_after_(bases_of(after, options.per)) {}

  // All but the verdict; `is_compared` is whether there is enough to compare.
  DifferenceRow row(const Pair& pair, bool& is_compared) const {
    DifferenceRow row = {.name = pair.name, .note = pair.note};
    const Counted* main = pair.after ? pair.after : pair.before;
    row.place = main->place;
    row.is_named = main->key.is_named;
    return compare(pair.before ? pair.before->amounts : none(before_),
                   pair.after ? pair.after->amounts : none(after_), is_compared, row);
  }

  DifferenceRow whole() const {
    bool is_compared = false;
    DifferenceRow row = {.name = "the whole"};
    row = compare(before_.whole, after_.whole, is_compared, row);
    if (is_compared)
      judge(row, row.change.chance, 1);
    return row;
  }

  // `part` is what the row gets of the chance to err, of all that are compared.
  void judge(DifferenceRow& row, double corrected, double part) const {
    double level = 1 - options_.confidence;
    row.corrected_chance = corrected;
    row.least_seen = std::numeric_limits<double>::infinity();
    if (row.before.value > 0 && row.change.freedom > 0)
      row.least_seen = (student_limit(level * part, row.change.freedom) + kPowerLimit) *
                       row.change.error / row.before.value;
    if (corrected <= level)
      row.verdict = row.change.value > 0 ? Verdict::kDearer : Verdict::kCheaper;
    else
      row.verdict = row.least_seen < 1 ? Verdict::kSame : Verdict::kTooFew;
  }

private:
  static std::vector<double> none(const Counts& counts) {
    return std::vector<double>(counts.whole.size());
  }

  // The variance of samples drawn at random, by what both sides have together.
  double least_variance(double pooled, const Counts& counts, double base) const {
    double rest = options_.per == Per::kShare ? 1 - pooled : 1;
    double sample = counts.amount_of_sample();
    return base > 0 ? pooled * rest * sample / base : 0;
  }

  DifferenceRow compare(std::span<const double> before, std::span<const double> after,
                        bool& is_compared, DifferenceRow row) const {
    row.before = rate_of(before, bases_before_);
    row.after = rate_of(after, bases_after_);
    double base_before = sum_of(bases_before_);
    double base_after = sum_of(bases_after_);
    double pooled = (sum_of(before) + sum_of(after)) / (base_before + base_after);
    row.before.variance =
        std::max(row.before.variance, least_variance(pooled, before_, base_before));
    row.after.variance =
        std::max(row.after.variance, least_variance(pooled, after_, base_after));
    row.change = change_of(row.before, row.after);
    double samples =
        sum_of(before) / before_.amount_of_sample() + sum_of(after) / after_.amount_of_sample();
    is_compared = samples >= kLeastSamples && row.change.freedom > 0;
    if (row.change.freedom == 0)
      row.verdict = Verdict::kUntold;
    return row;
  }

  const Counts& before_;
  const Counts& after_;
  const DifferenceOptions& options_;
  std::vector<double> bases_before_;
  std::vector<double> bases_after_;
};

// What changed comes first; where nothing tells that, all of it by its change.
void sort_rows(std::vector<DifferenceRow>& rows, bool has_verdicts) {
  std::ranges::stable_sort(rows, [&](const DifferenceRow& a, const DifferenceRow& b) {
    if (a.is_significant() != b.is_significant())
      return a.is_significant();
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
    case Verdict::kSame:
      return "no difference seen";
    case Verdict::kUntold:
      return "cannot tell";
    case Verdict::kTooFew:
      break;
  }
  return "too few samples to tell";
}

double DifferenceRow::relative() const {
  return before.value > 0 ? change.value / before.value
                          : std::numeric_limits<double>::infinity();
}

double scale_of(const ComparedProfile& before, const ComparedProfile& after, Per per) {
  auto base_of = [per](const ComparedProfile& compared) {
    if (per == Per::kShare)
      return static_cast<double>(compared.profile.total_amount());
    size_t runs = std::max<size_t>(1, compared.profile.recordings.size());
    if (per == Per::kRun)
      return static_cast<double>(runs);
    double seconds = 0;
    for (size_t run = 0; run < runs; run++) {
      TimeRange time = recorded_time(compared, run);
      seconds += in_seconds(time.end - time.begin);
    }
    return seconds;
  };
  double base = base_of(before);
  return base > 0 ? base_of(after) / base : 1;
}

uint64_t block_step(uint64_t duration) {
  constexpr uint64_t kLeast = 1'000'000;
  return std::max(kLeast, duration / kTimeBlocks + 1);
}

Difference difference(const ComparedProfile& before, const ComparedProfile& after,
                      const DifferenceOptions& options) {
  Counts counts_before = counts_of(before, options);
  Counts counts_after = counts_of(after, options);
  Matcher matcher(counts_before, counts_after);
  std::vector<Pair> pairs = options.by.kind == Kind::kFunction
                                ? matcher.match()
                                : pairs_by_name(counts_before, counts_after);

  Difference result = {.options = options,
                       .measures_time = before.profile.measures_time(),
                       .has_runs_before = counts_before.blocks.are_runs,
                       .has_runs_after = counts_after.blocks.are_runs,
                       .blocks_before = counts_before.whole.size(),
                       .blocks_after = counts_after.whole.size()};
  Comparer comparer(counts_before, counts_after, options);
  if (options.per != Per::kShare)
    result.whole = comparer.whole();
  std::vector<size_t> compared;
  std::vector<double> chances;
  std::vector<double> sizes;
  for (const Pair& pair : pairs) {
    bool is_compared = false;
    DifferenceRow row = comparer.row(pair, is_compared);
    if (row.before.value <= 0 && row.after.value <= 0)
      continue;
    if (is_compared) {
      compared.push_back(result.rows.size());
      chances.push_back(row.change.chance);
      sizes.push_back(row.before.value + row.after.value);
    }
    result.rows.push_back(std::move(row));
  }
  result.compared = compared.size();
  std::vector<double> corrected = holm_corrected(chances, sizes);
  double all = sum_of(sizes);
  for (size_t i = 0; i < compared.size(); i++)
    comparer.judge(result.rows[compared[i]], corrected[i], sizes[i] / all);
  sort_rows(result.rows, has_verdicts(result));
  return result;
}

}  // namespace gosym
