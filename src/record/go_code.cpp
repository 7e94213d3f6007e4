#include "record/go_code.h"

#include <sys/stat.h>
#include <tsl/robin_map.h>

#include "base/cut_files.h"
#include "base/mapped_file.h"
#include "go/module.h"
#include "go/unwind_rule.h"
#include "profile/replay.h"
#include "record/image_catalog.h"

namespace gosym {

namespace {

// Of a program at work some thousands of addresses are sampled. A recorder may run for days.
constexpr size_t kMaxRules = 1 << 16;

// Twice the size of the largest programs. A hostile file may have tables as large as itself.
constexpr int64_t kMaxFileSize = 512 << 20;

// To find a rule all rows of a table up to the address may have to be read, a row a byte at
// most. The largest functions of real programs, which set up tables, have some 100 KB.
constexpr uint64_t kMaxCodeBefore = 1 << 20;

// A program maps its code once; who maps it over and over is not followed.
constexpr size_t kMaxPlaces = 64;

bool is_too_large(const UniqueFd& file) {
  struct stat status {};
  return fstat(file.get(), &status) != 0 || status.st_size > kMaxFileSize;
}

}  // namespace

struct GoCode::Program {
  std::unique_ptr<MappedFile> file;
  elf::Image image;
  std::optional<go::Module> module;                           // none: it cannot be used
  RecordedImage recorded;                                     // its segments only
  tsl::robin_map<uint64_t, std::optional<UnwindRule>> known;  // by address of the image

  void open(const UniqueFd& fd) {
    if (is_too_large(fd))
      return;
    auto mapped = MappedFile::open(fd);
    if (!mapped)
      return;
    auto parsed = elf::parse((*mapped)->bytes());
    if (!parsed)
      return;
    file = *std::move(mapped);
    image = *std::move(parsed);
    module = go::read_module_of_section(image);
    recorded.segments = load_segments(image);
  }

  std::optional<UnwindRule> find(ImageAddress address) const {
    auto pc = module->pc_of(address);
    auto function = pc ? module->table.find(*pc) : std::nullopt;
    if (!function || *pc - module->table.entry(*function) > kMaxCodeBefore)
      return std::nullopt;
    return go::unwind_rule(*module, address);
  }

  // Does what looks at the file. If some of it was gone, so is all that is known.
  template <class Look>
  bool look(TimeBudget& budget, Look look_at_file) {
    uint64_t cut_before = cut_page_count();
    budget.spend(look_at_file);
    if (cut_page_count() == cut_before)
      return true;
    module.reset();
    return false;
  }

  std::optional<UnwindRule> rule(ImageAddress address, TimeBudget& budget) {
    if (!module)
      return std::nullopt;
    if (auto found = known.find(to_integer(address)); found != known.end())
      return found->second;
    std::optional<UnwindRule> rule;
    if (!budget.has_left() || !look(budget, [&] { rule = find(address); }))
      return std::nullopt;
    if (known.size() == kMaxRules)
      known.clear();
    known.emplace(to_integer(address), rule);
    return rule;
  }
};

GoCode::GoCode() = default;
GoCode::~GoCode() = default;

std::shared_ptr<GoCode::Program> GoCode::program(ImageId image, const UniqueFd& file) {
  if (auto open = programs_[image].lock())
    return open;
  std::erase_if(programs_, [](const auto& entry) { return entry.second.expired(); });
  auto opened = std::make_shared<Program>();
  if (!budget_.has_left() || !opened->look(budget_, [&] { opened->open(file); }))
    return nullptr;
  programs_[image] = opened;
  return opened;
}

void GoCode::map(const MapEvent& mapping, bool is_go, const UniqueFd& file) {
  auto known = places_.find(mapping.pid);
  if (known != places_.end())
    std::erase_if(known->second, [&](const Place& place) {
      return place.mapping.start < mapping.limit() && mapping.start < place.mapping.limit;
    });
  auto opened = is_go && file ? program(mapping.image, file) : nullptr;
  if (!opened || places_[mapping.pid].size() == kMaxPlaces)
    return;
  places_[mapping.pid].push_back(
      {{0, mapping.start, mapping.limit(), mapping.file_offset, 0}, std::move(opened)});
}

void GoCode::forget(uint32_t pid) {
  places_.erase(pid);
}

std::optional<UnwindRule> GoCode::rule(uint32_t pid, uint64_t address) {
  auto known = places_.find(pid);
  if (known == places_.end())
    return std::nullopt;
  for (const auto& [mapping, program] : known->second) {
    if (address < mapping.start || address >= mapping.limit)
      continue;
    auto at = to_image_address(mapping, program->recorded, RuntimeAddress{address});
    return at ? program->rule(*at, budget_) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace gosym
