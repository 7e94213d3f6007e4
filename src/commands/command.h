#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"

namespace gosym {

Command make_record();
Command make_report();
Command make_top();
Command make_goroutines();
Command make_heap();
Command make_diff();
Command make_archive();
Command make_inspect();
Command make_index();
Command make_resolve();
Command make_annotate();
Command make_snapshot();
Command make_push();
Command make_doctor();

}  // namespace gosym
