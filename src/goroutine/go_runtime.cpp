#include "goroutine/go_runtime.h"

#include "go/allgs.h"

namespace gosym {

bool is_known_runtime(const GoFile& file) {
  return go::goroutine_layout(file.version).has_value();
}

GoRuntime make_runtime(const GoFile& file, const GoCode& code) {
  GoRuntime runtime;
  runtime.find_rule = [&code](uint64_t address) { return code.find_rule(address); };
  runtime.is_entry = [&code](uint64_t address) { return code.is_entry(address); };
  for (ImageAddress address : go::find_allgs(*file.module))
    runtime.allgs.push_back(to_integer(address) + file.bias);
  auto layout = go::goroutine_layout(file.version);
  runtime.layout = layout ? *layout : go::newest_goroutine_layout();
  return runtime;
}

std::string state_text(const Goroutine& goroutine,
                       std::span<const std::string_view> wait_reasons) {
  bool is_leaked = goroutine.status == go::GoroutineStatus::kLeaked;
  bool waits = goroutine.status == go::GoroutineStatus::kWaiting || is_leaked;
  std::string state(go::to_string(goroutine.status));
  if (waits && goroutine.wait_reason != 0 && !wait_reasons.empty())
    state = goroutine.wait_reason < wait_reasons.size() ? wait_reasons[goroutine.wait_reason]
                                                        : "unknown wait reason";
  return state + (is_leaked ? " (leaked)" : "");
}

bool is_of_runtime(std::string_view start) {
  return start.starts_with("runtime.") && start != "runtime.main" &&
         start != "runtime.corostart" && start != "runtime.handleAsyncEvent";
}

}  // namespace gosym
