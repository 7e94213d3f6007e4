#pragma once

#include <string_view>
#include <vector>

#include "view/difference.h"

namespace gosym {

// Compares rows of two profiles: see difference.h. The counts and options have to live as long.
class Comparer {
public:
  Comparer(const Counts& before, const Counts& after, const DifferenceOptions& options);

  // All but the verdict, which it has only where there is nothing to compare by.
  DifferenceRow row(const Pair& pair) const;
  // The options and figures of the whole profiles, without rows.
  Difference summary() const;
  // Gives rows their verdicts, corrected for all of them that are compared: returns how many.
  size_t judge(std::span<DifferenceRow*> rows) const;

private:
  double least_variance(double pooled, const Counts& counts, double base) const;
  DifferenceRow compare(std::span<const double> before, std::span<const double> after,
                        DifferenceRow row) const;
  DifferenceRow whole() const;
  void judge(DifferenceRow& row, double corrected, double part) const;

  const Counts& before_;
  const Counts& after_;
  const DifferenceOptions& options_;
  std::vector<double> bases_before_;
  std::vector<double> bases_after_;
  std::vector<double> none_before_;  // amounts of what is not there
  std::vector<double> none_after_;
};

}  // namespace gosym
