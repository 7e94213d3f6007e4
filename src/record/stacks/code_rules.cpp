#include "record/stacks/code_rules.h"

#include <sys/stat.h>
#include <tsl/robin_map.h>

#include <algorithm>

#include "base/mapped_file.h"
#include "base/sigbus_handler.h"
#include "dwarf/call_frames.h"
#include "elf/calls.h"
#include "go/module.h"
#include "go/unwind_rule.h"
#include "record/files/image_catalog.h"

// A process has places, each of which shares a program with all processes that map the same
// file. A program is mapped when it is first seen and parsed when one of its addresses is
// first asked for; rules are remembered by address. All that touches the file goes through
// look(), which measures the time against a budget and notices when a part of the file was
// gone.

namespace gosym {

namespace {

// A program at work is sampled at some thousands of addresses. The bound is for a recorder that
// runs for days.
constexpr size_t kMaxRules = 1 << 16;

// Twice the size of the largest programs. A hostile file may have tables as large as itself.
constexpr int64_t kMaxFileSize = 512 << 20;

// To find a rule all rows of a table up to the address may have to be read, a row a byte at
// most. The largest functions of real programs, which set up tables, have some 100 KB.
constexpr uint64_t kMaxCodeBefore = 1 << 20;

// Programs map some hundred files with code; who maps them over and over is not followed.
constexpr size_t kMaxPlaces = 4096;

bool is_too_large(const UniqueFd& file) {
  struct stat status {};
  return fstat(file.get(), &status) != 0 || status.st_size > kMaxFileSize;
}

using Rule = std::optional<UnwindRule>;

}  // namespace

struct CodeRules::Program {
  std::unique_ptr<MappedFile> file;  // null: it cannot be used
  bool is_go = false;
  bool is_parsed = false;  // the fields below are set
  elf::Image image;
  std::optional<go::Module> module;
  std::unique_ptr<dwarf::CallFrames> frames;
  std::vector<LoadSegment> segments;
  tsl::robin_map<uint64_t, Rule> known;     // by address of the image
  tsl::robin_map<uint64_t, Rule> known_go;  // of Go's code

  void open(const UniqueFd& fd, bool has_go_code) {
    is_go = has_go_code;
    if (is_too_large(fd))
      return;
    if (auto mapped = MappedFile::open(fd))
      file = *std::move(mapped);
  }

  // Most of what is mapped is never sampled.
  void parse() {
    is_parsed = true;
    auto parsed = elf::parse(file->bytes());
    if (!parsed)
      return;
    image = *std::move(parsed);
    if (is_go)
      module = go::read_module_of_section(image);
    frames = dwarf::CallFrames::open_by_header(image);
    segments = load_segments(image);
  }

  bool prepare(TimeBudget& budget) {
    if (!is_parsed && file && budget.has_left())
      look(budget, [&] { parse(); });
    return is_parsed && file;
  }

  Rule find_go(ImageAddress address) const {
    auto pc = module ? module->pc_of(address) : std::nullopt;
    auto function = pc ? module->table.find(*pc) : std::nullopt;
    // The table is read from the entry of the function up to the address: the distance bounds
    // the work.
    if (!function || *pc - module->table.entry(*function) > kMaxCodeBefore)
      return std::nullopt;
    return go::unwind_rule(*module, address);
  }

  Rule find(ImageAddress address) const {
    Rule rule = find_go(address);
    // Go's functions are in its own table; .eh_frame has those of C.
    if (!rule && frames)
      rule = frames->find(address);
    return rule ? rule : elf::rule_at_jump(image, address);
  }

  // Does what looks at the file. If some of it was gone, so is all that is known, and for good:
  // the program is not opened again while a process has it mapped.
  template <class Look>
  bool look(TimeBudget& budget, Look look_at_file) {
    // A page that is gone reads as zeros and is counted by the handler of SIGBUS.
    uint64_t cut_before = cut_page_count();
    budget.spend(look_at_file);
    if (cut_page_count() == cut_before)
      return true;
    frames.reset();
    module.reset();
    file.reset();
    return false;
  }

  template <class Find>
  Rule remembered(tsl::robin_map<uint64_t, Rule>& rules, ImageAddress address,
                  TimeBudget& budget, Find find_rule) {
    if (auto found = rules.find(to_integer(address)); found != rules.end())
      return found->second;
    // An address without a rule is remembered as well, but not one that there was no time for.
    Rule rule;
    if (!budget.has_left() || !look(budget, [&] { rule = find_rule(address); }))
      return std::nullopt;
    // All go at once: those of code at work come back within a few samples.
    if (rules.size() == kMaxRules)
      rules.clear();
    rules.emplace(to_integer(address), rule);
    return rule;
  }

  // Gives the result of `evaluate` for the frames; `none` if there are none, or no time.
  template <class Value, class Evaluate>
  Value evaluated(TimeBudget& budget, Value none, Evaluate evaluate) {
    Value value = none;
    if (!frames || !budget.has_left())
      return none;
    return look(budget, [&] { value = evaluate(*frames); }) ? value : none;
  }
};

CodeRules::CodeRules() = default;
CodeRules::~CodeRules() = default;

std::shared_ptr<CodeRules::Program> CodeRules::program(ImageId image, bool is_go,
                                                       const UniqueFd& file) {
  if (auto open = programs_[image].lock())
    return open;
  std::erase_if(programs_, [](const auto& entry) { return entry.second.expired(); });
  auto opened = std::make_shared<Program>();
  // An image is opened once, and counts against the budget of the kind that it was opened as.
  TimeBudget& budget = is_go ? go_budget_ : native_budget_;
  if (!budget.has_left() || !opened->look(budget, [&] { opened->open(file, is_go); }) ||
      !opened->file)
    return nullptr;
  programs_[image] = opened;
  return opened;
}

TimeBudget& CodeRules::budget_of(const Program& program) {
  return program.is_go ? go_budget_ : native_budget_;
}

void CodeRules::map(Places& places, const MapEvent& mapping, bool is_go, const UniqueFd& file) {
  std::erase_if(places, [&](const Place& place) {
    return place.start < mapping.limit() && mapping.start < place.limit;
  });
  auto opened = file ? program(mapping.image, is_go, file) : nullptr;
  if (!opened || places.size() == kMaxPlaces)
    return;
  auto above = std::ranges::upper_bound(places, mapping.start, {}, &Place::start);
  places.insert(above,
                {mapping.start, mapping.limit(), mapping.file_offset, std::move(opened)});
}

std::optional<CodeRules::Found> CodeRules::find(const Places& places, uint64_t address) {
  auto above = std::ranges::upper_bound(places, address, {}, &Place::start);
  if (above == places.begin())
    return std::nullopt;
  const Place& place = *std::prev(above);
  if (address >= place.limit || !place.program->prepare(budget_of(*place.program)))
    return std::nullopt;
  // Addresses go through the file: the offset in the mapping, then the segment that has it.
  auto at = code_at(place.program->segments, place.file_offset + (address - place.start));
  return at ? std::optional(Found{*place.program, *at}) : std::nullopt;
}

Rule CodeRules::rule(const Places& places, uint64_t address) {
  auto found = find(places, address);
  if (!found)
    return std::nullopt;
  Program& program = found->program;
  return program.remembered(program.known, found->address, budget_of(program),
                            [&](ImageAddress at) { return program.find(at); });
}

Rule CodeRules::go_rule(const Places& places, uint64_t address) {
  auto found = find(places, address);
  // The module is set once the program was prepared by find().
  if (!found || !found->program.module)
    return std::nullopt;
  Program& program = found->program;
  return program.remembered(program.known_go, found->address, budget_of(program),
                            [&](ImageAddress at) { return program.find_go(at); });
}

void CodeRules::forget_pages() const {
  for (const auto& [image, program] : programs_)
    if (auto open = program.lock(); open && open->file)
      open->file->forget_pages();
}

std::optional<CallerFrame> CodeRules::evaluate(const Places& places, uint64_t address,
                                               MachineState& state) {
  auto found = find(places, address);
  if (!found)
    return std::nullopt;
  return found->program.evaluated(
      native_budget_, std::optional<CallerFrame>(),
      [&](const dwarf::CallFrames& frames) { return frames.evaluate(found->address, state); });
}

CallerRegister CodeRules::caller_register(const Places& places, uint64_t address,
                                          uint64_t number, uint64_t cfa, MachineState& state) {
  auto found = find(places, address);
  // Go's tables tell of no registers.
  if (!found || go_rule(places, address))
    return {};
  return found->program.evaluated(
      native_budget_, CallerRegister(), [&](const dwarf::CallFrames& frames) {
        return frames.caller_register(found->address, number, cfa, state);
      });
}

}  // namespace gosym
