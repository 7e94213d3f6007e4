#include <algorithm>

#include "base/print.h"
#include "base/text.h"
#include "commands/inspect/views.h"
#include "dwarf/call_frames.h"
#include "output/json.h"
#include "symbolize/find_functions.h"
#include "symbolize/names.h"

namespace gosym {

namespace {

// No compiler writes functions as large; a symbol may say anything.
constexpr uint64_t kMostCode = 1 << 20;

// The line that code came from, and the call that it is part of.
struct LineText {
  std::string_view file;
  uint32_t line = 0;
  std::string inlined;  // the function whose call was inlined there; empty: none was

  bool operator==(const LineText&) const = default;
};

// Code that has one answer.
template <class Value>
struct CodeRow {
  uint64_t begin = 0;
  uint64_t end = 0;
  Value value;
};

// Rows for all values that may differ at each address of a function; none is left out.
template <class Value, class Find>
std::vector<CodeRow<Value>> rows_of(const FunctionRange& function, Find find) {
  std::vector<CodeRow<Value>> rows;
  uint64_t begin = to_integer(function.address);
  uint64_t end = begin + std::min(function.size, kMostCode);
  for (uint64_t address = begin; address < end; address++) {
    std::optional<Value> value = find(ImageAddress{address});
    if (!value)
      continue;
    if (!rows.empty() && rows.back().end == address && rows.back().value == *value)
      rows.back().end++;
    else
      rows.push_back({address, address + 1, *std::move(value)});
  }
  return rows;
}

std::vector<CodeRow<LineText>> lines_of(const ImageSymbols& symbols,
                                        const FunctionRange& function) {
  std::vector<Call> calls;
  return rows_of<LineText>(function, [&](ImageAddress address) -> std::optional<LineText> {
    calls.clear();
    auto source = symbols.find(address, calls);
    if (!source || calls.front().line == 0)
      return std::nullopt;
    const Call& call = calls.front();
    return LineText{call.file, call.line,
                    call.is_inlined ? display_name(call.function, *source, NameForm::kShort)
                                    : std::string()};
  });
}

std::vector<CodeRow<UnwindRule>> frames_of(const ImageSymbols& symbols,
                                           const FunctionRange& function) {
  auto frames = dwarf::CallFrames::open(symbols.image());
  if (!frames)
    return {};
  return rows_of<UnwindRule>(function,
                             [&](ImageAddress address) { return frames->find(address); });
}

// "sp+8"
std::string text_of_place(const StackPlace& place) {
  std::string_view anchor = place.anchor == Anchor::kStackPointer   ? "sp"
                            : place.anchor == Anchor::kFramePointer ? "fp"
                                                                    : "cfa";
  return place.offset == 0 ? std::string(anchor) : fmt::format("{}{:+}", anchor, place.offset);
}

// Places of the caller's values, by this function's rule.
struct RuleText {
  std::string cfa;
  std::string return_address;
  std::string frame_pointer;
};

RuleText text_of_rule(const UnwindRule& rule) {
  using Return = UnwindRule::ReturnAddress;
  using Frame = UnwindRule::FramePointer;
  if (rule.is_evaluated)
    return {"an expression", "", ""};
  if (rule.return_kind == Return::kNone)
    return {"none", "none", ""};
  std::string cfa = text_of_place(rule.cfa);
  return {rule.is_cfa_loaded ? fmt::format("[{}]", cfa) : cfa,
          rule.return_kind == Return::kOnStack
              ? fmt::format("[{}]", text_of_place(rule.return_address))
              : "register",
          rule.frame_kind == Frame::kOnStack
              ? fmt::format("[{}]", text_of_place(rule.frame_pointer))
          : rule.frame_kind == Frame::kLost ? "lost"
                                            : "unchanged"};
}

std::string source_text(const ImageSymbols& symbols, const FunctionRange& function) {
  auto source = source_of(symbols, function);
  return source ? std::string(to_string(*source)) : "unknown";
}

void print_rule(const CodeRow<UnwindRule>& row) {
  RuleText rule = text_of_rule(row.value);
  print(stdout, "  {}-{}  cfa {}", as_hex(row.begin), as_hex(row.end), rule.cfa);
  if (!rule.return_address.empty() && rule.return_address != "none")
    print(stdout, ", return {}, fp {}", rule.return_address, rule.frame_pointer);
  print(stdout, "{}\n", row.value.is_signal_frame ? ", interrupted" : "");
}

void print_native_text(const ImageSymbols& symbols, const FunctionRange& function) {
  uint64_t begin = to_integer(function.address);
  print(stdout, "function        {}\n", printable(function.name));
  print(stdout, "address         {}-{}\n", as_hex(begin), as_hex(begin + function.size));
  print(stdout, "size            {}\n", function.size);
  print(stdout, "name from       {}\n", source_text(symbols, function));
  if (function.size > kMostCode)
    print(stdout, "shown           the first {}\n", human_size(kMostCode));
  auto lines = lines_of(symbols, function);
  if (!lines.empty())
    print(stdout, "lines\n");
  for (const auto& row : lines)
    print(stdout, "  {}-{}  {}:{}{}{}\n", as_hex(row.begin), as_hex(row.end),
          printable(row.value.file), row.value.line, row.value.inlined.empty() ? "" : " in ",
          printable(row.value.inlined));
  auto frames = frames_of(symbols, function);
  if (!frames.empty())
    print(stdout, "call frames\n");
  std::ranges::for_each(frames, print_rule);
}

void print_native_json(const ImageSymbols& symbols, const FunctionRange& function) {
  JsonWriter json;
  uint64_t address = to_integer(function.address);
  auto begin_row = [&](uint64_t begin, uint64_t end) {
    json.begin_object();
    json.field("begin", as_hex(begin));
    json.field("end", as_hex(end));
  };
  begin_row(address, address + function.size);
  json.field("function", function.name);
  json.field("size", function.size);
  json.field("source", source_text(symbols, function));
  json.key("lines");
  json.begin_array();
  for (const auto& row : lines_of(symbols, function)) {
    begin_row(row.begin, row.end);
    json.field("file", row.value.file);
    json.field("line", row.value.line);
    json.field("inlined", row.value.inlined);
    json.end_object();
  }
  json.end_array();
  json.key("call_frames");
  json.begin_array();
  for (const auto& row : frames_of(symbols, function)) {
    RuleText rule = text_of_rule(row.value);
    begin_row(row.begin, row.end);
    json.field("cfa", rule.cfa);
    json.field("return_address", rule.return_address);
    json.field("frame_pointer", rule.frame_pointer);
    json.field("signal_frame", row.value.is_signal_frame);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  print(stdout, "{}\n", json.text());
}

}  // namespace

void print_native_function(const ImageSymbols& symbols, const FunctionRange& function,
                           bool is_json) {
  is_json ? print_native_json(symbols, function) : print_native_text(symbols, function);
}

}  // namespace gosym
