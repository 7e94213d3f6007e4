#include "goroutine/goroutines.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "commands/goroutines/named_goroutines.h"
#include "go/goroutine_layout.h"
#include "goroutine/labels.h"
#include "goroutine/moving_goroutines.h"

namespace gosym::goroutines_test {

namespace {

using go::GoroutineStatus;

const go::GoroutineLayout kLayout = *go::goroutine_layout("go1.24");

// The memory of a program, of words; what has none is not mapped.
struct Memory {
  std::map<uint64_t, uint64_t> words;
  int reads = 0;
  std::function<void()> before_read = [] {};  // of each piece

  void set(uint64_t address, uint64_t value) { words[address] = value; }

  proc::ReadMemory reader() {
    return [this](std::span<proc::MemoryPiece> pieces) -> Result<> {
      for (proc::MemoryPiece& piece : pieces) {
        reads++;
        before_read();
        piece.is_read = true;
        for (uint64_t at = 0; at < piece.bytes.size(); at++) {
          auto word = words.find((piece.address + at) & ~uint64_t{7});
          piece.is_read = piece.is_read && word != words.end();
          if (word != words.end())
            piece.bytes[at] = std::byte(word->second >> 8 * ((piece.address + at) % 8));
        }
      }
      return Ok{};
    };
  }
};

constexpr uint64_t kAllgs = 0x1000;
constexpr uint64_t kList = 0x2000;
constexpr uint64_t kFirst = 0x10000;  // a g each 0x1000
constexpr uint64_t kStacks = 0x100000;
constexpr uint64_t kRoot = 0x400100;  // returns to goexit
constexpr uint64_t kCode = 0x400000;

struct Program {
  Memory memory;
  uint64_t count = 0;

  void make_list() {
    memory.set(kAllgs, kList);
    memory.set(kAllgs + 8, count);
    memory.set(kAllgs + 16, count);
  }

  uint64_t add(GoroutineStatus status, uint8_t reason = 0) {
    uint64_t g = kFirst + 0x1000 * count;
    uint64_t stack = kStacks + 0x1000 * count;
    for (uint64_t at = 0; at < 512; at += 8)
      memory.set(g + at, 0);
    memory.set(g, stack);
    memory.set(g + 8, stack + 0x100);
    memory.set(g + kLayout.runtime.g_sched_sp, stack + 0xf0);
    memory.set(g + kLayout.runtime.g_sched_sp + 8, kCode + 8);
    memory.set(g + kLayout.status, static_cast<uint64_t>(status));
    memory.set(g + kLayout.runtime.g_goid, 100 + count);
    memory.set(g + kLayout.wait_reason, reason);
    memory.set(stack + 0xf0, kCode + 0x10);
    memory.set(stack + 0xf8, kRoot + 1);
    memory.set(kList + 8 * count++, g);
    make_list();
    return g;
  }

  GoRuntime runtime() const {
    GoRuntime runtime;
    runtime.allgs = {kAllgs};
    runtime.layout = kLayout;
    runtime.is_entry = [](uint64_t address) { return address == kCode; };
    runtime.find_rule = [](uint64_t address) -> std::optional<UnwindRule> {
      if (address == kRoot)
        return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone};
      if (address < kCode || address >= kRoot)
        return std::nullopt;
      return UnwindRule{.cfa = {Anchor::kStackPointer, 8},
                        .return_kind = UnwindRule::ReturnAddress::kOnStack,
                        .return_address = {Anchor::kCfa, -8}};
    };
    return runtime;
  }

  Result<Goroutines> read() { return read_goroutines(runtime(), memory.reader()); }
};

std::vector<uint64_t> stack_of(const Goroutines& goroutines, size_t i) {
  auto stack = goroutines.stacks[goroutines.all[i].stack];
  return {stack.begin(), stack.end()};
}

}  // namespace

TEST_CASE("goroutines: those that wait have stacks, those that run have none") {
  Program program;
  program.add(GoroutineStatus::kWaiting, 14);
  program.add(GoroutineStatus::kRunning);
  program.add(GoroutineStatus::kDead);
  auto read = program.read();
  REQUIRE(read);
  REQUIRE(read->all.size() == 2);
  CHECK(read->all[0].number == 100);
  CHECK(read->all[0].wait_reason == 14);
  CHECK(read->all[0].stack_state == GoroutineStack::kWhole);
  CHECK(stack_of(*read, 0) == std::vector<uint64_t>{kCode + 7, kCode + 0xf, kRoot});
  CHECK(read->all[1].stack_state == GoroutineStack::kRunning);
  CHECK(stack_of(*read, 1).empty());
  CHECK(read->notes.empty());
}

TEST_CASE("goroutines: one that has not begun is where its function begins") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kRunnable);
  program.memory.set(g + kLayout.runtime.g_sched_sp + 8, kCode);
  auto read = program.read();
  REQUIRE(read);
  CHECK(stack_of(*read, 0).front() == kCode);
}

TEST_CASE("goroutines: what returns to the begin of a function is in that, not before it") {
  Program program;
  program.add(GoroutineStatus::kWaiting, 14);
  program.memory.set(kStacks + 0xf0, kCode);
  auto read = program.read();
  REQUIRE(read);
  CHECK(stack_of(*read, 0) == std::vector<uint64_t>{kCode + 7, kCode, kRoot});
  CHECK(read->all[0].stack_state == GoroutineStack::kWhole);
}

// A runtime like Program::runtime(), on arm64: functions below kFramed have taken nothing of
// the stack yet, and the one at kInjected was called by a signal handler.
constexpr uint64_t kFramed = kCode + 0x80;
constexpr uint64_t kInjected = kCode + 0xc0;

GoRuntime runtime_of_arm64(const Program& program) {
  GoRuntime runtime = program.runtime();
  runtime.machine = EM_AARCH64;
  runtime.find_rule = [](uint64_t address) -> std::optional<UnwindRule> {
    if (address == kRoot)
      return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone};
    if (address < kCode || address >= kRoot)
      return std::nullopt;
    UnwindRule rule;
    rule.return_kind = UnwindRule::ReturnAddress::kInRegister;
    if (address >= kFramed)
      rule = {.cfa = {Anchor::kStackPointer, 16},
              .return_kind = UnwindRule::ReturnAddress::kOnStack,
              .return_address = {Anchor::kStackPointer, 0}};
    rule.is_signal_frame = address >= kInjected;
    if (rule.is_signal_frame)
      rule.cfa.offset = 32;
    return rule;
  };
  return runtime;
}

TEST_CASE("goroutines: on arm64 one that has no frame returns to its link register") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kRunnable);
  uint64_t link = g + kLayout.runtime.g_sched_bp - 8;
  program.memory.set(g + kLayout.runtime.g_sched_sp + 8, kCode);
  auto read = [&] {
    auto goroutines = read_goroutines(runtime_of_arm64(program), program.memory.reader());
    REQUIRE(goroutines);
    return stack_of(*goroutines, 0);
  };
  CHECK(read() == std::vector<uint64_t>{kCode});  // nobody knows where it returns to
  program.memory.set(link, kRoot + 1);
  CHECK(read() == std::vector<uint64_t>{kCode, kRoot});
  program.memory.set(link, kCode + 0x11);  // it has no frame either: the register is used up
  CHECK(read() == std::vector<uint64_t>{kCode, kCode + 0x10});
  program.memory.set(link, kFramed + 1);
  program.memory.set(kStacks + 0xf0, kRoot + 1);
  CHECK(read() == std::vector<uint64_t>{kCode, kFramed, kRoot});
}

TEST_CASE("goroutines: on arm64 what was interrupted has its link register on the stack") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kRunnable);
  program.memory.set(g + kLayout.runtime.g_sched_sp, kStacks + 0xc0);
  program.memory.set(g + kLayout.runtime.g_sched_sp + 8, kInjected + 1);
  program.memory.set(kStacks + 0xc0, kCode + 8);
  program.memory.set(kStacks + 0xd0, kFramed + 1);
  program.memory.set(kStacks + 0xe0, kRoot + 1);
  for (uint64_t at : {0xc8, 0xd8, 0xe8})
    program.memory.set(kStacks + at, 0);
  auto goroutines = read_goroutines(runtime_of_arm64(program), program.memory.reader());
  REQUIRE(goroutines);
  CHECK(stack_of(*goroutines, 0) ==
        std::vector<uint64_t>{kInjected, kCode + 8, kFramed, kRoot});
  CHECK(goroutines->all[0].stack_state == GoroutineStack::kWhole);
}

TEST_CASE("goroutines: on arm64 one that a signal has interrupted is where that tells") {
  constexpr uint64_t kSignalStack = 0x200000;
  constexpr uint64_t kContext = kSignalStack + 0x100;
  constexpr uint64_t kThread = 0x300000;
  Program program;
  uint64_t g = program.add(GoroutineStatus::kRunning);
  program.memory.set(g + kLayout.runtime.g_sched_sp, 0);
  program.memory.set(g + kLayout.runtime.g_m, kThread);
  program.memory.set(kThread + kLayout.thread_id, 7);
  for (uint64_t at = 0; at < 0x1000; at += 8)
    program.memory.set(kSignalStack + at, 0);
  program.memory.set(kContext + 16, kSignalStack);
  program.memory.set(kContext + 32, 0x1000);
  program.memory.set(kContext + 424, kRoot + 1);
  program.memory.set(kContext + 432, kStacks + 0xf0);
  program.memory.set(kContext + 440, kCode + 8);
  GoRuntime runtime = runtime_of_arm64(program);
  runtime.threads = {{7, {.pc = 0x500000, .stack_pointer = kSignalStack + 0x40}}};
  auto stack = [&] {
    auto goroutines = read_goroutines(runtime, program.memory.reader());
    REQUIRE(goroutines);
    return stack_of(*goroutines, 0);
  };
  CHECK(stack() == std::vector<uint64_t>{kCode + 8, kRoot});
  program.memory.set(kContext + 440, 0x500000);  // no code of Go
  CHECK(stack().empty());
}

TEST_CASE("goroutines: in a system call other registers tell") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kSyscall);
  program.memory.set(g + kLayout.syscall_sp, kStacks + 0xf8);
  program.memory.set(g + kLayout.syscall_sp + 8, kCode + 0x21);
  auto read = program.read();
  REQUIRE(read);
  CHECK(stack_of(*read, 0) == std::vector<uint64_t>{kCode + 0x20, kRoot});
}

TEST_CASE("goroutines: a stack that changes while it is read is not shown") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kWaiting, 14);
  program.add(GoroutineStatus::kWaiting, 14);
  uint64_t changes = 0;
  SUBCASE("all the time") {
    program.memory.before_read = [&] { program.memory.set(g + kLayout.wait_since, ++changes); };
    auto read = program.read();
    REQUIRE(read);
    CHECK(read->all[0].stack_state == GoroutineStack::kMoving);
    CHECK(stack_of(*read, 0).empty());
    CHECK(read->all[1].stack_state == GoroutineStack::kWhole);
    CHECK(read->notes.size() == 1);
  }
  SUBCASE("for a while") {
    program.memory.before_read = [&] {
      if (++changes < 12)
        program.memory.set(g + kLayout.wait_since, changes);
    };
    auto read = program.read();
    REQUIRE(read);
    CHECK(read->all[0].stack_state == GoroutineStack::kWhole);
  }
}

TEST_CASE("goroutines: a list that cannot be one is refused") {
  for (auto [address, length, capacity] : {std::array<uint64_t, 3>{0, 1, 1},
                                           {kList, 0, 1},
                                           {kList, 2, 1},
                                           {kList + 1, 1, 1},
                                           {kList, UINT64_MAX, UINT64_MAX},
                                           {0xdead0000, 1, 1}}) {
    Program program;
    program.add(GoroutineStatus::kWaiting);
    program.memory.set(kAllgs, address);
    program.memory.set(kAllgs + 8, length);
    program.memory.set(kAllgs + 16, capacity);
    CHECK_FALSE(program.read());
  }
  Program program;
  program.add(GoroutineStatus::kWaiting);
  program.memory.words.erase(kAllgs + 8);
  CHECK_FALSE(program.read());
}

// Makes the length of the list larger than its capacity while it is read for the first time, as
// in the midst of an append.
void tear_first_read(Program& program) {
  int before = program.memory.reads;
  program.memory.before_read = [&program, before] {
    program.make_list();
    if (program.memory.reads == before + 1)
      program.memory.set(kAllgs + 8, program.count + 1);
  };
}

TEST_CASE("goroutines: a list that is torn between its words is looked at again") {
  Program program;
  program.add(GoroutineStatus::kWaiting);
  tear_first_read(program);
  auto read = program.read();
  REQUIRE(read);
  CHECK(read->all.size() == 1);
  LookAtSome look_at = look_at_some(program.runtime(), program.memory.reader());
  tear_first_read(program);
  auto look = look_at(std::vector<double>{0, 0});
  REQUIRE(look);
  CHECK(look->list_size == 1);
  CHECK(look->all.size() == 1);
}

TEST_CASE("goroutines: pointers that lie are left out, and one is told once") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kWaiting);
  for (uint64_t pointer : {g, g, uint64_t{0}, g + 1, uint64_t{0xdead0000}, UINT64_MAX - 7})
    program.memory.set(kList + 8 * program.count++, pointer);
  program.make_list();
  auto read = program.read();
  REQUIRE(read);
  CHECK(read->all.size() == 1);
  CHECK(read->notes == std::vector<std::string>{"goroutines that cannot be read: 2"});
}

TEST_CASE("goroutines: whatever a g holds, there is an end") {
  for (uint64_t offset = 0; offset < kLayout.size(); offset += 8)
    for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{7}, kStacks + 0x1000, kCode,
                           UINT64_MAX, uint64_t{1} << 63, UINT64_MAX - 7}) {
      Program program;
      uint64_t g = program.add(GoroutineStatus::kWaiting);
      program.add(GoroutineStatus::kWaiting);
      program.add(GoroutineStatus::kWaiting);
      program.memory.set(g + offset, value);
      auto read = program.read();
      REQUIRE(read);
      CHECK(read->all.size() >= 2);
    }
}

TEST_CASE("goroutines: a stack is followed upward only, and to its bound") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kWaiting);
  program.memory.set(kStacks + 0xf8, kCode + 0x30);  // no root
  auto read = program.read();
  REQUIRE(read);
  CHECK(read->all[0].stack_state == GoroutineStack::kCut);
  CHECK(stack_of(*read, 0).size() == 3);
  program.memory.set(g + 8, kStacks + (uint64_t{1} << 40));  // says that it is large
  read = program.read();
  REQUIRE(read);
  CHECK(stack_of(*read, 0).empty());  // that much is not there
}

TEST_CASE("goroutines: labels of Go 1.24") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kWaiting);
  Memory& memory = program.memory;
  memory.set(g + kLayout.runtime.g_labels, 0x8000);
  uint64_t pairs[] = {0x8100, 3, 0x8108, 5};
  uint64_t slice[] = {0x8020, 1, 1};
  for (uint64_t i = 0; i < 3; i++)
    memory.set(0x8000 + 8 * i, slice[i]);
  for (uint64_t i = 0; i < 4; i++)
    memory.set(0x8020 + 8 * i, pairs[i]);
  memory.set(0x8100, 0x79656b);      // "key"
  memory.set(0x8108, 0x65756c6176);  // "value"
  auto labels = [&] {
    auto read = program.read();
    REQUIRE(read);
    auto found = read_labels(read->all, kLayout.runtime, memory.reader());
    REQUIRE(found);
    return found->at(0);
  };
  CHECK(labels() == std::vector<GoroutineLabel>{{"key", "value"}});
  memory.set(0x8008, UINT64_MAX);  // longer than its capacity
  CHECK(labels().empty());
  memory.set(0x8010, UINT64_MAX);  // and than what is there
  CHECK(labels().empty());
  memory.set(0x8008, 1);
  memory.set(0x8038, UINT64_MAX);  // the value's length
  CHECK(labels().at(0).value.empty());
}

TEST_CASE("goroutines: labels of Go 1.23, where buckets go round in a circle") {
  const go::GoroutineLayout layout = *go::goroutine_layout("go1.23");
  Memory memory;
  for (uint64_t at = 0x8000; at < 0x9000; at += 8)
    memory.set(at, 0);
  memory.set(0x100 + layout.runtime.g_labels, 0x8000);
  memory.set(0x8000, 0x8010);  // to the map
  memory.set(0x8010, 1);
  memory.set(0x8020, 0x8100);  // its bucket
  memory.set(0x8100, 0x0005);  // one slot is used
  memory.set(0x8108, 0x8300);
  memory.set(0x8110, 3);
  memory.set(0x8188, 0x8308);
  memory.set(0x8190, 5);
  memory.set(0x8100 + 264, 0x8100);  // goes on with itself
  memory.set(0x8300, 0x79656b);
  memory.set(0x8308, 0x65756c6176);
  std::vector<Goroutine> all = {{.address = 0x100, .labels = 0x8000}};
  auto found = read_labels(all, layout.runtime, memory.reader());
  REQUIRE(found);
  REQUIRE(!found->at(0).empty());
  CHECK(found->at(0).size() <= 8);
  CHECK(found->at(0)[0] == GoroutineLabel{"key", "value"});
  // A log2 that no map has.
  memory.set(0x8018, uint64_t{0xff} << 8);
  CHECK(read_labels(all, layout.runtime, memory.reader()));
}

TEST_CASE("allgs: three words in a row that code of amd64 names") {
  using namespace std::string_literals;
  // mov 0x100(%rip), %rax; mov %rcx, 0x101(%rip); lea 0(%rip), %rdx; mov 0x102(%rip), %r8
  std::string code =
      "\x48\x8b\x05\x00\x01\x00\x00\x48\x89\x0d\x01\x01\x00\x00\x48\x8d\x15\x00\x00\x00\x00"s
      "\x4c\x8b\x05\xfb\x00\x00\x00"s;
  auto find = [](std::string_view bytes, uint16_t machine = EM_X86_64) {
    return go::find_allgs(machine, as_bytes(bytes), ImageAddress{0x400000});
  };
  CHECK(find(code) == std::vector<ImageAddress>{ImageAddress{0x400107}});
  for (size_t size = 0; size < code.size(); size++)
    CHECK(find(std::string_view(code).substr(0, size)).empty());
  CHECK(find(code, EM_386).empty());
}

TEST_CASE("allgs: three words in a row that code of arm64 names") {
  auto words = [](std::initializer_list<uint32_t> list) {
    std::string code;
    for (uint32_t word : list)
      for (int i = 0; i < 4; i++)
        code += static_cast<char>(word >> 8 * i);
    return code;
  };
  auto find = [](const std::string& code) {
    return go::find_allgs(EM_AARCH64, as_bytes(code), ImageAddress{0x400000});
  };
  // adrp x27, 0x1000; ldr x0, [x27, 0x10]; ldp x1, x2, [x27, 0x18] of two words.
  std::string code = words({0xb000001b, 0xf9400b60, 0xa9418b61});
  CHECK(find(code) == std::vector<ImageAddress>{ImageAddress{0x401010}});
  // add x3, x27, 0x10 in place of the offset.
  CHECK(find(words({0xb000001b, 0x91004363, 0xf9400060, 0xa9408861})) ==
        std::vector<ImageAddress>{ImageAddress{0x401010}});
  for (size_t size = 0; size < code.size(); size++)
    CHECK(find(code.substr(0, size)).empty());
}

// The goroutines that a look takes, by number, and how many each stands for. `random` is
// without its first, which tells who is checked.
std::vector<std::pair<uint64_t, double>> look_at_numbers(const LookAtSome& look_at,
                                                         std::vector<double> random) {
  random.insert(random.begin(), 0.5);
  auto look = look_at(random);
  REQUIRE(look);
  REQUIRE(look->counts.size() == look->all.size());
  std::vector<std::pair<uint64_t, double>> found;
  for (size_t i = 0; i < look->all.size(); i++)
    found.emplace_back(look->all[i].number - 100, look->counts[i]);
  return found;
}

TEST_CASE("goroutines: of those that rest one of each part is looked at") {
  Program program;
  for (int i = 0; i < 40; i++)
    program.add(GoroutineStatus::kWaiting);
  LookAtSome look_at = look_at_some(program.runtime(), program.memory.reader());
  using Found = std::vector<std::pair<uint64_t, double>>;
  CHECK(look_at_numbers(look_at, {0, 0, 0, 0}) == Found{{0, 10}, {10, 10}, {20, 10}, {30, 10}});
  CHECK(look_at_numbers(look_at, {0.99, 0.5, 0, 0.25}) ==
        Found{{9, 10}, {15, 10}, {20, 10}, {32, 10}});
  CHECK(look_at_numbers(look_at, std::vector<double>(40, 0.9)).size() == 40);
  CHECK(look_at_numbers(look_at, std::vector<double>(50, 0.9)) ==
        look_at_numbers(look_at, std::vector<double>(41, 0)));
}

TEST_CASE("goroutines: those that move are looked at always, whatever many rest") {
  Program program;
  for (int i = 0; i < 90; i++)
    program.add(i % 30 == 7 ? GoroutineStatus::kRunnable : GoroutineStatus::kWaiting);
  for (int i = 0; i < 30; i++)
    program.add(GoroutineStatus::kDead);
  uint64_t counted = kFirst + 0x1000 * 25 + kLayout.switch_count / 8 * 8;
  LookAtSome look_at = look_at_some(program.runtime(), program.memory.reader());
  std::map<uint64_t, int> looks;
  double all = 0;
  constexpr int kLooks = 100;
  for (int i = 0; i < kLooks; i++) {
    // It comes back to where it waits time and again.
    program.memory.set(counted, static_cast<uint64_t>(i) << 8 * (kLayout.switch_count % 8));
    std::vector<double> random;
    for (int j = 0; j < 12; j++)
      random.push_back(0.618 * (i + 5 * j) - static_cast<int>(0.618 * (i + 5 * j)));
    for (auto [number, count] : look_at_numbers(look_at, random)) {
      bool is_moving = number % 30 == 7 || (number == 25 && i > 0);
      CHECK(number < 90);
      CHECK((count == 1) == is_moving);
      looks[number]++;
      all += count;
    }
  }
  for (uint64_t number : {7, 37, 67, 25})
    CHECK(looks[number] >= kLooks - 1);
  CHECK(looks.size() == 90);
  CHECK(std::abs(all / kLooks - 90) < 1e-6);
}

TEST_CASE("goroutines: one that was about to run when it was checked counts, though it ended") {
  Program program;
  uint64_t g = program.add(GoroutineStatus::kWaiting);
  program.add(GoroutineStatus::kWaiting);
  LookAtSome look_at = look_at_some(program.runtime(), program.memory.reader());
  program.memory.before_read = [&] {
    if (program.memory.reads > 6)  // the list, both pointers, both g
      program.memory.set(g + kLayout.status, static_cast<uint64_t>(GoroutineStatus::kDead));
  };
  auto look = look_at(std::vector<double>{0.5, 0.5, 0.5});
  REQUIRE(look);
  REQUIRE(look->all.size() == 2);
  CHECK(look->all[1].number == 100);
  CHECK(look->all[1].stack_state == GoroutineStack::kMoving);
  CHECK(look->counts == std::vector<double>{1, 1});
}

TEST_CASE("moving goroutines: each is chosen as often as the others of its part stand for") {
  MovingGoroutines moves;
  std::vector<double> stood_for(5000);
  constexpr int kLooks = 2000;
  for (int look = 0; look < kLooks; look++) {
    double random = 0.618034 * look - static_cast<int>(0.618034 * look);
    double all = 0;
    for (const Chosen& one : moves.choose(stood_for.size(), 100, random)) {
      stood_for[one.index] += one.stands_for;
      all += one.stands_for;
      moves.note(one.index, 1 + static_cast<uint32_t>(one.index % 50 == 0 ? look : 0), true);
    }
    CHECK(std::abs(all - 5000) < 1e-6);
  }
  for (double count : stood_for)
    CHECK(std::abs(count / kLooks - 1) < 0.5);
}

TEST_CASE("moving goroutines: what is not seen to move for some looks rests again") {
  MovingGoroutines moves;
  auto mark_all = [&](uint32_t mark) {
    size_t moving = 0;
    for (const Chosen& one : moves.choose(10, 10, 0))
      moving += moves.note(one.index, one.index < 5 ? mark : 1, true) ? 1 : 0;
    return moving;
  };
  CHECK(mark_all(1) == 0);
  CHECK(mark_all(2) == 5);
  for (int look = 0; look < 97; look++)
    CHECK(mark_all(2) == 5);
  CHECK(mark_all(2) == 0);
}

TEST_CASE("moving goroutines: of a list that is none nothing is remembered") {
  for (uint64_t next : {uint64_t{9}, uint64_t{1} << 40}) {
    MovingGoroutines moves;
    for (const Chosen& one : moves.choose(10, 10, 0))
      moves.note(one.index, 1, false);
    auto chosen = moves.choose(next, 4, 0.999);
    REQUIRE(chosen.size() == 4);
    CHECK(chosen.back().index < next);
    CHECK(chosen.back().stands_for == static_cast<double>(next) / 4);
    CHECK(moves.note(chosen.back().index, 1, false));
    CHECK_FALSE(moves.note(chosen.back().index, 2, true));
  }
}

TEST_CASE("moving goroutines: by weight those that stand for many are chosen more often") {
  const Chosen some[] = {{0, 1}, {1, 8}, {2, 1}};
  auto chosen = choose_by_weight(some, std::vector<double>{0.1, 0.1});
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[0].index == 0);
  CHECK(chosen[1].index == 1);
  chosen = choose_by_weight(some, std::vector<double>{0.5, 0.5});
  REQUIRE(chosen.size() == 1);  // twice
  CHECK(chosen[0].stands_for == 10);
  CHECK(choose_by_weight(some, std::vector<double>(3, 0.5)).size() == 3);
  CHECK(choose_by_weight({}, {}).empty());
}

// A program that says it has so many goroutines, each with as much of a stack as is asked for.
struct Boundless {
  uint64_t count;
  uint64_t bytes = 0;  // that were read

  proc::ReadMemory reader() {
    return [this](std::span<proc::MemoryPiece> pieces) -> Result<> {
      for (proc::MemoryPiece& piece : pieces) {
        piece.is_read = true;
        bytes += piece.bytes.size();
        std::ranges::fill(piece.bytes, std::byte(0));
        for (uint64_t at = 0; at < piece.bytes.size(); at += 8) {
          uint64_t word = word_at(piece.address + at);
          std::memcpy(&piece.bytes[at], &word, std::min<size_t>(8, piece.bytes.size() - at));
        }
      }
      return Ok{};
    };
  }

  uint64_t word_at(uint64_t address) const {
    if (address == kAllgs)
      return kList;
    if (address == kAllgs + 8 || address == kAllgs + 16)
      return count;
    if (address >= kList && address < kList + 8 * count)
      return uint64_t{1} << 40;  // one g for all
    if (address == (uint64_t{1} << 40))
      return uint64_t{1} << 41;
    if (address == (uint64_t{1} << 40) + 8)
      return (uint64_t{1} << 41) + (uint64_t{1} << 30);
    uint64_t at = address - (uint64_t{1} << 40);
    if (at == kLayout.runtime.g_sched_sp)
      return (uint64_t{1} << 41) + 8;
    if (at == uint64_t{kLayout.runtime.g_sched_sp} + 8)
      return kCode + 8;
    if (at == kLayout.status)
      return static_cast<uint64_t>(GoroutineStatus::kWaiting);
    if (at == kLayout.runtime.g_goid)
      return 7;
    return at < 512 ? 0 : kCode + 0x10;  // code that calls itself for ever
  }
};

TEST_CASE("goroutines: a look at some reads no more than it may, of any list and stacks") {
  Boundless program{.count = 4 << 20};
  LookAtSome look_at = look_at_some(Program().runtime(), program.reader());
  for (int i = 0; i < 4; i++) {
    program.bytes = 0;
    program.count -= 1000;  // a list that is another at each look
    auto look = look_at(std::vector<double>(33, 0.5));
    REQUIRE(look);
    CHECK(look->list_size == program.count);
    REQUIRE(look->all.size() == 32);
    CHECK(look->all.back().stack_state == GoroutineStack::kCut);
    CHECK(look->shortened > 0);
    CHECK(program.bytes < (4 << 20) + (256 << 10) + (1 << 20));
  }
}

TEST_CASE("goroutines: of some the words are told that lead from call to call") {
  Program program;
  program.add(GoroutineStatus::kWaiting);
  LookAtSome look_at = look_at_some(program.runtime(), program.memory.reader());
  auto look = look_at(std::vector<double>{0, 0});
  REQUIRE(look);
  REQUIRE(look->all.size() == 1);
  const std::vector<StackCall>& stack = look->stacks[look->all[0].stack];
  REQUIRE(stack.size() == 3);
  CHECK(stack[0].call == kCode + 7);
  CHECK(stack[1].returns_to == kCode + 0x10);
  CHECK(stack[1].place == 0);
  CHECK(stack[2].returns_to == kRoot + 1);
  CHECK(stack[2].place == 8);
}

TEST_CASE("goroutines: a list that lies is no list of some either") {
  Program program;
  program.add(GoroutineStatus::kWaiting);
  LookAtSome look_at = look_at_some(program.runtime(), program.memory.reader());
  std::vector<double> random(64, 0.5);
  for (auto [address, length, capacity] : {std::array<uint64_t, 3>{0, 1, 1},
                                           {kList, 0, 1},
                                           {kList, 2, 1},
                                           {kList + 1, 1, 1},
                                           {kList, UINT64_MAX, UINT64_MAX},
                                           {0xdead0000, 1, 1}}) {
    program.memory.set(kAllgs, address);
    program.memory.set(kAllgs + 8, length);
    program.memory.set(kAllgs + 16, capacity);
    auto look = look_at(random);
    REQUIRE(look);
    CHECK(look->list_size == 0);
    CHECK(look->all.empty());
  }
  program.make_list();
  auto look = look_at(random);
  REQUIRE(look);
  CHECK(look->all.size() == 1);
}

TEST_CASE(
    "goroutines: the runtime's own are those that began in it and run nothing of the program") {
  auto is_system = [](std::string_view start, std::string_view runs) {
    NamedGoroutines named;
    named.calls[1] = {Call{start, {}}};
    named.calls[2] = {Call{runs, {}}};
    Goroutine goroutine;
    goroutine.start = 1;
    const uint64_t stack[] = {2, 1};
    goroutine.stack = named.goroutines.stacks.intern(stack);
    return named.is_system(goroutine);
  };
  CHECK(is_system("runtime.bgsweep", "runtime.gopark"));
  CHECK(!is_system("main.worker", "runtime.gopark"));
  // The runtime makes it, and what it calls is a package's.
  CHECK(is_system("runtime.unique_runtime_registerUniqueMapCleanup.func1",
                  "unique.registerCleanup.func1"));
  CHECK(!is_system("runtime.main", "main.main"));
  for (std::string_view start :
       {"runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups"}) {
    CHECK(is_system(start, "runtime.gopark"));
    CHECK(!is_system(start, "main.finalize"));
  }
}

TEST_CASE("goroutines: those that wait, or are leaked, have waited for some minutes") {
  constexpr uint64_t kMinute = 60'000'000'000;
  NamedGoroutines named;
  named.time = 7 * kMinute;
  auto minutes = [&](GoroutineStatus status) {
    Goroutine goroutine;
    goroutine.status = status;
    goroutine.waits_since = 2 * kMinute;
    return named.minutes(goroutine);
  };
  CHECK(minutes(GoroutineStatus::kWaiting) == 5);
  CHECK(minutes(GoroutineStatus::kSyscall) == 5);
  CHECK(minutes(GoroutineStatus::kLeaked) == 5);
  CHECK(minutes(GoroutineStatus::kRunning) == 0);
}

}  // namespace gosym::goroutines_test
