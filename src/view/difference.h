#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/filter.h"
#include "profile/profile.h"
#include "view/call_tree.h"
#include "view/frame_keys.h"
#include "view/significance.h"

namespace gosym {

// The changes between two profiles, told apart from noise.
//
// Each profile is cut into blocks: its recordings, if it has five or more of them, rates are of
// a run or samples have no times, or else steps of time within each recording. What a row (a
// function, a package, ...) has in each block gives its rate and how sure that is
// (significance.h). The variance is taken to be no less than that of samples drawn at random:
// of few samples the blocks may agree by accident.
//
// A row is compared if it has ten samples in both profiles together, and that it is dearer or
// cheaper is said where chance, corrected by Holm for all rows that are compared, gives so
// large a change less often than 1 - confidence. So of two profiles of equal programs all rows
// together show a change that often, and not each of them. The chance to err is divided among
// rows by their size in both profiles together: divided equally, hundreds of small rows would
// hide what a large one shows.
//
// A verdict holds for the programs if recordings are the blocks of both sides. Blocks of time
// know nothing of the differences between runs of a program: the same functions of a Go program
// were found to vary by a tenth of themselves from run to run, and those of its garbage
// collector by a half. A verdict by blocks of time is of these two recordings only: of 200
// pairs of runs of prometheus 76 had one, of those of a Go program that checks packages 18. Of
// 200 pairs of five runs of each side it was none and 2 (scripts/measure-diff).
//
// A row whose least change to be seen (at this level, four times of five) is as large as the
// row itself has too few samples to tell; or it varies too much, if as many samples drawn at
// random would do, and would have less than half the error.

// The denominator of amounts.
enum class Per : uint8_t {
  kShare,   // CPU time of all samples: what a row has of the whole, whatever the load is
  kSecond,  // time that was recorded: for equal load
  kRun,     // recordings: for one and the same work from begin to end
};
// The name that the option takes: "share".
std::string_view to_string(Per per);

enum class Verdict : uint8_t {
  kDearer,
  kCheaper,
  kMore,  // these three where amounts are counted, not sampled
  kFewer,
  kAsMany,
  kSame,
  kTooFew,
  kTooUneven,
  kUntold,  // a side is one block: nothing tells how much rates vary
};
// "dearer", "no difference seen".
std::string_view to_string(Verdict verdict);

struct DifferenceRow {
  std::string name = {};   // printable, as it is in the profile after
  std::string note = {};   // what else became of it: "inlined now", "was a.F"; may be empty
  std::string place = {};  // printable: where it is; may be empty
  bool is_named = true;    // somebody has a name for its code
  // In trees: the node has nearly all samples of its caller, on both sides, and so its verdict.
  bool is_as_caller = false;
  Rate before = {};  // of Per: a share, nanoseconds (or events) a second, or the same a run
  Rate after = {};
  RateChange change = {};
  double samples = 0;           // of both profiles
  double random_error = 0;      // RateChange::error, if samples were drawn at random
  double corrected_chance = 1;  // RateChange::chance; 1 where it was not compared
  double least_seen = 0;        // as part of `before`; infinity: nothing would be seen
  Verdict verdict = Verdict::kTooFew;

  // The change relative to `before`; infinity if that is 0.
  double relative() const;
  bool is_significant() const {
    return is_more() || verdict == Verdict::kCheaper || verdict == Verdict::kFewer;
  }
  bool is_more() const { return verdict == Verdict::kDearer || verdict == Verdict::kMore; }
};

struct DifferenceOptions {
  Dimension by = {};  // not kTime, nor kRecording
  Per per = Per::kShare;
  bool is_of_totals = false;  // what a function has with all that it calls, and not by itself
  double confidence = 0.95;
  bool is_exact = false;  // amounts are counts, such as goroutines: each change is one
};

// A profile, with the time of it that was asked for, since its first recording began. It has
// one event, and steps of time.
struct ComparedProfile {
  const Profile& profile;
  TimeRange time = {};
};

// The time of a recording that samples are of, since the first recording began.
TimeRange recorded_time(const ComparedProfile& compared, size_t recording);

struct Difference {
  DifferenceOptions options;
  bool measures_time = true;     // amounts are nanoseconds, or else events
  bool has_runs_before = false;  // recordings are its blocks
  bool has_runs_after = false;
  size_t blocks_before = 0;
  size_t blocks_after = 0;
  size_t compared = 0;                      // rows
  std::optional<DifferenceRow> whole = {};  // none by share
  // Changed rows first, by the size of the change; then the rest, by its own size. For a tree:
  // its nodes but the root.
  std::vector<DifferenceRow> rows = {};
  std::optional<CallTree> tree = {};
};

// True if the verdicts hold for the programs, and not just for these recordings.
inline bool is_of_programs(const Difference& difference) {
  return difference.has_runs_before && difference.has_runs_after;
}
// True if anything tells how much rates vary, or they are exact, so that there are verdicts.
inline bool has_verdicts(const Difference& difference) {
  return difference.options.is_exact ||
         (difference.blocks_before > 1 && difference.blocks_after > 1);
}
inline constexpr size_t kManyRuns = 5;  // recordings that are blocks by themselves

Difference difference(const ComparedProfile& before, const ComparedProfile& after,
                      const DifferenceOptions& options);

// A limit to the calls of both profiles that are compared.
struct DifferenceTreeOptions {
  double least_percent = 1;  // of both sides together
  uint32_t depth = UINT32_MAX;
};
// By the paths of calls, with all that they call: what is dearer there is seen beside who calls
// it. A call that has nearly all samples of its caller, on both sides, is not compared by
// itself.
Difference difference_tree(const ComparedProfile& before, const ComparedProfile& after,
                           DifferenceOptions options, const DifferenceTreeOptions& tree);
// The paths of a tree with verdicts that lead to dearer or cheaper nodes.
Difference changed_branches(Difference difference);
// The tree with each chain of calls that have the verdict of their caller, and no branch, as
// one row: "main > run > work", with the figures of its first node.
Difference with_joined_chains(Difference difference);

// The factor for amounts of `before` that makes them comparable to those of `after`: as if both
// had as many samples, as much time or as many runs.
double scale_of(const ComparedProfile& before, const ComparedProfile& after, Per per);

// The length in nanoseconds of the steps of time that become blocks, for a profile whose
// recordings last `duration` nanoseconds in all.
uint64_t block_step(uint64_t duration);

// The amounts that two compared profiles have in each row and block, and the pairing of rows
// that are the same code in both: see difference.h.

// The parts that a profile is cut into: recordings, or steps of time.
struct Blocks {
  std::vector<std::vector<SampleCount>> samples;
  std::vector<double> seconds;  // of each block
  bool are_runs = false;
};
Blocks blocks_of(const ComparedProfile& compared, Per per);

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
