#include "commands/annotate/function_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "commands/annotate/annotated_code.h"
#include "commands/annotate/image_sources.h"
#include "view/frame_keys.h"
#include "view/totals.h"

namespace gosym {

namespace {

// A function without its code, of a file of the profile.
struct LinesOfFunction {
  AnnotatedFunction function;
  uint32_t image = 0;
};

std::vector<LinesOfFunction> find_lines(const Profile& profile, const ViewOptions& options) {
  FrameKeys functions(profile, Dimension::Kind::kFunction);
  std::map<uint64_t, LinesOfFunction> found;  // by the identity of the function
  for (const Total& total : frame_totals(profile, profile.samples, functions)) {
    const ViewKey& key = functions[total.key];
    if (key.function == ViewKey::kNoFunction || !options.function->matches(key))
      continue;
    LinesOfFunction& lines = found[key.identity];
    lines.image = key.image;
    lines.function.range.name = profile.name_of(key.function);
    lines.function.source = FrameSource::kGiven;
    lines.function.samples = {total.self, total.total};
  }
  FrameKeys lines(profile, Dimension::Kind::kLine);
  for (const Total& total : frame_totals(profile, profile.samples, lines)) {
    auto of = found.find(lines[total.key].function_identity);
    if (of == found.end() || total.function == ViewKey::kNoFunction || total.line == 0)
      continue;
    std::string file(profile.strings[profile.functions[to_index(total.function)].file]);
    SelfAndTotal& samples = of->second.function.lines[{file, total.line}];
    samples.self += total.self;
    samples.total += total.total;
  }
  std::vector<LinesOfFunction> result;
  for (auto& [identity, function] : found)
    result.push_back(std::move(function));
  std::ranges::stable_sort(result, [&](const LinesOfFunction& a, const LinesOfFunction& b) {
    if (options.sort == SortBy::kName)
      return a.function.range.name < b.function.range.name;
    const SelfAndTotal& left = a.function.samples;
    const SelfAndTotal& right = b.function.samples;
    return options.sort == SortBy::kTotal
               ? std::tuple(left.total, left.self) > std::tuple(right.total, right.self)
               : std::tuple(left.self, left.total) > std::tuple(right.self, right.total);
  });
  if (options.top.value_or(0) > 0)
    result.resize(std::min(result.size(), *options.top));
  return result;
}

}  // namespace

std::string FunctionLines::text(const Profile& profile, const ViewOptions& options,
                                const Amounts& amounts) {
  std::map<uint32_t, ImageSources> images;
  auto image_of = [&](uint32_t index) -> ImageSources& {
    auto known = images.find(index);
    if (known == images.end())
      known =
          images
              .emplace(index, sources_of(profile.images[index].file, directory_, files_, held_))
              .first;
    return known->second;
  };
  std::string text;
  for (const LinesOfFunction& of : find_lines(profile, options)) {
    AnnotateView view{
        .screen = options.screen, .amounts = &amounts, .sources = &image_of(of.image).sources};
    text += (text.empty() ? "" : "\n") + text_of(of.function, view);
  }
  if (text.empty())
    return fmt::format("no function matches '{}'\n", printable(options.function->text()));
  auto note = [&](std::string problem) {
    if (!problem.empty() && std::ranges::find(notes_, problem) == notes_.end())
      notes_.push_back(std::move(problem));  // and not again of another event
  };
  for (const auto& [index, image] : images) {
    note(missing_note(image.sources));
    for (std::string& problem : problems_of(image.sources, image.built))
      note(std::move(problem));
  }
  return text;
}

}  // namespace gosym
