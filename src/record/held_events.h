#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "record/sideband_record.h"

namespace gosym {

// Holds what processes and threads do as long as there are no samples of them. Most live and
// end without one: they cost the recording nothing, and their files are never opened.
//
// The current state is held and not the history: the name of each thread, and the mappings of
// its process, with those inherited by a fork. The first sample of a process releases it, and
// from then on what the thread and its process do is given out as it comes, save what changes
// nothing.
//
// Samples are read one CPU after the other, so a process may have samples of a program that it
// executed before ones that are older. Nothing that was so is forgotten until all samples of
// that time have come: the program before an exec, the process that had the number before,
// mappings that others hide, threads that have ended. It may be given out late, after what
// happened since.
//
// The memory for it is bounded. Beyond it, or after events were lost, not all is known of some
// processes, and they are to be read from /proc when there are samples of them.
class HeldEvents {
public:
  using Records = std::vector<SidebandRecord>;

  // Takes the next event, in order of time. Appends to `out` whatever is not held.
  void add(SidebandRecord record, Records& out);

  // A process is read from /proc now: nothing of it is held from here on.
  void give_out(uint32_t pid);

  // There is a sample of a thread, maybe of a time before samples that came earlier.
  void want(uint32_t pid, uint32_t tid, uint64_t time);
  // Appends what was held of all that is wanted for samples up to a time; add() was given all
  // that happened until then.
  void release(uint64_t until, Records& out);

  // Processes with samples of which not all is known, with the time of the first of those.
  std::map<uint32_t, uint64_t> take_unknown();

  // Events were lost: of no process is all known any more, or not of this one.
  void lose_track();
  void lose_track(uint32_t pid);

  // All samples and events up to a time have come: what was over by then is forgotten.
  void forget_until(uint64_t time);

  // It has ended, and so have all its threads as far as is known.
  bool is_over(uint32_t pid) const;
  void forget(uint32_t pid);

private:
  struct HeldName {
    uint64_t time = 0;  // from then on
    std::string name;
  };
  struct HeldThread {
    std::vector<HeldName> names;  // the oldest first; of those given out only the last
    bool is_out = false;
    bool has_ended = false;
  };
  using Mappings = std::vector<RawMapping>;
  struct HiddenMapping {
    RawMapping mapping;
    uint64_t since = 0;
  };
  // While it runs one program.
  struct HeldProcess {
    ForkEvent fork{};                           // pid 0: it was not seen, or is over
    CommEvent exec{};                           // likewise
    std::shared_ptr<const Mappings> inherited;  // null: none
    Mappings mappings;                          // since then
    std::vector<HiddenMapping> hidden;          // by those, in order of time
    std::map<uint32_t, HeldThread> threads;
    bool is_out = false;
    std::optional<uint64_t>
        whole_since;  // value of lost_count_ then: if it is the same, nothing is missing
    // Earlier states, before the last execs, and of processes that had the number before; the
    // oldest first. Each is valid up to its `end`.
    std::vector<HeldProcess> before;
    uint64_t end = 0;
  };

  void on_mmap(RawMapping& mapping, Records& out);
  void on_comm(CommEvent& event, Records& out);
  void on_fork(const ForkEvent& event, Records& out);
  void on_exit(const ExitEvent& event, Records& out);

  HeldProcess& process(uint32_t pid);
  bool is_whole(const HeldProcess& process) const { return process.whole_since == lost_count_; }
  static std::shared_ptr<const Mappings> all_mappings(const HeldProcess& process);
  bool remember(HeldProcess& process, const RawMapping& mapping);
  void hide(HeldProcess& process, const RawMapping& by);
  void begin_anew(uint32_t pid, HeldProcess& process, uint64_t time);
  void forget_before(HeldProcess& process, uint64_t time);
  bool rename(HeldThread& thread, const CommEvent& event) const;
  void forget_thread(uint32_t pid, uint32_t tid, HeldProcess& process);
  void discount(const HeldProcess& process);

  struct Want;
  static bool has_given(const HeldProcess& process, uint32_t tid, uint64_t time);
  static const HeldProcess& state_at(const HeldProcess& process, uint64_t time);
  void release_if_wanted(uint32_t pid, Records& out);
  static void release_all(uint32_t pid, const Want& want, HeldProcess& process, Records& out);
  static void release_process(uint32_t pid, const Want& want, HeldProcess& process,
                              Records& out);
  static void release_thread(uint32_t pid, uint32_t tid, HeldProcess& process, Records& out);

  struct Want {
    uint64_t time;  // of the first sample, in ns
    std::vector<uint32_t> tids;
  };
  std::unordered_map<uint32_t, HeldProcess> processes_;
  std::unordered_map<uint32_t, Want> wanted_;
  std::map<uint32_t, uint64_t> unknown_;
  struct Over {
    uint32_t pid;
    uint32_t tid;  // 0: the program that the process ran has ended
    uint64_t time;
  };
  std::deque<Over> over_;  // in order of time
  uint64_t forgotten_until_ = 0;
  uint64_t lost_count_ = 0;  // times that track of all processes was lost
  size_t memory_ = 0;        // bytes that all mappings take, about
  size_t thread_count_ = 0;
};

}  // namespace gosym
