#include "raw/sample_batch.h"

#include <doctest/doctest.h>

#include "raw/messages.h"

namespace gosym::stack_tree_test {
using raw::NewNodes;
using raw::SampleBatch;
using raw::StackTreeReader;
using Found = StackTreeReader::Found;
using raw::StackTreeWriter;

namespace {

using Stack = std::vector<uint64_t>;

SampleBatch batch_of(const std::vector<Stack>& stacks) {
  SampleBatch batch;
  for (const Stack& stack : stacks)
    batch.add({.time = 1, .kernel_stack = {}, .user_stack = stack});
  return batch;
}

std::vector<Stack> user_stacks(const SampleBatch& batch) {
  std::vector<Stack> stacks;
  for (const SampleBatch::Row& row : batch.rows()) {
    auto stack = batch.stack(row.user_index);
    stacks.emplace_back(stack.begin(), stack.end());
  }
  return stacks;
}

std::string error_of(const NewNodes& nodes) {
  StackTreeReader tree;
  REQUIRE(tree.add({.tree = 1, .first = 1, .distances = {1, 1}, .addresses = {7, 8}}));
  auto added = tree.add(nodes);
  return added ? std::string() : added.error().message();
}

}  // namespace

TEST_CASE("stack tree: frames that stacks share are nodes that they share") {
  StackTreeWriter tree;
  tree.begin_chunk(5);
  CHECK(tree.add(Stack{30, 20, 10}) == 3);
  CHECK(tree.add(Stack{31, 20, 10}) == 4);
  CHECK(tree.add(Stack{20, 10}) == 2);
  CHECK(tree.add({}) == 0);
  CHECK(tree.added().tree == 1);
  CHECK(tree.added().first == 1);
  CHECK(tree.added().distances == std::vector<uint32_t>{1, 1, 1, 2});
  CHECK(tree.added().addresses == Stack{10, 20, 30, 31});

  tree.begin_chunk(3);
  CHECK(tree.add(Stack{30, 20, 10}) == 3);
  CHECK(tree.add(Stack{10, 10}) == 5);
  CHECK(tree.added().first == 5);
  CHECK(tree.added().distances == std::vector<uint32_t>{4});
}

TEST_CASE("stack tree: what is added comes back, over several chunks") {
  const std::vector<std::vector<Stack>> chunks = {
      {{3, 2, 1}, {}, {4, 2, 1}}, {{4, 2, 1}}, {{UINT64_MAX, 0}, {5, 4, 2, 1}, {0}}};
  StackTreeWriter grown;
  StackTreeReader read;
  for (const auto& stacks : chunks) {
    std::string payload = batch_of(stacks).encode(grown);
    auto batch = SampleBatch::decode(as_bytes(payload), read);
    REQUIRE(batch);
    CHECK(user_stacks(*batch) == stacks);
    CHECK(batch->rows()[0].user_end == StackEnd::kRoot);
  }
  CHECK(read.size() == grown.size());
}

TEST_CASE("stack tree: without a chunk, stacks end where its nodes are") {
  StackTreeWriter grown;
  std::string first = batch_of({{2, 1}}).encode(grown);
  std::string lost = batch_of({{3, 2, 1}}).encode(grown);
  SampleBatch last = batch_of({{5, 4, 3, 2, 1}, {6, 2, 1}, {3, 2, 1}});
  const Stack kernel = {9, 3, 2, 1};
  const Stack user = {2, 1};
  last.add({.time = 2, .kernel_stack = kernel, .user_stack = user, .frame_offset = 8});
  const Stack deep = {4, 3, 2, 1};
  last.add({.time = 3,
            .kernel_stack = {},
            .user_stack = deep,
            .goroutine_start = 3,
            .gap = 2,
            .missing = 5});
  std::string payload = last.encode(grown);

  StackTreeReader read;
  REQUIRE(SampleBatch::decode(as_bytes(first), read));
  auto batch = SampleBatch::decode(as_bytes(payload), read);
  REQUIRE(batch);
  CHECK(user_stacks(*batch) == std::vector<Stack>{{5, 4}, {6, 2, 1}, {}, {}, {4}});
  std::vector<StackEnd> ends;
  for (const SampleBatch::Row& row : batch->rows())
    ends.push_back(row.user_end);
  CHECK(ends == std::vector{StackEnd::kUnreadable, StackEnd::kRoot, StackEnd::kUnreadable,
                            StackEnd::kUnreadable, StackEnd::kUnreadable});
  // Not the user code behind a kernel stack that is cut, nor a goroutine's behind the thread's.
  CHECK(std::ranges::equal(batch->stack(batch->rows()[3].kernel_index), Stack{9}));
  CHECK(batch->rows()[3].frame_offset == kNoFrame);
  CHECK(batch->rows()[4].goroutine_start == 0);
  CHECK(batch->rows()[4].gap == 0);
  CHECK(batch->rows()[4].missing == 0);
}

TEST_CASE("stack tree: nodes of a new tree are not those of the one before") {
  StackTreeWriter grown;
  StackTreeReader read;
  std::string before = batch_of({{2, 1}, {3, 1}, {4, 1}}).encode(grown);
  REQUIRE(SampleBatch::decode(as_bytes(before), read));
  // The first chunk of the second tree is lost.
  REQUIRE(read.add({.tree = 2, .first = 3, .distances = {1, 4}, .addresses = {12, 13}}));
  Stack stack;
  CHECK(read.append_stack(3, stack) == Found::kCut);
  CHECK(stack == Stack{12});
  stack.clear();
  CHECK(read.append_stack(4, stack) == Found::kWhole);
  CHECK(stack == Stack{13});
}

TEST_CASE("stack tree: it is begun anew when it is full, and from time to time") {
  StackTreeWriter tree;
  tree.begin_chunk(1);
  tree.add(Stack{1});
  tree.begin_chunk(raw::kUsualTreeSize - 1);
  CHECK(tree.added().tree == 1);
  tree.begin_chunk(raw::kUsualTreeSize);
  CHECK(tree.added().tree == 2);
  CHECK(tree.added().first == 1);
  CHECK(tree.add(Stack{1}) == 1);
  CHECK(tree.added().addresses == Stack{1});
  int chunks = 1;
  for (; tree.added().tree == 2; chunks++)
    tree.begin_chunk(0);
  CHECK(chunks > 10);
  CHECK(chunks < 100);
}

TEST_CASE("stack tree: recordings that were put together keep their stacks apart") {
  StackTreeWriter one(1000);
  StackTreeWriter other(2000);
  const std::vector<Stack> first = {{2, 1}, {3, 1}};
  const std::vector<Stack> second = {{20, 10}, {30, 20, 10}};
  StackTreeReader read;
  for (const auto& [stacks, tree] : {std::pair(&first, &one), {&second, &other}}) {
    std::string payload = batch_of(*stacks).encode(*tree);
    auto batch = SampleBatch::decode(as_bytes(payload), read);
    REQUIRE(batch);
    CHECK(user_stacks(*batch) == *stacks);
  }
}

TEST_CASE("stack tree: each part of new nodes that is wrong is an error") {
  CHECK(error_of({.tree = 1, .first = 3, .distances = {3}, .addresses = {1}}).empty());
  CHECK(error_of({.tree = 1, .first = 0, .distances = {}, .addresses = {}}) ==
        "0 nodes with 0 addresses, from number 0 on");
  CHECK(error_of({.tree = 1, .first = 3, .distances = {1, 1}, .addresses = {1}}) ==
        "2 nodes with 1 addresses, from number 3 on");
  CHECK(error_of({.tree = 1, .first = 2, .distances = {1}, .addresses = {1}}) ==
        "node 2 of tree 1 again");
  CHECK(error_of({.tree = 1, .first = 3, .distances = {0}, .addresses = {1}}) ==
        "node 3 is called by one 0 before it");
  CHECK(error_of({.tree = 1, .first = 3, .distances = {1, 5}, .addresses = {1, 1}}) ==
        "node 4 is called by one 5 before it");
  CHECK(error_of({.tree = 1, .first = UINT32_MAX, .distances = {}, .addresses = {}}) ==
        "0 nodes from number 4294967295 on, where 1048576 are allowed");
  CHECK(error_of({.tree = 1, .first = raw::kMaxTreeSize, .distances = {1}, .addresses = {1}}) ==
        "1 nodes from number 1048576 on, where 1048576 are allowed");
}

TEST_CASE("stack tree: stacks that are none of it, or endless") {
  StackTreeReader tree;
  Stack stack;
  CHECK(tree.append_stack(0, stack) == Found::kWhole);
  CHECK(tree.append_stack(1, stack) == Found::kNoNode);
  NewNodes chain = {.tree = 1,
                    .first = 1,
                    .distances = std::vector<uint32_t>(raw::kMaxStackSize + 1, 1),
                    .addresses = Stack(raw::kMaxStackSize + 1, 7)};
  REQUIRE(tree.add(chain));
  CHECK(tree.append_stack(raw::kMaxStackSize, stack) == Found::kWhole);
  CHECK(stack.size() == raw::kMaxStackSize);
  CHECK(tree.append_stack(raw::kMaxStackSize + 1, stack) == Found::kTooDeep);
  CHECK(stack.size() == 2 * raw::kMaxStackSize);
}

TEST_CASE("stack tree: a small chunk cannot ask for all memory") {
  // The most stacks that a payload can have, each of the most addresses.
  StackTreeWriter grown;
  std::string payload = batch_of({Stack(raw::kMaxStackSize, 7)}).encode(grown);
  // Field 5, packed: node 2048 a hundred thousand times.
  constexpr int kCount = 100'000;
  payload += std::string("\x2a\xc0\x9a\x0c", 4);
  for (int i = 0; i < kCount; i++)
    payload += std::string("\x80\x10", 2);
  CHECK(SampleBatch::decode(as_bytes(payload)).error().message() ==
        "stacks of more than 4194304 addresses");
}

TEST_CASE("stack tree: nor can stacks that are left out take all time") {
  StackTreeWriter grown;
  std::string payload = batch_of({Stack(raw::kMaxStackSize, 7)}).encode(grown);
  StackTreeReader read;
  REQUIRE(SampleBatch::decode(as_bytes(payload), read));
  // A node further in than is allowed, 2049, which is asked for a hundred thousand times.
  std::string next("\x08\x01\x10\x81\x10\x1a\x01\x01\x22\x01\x00\x2a\xc0\x9a\x0c", 15);
  for (int i = 0; i < 100'000; i++)
    next += std::string("\x81\x10", 2);
  CHECK(SampleBatch::decode(as_bytes(next), read).error().message() ==
        "stacks of more than 4194304 addresses");
}

TEST_CASE("stack tree: no prefix of a payload gives a sample") {
  std::string payload = batch_of({{3, 2, 1}, {4, 2, 1}}).encode();
  REQUIRE(SampleBatch::decode(as_bytes(payload))->rows().size() == 2);
  for (size_t size = 1; size < payload.size(); size++) {
    CAPTURE(size);
    auto batch = SampleBatch::decode(as_bytes(payload).first(size));
    CHECK((!batch || batch->empty()));
  }
}

}  // namespace gosym::stack_tree_test
