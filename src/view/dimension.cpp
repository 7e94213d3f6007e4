#include "view/dimension.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace gosym {

namespace {

using Kind = Dimension::Kind;

struct DimensionName {
  std::string_view text;
  Kind kind;
};
constexpr DimensionName kNames[] = {
    {"function", Kind::kFunction},   {"line", Kind::kLine},
    {"file", Kind::kFile},           {"module", Kind::kModule},
    {"package", Kind::kPackage},     {"category", Kind::kCategory},
    {"address", Kind::kAddress},     {"process", Kind::kProcess},
    {"program", Kind::kProgram},     {"thread", Kind::kThread},
    {"comm", Kind::kComm},           {"label:KEY", Kind::kLabel},
    {"cgroup", Kind::kCgroup},       {"container", Kind::kContainer},
    {"goroutine", Kind::kGoroutine}, {"cpu", Kind::kCpu},
    {"time[:STEP]", Kind::kTime},    {"host", Kind::kHost},
    {"recording", Kind::kRecording}, {"state", Kind::kState},
    {"waker", Kind::kWaker},
};
// Names that perf and Go use for some dimensions.
constexpr DimensionName kAliases[] = {
    {"sym", Kind::kFunction}, {"symbol", Kind::kFunction}, {"srcline", Kind::kLine},
    {"srcfile", Kind::kFile}, {"dso", Kind::kModule},      {"pid", Kind::kProcess},
    {"tid", Kind::kThread},   {"reason", Kind::kState},
};
constexpr std::string_view kLabelPrefix = "label:";
constexpr std::string_view kTimePrefix = "time:";
constexpr uint64_t kLeastStep = 1'000'000;  // 32 bits of them are seven weeks

}  // namespace

Result<Dimension> parse_dimension(std::string_view text) {
  if (text.starts_with(kLabelPrefix) && text.size() > kLabelPrefix.size())
    return Dimension{Kind::kLabel, std::string(text.substr(kLabelPrefix.size()))};
  if (text.starts_with(kTimePrefix)) {
    auto step = parse_duration(text.substr(kTimePrefix.size()));
    if (!step || *step < kLeastStep)
      return errorf("'{}' is not a duration of 1ms or more, such as time:100ms",
                    printable(text));
    return Dimension{.kind = Kind::kTime, .step = *step};
  }
  auto name = std::ranges::find(kNames, text, &DimensionName::text);
  if (text == "time")
    return Dimension{.kind = Kind::kTime};
  if (name != std::end(kNames) && name->kind != Kind::kLabel && name->kind != Kind::kTime)
    return Dimension{name->kind};
  auto alias = std::ranges::find(kAliases, text, &DimensionName::text);
  if (alias != std::end(kAliases))
    return Dimension{alias->kind};
  return errorf("'{}' is not one of {}", printable(text), dimension_names());
}

std::string to_string(const Dimension& dimension) {
  if (dimension.kind == Kind::kLabel)
    return std::string(kLabelPrefix) + dimension.label;
  if (dimension.kind == Kind::kTime)
    return "time";
  return std::string(std::ranges::find(kNames, dimension.kind, &DimensionName::kind)->text);
}

std::string dimension_names() {
  std::vector<std::string> names;
  for (const DimensionName& name : kNames)
    names.emplace_back(name.text);
  return joined(names, ", ");
}

std::string comparable_dimension_names() {
  std::vector<std::string> names;
  for (const DimensionName& name : kNames)
    if (Dimension{.kind = name.kind}.is_comparable())
      names.emplace_back(name.text);
  return joined(names, ", ");
}

}  // namespace gosym
