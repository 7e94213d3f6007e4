#include <algorithm>

#include "record/recorder.h"

namespace gosym {

uint64_t Recorder::drain_sideband() {
  uint64_t now = monotonic_ns();
  size_t known = pending_.size();
  sampler_->drain_events(pending_);
  std::span fresh = std::span(pending_).subspan(known);
  std::ranges::stable_sort(fresh, {}, [](const auto& record) { return time_of(record); });
  for (const SidebandRecord& record : fresh) {
    code_.apply(record);
    // Before samples of the new program are seen.
    if (const auto* comm = std::get_if<CommEvent>(&record); comm && comm->is_exec)
      go_code_.forget(comm->pid);
  }
  return now;
}

// The rings of the CPUs are read one after the other, so what lies in the first may have been
// overtaken by what lies in the last: a process is told before its parent's fork. Only up to
// the moment before the first was read is the account complete.
bool Recorder::keep_events(uint64_t until, uint64_t deadline) {
  std::ranges::stable_sort(pending_, {}, [](const auto& record) { return time_of(record); });
  size_t taken = 0;
  while (taken < pending_.size() && time_of(pending_[taken]) <= until &&
         monotonic_ns() < deadline)
    std::visit([this](auto& record) { keep(std::move(record)); }, pending_[taken++]);
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(taken));
  return pending_.empty() || time_of(pending_.front()) > until;
}

void Recorder::keep(RawMapping mapping) {
  if (!is_followed(mapping.pid))
    return;
  if (options_.has_user && is_memory(mapping.path))
    perf_maps_.notice(mapping.pid, mapping.time);
  auto [image, file, is_new] = images_.identify(mapping);
  std::string path = mapping.path;
  MapEvent event = event_of(std::move(mapping), image);
  const GoProgram* program = images_.go_program(image);
  if (program)
    keep(*program, event);
  if (!program || !executes_after(event.pid, event.time))
    go_code_.map(event, program != nullptr, file);
  if (is_new && file)
    archive_.hold(image, std::move(file), path);
  archive_.map(event.pid, image);
  events_.emplace_back(std::move(event));
}

// Whether it is known by now that the process went on to another program, of which there may be
// samples.
bool Recorder::executes_after(uint32_t pid, uint64_t time) const {
  return std::ranges::any_of(pending_, [&](const SidebandRecord& record) {
    const auto* comm = std::get_if<CommEvent>(&record);
    return comm && comm->is_exec && comm->pid == pid && comm->time > time;
  });
}

// Of several in one process the first is its program, and not a library.
void Recorder::keep(const GoProgram& program, const MapEvent& code) {
  if (!program.layout)
    unknown_go_versions_.insert(program.version);
  else if (options_.has_user && go_processes_.insert(code.pid).second)
    sampler_->set_go_program(code.pid, program, program.offset_at_in(code));
}

void Recorder::forget_go_program(uint32_t pid) {
  if (go_processes_.erase(pid) > 0)
    sampler_->forget_go_program(pid);
}

void Recorder::leave_images(uint32_t pid) {
  if (sampled_.contains(pid))
    archive_.want(pid);
  archive_.forget(pid);
}

void Recorder::keep(CommEvent event) {
  if (!is_followed(event.pid))
    return;
  if (event.is_exec) {
    perf_maps_.renew(event.pid, event.time);
    forget_go_program(event.pid);
    go_code_.forget(event.pid);
    leave_images(event.pid);
  }
  events_.emplace_back(std::move(event));
}

void Recorder::keep(ForkEvent event) {
  if (!is_followed(event.parent_pid))
    return;
  if (event.pid != event.parent_pid && !options_.scope.follows_children)
    return;
  if (event.pid != event.parent_pid)
    ending_.erase(event.pid);  // one of this number, long ago
  if (!has_all_processes())
    followed_.insert(event.pid);
  archive_.fork(event.parent_pid, event.pid);
  events_.emplace_back(event);
}

void Recorder::keep(ExitEvent event) {
  if (!is_followed(event.pid)) {
    if (event.tid == event.pid)
      code_.forget(event.pid);
    return;
  }
  if (std::erase(live_tids_, event.tid) > 0 && live_tids_.empty())
    have_threads_ended_ = true;
  if (event.tid == event.pid || ending_.contains(event.pid))
    ending_[event.pid] = {event.time};
  events_.emplace_back(event);
}

void Recorder::keep(CgroupEvent event) {
  events_.emplace_back(std::move(event));
}

void Recorder::keep(KernelCodeEvent event) {
  if (options_.has_kernel)
    events_.emplace_back(std::move(event));
}

}  // namespace gosym
