#include <tsl/robin_map.h>

#include <algorithm>

#include "base/sequence_pool.h"
#include "view/compared_rows.h"
#include "view/comparer.h"
#include "view/difference.h"

namespace gosym {

namespace {

constexpr size_t kMostCalls = 20'000;  // that are compared, the largest ones
// What a profile has in all, in a tree of two: so both have the same weight.
constexpr double kSideAmount = uint64_t{1} << 40;
constexpr double kNearlyAll = 0.95;

// What one profile has of a tree of two.
struct TreeSide {
  const Counts& counts;
  FrameKeys frames;
  std::vector<KeyId> keys = {};     // what each key of `frames` is in the tree
  std::vector<Counted> nodes = {};  // of the tree

  TreeSide(const Counts& of, Dimension::Kind kind) : counts(of), frames(of.profile, kind) {}

  CallSource source() const {
    auto total = static_cast<double>(counts.profile.total_amount());
    return {counts.profile, frames, keys, total > 0 ? kSideAmount / total : 0};
  }
};

// A key a pair, and one for each name that no sample counts for.
std::vector<ViewKey> share_keys(const Pairs& pairs, TreeSide& before, TreeSide& after) {
  std::vector<ViewKey> keys;
  auto share = [&](TreeSide& side, std::vector<std::string_view> Pair::*names) {
    std::map<std::string_view, uint32_t> pair_of;
    for (size_t i = 0; i < pairs.pairs.size(); i++)
      for (std::string_view name : pairs.pairs[i].*names)
        pair_of[name] = static_cast<uint32_t>(i);
    for (const ViewKey& key : side.frames.all()) {
      auto pair = pair_of.find(key.text);
      side.keys.push_back(
          KeyId{pair != pair_of.end() ? pair->second : static_cast<uint32_t>(keys.size())});
      if (pair == pair_of.end())
        keys.push_back(key);
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

// Where each path of calls leads to in a tree.
class Paths {
public:
  explicit Paths(const CallTree& tree) : parents_(tree.nodes.size()) {
    std::vector<uint32_t> path;
    for (uint32_t i = 0; i < tree.nodes.size(); i++) {
      path.resize(tree.nodes[i].depth);
      if (i > 0) {
        parents_[i] = path.back();
        children_.try_emplace(Edge{path.back(), tree.nodes[i].key}, i);
      }
      path.push_back(i);
    }
  }

  uint32_t parent(uint32_t node) const { return parents_[node]; }

  // Where each stack of a profile ends.
  std::vector<uint32_t> ends_of(const TreeSide& side) const {
    const Profile& profile = side.counts.profile;
    std::vector<uint32_t> ends;
    std::vector<KeyId> path;
    for (size_t stack = 0; stack < profile.stack_count(); stack++) {
      path.clear();
      side.frames.append(profile.stack(StackId{static_cast<uint32_t>(stack)}), path);
      uint32_t node = 0;
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
Difference with_nodes(const Difference& difference, const std::vector<bool>& is_kept) {
  Difference kept = difference;
  kept.tree = with_nodes(*difference.tree, is_kept);
  kept.rows.clear();
  for (size_t i = 1; i < is_kept.size(); i++)
    if (is_kept[i])
      kept.rows.push_back(difference.rows[i - 1]);
  return kept;
}

}  // namespace

Difference difference_tree(const ComparedProfile& before, const ComparedProfile& after,
                           DifferenceOptions options, const DifferenceTreeOptions& limits) {
  options.is_of_totals = true;
  Counts counts_before = counts_of(before, options);
  Counts counts_after = counts_of(after, options);
  Pairs pairs = matched(counts_before, counts_after, options.by.kind);
  TreeSide side_before(counts_before, options.by.kind);
  TreeSide side_after(counts_after, options.by.kind);
  std::vector<ViewKey> keys = share_keys(pairs, side_before, side_after);

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

Difference changed_branches(const Difference& difference) {
  if (!has_verdicts(difference))
    return difference;
  const CallTree& tree = *difference.tree;
  std::vector<bool> is_kept(tree.nodes.size());
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < tree.nodes.size(); i++) {
    path.resize(tree.nodes[i].depth);
    path.push_back(i);
    if (i > 0 && difference.rows[i - 1].is_significant())
      for (uint32_t node : path)
        is_kept[node] = true;
  }
  return with_nodes(difference, is_kept);
}

Difference with_joined_chains(const Difference& difference) {
  const CallTree& tree = *difference.tree;
  Difference joined = difference;
  joined.rows.clear();
  joined.tree->nodes = {tree.nodes[0]};
  std::vector<uint32_t> depths = {0};  // in the result, of the last node of each depth
  for (size_t i = 1; i < tree.nodes.size(); i++) {
    CallNode node = tree.nodes[i];
    DifferenceRow row = difference.rows[i - 1];
    depths.resize(node.depth);
    node.depth = depths.back() + 1;
    depths.push_back(node.depth);
    std::vector<std::string_view> names = {difference.rows[i - 1].name};
    while (tree.nodes[i].size > 1 && tree.nodes[i + 1].size + 1 == tree.nodes[i].size &&
           difference.rows[i].is_as_caller) {
      i++;
      names.push_back(difference.rows[i - 1].name);
      depths.push_back(node.depth);
    }
    if (names.size() > 1)
      row.name = chain_text(names);
    joined.tree->nodes.push_back(node);
    joined.rows.push_back(std::move(row));
  }
  set_sizes(joined.tree->nodes);
  return joined;
}

}  // namespace gosym
