#include "elf/calls.h"

#include <elf.h>

#include <algorithm>
#include <array>

// Each question compares the bytes of code at an address with those of the instructions that it
// looks for. loaded_from() gives the bytes up to the end of their segment, and none where the
// file has no code: these are like nothing. Walks of stacks ask, most of it where no unwind
// table answers, and the symbol table asks where a label ends.

namespace gosym::elf {

namespace {

// call rel32 (e8); or opcode ff /2, with up to five bytes of operand. A prefix makes no
// difference. `code` has seven bytes, as may_follow_call() takes them.
bool ends_with_x86_call(std::string_view code) {
  auto byte = [&](size_t from_end) {
    return static_cast<uint8_t>(code[code.size() - from_end]);
  };
  if (byte(5) == 0xe8)
    return true;
  // ModRM has 2 in its middle bits for an indirect call, and the length of the instruction
  // follows from its addressing mode: none has 5 bytes. The bytes are read backwards, from each
  // start that a call of this kind could have: other code may look like one, a call never looks
  // like none.
  for (size_t length : {2, 3, 4, 6, 7})
    if (byte(length) == 0xff && (byte(length - 1) & 0x38) == 0x10)
      return true;
  return false;
}

// Instructions of arm64 are little-endian in big-endian programs, too.
bool ends_with_arm64_call(Bytes code) {
  uint32_t instruction = load<uint32_t>(code, 0).value_or(0);
  return (instruction & 0xfc000000) == 0x94000000 ||  // bl
         (instruction & 0xfffffc1f) == 0xd63f0000;    // blr
}

}  // namespace

bool may_follow_call(const Image& image, ImageAddress address) {
  size_t length = image.machine == EM_AARCH64 ? 4 : 7;  // of x86 the longest, without prefixes
  if (image.machine != EM_X86_64 && image.machine != EM_386 && image.machine != EM_AARCH64)
    return true;
  // An address below the length wraps around, to where nothing is loaded.
  auto code = image.loaded_from(ImageAddress{to_integer(address) - length});
  if (!code || code->size() < length)
    return true;
  return image.machine == EM_AARCH64 ? ends_with_arm64_call(*code)
                                     : ends_with_x86_call(as_text(code->first(length)));
}

bool is_context_start(const Image& image, ImageAddress address) {
  auto loaded = image.machine == EM_X86_64 ? image.loaded_from(address) : std::nullopt;
  std::string_view code = as_text(loaded.value_or(Bytes{}));
  // mov %rbx, %rsp; mov (%rsp), %rdi, or pop %rdi; test %rdi, %rdi
  if (code.starts_with("\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff") ||
      code.starts_with("\x48\x89\xdc\x5f\x48\x85\xff"))
    return true;
  // xor %rdi, %rdi; call _exit; hlt
  return code.starts_with("\x48\x31\xff\xe8") && code.size() > 8 && code[8] == '\xf4';
}

namespace {

// True at the first instruction of: mov x8, #139; svc #0
// rt_sigreturn has number 139 there.
bool is_signal_return_arm64(const Image& image, ImageAddress address) {
  auto loaded = image.loaded_from(address);
  Bytes code = loaded.value_or(Bytes{});
  return load<uint32_t>(code, 0) == 0xd2801168 && load<uint32_t>(code, 4) == 0xd4000001;
}

}  // namespace

// The address may be that of the first instruction, of the second, or of what lies behind them:
// there the kernel has a thread that is in the call.
bool is_signal_return(const Image& image, ImageAddress address) {
  if (image.machine == EM_AARCH64)
    return std::ranges::any_of(std::array<uint64_t, 3>{0, 4, 8}, [&](uint64_t passed) {
      return is_signal_return_arm64(image, ImageAddress{to_integer(address) - passed});
    });
  if (image.machine != EM_X86_64)
    return false;
  // mov $15, %rax or %eax; syscall
  // rt_sigreturn has number 15.
  for (std::string_view load :
       {std::string_view("\x48\xc7\xc0\x0f\0\0\0", 7), std::string_view("\xb8\x0f\0\0\0", 5)})
    for (uint64_t passed : {uint64_t{0}, uint64_t{load.size()}, uint64_t{load.size() + 2}}) {
      auto loaded = image.loaded_from(ImageAddress{to_integer(address) - passed});
      std::string_view code = as_text(loaded.value_or(Bytes{}));
      if (code.starts_with(load) && code.substr(load.size()).starts_with("\x0f\x05"))
        return true;
    }
  return false;
}

std::optional<ResultCall> call_with_result(const Image& image, ImageAddress address) {
  auto loaded = image.machine == EM_X86_64 ? image.loaded_from(address) : std::nullopt;
  Bytes code = loaded.value_or(Bytes{});
  // mov %eax, %edi, or %rax, %rdi; call
  for (std::string_view begin : {"\x89\xc7\xe8", "\x48\x89\xc7\xe8"}) {
    auto distance = load<uint32_t>(code, begin.size());
    if (!as_text(code).starts_with(begin) || !distance)
      continue;
    // The distance of a call counts from the byte behind it.
    uint64_t behind = to_integer(address) + begin.size() + 4;
    auto extended = static_cast<uint64_t>(int64_t{static_cast<int32_t>(*distance)});
    return ResultCall{ImageAddress{behind + extended}, is_padding(image, ImageAddress{behind})};
  }
  return std::nullopt;
}

bool is_thread_end(const Image& image, ImageAddress address) {
  auto loaded = image.machine == EM_X86_64 ? image.loaded_from(address) : std::nullopt;
  // System call 60 is exit, of the thread alone.
  // mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall
  return loaded && as_text(*loaded).starts_with("\x89\xc7\x31\xc0\xb0\x3c\x0f\x05");
}

std::optional<UnwindRule> rule_at_jump(const Image& image, ImageAddress address) {
  auto loaded = image.machine == EM_X86_64 ? image.loaded_from(address) : std::nullopt;
  std::string_view code = as_text(loaded.value_or(Bytes{}));
  for (std::string_view prefix : {"\xf3\x0f\x1e\xfa", "\xf2"})  // endbr64, bnd
    if (code.starts_with(prefix))
      code.remove_prefix(prefix.size());
  if (!code.starts_with("\xff\x25"))
    return std::nullopt;
  return UnwindRule{.cfa = {Anchor::kStackPointer, 8}, .return_address = {Anchor::kCfa, -8}};
}

namespace {

using namespace std::string_view_literals;

constexpr uint64_t kAlignment = 16;

// Filling that assemblers and linkers put into gaps, the longest first: forms of nop, and int3.
constexpr auto kPadding = std::to_array<std::string_view>({
    "\x2e\x0f\x1f\x84\0\0\0\0\0"sv,
    "\x0f\x1f\x84\0\0\0\0\0"sv,
    "\x0f\x1f\x80\0\0\0\0"sv,
    "\x0f\x1f\x44\0\0"sv,
    "\x0f\x1f\x40\0"sv,
    "\x0f\x1f\0"sv,
    "\x66"sv,  // before any of these
    "\x90"sv,
    "\xcc"sv,
});

bool is_all_padding(std::string_view bytes) {
  while (!bytes.empty()) {
    auto piece = std::ranges::find_if(
        kPadding, [&](std::string_view padding) { return bytes.starts_with(padding); });
    if (piece == kPadding.end())
      return false;
    bytes.remove_prefix(piece->size());
  }
  return true;
}

// True if the code may end behind a return or a direct jump.
bool ends_function(std::string_view code) {
  return code.ends_with('\xc3') || (code.size() >= 2 && code[code.size() - 2] == '\xeb') ||
         (code.size() >= 5 && code[code.size() - 5] == '\xe9');
}

// True if padding lies before the end of the code, which is aligned. A gap is shorter than the
// alignment, so no more than 15 bytes are tried.
bool ends_in_padding(std::string_view code) {
  for (size_t size = 1; size < kAlignment && size < code.size(); size++)
    if (is_all_padding(code.substr(code.size() - size)) &&
        ends_function(code.substr(0, code.size() - size)))
      return true;
  return false;
}

bool is_of_x86(const Image& image) {
  return image.machine == EM_X86_64 || image.machine == EM_386;
}

}  // namespace

uint64_t size_up_to_padding(const Image& image, ImageAddress address, uint64_t size) {
  bool is_x86 = is_of_x86(image);
  auto loaded = image.loaded_from(address);
  if (!is_x86 || !loaded)
    return size;
  std::string_view code = as_text(loaded->first(std::min<uint64_t>(size, loaded->size())));
  uint64_t first = kAlignment - to_integer(address) % kAlignment;
  // Functions begin at multiples of kAlignment, so only there can padding end one.
  for (uint64_t end = first; end <= code.size(); end += kAlignment)
    if (ends_in_padding(code.substr(0, end)))
      return end;
  return size;
}

bool is_padding(const Image& image, ImageAddress address) {
  // The bytes up to the next multiple.
  uint64_t size = -to_integer(address) % kAlignment;
  auto loaded = is_of_x86(image) ? image.loaded_from(address) : std::nullopt;
  auto code = loaded ? slice(*loaded, 0, size) : std::nullopt;
  return code && size != 0 && is_all_padding(as_text(*code));
}

}  // namespace gosym::elf
