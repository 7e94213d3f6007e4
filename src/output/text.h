#pragma once

#include <cstdint>
#include <string>

#include "output/table.h"
#include "output/view_options.h"
#include "profile/profile.h"

namespace gosym {

// The report for a person: a header, the view that was asked for, and notes on what is missing.
std::string make_text(const Profile& profile, const ViewOptions& options);

// The view as a table, for csv and the like: all of its rows. A tree has a row a node, and its
// depth as a column.
Table make_table(const Profile& profile, const ViewOptions& options);

// For a message: a line on the recording, ten functions, the largest paths.
std::string make_markdown(const Profile& profile, const ViewOptions& options);

// Formats the amounts (Profile::amount) of a profile: time in seconds, or in milliseconds if
// there is less than a second of it, and for programs in nanoseconds; bytes in the largest unit
// that there is one of, and for programs in bytes; other events as counts.
class Amounts {
public:
  explicit Amounts(const Profile& profile) : Amounts(profile, profile.total_amount()) {}
  // With all digits, in nanoseconds.
  static Amounts exact(const Profile& profile);
  // In the unit that suits this amount: milliseconds where it is less than a second.
  Amounts(const Profile& profile, uint64_t amount)
      : Amounts(profile, amount, profile.total_amount()) {}
  // For callers that know the total already, which else takes a pass over up to a million
  // samples.
  Amounts(const Profile& profile, uint64_t amount, uint64_t total);

  // "9.05", "12.1", "4,100".
  std::string text(uint64_t amount) const;
  // A share of the amount of all samples of the profile.
  double percent(uint64_t amount) const;
  std::string percent_text(uint64_t amount) const;
  // The least amount that is so many percent of all, and not nothing.
  uint64_t least(double percent) const;
  // "s", "ms", "ns", "GiB", "B"; empty: events.
  std::string_view unit() const { return unit_; }
  uint64_t total() const { return total_; }

private:
  uint64_t period_;
  uint64_t total_;
  std::string_view unit_;
  bool is_exact_ = false;
};

// "self s", "total ms"; "self" of events.
std::string title_of(std::string_view what, const Amounts& amounts);

}  // namespace gosym
