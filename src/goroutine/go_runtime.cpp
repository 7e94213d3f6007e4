#include "goroutine/go_runtime.h"

#include "go/goroutine_layout.h"

namespace gosym {

namespace {

// Rule for the frame that runtime.cgocallback has on the stack of a goroutine: the place where
// that had left for C code is at its end on amd64, and lies in its lowest word on arm64.
std::optional<UnwindRule> frame_of_callback(uint16_t machine, uint8_t frame_size) {
  constexpr int32_t kSizeOnArm64 = 48;  // in each release (bpf/goroutine_stack.h)
  UnwindRule rule;
  rule.frame_kind = UnwindRule::FramePointer::kLost;
  if (machine == EM_AARCH64) {
    rule.cfa = {Anchor::kStackPointer, kSizeOnArm64};
    rule.return_address = {Anchor::kStackPointer, 0};
    return rule;
  }
  // The frame's size depends on the release; 0 means that it is not known.
  if (machine != EM_X86_64 || frame_size == 0)
    return std::nullopt;
  rule.cfa = {Anchor::kStackPointer, frame_size};
  rule.return_address = {Anchor::kCfa, -8};
  return rule;
}

// Rule for runtime.cgocallback where it has called Go code for code of C, which
// go::unwind_rule() leaves out, as that function goes from stack to stack.
std::optional<UnwindRule> rule_of_callback(const GoCode& code, uint64_t address,
                                           const std::optional<UnwindRule>& rule) {
  std::vector<Call> calls = code.calls_at(address);
  bool is_callback = !calls.empty() && calls.back().function.starts_with("runtime.cgocallback");
  return is_callback ? rule : std::nullopt;
}

}  // namespace

bool is_known_runtime(const GoFile& file) {
  return go::goroutine_layout(file.version).has_value();
}

GoRuntime make_runtime(const GoFile& file, const GoCode& code) {
  GoRuntime runtime;
  auto layout = go::goroutine_layout(file.version);
  // The newest layout is the best guess for a release that is newer still.
  runtime.layout = layout ? *layout : go::newest_goroutine_layout();
  runtime.machine = file.image->machine;
  auto of_callback = frame_of_callback(runtime.machine, runtime.layout.runtime.callback_frame);
  runtime.find_rule = [&code, of_callback](uint64_t address) {
    auto rule = code.find_rule(address);
    return rule ? rule : rule_of_callback(code, address, of_callback);
  };
  runtime.is_entry = [&code](uint64_t address) { return code.is_entry(address); };
  // None of a program without the function that tells: its goroutines cannot be found then.
  for (ImageAddress address : go::find_allgs(*file.module))
    runtime.allgs.push_back(to_integer(address) + file.bias);
  return runtime;
}

std::string state_text(const Goroutine& goroutine,
                       std::span<const std::string_view> wait_reasons) {
  bool is_leaked = goroutine.status == go::GoroutineStatus::kLeaked;
  bool waits = goroutine.status == go::GoroutineStatus::kWaiting || is_leaked;
  std::string state(go::to_string(goroutine.status));
  // Reasons are numbers of a release: without its list they mean nothing.
  if (waits && goroutine.wait_reason != 0 && !wait_reasons.empty())
    state = goroutine.wait_reason < wait_reasons.size() ? wait_reasons[goroutine.wait_reason]
                                                        : "unknown wait reason";
  return state + (is_leaked ? " (leaked)" : "");
}

bool is_of_runtime(std::string_view start) {
  // These begin in the runtime and run code of the program.
  return start.starts_with("runtime.") && start != "runtime.main" &&
         start != "runtime.corostart" && start != "runtime.handleAsyncEvent";
}

}  // namespace gosym
