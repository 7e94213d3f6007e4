#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "record/sideband_record.h"

namespace gosym {

// Puts events in order of time that were read in another order.
//
// The rings of the CPUs are read one after the other, so what lies in the first may have been
// overtaken by what lies in the last: a process is told before its parent's fork. Only up to
// the moment before the first was read is the account complete: that is the time that
// make_ready() is to be given. Younger events wait, as an older one may still come.
//
//   add() after each look at the rings; make_ready(), then take() while has_ready()
//
// Between two calls of make_ready(), take() gives events in order of time, and those of equal
// time in the order in which they were added. An event that comes too late is given after the
// next make_ready(): no event is lost for its time. The queue never holds more than a number of
// events, of which those that were taken count until the next make_ready(); what it has no room
// for is counted.
class EventQueue {
public:
  using Records = std::vector<SidebandRecord>;

  // The rings of 20 CPUs hold as many.
  static constexpr size_t kMaxHeld = 200'000;
  explicit EventQueue(size_t max_held = kMaxHeld) : max_held_(max_held) {}

  // Takes what the rings had. Gives what of it is kept, in order of time; valid until the next
  // call. It may be called between take() and take(): what it adds is not ready then.
  std::span<const SidebandRecord> add(Records fresh);

  // From now on all up to a time are ready, that one included.
  void make_ready(uint64_t until);
  bool has_ready() const { return taken_ < ready_; }
  // The oldest that is ready; only while has_ready().
  SidebandRecord take();

  // The time up to which all that was ready has been taken.
  uint64_t taken_until() const;

  // True if an exec of the process is waiting that is later than this time.
  bool has_exec_after(uint32_t pid, uint64_t time) const;

  size_t size() const { return records_.size() - taken_; }  // that were not taken
  uint64_t dropped() const { return dropped_; }             // for which there was no room

private:
  size_t max_held_;
  Records records_;     // those that are ready come first, in order of time
  size_t taken_ = 0;    // of those; they keep their place until make_ready()
  size_t ready_ = 0;    // how many were made ready
  uint64_t until_ = 0;  // the time that make_ready() was given
  uint64_t dropped_ = 0;
};

}  // namespace gosym
