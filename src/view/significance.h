#pragma once

#include <span>
#include <vector>

namespace gosym {

// A rate, such as the share of the CPU time that a function has, and how sure it is.
//
// Samples that follow each other are of the same work more often than chance has it, so that
// their variance exceeds the binomial one: an interval made of their number alone is too
// narrow. Measured instead is how much the rate varies from block to block of time.
//
//   rate      R = sum of y / sum of x    y: amount of a block, x: its base (blocks with x > 0)
//   variance  B / (B - 1) * sum of (y - R x)^2 / (sum of x)^2       B: number of these blocks
//   freedom   B - 1
//
// Blocks have to be long beside what makes samples alike (a request, a collection of garbage),
// and many enough: 10 or more. What differs only from one run of a program to the next, such as
// where its memory lies, shows in no block of one run.
struct Rate {
  double value = 0;
  double variance = 0;
  double freedom = 0;  // 0: too few blocks to know a variance
};
Rate rate_of(std::span<const double> amounts, std::span<const double> bases);

// The difference between two rates, by Welch's t test.
struct RateChange {
  double value = 0;    // after less before
  double error = 0;    // standard error of it
  double freedom = 0;  // 0: nothing is known of the error
  double chance = 1;   // that equal rates are so far apart, or more (p, of both sides)
};
RateChange change_of(const Rate& before, const Rate& after);

// Student's t: the chance of |T| >= t, and the t that has this chance. `freedom` > 0.
double student_chance(double t, double freedom);
double student_limit(double chance, double freedom);

// Holm's correction for many comparisons, each with a weight above 0: where nothing has changed
// at all, the chance that any one of them falls below a level is that level, and the weights
// say how it is divided among them. In the order of `chances`.
std::vector<double> holm_corrected(std::span<const double> chances,
                                   std::span<const double> weights);

}  // namespace gosym
