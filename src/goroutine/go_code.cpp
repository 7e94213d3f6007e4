#include "goroutine/go_code.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/file_tree.h"
#include "base/text.h"
#include "elf/image.h"
#include "go/build_info.h"
#include "go/inline_tree.h"
#include "go/unwind_rule.h"
#include "record/files/file_helper.h"
#include "record/system_state.h"

namespace gosym {

namespace {

// True if a function table is worth looking for: C libraries have none, and each would be
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
std::optional<GoFile> open_go_file(const std::string& path, const UniqueFd& opened) {
  auto file = MappedFile::open(opened);
  if (!file)
    return std::nullopt;
  auto image = elf::parse((*file)->bytes());
  if (!image || !may_be_go(*image))
    return std::nullopt;
  GoFile go;
  go.path = path;
  go.file = *std::move(file);
  go.image = std::make_unique<elf::Image>(*std::move(image));
  // The bytes are a private copy: some function tables can be read only once relocated.
  auto module = go::read_module(*go.image, go.file->writable_bytes());
  if (!module || !*module)
    return std::nullopt;
  go.module = std::make_unique<go::Module>(std::move(**module));
  go.version = version_of(*go.image, *go.module);
  return go;
}

// Bias to add to addresses of the image where that part of the file is mapped; none if no code
// of it is.
std::optional<uint64_t> bias_of(const RawMapping& mapping, const elf::Image& image) {
  for (const elf::Segment& segment : image.segments) {
    bool has_code = segment.type == PT_LOAD && (segment.flags & PF_X) != 0;
    // Mappings begin at a page, segments anywhere in it.
    bool is_mapped = segment.offset < mapping.file_offset + mapping.length &&
                     mapping.file_offset < segment.offset + segment.file_size;
    // The first segment of code that this part of the file reaches into tells the bias.
    if (has_code && is_mapped)
      return mapping.start - mapping.file_offset + segment.offset - to_integer(segment.address);
  }
  return std::nullopt;
}

std::optional<uint64_t> bias_of_code(const std::vector<RawMapping>& mappings,
                                     const elf::Image& image) {
  for (const RawMapping& mapping : mappings)
    if (auto bias = bias_of(mapping, image))
      return bias;
  return std::nullopt;
}

// The ids that the core has of a file: the page with its headers is dumped as a rule. Empty: it
// has none.
elf::BuildIds ids_in(const CoreMemory& memory, const std::vector<RawMapping>& mappings) {
  for (const RawMapping& mapping : mappings) {
    // Ids are in the part of the file with its headers, which begins at offset 0.
    Bytes begin = memory.in_core(mapping.start);
    begin = begin.first(std::min<uint64_t>(begin.size(), mapping.length));
    if (auto image = elf::parse(begin); mapping.file_offset == 0 && image)
      return elf::build_ids(*image);
  }
  return {};
}

// True if a file is the one whose ids the core has; none: that cannot be told.
std::optional<bool> is_same_build(const elf::BuildIds& core, const elf::BuildIds& file) {
  bool has_gnu = !core.gnu.empty() && !file.gnu.empty();
  bool has_go = !core.go.empty() && !file.go.empty();
  if (!has_gnu && !has_go)
    return std::nullopt;
  return (!has_gnu || core.gnu == file.gnu) && (!has_go || core.go == file.go);
}

Result<UniqueFd> open_path(const std::string& path) {
  UniqueFd found = find_file(path);
  if (!found)
    return system_error("cannot be found", errno);
  return open_found(found);
}

// Mappings of a core by path.
std::map<std::string, std::vector<RawMapping>> mapped_files(const elf::CoreFile& core) {
  std::map<std::string, std::vector<RawMapping>> files;
  for (const elf::CoreMapping& mapping : core.mappings) {
    std::string path(mapping.path);
    files[path].push_back({.pid = core.pid,
                           .start = mapping.start,
                           .length = mapping.length,
                           .file_offset = mapping.file_offset,
                           .path = path});
  }
  return files;
}

// Mappings for a core that does not tell what was mapped: the segments of its program, from the
// address where that begins.
Result<std::vector<RawMapping>> mappings_of_program(const elf::CoreFile& core,
                                                    const std::string& program,
                                                    const CoreMemory& memory) {
  auto opened = open_path(program);
  if (!opened)
    return std::move(opened).error();
  auto file = MappedFile::open(*opened);
  if (!file)
    return std::move(file).error();
  auto image = elf::parse((*file)->bytes());
  if (!image)
    return std::move(image).error();
  if (image->machine != core.image.machine)
    return Error("not the file that the process ran: it is of another machine");
  std::vector<RawMapping> mappings;
  // The entry point is the one address that both the core and the file tell; 0: the core does
  // not.
  bool is_code = core.entry != 0;
  uint64_t bias = core.entry - to_integer(image->entry);
  for (const elf::Segment& segment : image->segments) {
    if (segment.type != PT_LOAD)
      continue;
    uint64_t start = to_integer(segment.address) + bias;
    // Each of its segments of code has to lie where the core has code.
    is_code = is_code && ((segment.flags & PF_X) == 0 || memory.is_executable_at(start));
    mappings.push_back({.pid = core.pid,
                        .start = start,
                        .length = segment.file_size,
                        .file_offset = segment.offset,
                        .path = program});
  }
  if (!is_code)
    return Error("not the file that the process ran: its code lies elsewhere");
  return mappings;
}

bool holds(const std::vector<RawMapping>& mappings, uint64_t address) {
  return std::ranges::any_of(mappings, [&](const RawMapping& mapping) {
    return address - mapping.start < mapping.length;
  });
}

// True if the core has the constants of a file, and they are equal; none: it leaves out what
// was only read of files, as cores of the kernel do.
std::optional<bool> has_same_constants(const CoreMemory& memory, const elf::Image& image,
                                       uint64_t bias) {
  bool is_known = false;
  for (const elf::Segment& segment : image.segments) {
    Bytes left = tail(image.file, segment.offset);
    left = left.first(std::min<uint64_t>(left.size(), segment.file_size));
    // Constants alone: data changes while the process runs.
    if (segment.type != PT_LOAD || (segment.flags & (PF_W | PF_X)) != 0 || left.empty())
      continue;
    for (uint64_t at = to_integer(segment.address) + bias; !left.empty();) {
      Bytes there = memory.in_core(at);
      size_t size = std::min(there.size(), left.size());
      if (size == 0)
        break;
      if (!std::ranges::equal(there.first(size), left.first(size)))
        return false;
      left = left.subspan(size);
      at += size;
    }
    is_known = is_known || left.empty();
  }
  return is_known ? std::optional(true) : std::nullopt;
}

// A file that a core has mapped, if it is there and the same; none if it is no Go code; else
// what is wrong. `note` gets what could not be checked.
Result<std::optional<GoFile>> open_file_of_core(const std::string& path,
                                                const CoreMemory& memory,
                                                const std::vector<RawMapping>& mappings,
                                                std::string& note) {
  auto opened = open_path(path);
  if (!opened)
    return std::move(opened).error();
  auto file = open_go_file(path, *opened);
  if (!file)
    return std::optional<GoFile>();
  auto same = is_same_build(ids_in(memory, mappings), elf::build_ids(*file->image));
  if (same == false)
    return Error("not the file that the process ran: its build id is another");
  // Constants are compared only if there are no build ids: that reads all of them.
  auto bias = same ? std::nullopt : bias_of_code(mappings, *file->image);
  if (bias)
    same = has_same_constants(memory, *file->image, *bias);
  if (same == false)
    return Error("not the file that the process ran: its constants are others");
  if (!same)
    note = "no build id tells that it is the file which the process ran: it may be another";
  // The file is used nevertheless, and the note says what is not known.
  return file;
}

}  // namespace

Result<GoCode> GoCode::open(uint32_t pid, FileHelper& helper) {
  auto maps = helper.read_maps(pid);
  // The time is only noted in the mappings, and not used here.
  auto mappings = maps ? code_mappings_in(*maps, pid, monotonic_ns())
                       : Result<std::vector<RawMapping>>(std::move(maps).error());
  if (!mappings)
    return std::move(mappings)
        .error()
        .context(fmt::format("cannot look into process {}", pid))
        .with_hint("run as its user, or with sudo")
        .with_exit_status(kUnsupported);
  GoCode code;
  std::map<FileKey, std::optional<size_t>> known;  // none: no Go code
  for (const RawMapping& mapping : *mappings) {
    // Anonymous memory has no function table of its own.
    if (mapping.file.inode == 0)
      continue;
    // A file has several mappings and is opened once.
    auto [entry, is_new] = known.try_emplace(mapping.file);
    if (is_new)
      entry->second = code.add_file(mapping.path, helper.open_to_read(mapping));
    if (entry->second)
      code.add_range(mapping, *entry->second);
  }
  std::ranges::sort(code.ranges_, {}, &Range::start);
  return code;
}

Result<GoCode> GoCode::open(const elf::CoreFile& core, const std::string& program,
                            CoreMemory& memory) {
  GoCode code;
  std::vector<std::pair<uint64_t, Bytes>> contents;
  std::map<std::string, std::vector<RawMapping>> mapped = mapped_files(core);
  if (mapped.empty() && program.empty()) {
    code.problems_.emplace_back("it does not tell which files the process had mapped");
  } else if (mapped.empty()) {
    auto mappings = mappings_of_program(core, program, memory);
    if (mappings)
      mapped[program] = *std::move(mappings);
    else
      code.add_problem(program, mappings.error().message());
  }
  for (const auto& [mapped_path, mappings] : mapped) {
    // The program is known by the entry point, whatever path the core has of it.
    bool is_program = !program.empty() && holds(mappings, core.entry);
    std::string path = is_program ? program : mapped_path;
    bool is_code = std::ranges::any_of(mappings, [&](const RawMapping& mapping) {
      return memory.is_executable_at(mapping.start);
    });
    if (!is_code)
      continue;
    std::string problem;
    auto file = open_file_of_core(path, memory, mappings, problem);
    if (!file)
      problem = file.error().message();
    if (!problem.empty())
      code.add_problem(path, problem);
    if (!file || !*file)
      continue;
    size_t index = code.files_.size();
    code.files_.push_back(**std::move(file));
    // The file is named as the process knew it.
    code.files_[index].path = mapped_path;
    for (const RawMapping& mapping : mappings) {
      if (memory.is_executable_at(mapping.start))
        code.add_range(mapping, index);
      Bytes bytes = tail(code.files_[index].file->bytes(), mapping.file_offset);
      contents.emplace_back(mapping.start,
                            bytes.first(std::min<uint64_t>(bytes.size(), mapping.length)));
    }
  }
  // Cores leave out what was only read from files: constants are taken from these.
  memory.set_files(contents);
  std::ranges::sort(code.ranges_, {}, &Range::start);
  return code;
}

std::string GoCode::doubt() const {
  return problems_.empty() ? "" : fmt::format(" that can be read: {}", problems_.front());
}

// The number of it; none if it is no Go code, as far as it can be read.
std::optional<size_t> GoCode::add_file(const std::string& path, Result<UniqueFd> opened) {
  if (!opened) {
    add_problem(path, opened.error().message());
    return std::nullopt;
  }
  auto file = open_go_file(path, *opened);
  if (!file)
    return std::nullopt;
  files_.push_back(*std::move(file));
  return files_.size() - 1;
}

void GoCode::add_problem(const std::string& path, const std::string& problem) {
  problems_.push_back(fmt::format("'{}': {}", printable(path), problem));
}

void GoCode::add_range(const RawMapping& mapping, size_t file) {
  auto bias = bias_of(mapping, *files_[file].image);
  if (!bias)
    return;
  files_[file].bias = *bias;
  ranges_.push_back({mapping.start, mapping.start + mapping.length, file});
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

std::vector<Call> GoCode::calls_at(uint64_t address) const {
  std::vector<Call> calls;
  if (const GoFile* file = file_at(address))
    go::find_calls(*file->module, ImageAddress{address - file->bias}, calls);
  return calls;
}

}  // namespace gosym
