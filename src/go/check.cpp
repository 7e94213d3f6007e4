#include "go/check.h"

#include <algorithm>

#include "go/check_function.h"
#include "go/check_tables.h"

namespace gosym::go {

namespace {

// True if the table names no file for any code of the function.
bool is_empty(const Pclntab& table, const std::optional<Function>& function) {
  if (!function)
    return false;
  auto row = function->pcfile == 0 ? std::nullopt : table.rows(function->pcfile).next();
  return !row || row->begin == row->end;
}

// The pairs of functab, and where the records lie. Passes each record that reads on.
//
//   entries rise      except behind functions without code, which C code has up to Go 1.12
//   records read      and have the entry that functab has
//   records follow    one another, aligned to a pointer
void check_functab(const Module& module, CheckReport& report, FunctionChecker& functions) {
  const Pclntab& table = module.table;
  Check entries{"entries rise"};
  Check readable{"records can be read"};
  Check order{"records follow one another, aligned"};
  uint64_t records_end = 0;
  for (uint32_t i = 0; i < table.function_count(); i++) {
    auto function = table.function(i);
    entries.expect(table.entry(i) < table.entry(i + 1) || is_empty(table, function), [&] {
      return fmt::format("entries {} and {} are both {:#x}", i, i + 1, table.entry(i));
    });
    if (table.is_hole(i)) {
      report.holes++;
      continue;
    }
    if (!readable.expect(function.has_value(), [&] {
          return fmt::format("that of function {}, at {:#x}, cannot", i, table.entry(i));
        }))
      continue;
    bool is_aligned = function->offset % table.header().pointer_size == 0;
    order.expect(is_aligned && function->offset >= records_end, [&] {
      return fmt::format("that of function {} is at {:#x}, the last ends at {:#x}", i,
                         function->offset, records_end);
    });
    records_end = function->offset + function->size;
    functions.check(*function);
  }
  report.checks = {entries, readable, order};
}

}  // namespace

bool CheckReport::is_whole() const {
  return std::ranges::all_of(checks, [](const Check& check) { return check.failed == 0; });
}

CheckReport check_module(const Module& module) {
  CheckReport report;
  report.functions = module.table.function_count();
  FunctionChecker functions(module);
  check_functab(module, report, functions);
  auto add = [&](const auto& checks) {
    report.checks.insert(report.checks.end(), checks.begin(), checks.end());
  };
  add(functions.checks());
  add(check_tables(module));
  return report;
}

}  // namespace gosym::go
