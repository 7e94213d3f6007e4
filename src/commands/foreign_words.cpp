#include "commands/foreign_words.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gosym {

// Words that users of perf and pprof know. Options that have the same meaning here under
// another name are rewritten before the line is parsed (understood()); others are answered with
// what does it here (foreign_words.txt has the rows).

namespace {

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

// The order of calls is what matters of perf's `-g`, as in "graph,0.5,callee": callees first is
// from what ran outward. None: the word is no kind of perf's. An empty list: calls are not
// asked for, and the word is dropped.
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
// caller". An empty list drops the word: what it asks for is done anyway. `next` is null behind
// the last word.
std::vector<std::string> understood(const std::string& word, const std::string* next,
                                    bool& takes_next) {
  size_t equals = word.find('=');
  // pprof takes "-focus=x": the value stays behind the equals sign.
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
  // perf's -f has no value, --format here has: only the next word tells them apart.
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

void append(std::span<const WordRow> rows, std::vector<ForeignWord>& words) {
  for (const WordRow& row : rows)
    words.push_back({std::string(row.word), std::string(row.here)});
}

std::vector<ForeignWord> words_of(std::span<const WordRow> rows) {
  std::vector<ForeignWord> words;
  append(rows, words);
  return words;
}

}  // namespace

void understand_annotate_words(std::vector<std::string>& line) {
  std::optional<std::string> file = take_value(line, "-i", "--input");
  std::optional<std::string> symbol = take_value(line, "-s", "--symbol");
  // Behind the command's name: FILE is the first argument, FUNC the last.
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
  std::vector<ForeignWord> words = words_of(kPprofWords);
  append(kPerfReportWords, words);
  return words;
}

std::vector<ForeignWord> words_for_record() {
  return words_of(kPerfRecordWords);
}

std::vector<ForeignWord> words_for_top() {
  return words_of(kPerfTopWords);
}

std::vector<ForeignWord> words_for_annotate() {
  return words_of(kPerfAnnotateWords);
}

std::vector<ForeignWord> words_for_commands() {
  return words_of(kCommandWords);
}

}  // namespace gosym
