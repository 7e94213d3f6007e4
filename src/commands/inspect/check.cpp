#include "go/check.h"
#include "base/exit_status.h"
#include "base/print.h"
#include "commands/inspect/views.h"
#include "output/json.h"

namespace gosym {

namespace {

// A table that cannot be read at all fails the first of all invariants.
Result<go::CheckReport> check(const ImageSymbols& symbols) {
  go::Check table{"the function table can be read"};
  table.expect(symbols.problem().empty(), [&] { return symbols.problem(); });
  go::CheckReport report;
  if (symbols.go_module())
    report = go::check_module(*symbols.go_module());
  else if (symbols.problem().empty())
    return require_module(symbols).error();
  report.checks.insert(report.checks.begin(), table);
  return report;
}

void print_text(const go::CheckReport& report) {
  size_t failed = 0;
  for (const go::Check& check : report.checks) {
    print(stdout, "{:<42} checked {:>8}, failed {}\n", check.invariant, check.checked,
          check.failed);
    if (check.failed > 0)
      print(stdout, "    first: {}\n", check.first_failure);
    failed += check.failed > 0;
  }
  print(stdout, "{}: {} functions, {} holes, {} of {} invariants broken\n",
        report.is_whole() ? "whole" : "broken", report.functions, report.holes, failed,
        report.checks.size());
}

void print_json(const go::CheckReport& report) {
  JsonWriter json;
  json.begin_object();
  json.field("whole", report.is_whole());
  json.field("functions", report.functions);
  json.field("holes", report.holes);
  json.key("checks");
  json.begin_array();
  for (const go::Check& check : report.checks) {
    json.begin_object();
    json.field("invariant", check.invariant);
    json.field("checked", check.checked);
    json.field("failed", check.failed);
    if (check.failed > 0)
      json.field("first_failure", check.first_failure);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  print(stdout, "{}\n", json.text());
}

}  // namespace

Result<int> show_check(const ImageSymbols& symbols, const InspectOptions& options) {
  auto report = check(symbols);
  if (!report)
    return std::move(report).error();
  options.is_json ? print_json(*report) : print_text(*report);
  return report->is_whole() ? kSuccess : kFailure;
}

}  // namespace gosym
