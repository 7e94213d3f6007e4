#include "view/comparer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "view/significance.h"

// Blocks, rows and verdicts are explained in difference.h, rates and their variance in
// significance.h.
namespace gosym {

namespace {

constexpr double kLeastSamples = 10;  // a row with fewer in both profiles is not compared
constexpr double kUneven = 2;         // standard errors of samples drawn at random
// Quantile of the normal distribution: 80 % lie below, which is "four times of five".
constexpr double kPowerLimit = 0.842;

// A count has no error.
DifferenceRow with_exact_verdict(DifferenceRow row) {
  row.change.value = row.after.value - row.before.value;
  row.before.variance = row.after.variance = 0;
  row.verdict = row.change.value > 0   ? Verdict::kMore
                : row.change.value < 0 ? Verdict::kFewer
                                       : Verdict::kAsMany;
  return row;
}

std::vector<double> bases_of(const Counts& counts, Per per) {
  if (per == Per::kShare)
    return counts.whole;
  if (per == Per::kSecond)
    return counts.blocks.seconds;
  return std::vector<double>(counts.whole.size(), 1.0);
}

// Diff refuses a profile without samples, but those of a time that was chosen may all be parts
// of waits that count elsewhere, or weigh nothing.
double samples_in(double amount, const Counts& counts) {
  double of_sample = counts.amount_of_sample();
  return of_sample > 0 ? amount / of_sample : 0;
}

}  // namespace

Comparer::Comparer(const Counts& before, const Counts& after, const DifferenceOptions& options)
    : before_(before),
      after_(after),
      options_(options),
      bases_before_(bases_of(before, options.per)),
      bases_after_(bases_of(after, options.per)),
      none_before_(before.whole.size()),
      none_after_(after.whole.size()) {}

DifferenceRow Comparer::row(const Pair& pair) const {
  // A pair has a row on one side at least.
  const Counted* main = pair.after ? pair.after : pair.before;
  return compare(pair.before ? pair.before->amounts : none_before_,
                 pair.after ? pair.after->amounts : none_after_,
                 {.name = pair.name,
                  .note = pair.note,
                  .place = main->place,
                  .is_named = main->key.is_named});
}

Difference Comparer::summary() const {
  Difference summary = {.options = options_,
                        .measures_time = before_.profile.measures_time(),
                        .has_runs_before = before_.blocks.are_runs,
                        .has_runs_after = after_.blocks.are_runs,
                        .blocks_before = before_.whole.size(),
                        .blocks_after = after_.whole.size()};
  if (options_.per != Per::kShare)
    summary.whole = whole();
  return summary;
}

DifferenceRow Comparer::whole() const {
  DifferenceRow row = compare(before_.whole, after_.whole, {.name = "the whole"});
  DifferenceRow* rows[] = {&row};
  judge(rows);
  return row;
}

size_t Comparer::judge(std::span<DifferenceRow*> rows) const {
  // Rows of counts have got their verdicts in compare().
  if (options_.is_exact)
    return rows.size();
  std::vector<DifferenceRow*> compared;
  std::vector<double> chances;
  std::vector<double> sizes;
  // Too few samples, or no variance: the row gets no verdict, and takes no part of the chance
  // to err.
  for (DifferenceRow* row : rows) {
    if (row->samples < kLeastSamples || row->change.freedom == 0)
      continue;
    // A row of ten samples has a size above 0, as holm_corrected() demands of its weights.
    compared.push_back(row);
    chances.push_back(row->change.chance);
    sizes.push_back(row->before.value + row->after.value);
  }
  // The chance to err is divided by size: equally divided, hundreds of tiny rows would hide a
  // change of a large one.
  std::vector<double> corrected = holm_corrected(chances, sizes);
  double all = sum_of(sizes);
  for (size_t i = 0; i < compared.size(); i++)
    judge(*compared[i], corrected[i], sizes[i] / all);
  return compared.size();
}

// `corrected` is the row's chance by Holm. `part` is its part of the chance to err, which all
// rows that are compared divide by size.
void Comparer::judge(DifferenceRow& row, double corrected, double part) const {
  double level = 1 - options_.confidence;
  row.corrected_chance = corrected;
  row.least_seen = std::numeric_limits<double>::infinity();
  // A change of `errors` standard errors is seen four times of five at the level of the row.
  // Holm allows the row a higher level if other rows have changed, so `least_seen` is a bound:
  // a smaller change may be seen as well.
  double errors = student_limit(level * part, row.change.freedom) + kPowerLimit;
  if (row.before.value > 0)
    row.least_seen = errors * row.change.error / row.before.value;
  bool is_uneven = row.change.error >= kUneven * row.random_error;
  // A change smaller than the row itself would have been seen, so its absence says something.
  // Otherwise it was unevenness that hid it, if random samples would have shown it, or too few
  // samples.
  if (corrected <= level)
    row.verdict = row.change.value > 0 ? Verdict::kDearer : Verdict::kCheaper;
  else if (row.least_seen < 1)
    row.verdict = Verdict::kSame;
  else
    row.verdict = is_uneven && errors * row.random_error < row.before.value
                      ? Verdict::kTooUneven
                      : Verdict::kTooFew;
}

// The variance of samples drawn at random, by what both sides have together: binomial for a
// share, Poisson for rates of time and runs.
double Comparer::least_variance(double pooled, const Counts& counts, double base) const {
  double rest = options_.per == Per::kShare ? 1 - pooled : 1;
  double sample = counts.amount_of_sample();
  return base > 0 ? pooled * rest * sample / base : 0;
}

DifferenceRow Comparer::compare(std::span<const double> before, std::span<const double> after,
                                DifferenceRow row) const {
  row.before = rate_of(before, bases_before_);
  row.after = rate_of(after, bases_after_);
  if (options_.is_exact)
    return with_exact_verdict(std::move(row));
  double base_before = sum_of(bases_before_);
  double base_after = sum_of(bases_after_);
  double amount_before = sum_of(before);
  double amount_after = sum_of(after);
  // Blocks may agree by accident, so no variance is below that of samples drawn at random. For
  // that both sides are pooled, as if nothing had changed.
  // Without any base on both sides this is no number, and least_variance() does not use it.
  double pooled = (amount_before + amount_after) / (base_before + base_after);
  double least_before = least_variance(pooled, before_, base_before);
  double least_after = least_variance(pooled, after_, base_after);
  row.before.variance = std::max(row.before.variance, least_before);
  row.after.variance = std::max(row.after.variance, least_after);
  row.random_error = std::sqrt(least_before + least_after);
  row.change = change_of(row.before, row.after);
  row.samples = samples_in(amount_before, before_) + samples_in(amount_after, after_);
  bool has_variances = row.before.freedom > 0 && row.after.freedom > 0;
  if (!has_variances)
    row.verdict = Verdict::kUntold;
  else if (row.change.freedom == 0 && row.change.value == 0)  // all of both sides, by share
    row.verdict = Verdict::kSame;
  return row;
}

}  // namespace gosym
