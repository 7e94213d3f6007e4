#include "commands/foreign_words.h"

#include <algorithm>

namespace gosym {

namespace {

constexpr const char* kInBrowser = "--pprof FILE, then go tool pprof -http=: FILE";
constexpr const char* kAsImage = "--pprof FILE, then go tool pprof -svg FILE";
constexpr const char* kAlwaysRecorded = "nothing to do: it is always recorded";
constexpr const char* kAlwaysShown = "nothing to do: it is always shown";

// Options of pprof that are those of gosym, some under another name.
struct SameOption {
  std::string_view theirs;
  std::string_view ours;  // empty: what is done anyway
};
constexpr SameOption kSameOptions[] = {
    {"-top", ""},
    {"-text", ""},
    {"-flat", "--sort=self"},
    {"-functions", ""},
    {"-nodecount", "--top"},
    {"-cum", "--sort=total"},
    {"-focus", "--focus"},
    {"-ignore", "--ignore"},
    {"-hide", "--hide"},
    {"-show", "--show"},
    {"-list", "--lines"},
    {"-tree", "--tree"},
    {"-lines", "--by=line"},
    {"-files", "--by=file"},
};

// Of perf's `-g` it is the order of the calls that matters.
std::string_view tree_of_call_graph(std::string_view kind) {
  static constexpr std::string_view kKinds[] = {"graph",  "flat",   "fractal", "folded",
                                                "caller", "callee", "none"};
  if (std::ranges::find(kKinds, kind.substr(0, kind.find(','))) == std::end(kKinds))
    return {};
  return kind.find("callee") != kind.npos ? "--inverted" : "--tree";
}

// What the word is here; the next one is taken too if it belongs to it, as in "-g caller".
std::vector<std::string> understood(const std::string& word, const std::string* next,
                                    bool& takes_next) {
  size_t equals = word.find('=');
  auto same = std::ranges::find(kSameOptions, std::string_view(word).substr(0, equals),
                                &SameOption::theirs);
  if (same != std::end(kSameOptions)) {
    if (same->ours.empty())
      return {};
    return {std::string(same->ours) + (equals == word.npos ? "" : word.substr(equals))};
  }
  std::string_view tree = word == "-g" && next ? tree_of_call_graph(*next) : "";
  takes_next = !tree.empty();
  if (takes_next)
    return {std::string(tree)};
  bool is_bare_force = word == "-f" && (!next || next->starts_with('-'));
  if (is_bare_force)
    return {};
  return {word};
}

}  // namespace

void understand_report_words(std::vector<std::string>& line) {
  std::vector<std::string> result;
  for (size_t i = 0; i < line.size(); i++) {
    const std::string* next = i + 1 < line.size() ? &line[i + 1] : nullptr;
    bool takes_next = false;
    std::ranges::move(understood(line[i], next, takes_next), std::back_inserter(result));
    i += takes_next ? 1 : 0;
  }
  line = std::move(result);
}

std::vector<ForeignWord> words_for_report() {
  return {{"-peek", "--callers RE, and --callees RE"},
          {"-web", kInBrowser},
          {"-http", kInBrowser},
          {"-weblist", "gosym annotate FILE FUNC"},
          {"-disasm", "gosym annotate FILE FUNC"},
          {"-svg", kAsImage},
          {"-png", kAsImage},
          {"-pdf", kAsImage},
          {"-gif", kAsImage},
          {"-dot", kAsImage},
          {"-proto", "--pprof FILE"},
          {"-traces", "--folded"},
          {"-raw", "--folded"},
          {"-sample_index", "--event NAME"},
          {"-tagfocus", "--label KEY=VALUE"},
          {"-F", "--by KEY and --csv"},
          {"--fields", "--by KEY and --csv"},
          {"-t", "--csv"},
          {"--field-separator", "--csv"},
          {"--dsos", "--module RE"},
          {"--comms", "--comm NAME"},
          {"--symbols", "--focus RE"},
          {"--symbol-filter", "--focus RE"},
          {"--parent", "--callers RE"},
          {"--call-graph", "--tree, or --inverted"},
          {"--max-stack", "--depth N"},
          {"--hide-unresolved", "--hide '!fun_|^\\['"},
          {"--no-inline", "--no-inlines"},
          {"-k", "nothing to do: the recording has the kernel's symbols"},
          {"--vmlinux", "nothing to do: the recording has the kernel's symbols"},
          {"--kallsyms", "nothing to do: the recording has the kernel's symbols"},
          {"--header", kAlwaysShown},
          {"--header-only", kAlwaysShown},
          {"-T", kAlwaysShown},
          {"--show-total-period", kAlwaysShown},
          {"--tui", "text, a page at a time"},
          {"--gtk", kInBrowser},
          {"-M", "gosym annotate --syntax"},
          {"-D", "gosym report -v"}};
}

std::vector<ForeignWord> words_for_record() {
  return {{"-i", "--no-inherit"},
          {"-G", "--cgroup PATH"},
          {"-n", kAlwaysRecorded},
          {"-s", kAlwaysRecorded},
          {"-T", kAlwaysRecorded},
          {"-P", kAlwaysRecorded},
          {"-B", kAlwaysRecorded},
          {"--buildid-all", kAlwaysRecorded},
          {"--timestamp", kAlwaysRecorded},
          {"--period", kAlwaysRecorded},
          {"--sample-cpu", kAlwaysRecorded},
          {"--all-cgroups", kAlwaysRecorded},
          {"--overwrite", "--max-size, or -o - into a program that keeps the last part"},
          {"--switch-output", "--max-size SIZE"},
          {"--call-graph=lbr", "--call-graph=auto"},
          {"-b", "nothing here: branches are not sampled"},
          {"-j", "nothing here: branches are not sampled"},
          {"--all-user", "--user-only"},
          {"--all-kernel", "--kernel-only"},
          {"--mmap-pages", "nothing to do: buffers are large enough"}};
}

}  // namespace gosym
