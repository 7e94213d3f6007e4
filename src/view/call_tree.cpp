#include "view/call_tree.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <utility>

#include "base/sequence_pool.h"
#include "base/text.h"
#include "view/recursion.h"

// Nodes of a CallTree are in preorder: each is followed by its subtree of CallNode::size nodes,
// itself included, and the largest child comes first. No node has more than its parent.
namespace gosym {

namespace {

// Bytes of memory per node while a tree grows: the node, its entry in a hash table, and its row
// of the result.
constexpr uint64_t kNodeSize = 192;

// Grows a tree path by path. A sample that comes through a node several times counts once.
//
// Stacks that have nothing in common have as many nodes as frames, of which a few bytes of a
// recording say any number. When there are as many nodes as the profile may take memory for,
// what is new of a path is one gap.
class TreeBuilder {
public:
  TreeBuilder(const Profile& profile, const std::vector<ViewKey>& keys)
      : max_nodes_(profile.memory_limit / kNodeSize),
        gap_{static_cast<uint32_t>(keys.size())} {}

  // Amounts that are added from here on belong to the next sample.
  void begin_sample(uint64_t amount) {
    amount_ = amount;
    sample_++;
  }

  // The root, for the sample.
  uint32_t begin_path() {
    visit(nodes_[0]);
    return 0;
  }
  // The child of this key, which is new if need be.
  uint32_t step(uint32_t parent, KeyId key, uint32_t times = 1) {
    uint32_t child = child_of(parent, key);
    if (times > 1) {
      nodes_[child].times = std::max(nodes_[child].times, times);
      nodes_[child].repeated += amount_;
    }
    return child;
  }
  void end_path(uint32_t node) {
    if (std::exchange(nodes_[node].last_end, sample_) != sample_)
      nodes_[node].self += amount_;
  }

  // `keys` are those that the builder was made with.
  CallTree finish(std::vector<ViewKey> keys) && {
    // The text of `gap_`, which is numbered behind all keys.
    if (nodes_.size() > max_nodes_)
      keys.push_back({.text = "… more calls …", .is_gap = true});
    count_subtrees();
    std::vector<uint32_t> order = order_siblings(keys);
    return {std::move(keys), lay_out(order)};
  }

private:
  struct Node {
    KeyId key{};
    uint32_t parent = 0;
    uint32_t depth = 0;
    uint32_t size = 1;
    uint32_t times = 1;
    uint32_t last_child = 0;  // that a path took from here; 0: none did
    uint64_t self = 0;
    uint64_t total = 0;
    uint64_t repeated = 0;    // of samples that it is in more than once
    uint64_t last_visit = 0;  // the sample
    uint64_t last_end = 0;
  };
  struct Edge {
    uint32_t parent;
    KeyId key;
    bool operator==(const Edge&) const = default;
  };

  uint32_t child_of(uint32_t parent, KeyId key) {
    auto next = static_cast<uint32_t>(nodes_.size());
    // Most samples go the way of the one before, which takes no look-up.
    uint32_t last = nodes_[parent].last_child;
    if (last != 0 && nodes_[last].key == key) {
      visit(nodes_[last]);
      return last;
    }
    // The tree is full: paths go on only along nodes that exist, and the rest of a path is one
    // gap below the last of them. Each node has one such gap at the most. The root is exempt
    // from the first test: its key is none, and means nothing.
    if (next >= max_nodes_) {
      if (parent != 0 && nodes_[parent].key == gap_)
        return parent;
      if (!children_.contains(Edge{parent, key}))
        key = gap_;
    }
    auto [known, is_new] = children_.try_emplace(Edge{parent, key}, next);
    if (is_new) {
      nodes_.push_back({.key = key, .parent = parent, .depth = nodes_[parent].depth + 1});
    }
    nodes_[parent].last_child = known->second;
    visit(nodes_[known->second]);
    return known->second;
  }

  void visit(Node& node) {
    if (std::exchange(node.last_visit, sample_) != sample_)
      node.total += amount_;
  }

  // Children are younger than their parents.
  void count_subtrees() {
    for (size_t i = nodes_.size() - 1; i > 0; i--)
      nodes_[nodes_[i].parent].size += nodes_[i].size;
  }

  // All nodes, those of one parent together, the largest first. Most have no sibling, so that
  // they are put in their places by counting, and only siblings are sorted.
  std::vector<uint32_t> order_siblings(std::span<const ViewKey> keys) const {
    // A counting sort by parent: `ends` first holds counts, then begins, and after the second
    // pass ends.
    std::vector<uint32_t> ends(nodes_.size());  // of the children of each, in the order
    for (size_t i = 1; i < nodes_.size(); i++)
      ends[nodes_[i].parent]++;
    uint32_t end = 1;  // behind the root
    for (uint32_t& count : ends)
      count = std::exchange(end, end + count);
    // order[0] stays 0, the root.
    std::vector<uint32_t> order(nodes_.size());
    for (size_t i = 1; i < nodes_.size(); i++)
      order[ends[nodes_[i].parent]++] = static_cast<uint32_t>(i);
    uint32_t begin = 1;
    for (uint32_t next : ends) {
      if (next - begin > 1)
        std::sort(order.begin() + begin, order.begin() + next, [&](uint32_t a, uint32_t b) {
          const Node& left = nodes_[a];
          const Node& right = nodes_[b];
          if (left.total != right.total)
            return left.total > right.total;
          // Ties are broken by name, then by the order of the samples, so that the result is
          // always the same.
          int names = keys[to_index(left.key)].text.compare(keys[to_index(right.key)].text);
          return names != 0 ? names < 0 : a < b;
        });
      begin = next;
    }
    return order;
  }

  // Parents come before their children in `order`, so the place of each is known when its
  // children come: behind the subtrees of those before.
  std::vector<CallNode> lay_out(std::span<const uint32_t> order) const {
    std::vector<CallNode> result(nodes_.size());
    std::vector<uint32_t> place(nodes_.size());
    std::vector<uint32_t> next_child(nodes_.size());
    for (uint32_t i : order) {
      const Node& node = nodes_[i];
      place[i] = i == 0 ? 0 : next_child[node.parent];
      if (i != 0)
        next_child[node.parent] += node.size;
      next_child[i] = place[i] + 1;
      // A recursion of few stacks says little of all: a twentieth, as CallNode::times has it.
      bool is_recursion = node.repeated * 20 >= node.total;
      result[place[i]] = {node.key,  node.depth, node.size,
                          node.self, node.total, is_recursion ? node.times : 1};
    }
    return result;
  }

  uint64_t max_nodes_;
  KeyId gap_;
  std::vector<Node> nodes_ = {{}};
  tsl::robin_map<Edge, uint32_t, BytesHash> children_;
  uint64_t amount_ = 0;
  uint64_t sample_ = 0;
};

void add_path(TreeBuilder& builder, uint32_t node, std::span<const KeyId> path) {
  for (KeyId key : path)
    node = builder.step(node, key);
  builder.end_path(node);
}

}  // namespace

std::string CallTree::text_of(const CallNode& node) const {
  const std::string& text = key_of(node).text;
  return node.times > 1 ? fmt::format("{} ×{}", text, node.times) : text;
}

CallTree call_tree(const Profile& profile, std::span<const SampleCount> samples,
                   const FrameKeys& frames, TreeShape shape,
                   std::span<const SampleKeys> groups) {
  std::vector<ViewKey> all_keys(frames.all().begin(), frames.all().end());
  // Keys of groups are numbered behind those of frames.
  std::vector<uint32_t> first_key;
  for (const SampleKeys& group : groups) {
    first_key.push_back(static_cast<uint32_t>(all_keys.size()));
    all_keys.insert(all_keys.end(), group.keys.begin(), group.keys.end());
  }

  TreeBuilder builder(profile, all_keys);
  RecursionFolder folder(frames.size());
  std::vector<KeyId> path;
  std::vector<CallStep> steps;
  for (size_t i = 0; i < samples.size(); i++) {
    builder.begin_sample(profile.amount(samples[i]));
    uint32_t node = builder.begin_path();
    // Groups have a key for each of `samples`, in the same order.
    for (size_t g = 0; g < groups.size(); g++)
      node = builder.step(
          node, KeyId{first_key[g] + static_cast<uint32_t>(to_index(groups[g].ids[i]))});
    path.clear();
    frames.append(profile.stack(samples[i].stack), path);
    if (shape.direction == Direction::kFromRoot)
      std::ranges::reverse(path);
    if (!shape.folds) {
      add_path(builder, node, path);
      continue;
    }
    steps.clear();
    for (KeyId key : path)
      steps.push_back({.key = key});
    folder.fold(steps);
    for (const CallStep& step : steps)
      node = builder.step(node, step.key, step.times);
    builder.end_path(node);
  }
  return std::move(builder).finish(std::move(all_keys));
}

CallTree call_tree(std::span<const CallSource> sources, std::vector<ViewKey> keys) {
  // The sources are the two sides of gosym diff. The limit of memory is that of the first, for
  // the sum of both.
  TreeBuilder builder(sources.front().profile, keys);
  std::vector<KeyId> path;
  for (const CallSource& source : sources) {
    // Many samples have the same stack.
    std::vector<uint64_t> amounts(source.profile.stack_count());
    for (const SampleCount& sample : source.profile.samples)
      amounts[to_index(sample.stack)] += source.profile.amount(sample);
    for (size_t i = 0; i < amounts.size(); i++) {
      if (amounts[i] == 0)
        continue;
      // Sums are scaled once per stack, so that rounding down loses less than 1 per stack.
      builder.begin_sample(
          static_cast<uint64_t>(static_cast<double>(amounts[i]) * source.scale));
      path.clear();
      source.frames.append(source.profile.stack(StackId{static_cast<uint32_t>(i)}), path);
      std::ranges::reverse(path);
      for (KeyId& key : path)
        key = source.keys[to_index(key)];
      add_path(builder, builder.begin_path(), path);
    }
  }
  return std::move(builder).finish(std::move(keys));
}

CallTree calls_around(const Profile& profile, std::span<const SampleCount> samples,
                      const FrameKeys& frames, Direction direction,
                      const std::function<bool(const ViewKey&)>& is_wanted) {
  std::vector<ViewKey> all_keys(frames.all().begin(), frames.all().end());
  std::vector<bool> wanted;
  for (const ViewKey& key : all_keys)
    wanted.push_back(is_wanted(key));

  TreeBuilder builder(profile, all_keys);
  std::vector<KeyId> path;
  for (const SampleCount& sample : samples) {
    builder.begin_sample(profile.amount(sample));
    path.clear();
    frames.append(profile.stack(sample.stack), path);
    if (direction == Direction::kFromRoot)
      std::ranges::reverse(path);
    // A function may be in a path several times: each occurrence has its own surroundings.
    for (size_t i = 0; i < path.size(); i++)
      if (wanted[to_index(path[i])])
        add_path(builder, builder.begin_path(),
                 std::span(path).subspan(i + 1, std::min(kMaxAround, path.size() - i - 1)));
  }
  return std::move(builder).finish(std::move(all_keys));
}

CallTree with_nodes(const CallTree& tree, const std::vector<bool>& is_kept) {
  CallTree result;
  result.keys = tree.keys;
  result.nodes = {tree.nodes[0]};
  // A node that is not kept takes its subtree with it, which follows it.
  for (size_t i = 1; i < tree.nodes.size(); i += is_kept[i] ? 1 : tree.nodes[i].size)
    if (is_kept[i])
      result.nodes.push_back(tree.nodes[i]);
  set_sizes(result.nodes);
  return result;
}

std::string chain_text(std::span<const std::string_view> names) {
  constexpr size_t kEnd = 2;  // names of each end of a long chain
  std::string text;
  for (size_t i = 0; i < names.size(); i++) {
    // One call left out would take as much room as its name.
    bool is_long = names.size() > 2 * kEnd + 1;
    text += i == 0 ? "" : " > ";
    if (is_long && i == kEnd) {
      text += fmt::format("… {} calls … > ", names.size() - 2 * kEnd);
      i = names.size() - kEnd;
    }
    text += without_directories(names[i]);
  }
  return text;
}

// A subtree ends where the next node is not deeper.
void set_sizes(std::vector<CallNode>& nodes) {
  std::vector<size_t> open;  // nodes whose subtree goes on
  for (size_t i = 0; i < nodes.size(); i++) {
    for (; open.size() > nodes[i].depth; open.pop_back())
      nodes[open.back()].size = static_cast<uint32_t>(i - open.back());
    open.push_back(i);
  }
  for (size_t i : open)
    nodes[i].size = static_cast<uint32_t>(nodes.size() - i);
}

CallTree pruned(const CallTree& tree, uint64_t least, uint32_t max_depth) {
  std::vector<bool> is_kept;
  is_kept.reserve(tree.nodes.size());
  for (const CallNode& node : tree.nodes)
    is_kept.push_back(node.total >= least && node.depth <= max_depth);
  return with_nodes(tree, is_kept);
}

// No node has more than its parent, and of equals the parent comes first: so the parents of all
// that are chosen are chosen.
CallTree largest(const CallTree& tree, size_t count) {
  std::vector<uint32_t> order(tree.nodes.size());
  for (size_t i = 0; i < order.size(); i++)
    order[i] = static_cast<uint32_t>(i);
  count = std::min(count + 1, order.size());  // with the root
  auto end = order.begin() + static_cast<ptrdiff_t>(count);
  // The lower number first among equals: parents are numbered before their children.
  std::partial_sort(order.begin(), end, order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(tree.nodes[b].total, a) < std::pair(tree.nodes[a].total, b);
  });
  std::vector<bool> is_kept(tree.nodes.size());
  for (size_t i = 0; i < count; i++)
    is_kept[order[i]] = true;
  return with_nodes(tree, is_kept);
}

std::vector<uint32_t> parents_of(const CallTree& tree) {
  std::vector<uint32_t> parents(tree.nodes.size());
  std::vector<uint32_t> path = {0};
  for (uint32_t i = 1; i < tree.nodes.size(); i++) {
    path.resize(tree.nodes[i].depth);
    parents[i] = path.back();
    path.push_back(i);
  }
  return parents;
}

std::vector<JoinedCalls> chains_of(
    const CallTree& tree, const std::function<bool(uint32_t first, uint32_t node)>& goes_on) {
  std::vector<JoinedCalls> chains;
  std::vector<uint32_t> depths = {0};  // of the chains that the nodes of a path are in
  // The first child follows its parent. It is the only one if its subtree is all that is below.
  auto has_one_child = [&](uint32_t node) {
    return tree.nodes[node].size > 1 && tree.nodes[node + 1].size + 1 == tree.nodes[node].size;
  };
  for (uint32_t i = 1; i < tree.nodes.size(); i++) {
    depths.resize(tree.nodes[i].depth);
    JoinedCalls chain = {.first = i, .last = i, .depth = depths.back() + 1};
    depths.push_back(chain.depth);
    // `i` moves on to the last node of the chain, and the loop goes on behind it.
    for (; has_one_child(i) && goes_on(chain.first, i); i++)
      depths.push_back(chain.depth);
    chain.last = i;
    chains.push_back(chain);
  }
  return chains;
}

CallTree with_joined_chains(const CallTree& tree) {
  // A gap stands for more calls than one, and says of how many itself.
  auto goes_on = [&](uint32_t first, uint32_t node) {
    // chains_of() asks only of nodes with one child, which follows them.
    const CallNode& child = tree.nodes[node + 1];
    // A chain goes on as long as the child has 95 % of the first node's samples: of less, the
    // reader would like to know.
    return child.total * 20 >= tree.nodes[first].total * 19 &&
           !tree.key_of(tree.nodes[node]).is_gap && !tree.key_of(child).is_gap;
  };
  CallTree result;
  result.nodes = {tree.nodes[0]};
  for (const JoinedCalls& chain : chains_of(tree, goes_on)) {
    CallNode node = tree.nodes[chain.first];
    ViewKey key = tree.key_of(node);
    std::vector<std::string> texts;
    // The chain has the total of its first node, and what all of its nodes have of their own.
    node.self = 0;
    for (uint32_t i = chain.first; i <= chain.last; i++) {
      texts.push_back(tree.text_of(tree.nodes[i]));
      node.self += tree.nodes[i].self;
    }
    std::vector<std::string_view> names(texts.begin(), texts.end());
    if (names.size() > 1) {
      key.text = chain_text(names);
      node.times = 1;
    }
    node.key = KeyId{static_cast<uint32_t>(result.keys.size())};
    node.depth = chain.depth;
    result.keys.push_back(std::move(key));
    result.nodes.push_back(node);
  }
  set_sizes(result.nodes);
  return result;
}

}  // namespace gosym
