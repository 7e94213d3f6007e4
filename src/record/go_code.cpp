#include "record/go_code.h"

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

}  // namespace

struct GoCode::Program {
  std::unique_ptr<MappedFile> file;
  elf::Image image;
  std::optional<go::Module> module;
  RecordedImage recorded;                                     // its segments only
  tsl::robin_map<uint64_t, std::optional<UnwindRule>> known;  // by address of the image

  // A table that no section tells of would have to be looked for in the whole file.
  static std::shared_ptr<Program> open(const UniqueFd& fd) {
    auto program = std::make_shared<Program>();
    auto file = MappedFile::open(fd);
    auto image = file ? elf::parse((*file)->bytes()) : Result<elf::Image>(Error(""));
    if (!image || !go::find_table_section(*image))
      return nullptr;
    program->file = *std::move(file);
    program->image = *std::move(image);
    auto module = go::read_module(program->image, program->file->writable_bytes());
    if (!module || !*module)
      return nullptr;
    program->module = *std::move(module);
    program->recorded.segments = load_segments(program->image);
    return program;
  }

  std::optional<UnwindRule> rule(ImageAddress address) {
    if (known.size() == kMaxRules)
      known.clear();
    auto [slot, is_new] = known.try_emplace(to_integer(address));
    if (is_new)
      slot.value() = go::unwind_rule(*module, address);
    return slot->second;
  }
};

GoCode::GoCode() = default;
GoCode::~GoCode() = default;

std::shared_ptr<GoCode::Program> GoCode::program(ImageId image, const UniqueFd& file) {
  if (auto open = programs_[image].lock())
    return open;
  std::erase_if(programs_, [](const auto& entry) { return entry.second.expired(); });
  auto opened = Program::open(file);
  if (opened)
    programs_[image] = opened;
  return opened;
}

void GoCode::map(const MapEvent& mapping, bool is_go, const UniqueFd& file) {
  auto known = places_.find(mapping.pid);
  if (known != places_.end())
    std::erase_if(known->second, [&](const Place& place) {
      return place.mapping.start < mapping.limit() && mapping.start < place.mapping.limit;
    });
  if (auto opened = is_go && file ? program(mapping.image, file) : nullptr)
    places_[mapping.pid].push_back(
        {{0, mapping.start, mapping.limit(), mapping.file_offset, 0}, std::move(opened)});
}

void GoCode::forget(uint32_t pid) {
  places_.erase(pid);
}

std::optional<UnwindRule> GoCode::rule(uint32_t pid, uint64_t address) {
  auto known = places_.find(pid);
  if (known == places_.end() || has_cut_file())
    return std::nullopt;
  for (const auto& [mapping, program] : known->second) {
    if (address < mapping.start || address >= mapping.limit)
      continue;
    auto at = to_image_address(mapping, program->recorded, RuntimeAddress{address});
    return at ? program->rule(*at) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace gosym
