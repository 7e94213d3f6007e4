#include "goroutine/go_code.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/exit_status.h"
#include "go/build_info.h"
#include "go/unwind_rule.h"
#include "record/image_file.h"
#include "record/snapshot.h"

namespace gosym {

namespace {

// Whether to look for a function table in it: not in libraries of C, of which each would be
// searched from begin to end.
bool may_be_go(const elf::Image& image) {
  return image.sections.empty() || go::find_table_section(image) ||
         image.find_section(".go.buildinfo");
}

std::string version_of(const elf::Image& image, const go::Module& module) {
  if (auto info = go::read_build_info(image))
    return std::string(info->go_version);
  return std::string(go::find_runtime_version(image, module.table).value_or(""));
}

// None for what is no Go code.
std::optional<GoFile> open_go_file(const RawMapping& mapping) {
  auto found = open_mapped_file(mapping);
  if (!found)
    return std::nullopt;
  auto file = MappedFile::open(*found);
  if (!file)
    return std::nullopt;
  auto image = elf::parse((*file)->bytes());
  if (!image || !may_be_go(*image))
    return std::nullopt;
  GoFile go;
  go.path = mapping.path;
  go.file = *std::move(file);
  go.image = std::make_unique<elf::Image>(*std::move(image));
  auto module = go::read_module(*go.image, go.file->writable_bytes());
  if (!module || !*module)
    return std::nullopt;
  go.module = std::make_unique<go::Module>(std::move(**module));
  go.version = version_of(*go.image, *go.module);
  return go;
}

// What is added to addresses of the image where that part of the file is mapped; none if no
// code of it is.
std::optional<uint64_t> bias_of(const RawMapping& mapping, const elf::Image& image) {
  for (const elf::Segment& segment : image.segments) {
    bool has_code = segment.type == PT_LOAD && (segment.flags & PF_X) != 0;
    // Mappings begin at a page, segments anywhere in it.
    bool is_mapped = segment.offset < mapping.file_offset + mapping.length &&
                     mapping.file_offset < segment.offset + segment.file_size;
    if (has_code && is_mapped)
      return mapping.start - mapping.file_offset + segment.offset - to_integer(segment.address);
  }
  return std::nullopt;
}

}  // namespace

Result<GoCode> GoCode::open(uint32_t pid) {
  auto mappings = code_mappings_of(pid, monotonic_ns());
  if (!mappings)
    return std::move(mappings)
        .error()
        .context(fmt::format("cannot look into process {}", pid))
        .with_hint("run as its user, or with sudo")
        .with_exit_status(kUnsupported);
  GoCode code;
  std::map<FileKey, std::optional<size_t>> known;  // none: no Go code
  for (const RawMapping& mapping : *mappings) {
    if (mapping.file.inode == 0)
      continue;
    auto [entry, is_new] = known.try_emplace(mapping.file);
    if (is_new)
      if (auto file = open_go_file(mapping)) {
        entry->second = code.files_.size();
        code.files_.push_back(*std::move(file));
      }
    if (!entry->second)
      continue;
    GoFile& file = code.files_[*entry->second];
    auto bias = bias_of(mapping, *file.image);
    if (!bias)
      continue;
    file.bias = *bias;
    code.ranges_.push_back({mapping.start, mapping.start + mapping.length, *entry->second});
  }
  std::ranges::sort(code.ranges_, {}, &Range::start);
  return code;
}

const GoFile* GoCode::file_at(uint64_t address) const {
  auto next = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
  if (next == ranges_.begin() || address >= std::prev(next)->limit)
    return nullptr;
  return &files_[std::prev(next)->file];
}

std::optional<UnwindRule> GoCode::find_rule(uint64_t address) const {
  const GoFile* file = file_at(address);
  return file ? go::unwind_rule(*file->module, ImageAddress{address - file->bias})
              : std::nullopt;
}

bool GoCode::is_entry(uint64_t address) const {
  const GoFile* file = file_at(address);
  auto pc = file ? file->module->pc_of(ImageAddress{address - file->bias}) : std::nullopt;
  auto index = pc ? file->module->table.find(*pc) : std::nullopt;
  return index && file->module->table.entry(*index) == *pc;
}

}  // namespace gosym
