#include <tsl/robin_map.h>

#include <algorithm>

#include "base/sequence_pool.h"
#include "view/compared_rows.h"
#include "view/comparer.h"
#include "view/difference.h"

namespace gosym {

namespace {

constexpr size_t kMostCalls = 20'000;  // the largest ones are compared
// The total of each profile in a tree of two, whatever it really is: so both have the same
// weight.
constexpr double kSideAmount = uint64_t{1} << 40;
constexpr double kNearlyAll = 0.95;

// One of the two profiles of a tree.
struct TreeSide {
  const Counts& counts;
  const FrameKeys& frames;
  std::vector<KeyId> keys = {};     // what each key of `frames` is in the tree
  std::vector<Counted> nodes = {};  // of the tree

  explicit TreeSide(const Counts& of) : counts(of), frames(*of.keys) {}

  CallSource source() const {
    auto total = static_cast<double>(counts.profile.total_amount());
    return {counts.profile, frames, keys, total > 0 ? kSideAmount / total : 0};
  }
};

// A key a pair, and one for each name that no sample counts for.
std::vector<ViewKey> share_keys(const Pairs& pairs, TreeSide& before, TreeSide& after) {
  std::vector<ViewKey> keys;
  // Names without a pair belong to functions that samples do not count for: they keep a key of
  // their own, so that no two of them merge.
  auto share = [&](TreeSide& side, std::vector<std::string_view> Pair::*names) {
    std::map<std::string_view, uint32_t> pair_of;
    for (size_t i = 0; i < pairs.pairs.size(); i++)
      for (std::string_view name : pairs.pairs[i].*names)
        pair_of[name] = static_cast<uint32_t>(i);
    for (size_t i = 0; i < side.frames.size(); i++) {
      auto pair = pair_of.find(side.counts.names[i]);
      side.keys.push_back(
          KeyId{pair != pair_of.end() ? pair->second : static_cast<uint32_t>(keys.size())});
      if (pair == pair_of.end())
        keys.push_back(side.frames.all()[i]);
    }
  };
  for (const Pair& pair : pairs.pairs) {
    ViewKey& key = keys.emplace_back((pair.after ? pair.after : pair.before)->key);
    key.text = pair.name;
  }
  share(before, &Pair::names_before);
  share(after, &Pair::names_after);
  return keys;
}

// The calls that are compared. What is deeper than memory allows is left to its callers: it has
// one key, behind those of functions.
CallTree common_tree(const TreeSide& before, const TreeSide& after, std::vector<ViewKey> keys,
                     const DifferenceTreeOptions& limits) {
  size_t functions = keys.size();
  CallSource sources[] = {before.source(), after.source()};
  CallTree tree = call_tree(sources, std::move(keys));
  double least = limits.least_percent / 100 * static_cast<double>(tree.nodes[0].total);
  std::vector<bool> is_kept;
  for (const CallNode& node : tree.nodes)
    is_kept.push_back(to_index(node.key) < functions && node.total > 0 &&
                      static_cast<double>(node.total) >= least && node.depth <= limits.depth);
  return largest(with_nodes(tree, is_kept), kMostCalls);
}

// Finds the node of a tree that a path of calls leads to.
class Paths {
public:
  explicit Paths(const CallTree& tree) : parents_(parents_of(tree)) {
    for (uint32_t i = 1; i < tree.nodes.size(); i++)
      children_.try_emplace(Edge{parents_[i], tree.nodes[i].key}, i);
  }

  uint32_t parent(uint32_t node) const { return parents_[node]; }

  // The innermost node of each stack of a profile.
  std::vector<uint32_t> ends_of(const TreeSide& side) const {
    const Profile& profile = side.counts.profile;
    std::vector<uint32_t> ends;
    std::vector<KeyId> path;
    for (size_t stack = 0; stack < profile.stack_count(); stack++) {
      path.clear();
      side.frames.append(profile.stack(StackId{static_cast<uint32_t>(stack)}), path);
      uint32_t node = 0;
      // A stack that leaves the tree counts for the deepest node that is in it.
      for (size_t i = path.size(); i-- > 0;) {
        auto child = children_.find(Edge{node, side.keys[to_index(path[i])]});
        if (child == children_.end())
          break;
        node = child->second;
      }
      ends.push_back(node);
    }
    return ends;
  }

private:
  struct Edge {
    uint32_t parent;
    KeyId key;
    bool operator==(const Edge&) const = default;
  };

  std::vector<uint32_t> parents_;
  tsl::robin_map<Edge, uint32_t, BytesHash> children_;
};

void count_side(const CallTree& tree, const Paths& paths, TreeSide& side) {
  const Profile& profile = side.counts.profile;
  auto period = static_cast<double>(profile.period());
  std::vector<uint32_t> ends = paths.ends_of(side);
  side.nodes.resize(tree.nodes.size());
  for (Counted& node : side.nodes)
    node.amounts.resize(side.counts.whole.size());
  for (size_t block = 0; block < side.counts.whole.size(); block++)
    for (const SampleCount& sample : side.counts.blocks.samples[block]) {
      double amount = static_cast<double>(profile.amount(sample)) * period;
      for (uint32_t node = ends[to_index(sample.stack)]; node != 0; node = paths.parent(node))
        side.nodes[node].amounts[block] += amount;
    }
}

// Gives the rows of a tree their verdicts. Callers come before what they call.
size_t judge_tree(std::vector<DifferenceRow>& rows, const Paths& paths,
                  const Comparer& comparer) {
  // A node that has nearly all of its caller says nothing new: it takes the caller's verdict,
  // and does not use up a part of the chance to err.
  auto has_nearly_all = [](const Rate& of, const Rate& caller) {
    return of.value >= kNearlyAll * caller.value;
  };
  std::vector<DifferenceRow*> judged;
  std::vector<size_t> judge_of;  // whose verdict each row has
  for (size_t i = 0; i < rows.size(); i++) {
    uint32_t parent = paths.parent(static_cast<uint32_t>(i + 1));
    size_t caller = parent == 0 ? i : judge_of[parent - 1];
    rows[i].is_as_caller = caller != i && has_nearly_all(rows[i].before, rows[caller].before) &&
                           has_nearly_all(rows[i].after, rows[caller].after);
    judge_of.push_back(rows[i].is_as_caller ? caller : i);
    if (!rows[i].is_as_caller)
      judged.push_back(&rows[i]);
  }
  size_t compared = comparer.judge(judged);
  for (size_t i = 0; i < rows.size(); i++) {
    rows[i].verdict = rows[judge_of[i]].verdict;
    rows[i].corrected_chance = rows[judge_of[i]].corrected_chance;
    rows[i].least_seen = rows[judge_of[i]].least_seen;
  }
  return compared;
}

// The nodes of a tree that are kept, and their rows.
Difference with_nodes(Difference difference, const std::vector<bool>& is_kept) {
  difference.tree = with_nodes(*difference.tree, is_kept);
  std::vector<DifferenceRow> rows;
  for (size_t i = 1; i < is_kept.size(); i++)
    if (is_kept[i])
      rows.push_back(std::move(difference.rows[i - 1]));
  difference.rows = std::move(rows);
  return difference;
}

}  // namespace

Difference difference_tree(const ComparedProfile& before, const ComparedProfile& after,
                           DifferenceOptions options, const DifferenceTreeOptions& limits) {
  // Nodes are compared by all that passed through them, not by their own samples only.
  options.is_of_totals = true;
  RowNames names(options.by.kind, before.profile, after.profile);
  Counts counts_before = counts_of(before, options, names);
  Counts counts_after = counts_of(after, options, names);
  Pairs pairs = matched(counts_before, counts_after, options.by.kind);
  TreeSide side_before(counts_before);
  TreeSide side_after(counts_after);
  std::vector<ViewKey> keys = share_keys(pairs, side_before, side_after);

  // Both profiles are put into one tree, so that limits apply to the sum and each node has both
  // amounts.
  CallTree tree = common_tree(side_before, side_after, std::move(keys), limits);
  Paths paths(tree);
  count_side(tree, paths, side_before);
  count_side(tree, paths, side_after);

  Comparer comparer(counts_before, counts_after, options);
  Difference result = comparer.summary();
  for (size_t i = 1; i < tree.nodes.size(); i++) {
    size_t key = to_index(tree.nodes[i].key);
    bool is_pair = key < pairs.pairs.size();
    DifferenceRow row = comparer.row({.name = tree.keys[key].text,
                                      .before = &side_before.nodes[i],
                                      .after = &side_after.nodes[i],
                                      .note = is_pair ? pairs.pairs[key].note : ""});
    row.is_named = tree.keys[key].is_named;
    result.rows.push_back(std::move(row));
  }
  result.compared = judge_tree(result.rows, paths, comparer);
  result.tree = std::move(tree);
  return result;
}

Difference changed_branches(Difference difference) {
  if (!has_verdicts(difference))
    return difference;
  std::vector<uint32_t> parents = parents_of(*difference.tree);
  std::vector<bool> is_kept(parents.size());
  is_kept[0] = true;
  for (uint32_t i = 1; i < parents.size(); i++)
    // Ancestors of a changed node are kept as the way to it.
    if (difference.rows[i - 1].is_significant())
      for (uint32_t node = i; !is_kept[node]; node = parents[node])
        is_kept[node] = true;
  return with_nodes(std::move(difference), is_kept);
}

Difference with_joined_chains(Difference difference) {
  CallTree& tree = *difference.tree;
  auto goes_on = [&](uint32_t, uint32_t node) { return difference.rows[node].is_as_caller; };
  std::vector<CallNode> nodes = {tree.nodes[0]};
  std::vector<DifferenceRow> rows;
  for (const JoinedCalls& chain : chains_of(tree, goes_on)) {
    std::vector<std::string_view> names;
    for (uint32_t i = chain.first; i <= chain.last; i++)
      names.push_back(difference.rows[i - 1].name);
    std::string name = names.size() > 1 ? chain_text(names) : std::string(names[0]);
    rows.push_back(std::move(difference.rows[chain.first - 1]));
    rows.back().name = std::move(name);
    nodes.push_back(tree.nodes[chain.first]);
    nodes.back().depth = chain.depth;
  }
  set_sizes(nodes);
  tree.nodes = std::move(nodes);
  difference.rows = std::move(rows);
  return difference;
}

}  // namespace gosym
