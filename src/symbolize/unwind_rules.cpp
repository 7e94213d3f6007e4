#include "symbolize/unwind_rules.h"

#include <algorithm>
#include <array>

#include "elf/calls.h"
#include "elf/return_path.h"
#include "go/unwind_rule.h"
#include "symbolize/symbol_cache.h"

namespace gosym {

namespace {

// Functions of C libraries that begin a stack, where they have no unwind tables.
constexpr auto kRoots = std::to_array<std::string_view>(
    {"_FPC_proc_start", "__clone", "__libc_start_main", "__start_context", "_dlstart", "_start",
     "_start_c", "clone", "libc_start_main_stage2"});

// They are called with what the function of a program or thread returned.
constexpr auto kExits =
    std::to_array<std::string_view>({"__pthread_exit", "exit", "pthread_exit", "thrd_exit"});

}  // namespace

void UnwoundImage::read(elf::Image parsed) {
  image = std::move(parsed);
  if (file)
    if (auto module = go::read_module(image, file->writable_bytes()); module)
      go_module = *std::move(module);
  call_frames = dwarf::CallFrames::open(image);
}

std::string_view UnwoundImage::name_at(ImageAddress address) {
  const elf::Section* section = image.find_section(SHT_SYMTAB);
  if (!section)
    section = image.find_section(SHT_DYNSYM);
  if (!section)
    return {};
  if (!symbols)
    symbols = elf::SymbolTable::read(image, *section);
  auto symbol = symbols->find(address);
  if (!symbol)
    symbol = symbols->guess(address);
  return symbol ? symbol->name : std::string_view();
}

bool UnwoundImage::is_root(ImageAddress address) {
  constexpr uint64_t kMaxStartSize = 80;  // that of Free Pascal
  return to_integer(address) - to_integer(image.entry) < kMaxStartSize ||
         std::ranges::count(kRoots, name_at(address)) > 0;
}

bool UnwoundImage::is_kickoff(ImageAddress address) {
  return image.find_section(".go_export") && name_at(address) == "runtime.kickoff";
}

bool UnwoundImage::is_root_returned_to(ImageAddress address) {
  if (elf::is_thread_end(image, address))
    return true;
  auto call = elf::call_with_result(image, address);
  return call && (call->is_last || std::ranges::count(kExits, name_at(call->target)) > 0);
}

bool UnwoundImage::is_of_go(ImageAddress address) const {
  auto pc = go_module ? go_module->pc_of(address) : std::nullopt;
  return pc && go_module->table.find(*pc);
}

UnwindRules::UnwindRules(std::string_view vdso, const DebugFileOptions& files,
                         const HeldFiles& held, SymbolCache* cache)
    : vdso_(vdso), files_(files), held_(held), cache_(cache) {}

UnwindRules::~UnwindRules() = default;

UnwoundImage& UnwindRules::open(const Location& location) {
  uint32_t index = profile_->mappings[to_index(location.mapping)].image;
  std::shared_ptr<UnwoundImage>& opened = images_[index];
  if (!opened)
    opened = open_image(profile_->images[index]);
  return *opened;
}

std::shared_ptr<UnwoundImage> UnwindRules::open_image(const ProfileImage& image) {
  bool is_file = image.kind == ProfileImage::Kind::kFile;
  bool is_held = is_file && held_.contains(image.file.id);
  if (is_file && cache_)
    if (auto known = cache_->unwound.find(image.file.id); known && known->is_held == is_held)
      return known;
  auto opened = std::make_shared<UnwoundImage>();
  opened->is_held = is_held;
  if (image.kind == ProfileImage::Kind::kVdso) {
    if (auto parsed = elf::parse(as_bytes(vdso_)))
      opened->read(*std::move(parsed));
  } else if (is_file) {
    if (auto binary = open_recorded_binary(image.file, files_, held_); binary.file) {
      opened->file = std::move(binary.file);
      opened->read(std::move(binary.image));
    }
    if (cache_)
      cache_->unwound.keep(image.file.id, opened);
  }
  return opened;
}

namespace {

// `location` is of an image.
ImageAddress call_of(const Location& location) {
  return ImageAddress{location.call_of(to_integer(*location.image_address))};
}

}  // namespace

std::optional<UnwindRule> UnwindRules::find(const Location& location) {
  if (!location.image_address)
    return std::nullopt;
  UnwoundImage& image = open(location);
  if (!location.is_return && elf::is_signal_return(image.image, *location.image_address))
    return kSignalReturn;
  if (!location.is_return && elf::is_context_start(image.image, *location.image_address))
    return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone};
  ImageAddress address = call_of(location);
  if (image.is_kickoff(address))
    return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone};
  // Go's linker writes no .eh_frame, and the C linker one that leaves Go's code out.
  auto rule = image.go_module ? go::unwind_rule(*image.go_module, address) : std::nullopt;
  if (!rule && image.call_frames)
    rule = image.call_frames->find(address);
  if (!rule)
    rule = elf::rule_at_jump(image.image, address);
  if (rule || image.is_of_go(address))
    return rule;
  bool is_root = image.is_root(address) ||
                 (location.is_return && image.is_root_returned_to(*location.image_address));
  return is_root ? UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone}
                 : elf::rule_by_code(image.image, *location.image_address);
}

std::optional<CallerFrame> UnwindRules::evaluate(const Location& location,
                                                 MachineState& state) {
  auto frames = location.image_address ? open(location).call_frames.get() : nullptr;
  return frames ? frames->evaluate(call_of(location), state) : std::nullopt;
}

CallerRegister UnwindRules::caller_register(const Location& location, uint64_t number,
                                            uint64_t cfa, MachineState& state) {
  if (!location.image_address)
    return {};
  const UnwoundImage& image = open(location);
  bool is_go = image.go_module && go::unwind_rule(*image.go_module, call_of(location));
  if (is_go || !image.call_frames)
    return {};
  return image.call_frames->caller_register(call_of(location), number, cfa, state);
}

bool UnwindRules::is_signal_return(const Location& location) {
  return location.image_address &&
         elf::is_signal_return(open(location).image, *location.image_address);
}

bool UnwindRules::is_context_start(const Location& location) {
  return location.image_address &&
         elf::is_context_start(open(location).image, *location.image_address);
}

bool UnwindRules::is_return_address(const Location& location) {
  if (!location.image_address)
    return true;
  const UnwoundImage& image = open(location);
  return image.image.file.empty() ||
         elf::may_follow_call(image.image, *location.image_address) ||
         (image.go_module &&
          go::is_call_of_deferreturn(*image.go_module, *location.image_address));
}

}  // namespace gosym
