#include <doctest/doctest.h>

#include <cmath>

#include "commands/heap/growth.h"

namespace gosym::heap_growth_test {

TEST_CASE("heap growth: a line has its slope, and an error by what lies off it") {
  Slope exact = slope_of({0, 1, 2, 3}, {10, 12, 14, 16});
  CHECK(exact.per_second == doctest::Approx(2));
  CHECK(exact.error == doctest::Approx(0));
  CHECK(exact.chance == doctest::Approx(0));
  // By R: summary(lm(c(1, 2, 4, 4, 6) ~ c(0, 1, 2, 3, 4))): 1.2, standard error 0.1633, p
  // 0.00522; times qt(0.975, 3) = 3.182.
  Slope slope = slope_of({0, 1, 2, 3, 4}, {1, 2, 4, 4, 6});
  CHECK(slope.per_second == doctest::Approx(1.2));
  CHECK(slope.error == doctest::Approx(0.5197).epsilon(0.001));
  CHECK(slope.chance == doctest::Approx(0.00522).epsilon(0.01));
  Slope flat = slope_of({0, 1, 2}, {5, 5, 5});
  CHECK(flat.per_second == 0);
  CHECK(flat.chance == 1);
}

TEST_CASE("heap growth: two looks, or looks at one moment, tell nothing of the error") {
  CHECK(std::isinf(slope_of({0, 1}, {1, 2}).error));
  CHECK(slope_of({0, 1}, {1, 2}).chance == 1);
  Slope slope = slope_of({1, 1, 1}, {1, 2, 3});
  CHECK(slope.per_second == 0);
  CHECK(slope.chance == 1);
}

}  // namespace gosym::heap_growth_test
