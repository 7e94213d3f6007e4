#include "commands/browse.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/print.h"
#include "base/text.h"
#include "browser/terminal.h"
#include "browser/update.h"
#include "code/disassembler.h"
#include "commands/annotate/annotated_code.h"
#include "commands/load_profile.h"
#include "commands/report.h"
#include "confine/parser.h"
#include "output/format.h"
#include "output/output_file.h"
#include "raw/messages.h"
#include "symbolize/symbolizer.h"

namespace gosym {

namespace {

// The code of one image's functions. `sampled` is the index of the image in the profile, and
// the addresses in it whose functions are shown (find_sampled()).
Result<std::vector<browser::CodeLine>> read_code(const Profile& profile,
                                                 std::span<const SampleCount> samples,
                                                 const SampledImages::value_type& sampled,
                                                 const DebugFileOptions& files,
                                                 const HeldFiles& held,
                                                 const std::string& source_directory) {
  const auto& [image_index, code] = sampled;
  const RecordedImage& image = profile.images[image_index].file;
  auto file = open_sampled(image, files, held);
  if (!file)
    return std::move(file).error();
  auto disassembler = code::Disassembler::open(file->symbols->image().machine);
  if (!disassembler)
    return std::move(disassembler).error();
  SourceFiles sources(source_places(source_directory, files.symfs), file->owner);
  Amounts amounts(profile);
  AnnotateView view{.amounts = &amounts,
                    .sources = &sources,
                    .symbols = file->symbols.get(),
                    .functions = file->functions};
  std::vector<browser::CodeLine> lines;
  Functions shown = functions_at(file->functions, code);
  for (const AnnotatedFunction& function :
       annotate_sampled(*file->symbols, shown, *disassembler, profile, samples, image_index)) {
    if (!lines.empty())
      lines.emplace_back();  // between functions
    // Lines are not cut here: the browser cuts them to its width, which may change. The browser
    // has one style a line: that of the head, if there is one.
    for (AnnotatedLine& line : lines_of(function, view, SIZE_MAX))
      lines.push_back(
          {.self = line.samples.self,
           .total = line.samples.total,
           .is_instruction = line.kind == AnnotatedLine::Kind::kInstruction,
           .is_of_instructions = line.is_of_instructions,
           .is_file = line.kind == AnnotatedLine::Kind::kTitle && !line.is_of_instructions,
           .text = line.head + line.text,
           .style = line.head.empty() ? line.style : line.head_style,
           .source_path = std::move(line.place.path),
           .source_line = line.place.line});
  }
  for (std::string note : {withheld_note(sources), missing_note(sources)})
    if (!note.empty())
      lines.push_back({.text = std::move(note)});
  return lines;
}

}  // namespace

browser::Code find_sampled_code(const Profile& profile, std::span<const SampleCount> samples,
                                const ChosenKey& function, const DebugFileOptions& files,
                                const HeldFiles& held, const std::string& source_directory) {
  SampledImages images = find_sampled(profile, samples, function);
  if (images.empty())
    return {.problem = "no code of a file"};
  // Copies of a build are one image, so that a function is of one file. Others of its name at
  // its path, without a build id, have their code in the order of their numbers: the first is
  // shown.
  const SampledImages::value_type& first = *images.begin();
  auto lines = read_code(profile, samples, first, files, held, source_directory);
  if (!lines)
    return {.problem = fmt::format("{}: {}", printable(profile.images[first.first].file.path),
                                   lines.error().message())};
  return {.lines = *std::move(lines)};
}

std::string free_file_name(std::string_view extension) {
  for (size_t number = 1;; number++) {
    std::string name = fmt::format("gosym-{}.{}", number, extension);
    if (access(name.c_str(), F_OK) != 0)
      return name;
  }
}

BrowserTerminal browser_terminal() {
  std::string term = environment("TERM");
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 || term.empty() || term == "dumb")
    return BrowserTerminal::kNone;
  return browser::can_browse_on(term) ? BrowserTerminal::kFound : BrowserTerminal::kUnknown;
}

void tell_unknown_terminal() {
  print(stderr,
        "gosym: note: no terminal called '{}' is known here (TERM), so that text is printed; "
        "most are as xterm-256color\n",
        printable(environment("TERM")));
}

bool is_browsed(View view) {
  return view == View::kSummary || view == View::kTree || view == View::kInverted;
}

browser::State initial_state(std::string_view title, const ViewOptions& view,
                             const Selection& selection) {
  browser::State state;
  state.title = printable(title);
  state.sort = view.sort;
  state.query.selection = selection;
  state.query.folds = view.folds_recursion;
  // Keys of frames are what the rows are, and the last of several counts; others (thread,
  // process, ...) are groups around them.
  for (const Dimension& dimension : view.by) {
    if (dimension.is_of_frames())
      state.query.by = dimension.kind;
    else
      state.query.groups.push_back(dimension);
  }
  if (!state.query.groups.empty() || view.view == View::kTree || view.view == View::kInverted)
    state.page = browser::Page::kTree;
  if (view.view == View::kInverted)
    state.query.direction = Direction::kFromLeaf;
  return state;
}

// The browser calls it (browser::Export) when its user has chosen a format, and shows the name
// of the file that it gives.
Result<std::string> export_profile(const Profile& profile, const std::string& format) {
  // It is one of export_choices(), whose names are those of formats.
  const Format& chosen = *find_format(format);
  std::string_view extension = format;
  for (const browser::ExportChoice& choice : browser::export_choices())
    if (choice.format == format)
      extension = choice.extension;
  std::string name = free_file_name(extension);
  auto file = OutputFile::open(name, readers_of(format, profile));
  if (!file)
    return std::move(file).error();
  chosen.write(profile, {}, [&](std::string_view data) { return file->write(data); });
  if (auto written = file->finish(); !written)
    return std::move(written).error();
  return name;
}

namespace {

constexpr uint64_t kFirstSamples = 4 << 20;  // bytes of them: what is read within half a second

// True if reading a part first pays, and is possible: a pipe can be read but once.
bool is_large_recording(const std::string& path) {
  constexpr uint64_t kLarge = 2 * kFirstSamples;
  auto file = MappedFile::open(path);
  return file && (*file)->bytes().size() > kLarge &&
         as_text((*file)->bytes()).starts_with(raw::kMagic);
}

// Loads a recording for the browser, the first samples of a large one at once and then all of
// it; in a thread of its own, which may outlive the browser.
class Loader {
public:
  Loader(const ReportOptions& options, DebugFileOptions files)
      : options_(options), files_(std::move(files)) {
    // Choices by name are the browser's own, to be taken back.
    options_.selection = {};
    options_.is_browsed = true;
  }

  // The browser calls it again until it gives what is the last: twice at the most.
  Result<browser::Source::Loaded> load() {
    bool is_first = !std::exchange(has_looked_, true);
    // The first screen comes after half a second, whatever the size; the rest replaces it. A
    // part is shown only if there is more: else the second look would load the same again.
    if (is_first && std::ranges::all_of(options_.inputs, is_large_recording))
      if (auto first = load_first(); first && first->share < 1)
        return show(*std::move(first));
    auto all = load_profile(options_, *find_format("text"), files_);
    if (!all)
      return std::move(all).error();
    is_partial_ = gosym::is_partial(all->recordings, all->profile.stats, options_);
    tell_problems(all->symbols, options_);
    return show(*std::move(all));
  }

  // May be called while load() is at work.
  browser::Code find_code(const Profile& profile, std::span<const SampleCount> samples,
                          const ChosenKey& function) {
    return find_sampled_code(profile, samples, function, files_, *held_.load(),
                             options_.source_directory);
  }

  bool is_partial() const { return is_partial_; }

private:
  // Problems are told after the second look, which waits for servers.
  Result<LoadedProfile> load_first() const {
    ReportOptions options = options_;
    options.is_quiet = true;
    options.most_samples = kFirstSamples;
    DebugFileOptions files;
    files.symfs = files_.symfs;
    // Local files only: a server is asked in the second look.
    files.debug_dirs = files_.debug_dirs;
    files.stores = files_.stores;
    return load_profile(options, *find_format("text"), files);
  }

  browser::Source::Loaded show(LoadedProfile loaded) {
    held_ = std::make_shared<const HeldFiles>(std::move(loaded.held));
    return {.events = browser::by_event(std::move(loaded.profile)),
            .is_last = loaded.share == 1,
            .share = loaded.share};
  }

  ReportOptions options_;
  const DebugFileOptions files_;
  std::atomic<std::shared_ptr<const HeldFiles>> held_ = std::make_shared<const HeldFiles>();
  std::atomic<bool> is_partial_ = false;
  bool has_looked_ = false;
};

}  // namespace

Result<int> browse_recording(const ReportOptions& options, DebugFileOptions files) {
  // Shared with the browser's threads, which may outlive this function.
  auto loader = std::make_shared<Loader>(options, std::move(files));
  browser::Source source;
  source.load = [loader] { return loader->load(); };
  source.find_code = [loader](const Profile& profile, std::span<const SampleCount> samples,
                              const ChosenKey& function) {
    return loader->find_code(profile, samples, function);
  };
  auto status = browser::browse(
      std::move(source), export_profile, edit,
      initial_state(
          with_more(std::string(base_name(options.inputs.front())), options.inputs.size()),
          options.view, options.selection),
      wants_colour(options.colour));
  if (status && *status == kSuccess && loader->is_partial())
    return kPartial;
  return status;
}

}  // namespace gosym
