#include "view/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gosym {

namespace {

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr int kMaxSteps = 500;
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-14;
  auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  // Each turn takes an even and an odd term. It needs some sqrt(max(a, b)) turns; a fraction
  // that has not settled after kMaxSteps is used as it is.
  for (int m = 1; m <= kMaxSteps; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    result *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < kPrecision)
      break;
  }
  return result;
}

// The regularized incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1)
    return x <= 0 ? 0 : 1;
  double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                          a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast only below the mean of the distribution: above it, the symmetry
  // I_x(a, b) = 1 - I_1-x(b, a) is used.
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

// significance.h has the formulas; without a variance `freedom` stays 0.
Rate rate_of(std::span<const double> amounts, std::span<const double> bases) {
  double amount = std::accumulate(amounts.begin(), amounts.end(), 0.0);
  double base = std::accumulate(bases.begin(), bases.end(), 0.0);
  if (base <= 0)
    return {};
  Rate rate = {.value = amount / base};
  double squares = 0;
  double count = 0;
  for (size_t i = 0; i < amounts.size(); i++) {
    // A block without CPU time tells nothing of a share of it.
    if (bases[i] <= 0)
      continue;
    double rest = amounts[i] - rate.value * bases[i];
    squares += rest * rest;
    count++;
  }
  if (count < 2)
    return rate;
  rate.freedom = count - 1;
  rate.variance = count / rate.freedom * squares / (base * base);
  return rate;
}

RateChange change_of(const Rate& before, const Rate& after) {
  RateChange change = {.value = after.value - before.value};
  double variance = before.variance + after.variance;
  if (before.freedom <= 0 || after.freedom <= 0 || variance <= 0)
    return change;
  change.error = std::sqrt(variance);
  // The approximation of Welch and Satterthwaite.
  change.freedom = variance * variance /
                   (before.variance * before.variance / before.freedom +
                    after.variance * after.variance / after.freedom);
  change.chance = student_chance(change.value / change.error, change.freedom);
  return change;
}

double student_chance(double t, double freedom) {
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_limit(double chance, double freedom) {
  // The limit has no closed form: it is enclosed by doubling, then halved to the precision of a
  // double.
  double low = 0;
  double high = 1;
  // With little freedom and a tiny chance the limit is beyond all figures: doubling ends there.
  constexpr double kFar = 1e12;
  while (high < kFar && student_chance(high, freedom) > chance)
    high *= 2;
  constexpr int kHalvings = 80;
  for (int i = 0; i < kHalvings; i++) {
    double middle = (low + high) / 2;
    (student_chance(middle, freedom) > chance ? low : high) = middle;
  }
  return high;
}

std::vector<double> holm_corrected(std::span<const double> chances,
                                   std::span<const double> weights) {
  std::vector<size_t> order(chances.size());
  std::iota(order.begin(), order.end(), 0);
  // Weighted Holm goes by the chance of a unit of weight. Each chance is multiplied by the
  // weight that is left, its own included, for each unit of its own.
  std::ranges::stable_sort(order, {}, [&](size_t i) { return chances[i] / weights[i]; });
  std::vector<double> corrected(chances.size());
  double left = std::accumulate(weights.begin(), weights.end(), 0.0);
  double largest = 0;
  for (size_t i : order) {
    // The corrected chance never falls: a row is not significant if one with a smaller chance
    // is not.
    largest = std::max(largest, std::min(1.0, chances[i] * left / weights[i]));
    corrected[i] = largest;
    left -= weights[i];
  }
  return corrected;
}

}  // namespace gosym
