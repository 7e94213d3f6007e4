// Runs a program instruction by instruction from a function on, and compares the stack that
// gosym finds at each with the one that the calls and returns have made:
//
//   step_stacks ADDRESS COUNT PROGRAM [ARGUMENT...]
//
// ADDRESS is that of the function, in hex, in a program that lies where the linker put it; one
// thread alone may come there. Prints the steps, and of them those with a caller that is none
// (wrong), with fewer callers than there are (missing), and whose stack does not go on to the
// root as that of the function does, or to the scheduler's (rootless); and those beside at
// which the calls and returns do not tell what lies on the stack (unsure). Then, of each fault,
// where the stacks end that have it, with their number and an example.

#include <fcntl.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>

#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "base/print.h"
#include "native_walk.h"
#include "proc/maps.h"
#include "profile/replay.h"
#include "record/bpf/bpf_sampler.h"
#include "record/bpf/stack_pieces.h"
#include "record/files/image_catalog.h"
#include "record/stacks/code_rules.h"
#include "record/stacks/passed_callers.h"
#include "record/stacks/stack_slots.h"
#include "unwind/unwind.h"

using namespace gosym;

namespace {

// Size of a thread's stack, by default (ulimit -s).
constexpr uint64_t kMaxStack = 8 << 20;

pid_t stepped = 0;

[[noreturn]] void fail(const std::string& message) {
  print(stderr, "step_stacks: {}\n", message);
  if (stepped > 0)
    kill(stepped, SIGKILL);
  exit(1);
}

uint64_t word_at(uint64_t address) {
  uint64_t word = 0;
  bpf_probe_read_user(&word, sizeof word, reinterpret_cast<const void*>(address));
  return word;
}

struct Thread {
  user_regs_struct registers{};

  void read() {
    if (ptrace(PTRACE_GETREGS, stepped, 0, &registers) != 0)
      fail("cannot read registers");
  }
};

// Until it stops by itself; of other signals only those that end a program are let through.
void go_on(int request) {
  int signal = 0;
  while (true) {
    int status = 0;
    if (ptrace(static_cast<__ptrace_request>(request), stepped, 0, signal) != 0 ||
        waitpid(stepped, &status, __WALL) != stepped || !WIFSTOPPED(status))
      fail("the program ended");
    signal = WSTOPSIG(status);
    if (signal == SIGTRAP)
      return;
    signal = signal == SIGURG || signal == SIGCHLD ? 0 : signal;
  }
}

void start(char** program) {
  stepped = fork();
  if (stepped == 0) {
    personality(ADDR_NO_RANDOMIZE);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execv(program[0], program);
    _exit(127);
  }
  int status = 0;
  if (waitpid(stepped, &status, 0) != stepped || !WIFSTOPPED(status))
    fail("cannot start the program");
  ptrace(PTRACE_SETOPTIONS, stepped, 0, PTRACE_O_EXITKILL);
}

void run_to(uint64_t address, Thread& thread) {
  auto place = reinterpret_cast<void*>(address);
  long code = ptrace(PTRACE_PEEKTEXT, stepped, place, 0);
  ptrace(PTRACE_POKETEXT, stepped, place, (code & ~0xffL) | 0xcc);
  do {
    go_on(PTRACE_CONT);
    thread.read();
  } while (thread.registers.rip != address + 1);
  ptrace(PTRACE_POKETEXT, stepped, place, code);
  thread.registers.rip = address;
  ptrace(PTRACE_SETREGS, stepped, 0, &thread.registers);
}

bool is_call(uint64_t address) {
  unsigned char code[16] = {};
  bpf_probe_read_user(code, sizeof code, reinterpret_cast<const void*>(address));
  size_t at = 0;
  constexpr std::string_view kPrefixes = "\x66\xf2\xf3\x2e\x3e\x64\x65";
  while (at < 8 && (kPrefixes.find(static_cast<char>(code[at])) != kPrefixes.npos ||
                    (code[at] & 0xf0) == 0x40))
    at++;
  return code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] & 0x38) == 0x10);
}

// The return addresses that lie on the stack, by what calls and returns have done to it. A
// goroutine's stack lies elsewhere than that of its thread, and may be moved while that runs.
class ShadowStack {
public:
  // `thread` is the range of the thread's stack.
  explicit ShadowStack(CodeRange thread) : thread_(thread) {}

  void call(uint64_t place) {
    frames_.push_back({place, word_at(place)});
    follow(place);
  }

  // After any other instruction. What lies below the stack pointer is gone.
  void follow(uint64_t stack_pointer) {
    if (is_goroutine(stack_pointer) && !is_goroutine(last_)) {
      while (!frames_.empty() && !is_goroutine(frames_.back().place))
        frames_.pop_back();
      move(stack_pointer);
    } else if (!is_goroutine(stack_pointer) && is_goroutine(last_)) {
      left_ = last_;
    }
    while (!frames_.empty() &&
           is_goroutine(frames_.back().place) == is_goroutine(stack_pointer) &&
           frames_.back().place < stack_pointer)
      frames_.pop_back();
    last_ = stack_pointer;
  }

  bool is_on_goroutine() const { return is_goroutine(last_); }

  // Innermost first; of all stacks, or only of that of the thread. None if the memory says
  // otherwise: then the judge is not sure.
  std::optional<std::vector<uint64_t>> callers(bool has_goroutine) const {
    std::vector<uint64_t> found;
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      if (!has_goroutine && is_goroutine(frame->place))
        break;
      if (word_at(frame->place) != frame->address)
        return std::nullopt;
      found.push_back(frame->address);
    }
    return found;
  }

private:
  struct Frame {
    uint64_t place;
    uint64_t address;
  };

  // All but the stack of the program's first thread is a goroutine's.
  bool is_goroutine(uint64_t place) const {
    return place < thread_.begin || place >= thread_.end;
  }

  // It comes back as it left, or by a return from the function that left, or further up when a
  // panic is recovered. Otherwise it is another stack, with the same words.
  void move(uint64_t stack_pointer) {
    uint64_t by = stack_pointer - left_;
    bool is_further_up =
        !frames_.empty() && stack_pointer > left_ && stack_pointer <= frames_.front().place;
    if (by <= 8 || is_further_up)
      return;
    for (Frame& frame : frames_)
      frame.place += by - 8;
  }

  CodeRange thread_;
  std::vector<Frame> frames_;
  uint64_t last_ = 0;
  uint64_t left_ = 0;
};

// The state that gosym keeps of the program.
struct Program {
  std::vector<RecordedImage> images;
  std::vector<Event> events;
  CodeRanges code;
  CodeRules rules;
  CodeRules::Places places;
  std::string vdso;
  std::unique_ptr<gosym_go_program> go;
  CodeRange stack{};  // of the first thread
};

void add_mapping(const proc::MapsEntry& entry, Program& program) {
  program.code.push_back({entry.start, entry.end});
  if (entry.path == "[vdso]") {
    program.vdso.resize(entry.end - entry.start);
    bpf_probe_read_user(program.vdso.data(), static_cast<uint32_t>(program.vdso.size()),
                        reinterpret_cast<const void*>(entry.start));
  }
  MapEvent event = {.pid = static_cast<uint32_t>(stepped),
                    .start = entry.start,
                    .length = entry.end - entry.start,
                    .file_offset = entry.file_offset,
                    .path = entry.path};
  UniqueFd file(entry.inode != 0 ? open(entry.path.c_str(), O_RDONLY | O_CLOEXEC) : -1);
  struct stat status {};
  if (file && fstat(file.get(), &status) == 0) {
    FileContents contents = read_contents(file, status);
    contents.image.id = event.image = ImageId{static_cast<uint32_t>(program.images.size() + 1)};
    contents.image.path = entry.path;
    if (contents.go_program && contents.go_program->layout)
      program.go = std::make_unique<gosym_go_program>(to_bpf(*contents.go_program, event));
    program.images.push_back(std::move(contents.image));
    program.rules.map(program.places, event, program.go != nullptr, file);
  }
  program.events.emplace_back(std::move(event));
}

std::unique_ptr<Program> read_program() {
  auto program = std::make_unique<Program>();
  UniqueFd file(open(fmt::format("/proc/{}/maps", stepped).c_str(), O_RDONLY | O_CLOEXEC));
  auto text = read_file(file.get(), 1 << 20);
  if (!text)
    fail(text.error().message());
  auto entries = proc::parse_maps(*text);
  if (!entries)
    fail(entries.error().message());
  for (const proc::MapsEntry& entry : *entries) {
    if (entry.is_executable)
      add_mapping(entry, *program);
    if (entry.path == "[stack]")
      program->stack = {entry.end - kMaxStack, entry.end};
  }
  return program;
}

// True if the goroutine whose stack the thread has left is no longer its own: the scheduler
// looks for another one.
bool has_left_goroutine(const Thread& thread, const gosym_go_program& go) {
  uint64_t m = word_at(word_at(thread.registers.fs_base + go.offset) + go.g_m);
  return m != 0 && word_at(m + go.m_curg) == 0;
}

// Adds a sample as the recorder makes it of what the BPF program has found.
void add_sample(uint32_t number, const Thread& thread, Program& program, Replay& replay) {
  static auto sample = std::make_unique<gosym_sample>();
  const user_regs_struct& user = thread.registers;
  native_walk(sample.get(), {user.rip, user.rsp, user.rbp, user.r12, user.fs_base},
              program.go.get());
  std::span stack(reinterpret_cast<const uint64_t*>(sample->stack), sample->user_depth);
  std::span words(reinterpret_cast<const uint64_t*>(sample->stack) + sample->user_depth,
                  sample->top_size / 8);
  const std::array<uint64_t, 16> registers = {
      user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp,
      user.r8,  user.r9,  user.r10, user.r11, user.r12, user.r13, user.r14, user.r15};
  StackTop top = {.stack_pointer = sample->stack_pointer,
                  .words = words,
                  .registers = registers,
                  .red_zone = std::span(reinterpret_cast<const uint64_t*>(sample->red_zone),
                                        GOSYM_RED_ZONE)};
  size_t begin = sample->user_depth + (sample->top_size + sample->far_size) / 8;
  std::vector<gosym_piece> pieces = pieces_in(std::as_bytes(
      std::span(sample->stack + begin, sample->piece_count * sizeof(gosym_piece) / 8)));
  std::vector<StackPiece> places = with_words(pieces);
  top.pieces = places;
  std::vector<PassedCaller> passed = passed_callers_in(std::as_bytes(
      std::span(sample->stack + begin + sample->piece_count * sizeof(gosym_piece) / 8,
                sample->passed_count * sizeof(gosym_passed) / 8)));
  std::vector<StackSwitch> switches = switches_of(pieces, *sample);
  RecordedSample recorded = {
      .pid = static_cast<uint32_t>(stepped),
      .tid = number,
      .user_end = static_cast<StackEnd>(sample->user_end),
      .kernel_stack = {},
      .user_stack = stack,
      .frame_offset = frame_offset(sample->frame_pointer, top),
      .goroutine_start = switches.empty() ? 0u : static_cast<uint32_t>(switches.front().start),
      .switches = switches};
  std::vector<StackWord> needed;
  auto go_rule = [&](uint64_t at) { return program.rules.go_rule(program.places, at); };
  SettledStack settled;
  settle_passed_callers(recorded, passed, go_rule, settled);
  select_stack_slots(recorded, top, program.code, go_rule, needed);
  ProcessCode code(program.rules, program.places);
  find_needed_registers(recorded, top, program.code, code, needed);
  recorded.words = needed;
  replay.add(recorded);
}

struct Step {
  uint64_t address;
  bool is_of_scheduler;  // which works for no goroutine
  std::vector<uint64_t> callers;
};

std::string text_of(std::span<const uint64_t> addresses) {
  std::string text;
  for (uint64_t address : addresses)
    text += fmt::format(" {:x}", address);
  return text;
}

struct Score {
  struct End {
    size_t count = 0;
    std::string example{};
  };

  void add(std::string_view fault, const Step& step, std::span<const uint64_t> found) {
    counts[fault]++;
    End& end = ends[{fault, found.empty() ? 0 : found.back()}];
    if (end.count++ == 0)
      end.example =
          fmt::format("{} not {:x}{}", text_of(found), step.address, text_of(step.callers));
  }

  std::map<std::string_view, size_t> counts;
  std::map<std::pair<std::string_view, uint64_t>, End> ends;
};

std::string_view fault_of(const Step& step, std::span<const uint64_t> found,
                          std::span<const uint64_t> root) {
  if (found.empty() || found.front() != step.address)
    return "wrong";
  found = found.subspan(1);
  size_t known = std::min(found.size(), step.callers.size());
  if (!std::ranges::equal(found.first(known), std::span(step.callers).first(known)))
    return "wrong";
  if (known < step.callers.size())
    return "missing";
  found = found.subspan(known);
  if (step.is_of_scheduler)
    root = {};
  known = std::min(found.size(), root.size());
  if (found.size() > root.size() || !std::ranges::equal(found, root.first(known)))
    return "wrong";
  return found.size() < root.size() ? "rootless" : "";
}

Score compare(const std::vector<Step>& steps, Replay replay, std::string_view vdso) {
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  unwind(profile, dumps, vdso, {});
  std::vector<std::vector<uint64_t>> found(steps.size());
  for (const SampleCount& sample : profile.samples)
    for (LocationId id : profile.stack(sample.stack))
      found[profile.owner(sample).tid - 1].push_back(
          to_integer(profile.locations[to_index(id)].address));
  // The first is of the function's first instruction: what called that leads to the root.
  std::vector<uint64_t> root;
  if (found[0].size() > 1)
    root.assign(found[0].begin() + 1, found[0].end());
  Score score;
  for (size_t i = 0; i < steps.size(); i++)
    if (std::string_view fault = fault_of(steps[i], found[i], root); !fault.empty())
      score.add(fault, steps[i], found[i]);
  print(stdout, "root {}\n", text_of(root));
  return score;
}

}  // namespace

long bpf_probe_read_user(void* to, __u32 size, const void* from) {
  iovec here = {to, size};
  iovec there = {const_cast<void*>(from), size};
  if (process_vm_readv(stepped, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size))
    return 0;
  std::memset(to, 0, size);
  return -1;
}

int main(int argc, char** argv) {
  if (argc < 4)
    fail("usage: step_stacks ADDRESS COUNT PROGRAM [ARGUMENT...]");
  Thread thread;
  start(argv + 3);
  run_to(std::strtoull(argv[1], nullptr, 16), thread);
  auto program = read_program();
  Replay replay({}, program->images, program->events);
  ShadowStack shadow(program->stack);
  std::vector<Step> steps;
  size_t unsure = 0;
  shadow.follow(thread.registers.rsp);
  uint64_t top = thread.registers.rsp;
  for (uint64_t left = std::strtoull(argv[2], nullptr, 10); left > 0; left--) {
    bool is_of_scheduler =
        program->go && !shadow.is_on_goroutine() && has_left_goroutine(thread, *program->go);
    if (auto callers = shadow.callers(!is_of_scheduler)) {
      steps.push_back({thread.registers.rip, is_of_scheduler, *std::move(callers)});
      add_sample(static_cast<uint32_t>(steps.size()), thread, *program, replay);
    } else {
      unsure++;
    }
    bool calls = is_call(thread.registers.rip);
    uint64_t before = thread.registers.rsp;
    go_on(PTRACE_SINGLESTEP);
    thread.read();
    if (calls && thread.registers.rsp == before - 8)
      shadow.call(thread.registers.rsp);
    else
      shadow.follow(thread.registers.rsp);
    if (thread.registers.rsp >> 40 == top >> 40 && thread.registers.rsp == top + 8)
      break;  // the function has returned
  }
  kill(stepped, SIGKILL);
  Score score = compare(steps, std::move(replay), program->vdso);
  print(stdout, "steps {} wrong {} missing {} rootless {} unsure {}\n", steps.size(),
        score.counts["wrong"], score.counts["missing"], score.counts["rootless"], unsure);
  for (const auto& [place, end] : score.ends)
    print(stdout, "{} {} at {:x}:{}\n", place.first, end.count, place.second, end.example);
  return 0;
}
