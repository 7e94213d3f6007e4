#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "view/frame_keys.h"

namespace gosym {

// A path of calls that samples have in common.
struct CallNode {
  KeyId key{};  // of the last step of the path; of the root of a tree it means nothing
  uint32_t depth = 0;
  uint32_t size = 1;   // of its subtree in nodes, itself included
  uint64_t self = 0;   // amount (Profile::amount) of samples that end here
  uint64_t total = 0;  // of samples that come through here
  // Calls that it stands for where a folded recursion is deepest; 1 where that is of
  // less than a twentieth of the samples.
  uint32_t times = 1;
};

// Nodes in preorder: the children of node i are i + 1, and then each behind the subtree of the
// one before; the largest total comes first. Node 0 is the root, which stands for all samples.
struct CallTree {
  std::vector<ViewKey> keys;
  std::vector<CallNode> nodes = {{}};

  const ViewKey& key_of(const CallNode& node) const { return keys[to_index(node.key)]; }
  // "main.walk", or "main.walk ×98" of a recursion that is folded.
  std::string text_of(const CallNode& node) const;
};

enum class Direction : uint8_t {
  kFromRoot,  // from the thread's first function inward: who is called
  kFromLeaf,  // from the function that ran outward: who calls
};

struct TreeShape {
  Direction direction = Direction::kFromRoot;
  bool folds = false;  // recursions (recursion.h), so that stacks of whatever depth meet
};

// Samples of a profile by their calls. Above them stand the keys that `groups` has for these
// samples, the outermost first: may be empty.
CallTree call_tree(const Profile& profile, std::span<const SampleCount> samples,
                   const FrameKeys& frames, TreeShape shape,
                   std::span<const SampleKeys> groups = {});

// One of several profiles whose calls become one tree.
struct CallSource {
  const Profile& profile;
  const FrameKeys& frames;
  std::span<const KeyId> keys;  // what each key of `frames` is in the tree
  double scale = 1;             // of its amounts
};
// From the root, of all samples of all of them; `keys` are those of the tree.
CallTree call_tree(std::span<const CallSource> sources, std::vector<ViewKey> keys);

// The calls around the functions that `is_wanted` says are meant, as if they were one.
// kFromLeaf gives those that call it, kFromRoot those that it calls. Node 0 stands for the
// functions themselves. A sample counts once for each path, however often a recursion takes it:
// so the children may add up to more than their parent has. Paths end at kMaxAround steps.
CallTree calls_around(const Profile& profile, std::span<const SampleCount> samples,
                      const FrameKeys& frames, Direction direction,
                      const std::function<bool(const ViewKey&)>& is_wanted);
inline constexpr size_t kMaxAround = 64;

// Without the nodes of a total below `least`, or deeper than max_depth (the root has 0).
CallTree pruned(const CallTree& tree, uint64_t least, uint32_t max_depth = UINT32_MAX);

// The `count` nodes with the largest totals, besides the root.
CallTree largest(const CallTree& tree, size_t count);

// The tree of the nodes with is_kept[node] whose ancestors are all kept. The root always is.
CallTree with_nodes(const CallTree& tree, const std::vector<bool>& is_kept);

// Sets CallNode::size of nodes in preorder by their depths.
void set_sizes(std::vector<CallNode>& nodes);

// The parent of each node; the root is its own.
std::vector<uint32_t> parents_of(const CallTree& tree);

// Calls without a branch, which are shown as one: nodes first to last, each the only child of
// the one before.
struct JoinedCalls {
  uint32_t first;
  uint32_t last;
  uint32_t depth;  // where each chain is one node
};
// All nodes but the root by chains, in preorder. `goes_on(first, node)`: whether the only child
// of a node belongs to the chain that it is in, which began at `first`.
std::vector<JoinedCalls> chains_of(
    const CallTree& tree, const std::function<bool(uint32_t first, uint32_t node)>& goes_on);

// "main > run > … 7 calls … > handle > work": of a long chain both ends, and of each name the
// package without its directories.
std::string chain_text(std::span<const std::string_view> names);

// With each chain of calls that has no branch, and that 19 of 20 samples go through to its end,
// as one node, with chain_text() for a name, whose total is that of the first and whose self is
// that of all.
CallTree with_joined_chains(const CallTree& tree);

}  // namespace gosym
