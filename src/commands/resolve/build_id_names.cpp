#include "commands/resolve/build_id_names.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "elf/image.h"
#include "symbolize/symbolizer.h"

namespace gosym {

namespace {

// Shorter ones are addresses; no linker makes ids of less than 8 bytes.
constexpr size_t kFewestDigits = 16;
constexpr size_t kLongestId = 256;

bool is_hex_digits(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// Four parts of hashes in the alphabet for URLs.
bool is_go_id(std::string_view text) {
  constexpr std::string_view kInIds =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/";
  return std::ranges::count(text, '/') == 3 && !text.starts_with('/') &&
         text.find_first_not_of(kInIds) == text.npos;
}

bool is_build_id(std::string_view text) {
  if (text.size() < kFewestDigits || text.size() > kLongestId)
    return false;
  return is_go_id(text) || (is_hex_digits(text) && text.size() % 2 == 0);
}

std::string lower_case(std::string_view digits) {
  std::string text(digits);
  for (char& c : text)
    if (c >= 'A' && c <= 'F')
      c = static_cast<char>(c - 'A' + 'a');
  return text;
}

CodePlace place_of(std::string_view id, uint64_t offset) {
  return {is_hex_digits(id) ? lower_case(id) : std::string(id), offset};
}

// The bytes that stores know the id by.
std::string bytes_of(const std::string& id) {
  // Hexadecimal digits are a GNU build id as they are; a Go build id is hashed to the id of a
  // store.
  if (!is_hex_digits(id))
    return elf::store_id({.gnu = {}, .go = id, .package = {}});
  std::string bytes;
  for (size_t i = 0; i + 1 < id.size(); i += 2)
    bytes += static_cast<char>(parse_hex(id.substr(i, 2)).value_or(0));
  return bytes;
}

std::string why_nameless(const ImageSymbols* symbols, std::optional<ImageAddress> address) {
  if (!symbols)
    return "no file of this build id";
  if (!address)
    return symbols->has_offsets() ? "no code at this offset" : "offsets are not known";
  return symbols->has_code_names() ? "no symbol there" : "no symbols in this file";
}

}  // namespace

std::optional<CodePlace> parse_code_place(std::string_view word) {
  size_t plus = word.rfind('+');
  if (plus == word.npos || !is_build_id(word.substr(0, plus)) ||
      !word.substr(plus + 1).starts_with("0x"))
    return std::nullopt;
  auto offset = parse_hex(word.substr(plus + 1));
  return offset ? std::optional(place_of(word.substr(0, plus), *offset)) : std::nullopt;
}

std::optional<CodePlace> parse_code_place_line(std::string_view line) {
  // Two forms: "BUILDID+0xOFFSET", and the two as words of their own.
  std::string_view id = take_word(line);
  std::string_view number = take_word(line);
  if (!take_word(line).empty())
    return std::nullopt;
  if (number.empty())
    return parse_code_place(id);
  auto offset = parse_hex(number);
  return offset && is_build_id(id) ? std::optional(place_of(id, *offset)) : std::nullopt;
}

void BuildIdNames::add(std::shared_ptr<ImageSymbols> symbols) {
  elf::BuildIds ids = elf::build_ids(symbols->image());
  // A binary answers to its GNU id, its Go id, and the one that stores use; the first of two
  // binaries with one id is taken.
  for (const std::string& id : {hex(ids.gnu), ids.go, hex(symbols->id())})
    if (!id.empty())
      known_.try_emplace(id, symbols);
}

const ImageSymbols* BuildIdNames::find(const std::string& build_id) {
  // Text that is no id may look like one: beyond so many none is looked for any more.
  constexpr size_t kMaxIds = 10'000;
  if (known_.size() >= kMaxIds && !known_.contains(build_id))
    return nullptr;
  // An id without a file is kept as null, so that it is looked for, and warned of, once.
  auto [known, is_new] = known_.try_emplace(build_id);
  if (!is_new)
    return known->second.get();
  auto opened = open_by_id(bytes_of(build_id), build_id, files_);
  if (!opened || !*opened) {
    warn_(build_id, opened ? "no file of this build id" : opened.error().message());
    return nullptr;
  }
  known->second = *std::move(opened);
  if (const std::string& problem = known->second->problem(); !problem.empty())
    warn_(build_id, problem);
  if (!known->second->has_offsets())
    warn_(build_id, "what has its names does not tell where in the file its code lies");
  return known->second.get();
}

void BuildIdNames::ask(std::span<const CodePlace> places,
                       const std::function<void(Answer&)>& tell) {
  struct Asked {
    const ImageSymbols* symbols = nullptr;
    std::optional<ImageAddress> address{};
    std::optional<FrameSource> source{};
    size_t first_call = 0;
    size_t end_call = 0;
  };
  // Files are opened in the order of the questions, so that warnings have it as well.
  std::vector<Asked> asked;
  std::vector<size_t> order;
  for (const CodePlace& place : places) {
    const ImageSymbols* symbols = find(place.build_id);
    asked.push_back({symbols, symbols ? symbols->code_at_offset(place.offset) : std::nullopt});
    order.push_back(order.size());
  }
  // File by file and by address, so that each table is walked once.
  std::ranges::sort(order, {}, [&](size_t i) {
    return std::tuple(asked[i].symbols, asked[i].address.value_or(ImageAddress{}), i);
  });
  std::vector<Call> calls;
  for (size_t i : order) {
    Asked& one = asked[i];
    one.first_call = calls.size();
    if (one.address)
      one.source = one.symbols->find(*one.address, calls);
    one.end_call = calls.size();
  }
  Answer answer;
  for (size_t i = 0; i < places.size(); i++) {
    const Asked& one = asked[i];
    answer.build_id = places[i].build_id;
    answer.offset = places[i].offset;
    answer.image_address = one.address;
    answer.source = one.source.value_or(FrameSource{});
    answer.calls.assign(calls.begin() + static_cast<ptrdiff_t>(one.first_call),
                        calls.begin() + static_cast<ptrdiff_t>(one.end_call));
    answer.reason = one.source ? "" : why_nameless(one.symbols, one.address);
    tell(answer);
  }
}

}  // namespace gosym
