#include "commands/resolve/binary_names.h"

#include <unordered_map>

#include "base/text.h"
#include "symbolize/names.h"

namespace gosym {

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
