// Tells what the sampler would be told of Go programs: one line for each file, or "none".

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/unique_fd.h"
#include "go/goroutine_layout.h"
#include "record/files/image_catalog.h"

using namespace gosym;

namespace {

std::optional<GoProgram> read_program(const char* path) {
  UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  auto copy = SparseCopy::open(file.get());
  if (!copy)
    return std::nullopt;
  auto image = copy->read_image();
  return image ? read_go_program(*copy, *image) : std::nullopt;
}

}  // namespace

int main(int count, char** files) {
  for (int i = 1; i < count; i++) {
    auto program = read_program(files[i]);
    if (!program || !program->layout) {
      fmt::print("none\n");
      continue;
    }
    const go::RuntimeLayout& layout = *program->layout;
    fmt::print(
        "g.m={} g.sched.sp={} g.sched.bp={} g.goid={} g.labels={} g.stkbar={} m.gsignal={} "
        "m.curg={} ",
        layout.g_m, layout.g_sched_sp, layout.g_sched_bp, layout.g_goid, layout.g_labels,
        layout.g_stack_barriers, layout.m_gsignal, layout.m_curg);
    if (auto waits = go::goroutine_layout(program->version)) {
      fmt::print(
          "g.atomicstatus={} g.waitsince={} g.waitreason={} g.trackingSeq={} g.syscallsp={} "
          "g.lockedm={} g.parentGoid={} g.gopc={} g.startpc={} m.procid={} ",
          waits->status, waits->wait_since, waits->wait_reason, waits->switch_count,
          waits->syscall_sp, waits->locked_thread, waits->parent, waits->created_at,
          waits->start, waits->thread_id);
      std::string reasons;
      for (std::string_view reason : waits->wait_reasons)
        reasons += fmt::format("{}|", reason);
      std::ranges::replace(reasons, ' ', '_');
      fmt::print("reasons={} ", reasons);
    }
    fmt::print("callback_frame={} label_map={} offset={}\n", layout.callback_frame,
               int{layout.has_label_map},
               program->offset_at ? "loaded" : std::to_string(program->offset));
  }
}
