#include "commands/resolve/address_filter.h"

#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "symbolize/names.h"

namespace gosym {

namespace {

// Lines of logs that hold a whole stack are shorter. A longer one is copied without names, so
// that memory stays small whatever comes in.
constexpr size_t kLongestFilteredLine = 1 << 20;
// Longest name of a function, and path. To look for longer ones would take time that no name is
// worth.
constexpr size_t kLongestName = 4096;

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// "0x4a1b20" at `begin` of a line.
struct Number {
  size_t begin = 0;
  size_t end = 0;
  uint64_t value = 0;
};

// None if it is a part of a longer word.
std::optional<Number> number_at(std::string_view line, size_t begin) {
  if (!line.substr(begin).starts_with("0x") || (begin > 0 && is_word(line[begin - 1])))
    return std::nullopt;
  size_t end = begin + 2;
  while (end < line.size() && is_word(line[end]))
    end++;
  auto value = parse_hex(line.substr(begin, end - begin));
  return value ? std::optional(Number{begin, end, *value}) : std::nullopt;
}

// End of "[0x7f3a5c024a1b]" that follows at `begin`; `begin` if it does not follow.
size_t skip_bracket(std::string_view line, size_t begin) {
  size_t bracket = line.substr(begin).starts_with(' ') ? begin + 1 : begin;
  auto number =
      line.substr(bracket).starts_with('[') ? number_at(line, bracket + 1) : std::nullopt;
  return number && line.substr(number->end).starts_with(']') ? number->end + 1 : begin;
}

// "main.run" of "main.run(0x1, 0x2)" and of "created by main.run in goroutine 1".
std::string_view go_function(std::string_view line) {
  constexpr std::string_view kCreated = "created by ";
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  if (line.starts_with(kCreated)) {
    line.remove_prefix(kCreated.size());
    return line.substr(0, line.find(' '));
  }
  if (!line.ends_with(')') || line.size() > kLongestName)
    return {};
  return line.substr(0, line.rfind('('));
}

// "main.go:12" of "\t/src/main.go:12 "; empty if it is of another form.
std::string_view go_position(std::string_view before) {
  if (!before.starts_with('\t') || !before.ends_with(' '))
    return {};
  before.remove_suffix(1);
  size_t colon = before.rfind(':');
  if (colon == before.npos || !parse_decimal(before.substr(colon + 1)))
    return {};
  return base_name(before);
}

// Name that a text has for an offset, and the end of that text.
struct NamedAddress {
  std::string name;
  size_t end = 0;
};

// The address that is kept of a call is that behind it.
uint64_t call_before(const Number& number) {
  return number.value - (number.value > 0 ? 1 : 0);
}

// Behind the "[" of "prog[0x4a1b20]".
std::string name_in_brackets(std::string_view line, size_t word, const Number& number,
                             const CodeNames& names) {
  std::string_view file = line.substr(word, number.begin - 1 - word);
  if (file.empty() || file.size() > kLongestName || !line.substr(number.end).starts_with(']'))
    return {};
  return names.in_file(file, {}, call_before(number));
}

// Behind the "+" of an offset. `word` is where the word begins that it stands in.
NamedAddress name_offset(std::string_view line, size_t word, const Number& number,
                         const CodeNames& names) {
  size_t plus = number.begin - 1;
  std::string_view before = line.substr(word, plus - word);
  if (before.empty() || before.size() > kLongestName)
    return {{}, number.end};
  // "prog(sym+0x20) [0x7f3a5c024a1b]" of backtrace_symbols(), with "prog(+0x4a1b20)" where no
  // symbol is known.
  size_t open = before.rfind('(');
  if (open != before.npos && open > 0 && line.substr(number.end).starts_with(')'))
    return {names.in_file(before.substr(0, open), before.substr(open + 1), call_before(number)),
            skip_bracket(line, number.end + 1)};
  size_t end = number.end;
  // "sym+0x20/0x100" of Linux: behind the slash is the size of the function.
  if (line.substr(end).starts_with('/'))
    if (auto size = number_at(line, end + 1))
      end = size->end;
  std::string name = names.in_function(before, number.value, {});
  // "[sym+0x20]"
  size_t mark = before.find_last_of("([<{\"'=,");
  if (name.empty() && mark != before.npos)
    name = names.in_function(before.substr(mark + 1), number.value, {});
  return {std::move(name), end};
}

// The begin of the build id that ends before the "+" at `plus`; `plus` if none does.
size_t begin_of_build_id(std::string_view line, size_t plus) {
  // No linker makes ids of less than 8 bytes; the longest hashes have 64.
  constexpr size_t kFewest = 16;
  constexpr size_t kMostDigits = 128;
  size_t begin = plus;
  while (begin > 0 && plus - begin <= kMostDigits && is_word(line[begin - 1]))
    begin--;
  std::string_view id = line.substr(begin, plus - begin);
  bool is_id = id.size() >= kFewest && id.size() % 2 == 0 &&
               id.find_first_not_of("0123456789abcdefABCDEF") == id.npos;
  return is_id ? begin : plus;
}

}  // namespace

void AddressFilter::annotate(std::string_view line, std::string& output) {
  size_t copied = 0;
  size_t word = 0;  // where the last word begins
  size_t seen = 0;  // what has been looked through for words
  for (size_t at = line.find("0x"); at != line.npos; at = line.find("0x", seen)) {
    for (; seen < at; seen++)
      if (line[seen] == ' ' || line[seen] == '\t')
        word = seen + 1;
    seen = at + 2;
    // Each number is looked at once, from left to right. The character before it says what kind
    // it is: `+` an offset from a name or a build id, `[` one behind a file's name, anything
    // else an address.
    auto number = number_at(line, at);
    if (!number)
      continue;
    NamedAddress named{{}, number->end};
    char mark = at == 0 ? ' ' : line[at - 1];
    // The begin of the id, if it lies before the "+" at `at` - 1: begin_of_build_id() gives the
    // "+" itself where there is none.
    if (size_t id = mark == '+' && names_.by_build_id ? begin_of_build_id(line, at - 1) : at;
        id + 1 < at) {
      std::string name = names_.by_build_id(line.substr(id, at - 1 - id), number->value);
      seen = number->end;
      if (!name.empty()) {
        output += line.substr(copied, id - copied);
        output += name;
        copied = number->end;
      }
      continue;
    }
    // Go's tracebacks have the function in the line before, and the offset behind the position.
    if (mark == '+' && word == at - 1 && !line_function_.empty())
      if (auto position = go_position(line.substr(0, word)); !position.empty())
        named.name = names_.in_function(line_function_, number->value, position);
    if (mark == '+' && named.name.empty())
      named = name_offset(line, word, *number, names_);
    if (mark == '[')
      named.name = name_in_brackets(line, word, *number, names_);
    if (mark != '+' && mark != '/' && named.name.empty())
      named.name = names_.at(number->value);
    seen = named.end;
    if (named.name.empty())
      continue;
    // The text stays as it is, with the name behind the number: whoever reads the output by a
    // program finds what was there.
    output += line.substr(copied, named.end - copied);
    copied = named.end;
    output += " <" + named.name + ">";
  }
  output += line.substr(copied);
  line_function_ = go_function(line);
}

void AddressFilter::add(std::string_view input, std::string& output) {
  while (!input.empty()) {
    size_t newline = input.find('\n');
    std::string_view part = input.substr(0, newline);
    input.remove_prefix(newline == input.npos ? input.size() : newline + 1);
    if (is_too_long_)
      output += part;
    else
      pending_ += part;
    if (pending_.size() > kLongestFilteredLine) {
      output += pending_;
      pending_.clear();
      line_function_.clear();  // is of the line before, and of no line behind this one
      is_too_long_ = true;
    }
    if (newline == part.npos)
      return;
    finish(output);
    output += '\n';
  }
}

void AddressFilter::finish(std::string& output) {
  if (!is_too_long_)
    annotate(pending_, output);
  pending_.clear();
  is_too_long_ = false;
}

namespace {

// "main.go:12"
std::string position_of(const Call& call) {
  return call.line == 0 ? std::string(call.file) : fmt::format("{}:{}", call.file, call.line);
}

class BinaryNames {
public:
  BinaryNames(std::vector<NamedBinary> binaries, ChooseCalls choose, NameForm form)
      : binaries_(std::move(binaries)), choose_(std::move(choose)), form_(form) {}

  std::string at(uint64_t address) const {
    std::string found;
    for (const NamedBinary& binary : binaries_) {
      std::string name = describe(binary, ImageAddress{address}, {});
      if (!found.empty() && !name.empty())
        return {};
      found += name;
    }
    return found;
  }

  std::string in_file(std::string_view file, std::string_view function, uint64_t address) {
    const NamedBinary* found = nullptr;
    for (const NamedBinary& binary : binaries_) {
      if (base_name(binary.path) != base_name(file))
        continue;
      if (found)
        return {};
      found = &binary;
    }
    if (!found)
      return {};
    if (function.empty())
      return describe(*found, ImageAddress{address}, {});
    auto place = functions().find(function);
    bool is_there = place != functions().end() && place->second.binary == found;
    return is_there ? in_function(function, address, {}) : std::string();
  }

  // A line in the text means that the offset is that behind a call, or of a fault: the one that
  // has this line.
  std::string in_function(std::string_view function, uint64_t offset,
                          std::string_view position) {
    auto found = functions().find(function);
    if (found == functions().end() || !found->second.binary)
      return {};
    auto [binary, start, size] = found->second;
    for (uint64_t before : {1, 0}) {
      uint64_t place = offset - before;  // beyond any size if there is none before
      if ((position.empty() && before == 1) || place >= size)
        continue;
      auto name = describe(*binary, ImageAddress{to_integer(start) + place}, position);
      if (!name.empty())
        return name;
    }
    return {};
  }

private:
  struct Place {
    const NamedBinary* binary = nullptr;  // null: several have functions of the name
    ImageAddress start{};
    uint64_t size = 0;
  };
  using Functions = std::unordered_map<std::string_view, Place>;

  const Functions& functions() {
    if (!is_listed_)
      for (const NamedBinary& binary : binaries_)
        for (const FunctionRange& function : binary.symbols->functions())
          add({&binary, function.address, function.size}, function.name);
    is_listed_ = true;
    return functions_;
  }

  void add(const Place& place, std::string_view name) {
    auto [there, is_new] = functions_.emplace(name, place);
    Place& known = there->second;
    if (!is_new && (known.binary != place.binary || known.start != place.start))
      known = {};
  }

  std::string describe(const NamedBinary& binary, ImageAddress address,
                       std::string_view position) const {
    return describe_code(*binary.symbols, address, choose_, form_, position);
  }

  std::vector<NamedBinary> binaries_;
  ChooseCalls choose_;
  NameForm form_;
  Functions functions_;
  bool is_listed_ = false;
};

}  // namespace

// Nothing is said if the function that holds the code is not at a `position` that is given.
std::string describe_code(const ImageSymbols& symbols, ImageAddress address,
                          const ChooseCalls& choose, NameForm form, std::string_view position) {
  std::vector<Call> calls;
  auto source = symbols.find(address, calls);
  if (!source || *source == FrameSource::kLabel)
    return {};
  if (!position.empty() && base_name(position_of(calls.back())) != position)
    return {};
  choose(calls);
  std::string text;
  for (const Call& call : calls) {
    text += (text.empty() ? "" : " in ") + display_name(call.function, *source, form);
    if (!call.file.empty())
      text += " " + position_of(call);
  }
  return printable(text);
}

CodeNames names_of(std::vector<NamedBinary> binaries, ChooseCalls choose, NameForm form) {
  auto names = std::make_shared<BinaryNames>(std::move(binaries), std::move(choose), form);
  CodeNames told;
  told.at = [names](uint64_t address) { return names->at(address); };
  told.in_file = [names](std::string_view file, std::string_view function, uint64_t address) {
    return names->in_file(file, function, address);
  };
  told.in_function = [names](std::string_view function, uint64_t offset,
                             std::string_view position) {
    return names->in_function(function, offset, position);
  };
  return told;
}

}  // namespace gosym
