#include "view/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "view/compared_rows.h"
#include "view/comparer.h"

namespace gosym {

namespace {

constexpr uint64_t kTimeBlocks = 20;  // for fewer recordings than kManyRuns

// Significant changes come first. Rows without a verdict are sorted by the size of their
// change.
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
  RowNames names(options.by.kind, before.profile, after.profile);
  Counts counts_before = counts_of(before, options, names);
  Counts counts_after = counts_of(after, options, names);
  Pairs pairs = matched(counts_before, counts_after, options.by.kind);
  Comparer comparer(counts_before, counts_after, options);
  Difference result = comparer.summary();
  for (const Pair& pair : pairs.pairs) {
    DifferenceRow row = comparer.row(pair);
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

}  // namespace gosym
