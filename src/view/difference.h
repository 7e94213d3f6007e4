#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/filter.h"
#include "profile/profile.h"
#include "view/call_tree.h"
#include "view/dimension.h"
#include "view/significance.h"

namespace gosym {

// The changes between two profiles, told apart from noise.
//
// Each profile is cut into blocks: its recordings, if it has five or more of them, rates are of
// a run or samples have no times, or else steps of time within each recording. What a row (a
// function, a package,
// ...) has in each block gives its rate and how sure that is (significance.h). The variance is
// taken to be no less than that of samples drawn at random: of few samples the blocks may agree
// by accident.
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

}  // namespace gosym
