#include "go/goroutine_pointer.h"

namespace gosym::go {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kStoreToThread = "\x64\x48\xc7"sv;
constexpr std::string_view kToOffset = "\x04\x25"sv;
constexpr std::string_view kToRegister = "\x03\x23\x01\0\0"sv;
constexpr std::string_view kSetRegister = "\x48\xc7\xc3"sv;
constexpr std::string_view kLoadRegister = "\x48\x8b\x1d"sv;
constexpr uint32_t kStored = 0x123;
constexpr size_t kBefore = 7;  // bytes of the instruction that sets the register

int32_t signed_at(Bytes code, size_t offset) {
  return static_cast<int32_t>(load<uint32_t>(code, offset).value_or(0));
}

// Reads what may be the store at `at`, where kStoreToThread is.
std::optional<GoroutinePointer> read_store(Bytes code, size_t at, ImageAddress address) {
  std::string_view text = as_text(code);
  std::string_view operand = text.substr(at + kStoreToThread.size());
  if (operand.starts_with(kToOffset) && load<uint32_t>(code, at + 9) == kStored)
    return GoroutinePointer{signed_at(code, at + 5), std::nullopt};
  if (!operand.starts_with(kToRegister) || at < kBefore)
    return std::nullopt;
  std::string_view before = text.substr(at - kBefore, kBefore);
  int32_t value = signed_at(code, at - 4);
  if (before.starts_with(kSetRegister))
    return GoroutinePointer{value, std::nullopt};
  if (before.starts_with(kLoadRegister))
    return GoroutinePointer{
        0, ImageAddress{to_integer(address) + at + static_cast<uint64_t>(int64_t{value})}};
  return std::nullopt;
}

}  // namespace

std::optional<GoroutinePointer> find_goroutine_pointer(Bytes code, ImageAddress address) {
  std::string_view text = as_text(code);
  for (size_t at = text.find(kStoreToThread); at != text.npos;
       at = text.find(kStoreToThread, at + 1))
    if (auto found = read_store(code, at, address))
      return found;
  return std::nullopt;
}

}  // namespace gosym::go
