#include "record/event_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gosym {

namespace {

void sort_by_time(std::span<SidebandRecord> records) {
  std::ranges::stable_sort(records, {}, [](const auto& record) { return time_of(record); });
}

}  // namespace

std::span<const SidebandRecord> EventQueue::add(Records fresh) {
  sort_by_time(fresh);
  // The bound protects the memory of the recorder. The newest are dropped, so that the account
  // up to there is complete.
  // There are never more than max_held_, as no other function adds any.
  size_t kept = std::min(fresh.size(), max_held_ - records_.size());
  dropped_ += fresh.size() - kept;
  auto end = fresh.begin() + static_cast<ptrdiff_t>(kept);
  records_.insert(records_.end(), std::move_iterator(fresh.begin()), std::move_iterator(end));
  return std::span(records_).last(kept);
}

void EventQueue::make_ready(uint64_t until) {
  records_.erase(records_.begin(), records_.begin() + static_cast<ptrdiff_t>(taken_));
  sort_by_time(records_);
  auto end = std::ranges::upper_bound(records_, until, {},
                                      [](const auto& record) { return time_of(record); });
  taken_ = 0;
  ready_ = static_cast<size_t>(end - records_.begin());
  until_ = until;
}

SidebandRecord EventQueue::take() {
  return std::move(records_[taken_++]);
}

uint64_t EventQueue::taken_until() const {
  // Others of the same time may follow the next one.
  return has_ready() ? std::max<uint64_t>(time_of(records_[taken_]), 1) - 1 : until_;
}

bool EventQueue::has_exec_after(uint32_t pid, uint64_t time) const {
  std::span waiting = std::span(records_).subspan(taken_);
  return std::ranges::any_of(waiting, [&](const SidebandRecord& record) {
    const auto* comm = std::get_if<CommEvent>(&record);
    return comm && comm->is_exec && comm->pid == pid && comm->time > time;
  });
}

}  // namespace gosym
