#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"

// What fingers that know perf(1) and pprof type. What means the same here is understood; what
// means nothing here is answered with what does the same.

namespace gosym {

// Of `perf report` and of `go tool pprof`.
std::vector<ForeignWord> words_for_report();
// Of `perf record`.
std::vector<ForeignWord> words_for_record();
// Of `perf top`.
std::vector<ForeignWord> words_for_top();
// Of `perf annotate`.
std::vector<ForeignWord> words_for_annotate();
// Of `perf` itself: its commands.
std::vector<ForeignWord> words_for_commands();

// Makes options of gosym of pprof's, which have one dash: "-focus=RE", "-cum", "-nodecount=5";
// and of perf's that look the same and are not: "-g caller", "-f" without a format.
void understand_report_words(std::vector<std::string>& line);
// Of perf's annotate: "-i FILE", "-s FUNC", which are operands here, and "-M intel".
void understand_annotate_words(std::vector<std::string>& line);

}  // namespace gosym
