#include "commands/foreign_words.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gosym {

namespace {

constexpr const char* kInBrowser = "--pprof FILE, then go tool pprof -http=: FILE";
constexpr const char* kAsImage = "--pprof FILE, then go tool pprof -svg FILE";
constexpr const char* kAlwaysRecorded = "nothing to do: it is always recorded";
constexpr const char* kAlwaysShown = "nothing to do: it is always shown";
constexpr const char* kAsDifference = "gosym diff BEFORE AFTER";
constexpr const char* kHasKernelSymbols =
    "nothing to do: the recording has the kernel's symbols";
constexpr const char* kKernelTellsSymbols = "nothing to do: the kernel says its symbols";
constexpr const char* kFindsNames = "nothing to do: gosym finds the names itself";
constexpr const char* kNoBranches = "nothing here: branches are not sampled";

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
    {"-filefunctions", "--by=file,function"},
    {"-addresses", "--by=address"},
    {"-noinlines", "--no-inlines"},
    {"-call_tree", "--tree"},
    {"-output", "--output"},
    {"-trim", ""},
    {"-unit", ""},
    {"-drop_negative", ""},
    {"-compact_labels", ""},
    {"-relative_percentages", ""},
    {"--no-demangle", "--demangle=none"},
    {"--inline", ""},
    {"-m", ""},
    {"--modules", ""},
    {"--group", ""},
    {"--raw-trace", ""},
};

// The order of calls is what matters of perf's `-g`. None: the word is no kind of perf's.
std::optional<std::vector<std::string>> tree_of_call_graph(std::string_view kind) {
  static constexpr std::string_view kKinds[] = {"graph",  "flat",   "fractal",
                                                "folded", "caller", "callee"};
  std::string_view first = kind.substr(0, kind.find(','));
  if (first == "none")
    return std::vector<std::string>();
  if (std::ranges::find(kKinds, first) == std::end(kKinds))
    return std::nullopt;
  return std::vector<std::string>{kind.find("callee") != kind.npos ? "--inverted" : "--tree"};
}

// Options that a word means here; the next one is taken too if it belongs to it, as in "-g
// caller".
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
  constexpr std::string_view kCallGraph = "--call-graph";
  if (word.starts_with(kCallGraph) && equals == kCallGraph.size())
    if (auto tree = tree_of_call_graph(std::string_view(word).substr(equals + 1)))
      return *tree;
  if ((word == "-g" || word == kCallGraph) && next)
    if (auto tree = tree_of_call_graph(*next)) {
      takes_next = true;
      return *tree;
    }
  bool is_bare_force = word == "-f" && (!next || next->starts_with('-'));
  if (is_bare_force)
    return {};
  return {word};
}

// "-x VALUE", "--long VALUE" and "--long=VALUE" of a line: the value, which is taken off it.
std::optional<std::string> take_value(std::vector<std::string>& line, std::string_view letter,
                                      std::string_view name) {
  for (auto word = line.begin(); word != line.end(); word++) {
    bool has_value_behind = (*word == letter || *word == name) && word + 1 != line.end();
    if (has_value_behind) {
      std::string value = word[1];
      line.erase(word, word + 2);
      return value;
    }
    if (word->starts_with(std::string(name) + "=")) {
      std::string value = word->substr(name.size() + 1);
      line.erase(word);
      return value;
    }
  }
  return std::nullopt;
}

std::vector<ForeignWord> words_of_pprof() {
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
          {"-tags", "-v, which lists labels, and --by label:KEY"},
          {"-tagshow", "--by label:KEY"},
          {"-taghide", "--by label:KEY"},
          {"-tagignore", "--label KEY=VALUE"},
          {"-tagroot", "--tree --by label:KEY"},
          {"-tagleaf", "--inverted --by label:KEY"},
          {"-base", kAsDifference},
          {"-diff_base", kAsDifference},
          {"-normalize", kAsDifference},
          {"-granularity", "--by function, line, file or address"},
          {"-nodefraction", "--min PERCENT"},
          {"-edgefraction", "--min PERCENT"},
          {"-show_from", "--callees RE"},
          {"-prune_from", "--hide RE"},
          {"-sort", "--sort total"},
          {"-seconds", "gosym record -d SECONDS"},
          {"-symbolize", kFindsNames},
          {"-buildid", "nothing to do: the recording has the build ids"},
          {"-tools", kFindsNames},
          {"-comments", kAlwaysShown},
          {"-callgrind", "--pprof FILE, then go tool pprof -callgrind FILE"},
          {"-mean", "--csv"},
          {"-divide_by", "--csv"},
          {"-eog", kAsImage},
          {"-evince", kAsImage},
          {"-topproto", "--pprof FILE"},
          {"-intel_syntax", "gosym annotate --syntax intel"},
          {"-source_path", "gosym annotate --source DIR"},
          {"-trim_path", "gosym annotate --source DIR"},
          {"-inuse_space", "--event NAME"},
          {"-inuse_objects", "--event NAME"},
          {"-alloc_space", "--event NAME"},
          {"-alloc_objects", "--event NAME"},
          {"-contentions", "--event NAME"},
          {"-total_delay", "--event NAME"},
          {"-mean_delay", "--event NAME"}};
}

std::vector<ForeignWord> words_of_perf_report() {
  return {{"-F", "--by KEY and --csv"},
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
          {"-k", kHasKernelSymbols},
          {"--vmlinux", kHasKernelSymbols},
          {"--kallsyms", kHasKernelSymbols},
          {"--header", kAlwaysShown},
          {"--header-only", kAlwaysShown},
          {"-T", kAlwaysShown},
          {"--show-total-period", kAlwaysShown},
          {"--tui", "text, a page at a time"},
          {"--gtk", kInBrowser},
          {"-M", "gosym annotate --syntax"},
          {"-D", "gosym report -v"},
          {"-gv", kAsImage},
          {"-ps", kAsImage},
          {"--percentage", "nothing to do: shares are of what is selected"},
          {"-x", "--focus RE"},
          {"--exclude-other", "--focus RE"},
          {"-p", "--callers RE"},
          {"--ignore-callees", "--callers RE"},
          {"-U", "--hide '!fun_|^\\['"},
          {"-w", "nothing to do: columns are as wide as their names"},
          {"--column-widths", "nothing to do: columns are as wide as their names"},
          {"--hierarchy", "--by KEY,KEY"},
          {"--stats", "-v"},
          {"--tasks", "--by process,thread"},
          {"--mmaps", "--by module"},
          {"-I", kAlwaysShown},
          {"--show-info", kAlwaysShown},
          {"--full-source-path", "--csv, or --json"},
          {"--objdump", "nothing to do: gosym reads the files itself"},
          {"--addr2line", "nothing to do: gosym reads the files itself"},
          {"--ns", "--csv"},
          {"--showcpuutilization", "--by category"},
          {"-C", "--by cpu"},
          {"--cpu", "--by cpu"},
          {"--branch-history", kNoBranches},
          {"--branch-stack", kNoBranches},
          {"--total-cycles", kNoBranches},
          {"--mem-mode", "nothing here: memory accesses are not sampled"}};
}

}  // namespace

void understand_annotate_words(std::vector<std::string>& line) {
  std::optional<std::string> file = take_value(line, "-i", "--input");
  std::optional<std::string> symbol = take_value(line, "-s", "--symbol");
  if (file && !line.empty())
    line.insert(line.begin() + 1, *file);
  if (symbol)
    line.push_back(*symbol);
  if (auto syntax = take_value(line, "-M", "--disassembler-style"))
    line.push_back("--syntax=" + *syntax);
  // Drops options for what is always so: text, with source lines where there are some, and full
  // paths.
  std::erase_if(line, [](const std::string& word) {
    static constexpr std::string_view kAlwaysSo[] = {"--stdio", "--stdio2", "-l",
                                                     "-P",      "-n",       "-f"};
    return std::ranges::find(kAlwaysSo, word) != std::end(kAlwaysSo);
  });
}

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
  std::vector<ForeignWord> words = words_of_pprof();
  std::ranges::move(words_of_perf_report(), std::back_inserter(words));
  return words;
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
          {"-b", kNoBranches},
          {"-j", kNoBranches},
          {"-D", "sleep SECONDS; gosym record"},
          {"--delay", "sleep SECONDS; gosym record"},
          {"-N", "nothing to do: there is no cache of build ids"},
          {"-r", "nothing to do: it keeps up without a priority over what it samples"},
          {"-R", kAlwaysRecorded},
          {"-k", "nothing to do: all times are of one clock"},
          {"--clockid", "nothing to do: all times are of one clock"},
          {"--strict-freq", "-F HZ, which warns if the kernel allows less"},
          {"--timestamp-filename", "-o FILE"},
          {"--per-thread", "-t TID"},
          {"--vmlinux", kKernelTellsSymbols},
          {"--bpf-event", kAlwaysRecorded},
          {"--namespaces", kAlwaysRecorded},
          {"cycles:u", "-e cycles --user-only"},
          {"cycles:k", "-e cycles --kernel-only"},
          {"cycles:pp", "-e cycles"},
          {"cycles:P", "-e cycles"},
          {"instructions:u", "-e instructions --user-only"},
          {"cpu-clock:u", "-e cpu-clock --user-only"},
          {"task-clock:u", "-e task-clock --user-only"},
          {"--all-user", "--user-only"},
          {"--all-kernel", "--kernel-only"},
          {"--mmap-pages", "nothing to do: buffers are large enough"}};
}

std::vector<ForeignWord> words_for_top() {
  return {{"-s", "--by KEY"},
          {"-g", kAlwaysRecorded},
          {"-i", "--no-inherit"},
          {"-E", "--top N"},
          {"-z", "nothing to do: it shows the last --window only"},
          {"-k", kKernelTellsSymbols},
          {"--vmlinux", kKernelTellsSymbols},
          {"--hide_kernel_symbols", "--user-only"},
          {"--hide_user_symbols", "--kernel-only"},
          {"--stdio", "--batch"},
          {"--tui", "nothing to do: it is so on a terminal"}};
}

std::vector<ForeignWord> words_for_annotate() {
  return {{"-d", "gosym annotate FILE FUNC"},
          {"-k", kHasKernelSymbols},
          {"--group", "nothing to do: each event has its own columns"},
          {"--objdump", "nothing to do: gosym disassembles by itself"},
          {"--gtk", "text, a page at a time"}};
}

std::vector<ForeignWord> words_for_commands() {
  constexpr const char* kWaits = "gosym record --off-cpu, then gosym report --event off-cpu";
  constexpr const char* kNotSampled = "nothing: perf does it";
  return {
      {"script", "gosym report --script"},
      {"stat", "nothing that counts without sampling: perf stat"},
      {"pprof", "gosym report --pprof FILE, then go tool pprof -http=: FILE"},
      {"perf", "gosym COMMAND"},
      {"list", "gosym record -e EVENT, any of perf list; gosym doctor says what works here"},
      {"trace", "gosym record --off-cpu, then gosym report --event off-cpu"},
      {"sched", kWaits},
      {"lock", kWaits},
      {"timechart", "gosym report --html FILE"},
      {"evlist", "gosym report"},
      {"buildid-list", "gosym inspect FILE"},
      {"flamegraph", "gosym report --svg FILE, or --html FILE"},
      {"kallsyms", "gosym resolve"},
      {"probe", kNotSampled},
      {"mem", kNotSampled},
      {"c2c", kNotSampled},
      {"kvm", kNotSampled},
      {"ftrace", kNotSampled},
      {"bench", kNotSampled}};
}

}  // namespace gosym
