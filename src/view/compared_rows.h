#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/difference.h"
#include "view/frame_keys.h"

namespace gosym {

// The amounts that two compared profiles have in each row and block, and the pairing of rows
// that are the same code in both: see difference.h.

// The parts that a profile is cut into: recordings, or steps of time.
struct Blocks {
  std::vector<std::vector<SampleCount>> samples;
  std::vector<double> seconds;  // of each block
  bool are_runs = false;
};
Blocks blocks_of(const ComparedProfile& compared, Per per);

double in_seconds(uint64_t nanoseconds);
double sum_of(std::span<const double> values);

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

// Names of the rows of functions and lines on both sides. A name that is of several files on
// one of them is told apart: "main.main (link)"; static functions of one file by the source
// that declares them, "init (a.c)". Neither numbers of lines nor those of a build are in it,
// for the other side may have others.
class RowNames {
public:
  RowNames(Dimension::Kind kind, const Profile& before, const Profile& after);

  // For each key, as FrameKeys numbers them.
  std::vector<std::string> of(const Profile& profile, const FrameKeys& keys) const;

private:
  struct Apart {
    bool by_file = false;
    bool by_source = false;
  };

  void note_namesakes(const Profile& profile);

  Dimension::Kind kind_;
  std::map<std::string, Apart, std::less<>> apart_;  // names that are told apart
};

// One side of the comparison, by rows.
struct Counts {
  const Profile& profile;
  Blocks blocks;
  std::vector<double> whole;  // amount of each block
  double samples = 0;
  Rows rows = {};
  std::optional<FrameKeys> keys = {};   // of a dimension of frames
  std::vector<std::string> names = {};  // of the row of each of them

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
Counts counts_of(const ComparedProfile& compared, const DifferenceOptions& options,
                 const RowNames& names);

struct Pair {
  std::string name;
  const Counted* before = nullptr;  // null: none
  const Counted* after = nullptr;
  std::string note = {};
  std::vector<std::string_view> names_before = {};  // of its rows, which Counts has
  std::vector<std::string_view> names_after = {};
};

// The rows of two profiles.
struct Pairs {
  std::vector<Pair> pairs;
  std::deque<Counted> sums;  // that pairs point to, besides those of Counts
};
// Functions of files of one build have the same names in both profiles. Of others, functions
// that a new build may have numbered or instantiated anew are one row where not all of them are
// in both; and what is in one only is taken for the same as the one in the other whose package
// has moved. All else is matched by its name. The counts have to live as long as the result.
Pairs matched(const Counts& before, const Counts& after, Dimension::Kind kind);

}  // namespace gosym
