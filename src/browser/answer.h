#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "browser/query.h"
#include "output/table.h"
#include "profile/profile.h"
#include "view/totals.h"

namespace gosym::browser {

// The largest number of steps of time: samples of a damaged recording may be at any time.
inline constexpr uint32_t kMaxSteps = 4096;

// The samples and frames that a query selects.
struct Selected {
  std::shared_ptr<const Profile> profile;  // of one event
  std::vector<SampleCount> samples;
  // `samples` merged by stack, without owners.
  std::vector<SampleCount> stacks;
  uint64_t total = 0;     // amount (Profile::amount) of them
  uint64_t recorded = 0;  // of all of the event
  // Reasons why these figures are too low, "2.1 % of the samples lost"; empty: none.
  std::string shortcomings;
  std::vector<uint64_t> load;  // of each step of time, as if the query had none
};

inline constexpr double kLeastNoticed = 0.00005;  // less is shown as 0.00 %

struct Entries {
  FrameKeys keys;
  std::vector<Total> totals;
  // Indices of the totals, in the orders that SortBy names; but first the `noticed` ones that
  // have kLeastNoticed of all samples in total.
  std::vector<uint32_t> by_self;
  std::vector<uint32_t> by_total;
  std::vector<uint32_t> by_name;
  size_t noticed = 0;
  std::vector<std::string> programs;  // programs_of_keys()
};

// A call tree whose nodes are known again in another one by their path: a hash of what all
// keys from the root on are.
inline constexpr uint64_t kRootPath = 1;
struct PathTree {
  CallTree tree;
  std::vector<uint64_t> paths;  // of each node
  std::vector<uint32_t> parents;
};

struct MenuEntry {
  std::string text;
  uint64_t amount = 0;
};

// The code of a function, with what each line and instruction has: first the lines of its
// source, then the instructions, each below the line that it is of.
struct CodeLine {
  uint64_t self = 0;  // of samples; titles have none
  uint64_t total = 0;
  bool is_instruction = false;
  bool is_of_instructions = false;  // that, or a line or title above such
  bool is_file = false;             // the source that the lines below are of
  std::string text = {};            // printable
  Style style = Style::kPlain;
  std::string source_path =
      {};  // of the file that it is a line of; empty: no editor can open it
  uint32_t source_line = 0;
};
struct Code {
  std::vector<CodeLine> lines = {};
  std::string problem = {};  // why there is none; empty: there is
};
// Finds the code of a function. May take long: it opens files.
using FindCode = std::function<Code(
    const Profile& profile, std::span<const SampleCount> samples, const ChosenKey& function)>;

// The answer to a query. Parts that the previous answer has alike are shared with it.
struct Answer {
  Query query;
  std::shared_ptr<const Selected> selected;
  std::shared_ptr<const Entries> entries;
  std::shared_ptr<const PathTree> tree;
  std::shared_ptr<const PathTree> callers;  // null: no centre was named
  std::shared_ptr<const PathTree> callees;
  std::shared_ptr<const std::vector<MenuEntry>> menu;
  std::shared_ptr<const Code> code;
  // Copied from Recorded.
  uint32_t event_count = 1;
  bool is_last = true;
  double share = 1;
  uint64_t matched = 0;  // amount of samples with an entry that the search matches

  const Profile& profile() const { return *selected->profile; }
};

// The profiles that queries are about: one for each event, each with all samples by thread,
// time and CPU. `generation` changes with the samples.
struct Recorded {
  std::vector<std::shared_ptr<const Profile>> events;
  uint64_t generation = 0;
  bool is_last = true;  // there will be no other samples
  double share = 1;     // of what is to be read that they are of
  FindCode find_code = {};
};

// A profile of each of its events alone.
std::vector<std::shared_ptr<const Profile>> by_event(Profile profile);

// `before` is the last answer of the same recording and generation; may be null.
std::shared_ptr<const Answer> answer(const Recorded& recorded, const Query& query,
                                     const Answer* before);

}  // namespace gosym::browser
