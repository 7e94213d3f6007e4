#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_line.h"

// Words of perf(1) and pprof that users type by habit. Those with a counterpart here are
// understood; the others are answered with what does the same.

namespace gosym {

// Words of `perf report` and of `go tool pprof`.
std::vector<ForeignWord> words_for_report();
// Words of `perf record`.
std::vector<ForeignWord> words_for_record();
// Words of `perf top`.
std::vector<ForeignWord> words_for_top();
// Words of `perf annotate`.
std::vector<ForeignWord> words_for_annotate();
// Commands of `perf` itself.
std::vector<ForeignWord> words_for_commands();

// Rows of commands/foreign_words.txt: a word, and what does the same here.
struct WordRow {
  std::string_view word;
  std::string_view here;
};
extern const std::span<const WordRow> kPprofWords;
extern const std::span<const WordRow> kPerfReportWords;
extern const std::span<const WordRow> kPerfRecordWords;
extern const std::span<const WordRow> kPerfTopWords;
extern const std::span<const WordRow> kPerfAnnotateWords;
extern const std::span<const WordRow> kCommandWords;

// Makes options of gosym of pprof's, which have one dash: "-focus=RE", "-cum", "-nodecount=5";
// and of perf's that look the same and are not: "-g caller", "-f" without a format.
void understand_report_words(std::vector<std::string>& line);
// Makes operands of "-i FILE" and "-s FUNC" of perf's annotate, and understands "-M intel".
void understand_annotate_words(std::vector<std::string>& line);

}  // namespace gosym
