#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "record/archive.h"
#include "record/code_ranges.h"
#include "record/code_rules.h"
#include "record/file_helper.h"
#include "record/held_events.h"
#include "record/image_catalog.h"
#include "record/kernel_symbols.h"
#include "record/perf_maps.h"
#include "record/sampler.h"
#include "record/sink.h"

namespace gosym {

namespace raw {
class SampleBatch;
}

// What a recording begins with.
RecordingInfo info_of(const SamplerOptions& options, const Sampler& sampler);

// Joins samples and side-band events into a recording. The caller decides when:
//
//   start, then collect at every wake-up, finish
//
// Events reach the file before the samples that need them: a mapping is announced before code
// runs in it, and each collect() drains the side-band once more after the samples. Before them
// it does so as well, to know code from other words of a stack.
class Recorder {
public:
  struct Summary {
    uint64_t samples = 0;
    uint64_t lost_samples = 0;
    uint64_t lost_events = 0;
    uint64_t skipped = 0;  // ticks of a clock of which there is no sample
    double skipped_percent = 0;
    uint64_t unfollowed = 0;            // children that were not sampled: too many
    uint64_t unreadable = 0;            // sampled processes whose mappings may not be read
    uint64_t hung_looks = 0;            // at files that did not answer in time
    uint64_t refused_events = 0;        // of processes that map code all the time
    uint64_t unplaced = 0;              // samples of code that nothing is known of
    bool lacks_kernel_symbols = false;  // there are kernel frames, but no names for them
    std::vector<std::string> perf_map_problems;    // one a map that was not used, or cut
    std::vector<std::string> unknown_go_versions;  // whose goroutines cannot be told
    size_t archived = 0;                           // files that were kept
    std::vector<std::string> archive_problems;     // one a file that was not, or in part
    size_t process_count = 0;                      // that samples are of
    uint64_t duration_ns = 0;
    uint64_t file_size = 0;
  };

  // The sampler was opened with these options; it and the sink must outlive the recorder. Files
  // for which there is no room in `max_size` bytes of the recording are not archived.
  Recorder(const SamplerOptions& options, Sampler& sampler, RecordingSink& sink,
           ArchiveMode archive = ArchiveMode::kAuto, uint64_t max_size = UINT64_MAX);
  ~Recorder();

  // Writes what is mapped now, and lets the sampler run.
  Result<> start();

  // Takes what has come in, and writes it if that is worth a chunk.
  Result<> collect();

  // Stops sampling and ends the file.
  Result<> finish();

  // Worth a collect() when it is readable; 50 ms after the last one is soon enough.
  int poll_fd() const { return sampler_.poll_fd(); }

  // Threads were named as targets, and each has ended.
  bool have_threads_ended() const { return have_threads_ended_; }
  uint64_t file_size() const { return sink_.bytes_written(); }

  RecordingStats stats() const;
  Summary summary() const;

private:
  bool is_followed(uint32_t pid) const;
  bool has_all_processes() const {
    return options_.scope.is_system_wide || !options_.scope.cgroups.empty();
  }
  std::vector<uint32_t> processes_at_start() const;
  void snapshot_cgroups();
  void snapshot_processes();
  void snapshot(uint32_t pid, uint64_t time);
  Result<std::vector<RawMapping>> read_mappings(uint32_t pid, uint64_t time);
  void drain_samples();
  void keep(RecordedSample sample, const StackTop& top);
  // Gives the time up to which it has all.
  uint64_t drain_sideband();
  uint64_t keep_events(uint64_t until, uint64_t deadline);
  void note_losses();
  void read_unknown();
  void read_again(uint32_t pid, uint64_t since);
  // Whether it is of what is recorded. Tells who belongs to that.
  template <class Other>
  bool is_of_interest(const Other&) {
    return true;
  }
  bool is_of_interest(const RawMapping& mapping) { return is_followed(mapping.pid); }
  bool is_of_interest(const CommEvent& event) { return is_followed(event.pid); }
  bool is_of_interest(const ForkEvent& event);
  bool is_of_interest(const ExitEvent& event);
  void take(SidebandRecord& record);
  void keep_given();
  void keep(RawMapping mapping);
  bool executes_after(uint32_t pid, uint64_t time) const;
  void keep(const GoProgram& program, const MapEvent& code);
  void forget_go_program(uint32_t pid);
  void leave_images(uint32_t pid);
  Result<> forget_ended();
  void keep(CommEvent event);
  void keep(ForkEvent event);
  void keep(ExitEvent event) { events_.emplace_back(event); }
  void keep(const LostRecords&) {}
  void keep(const ThrottleRecord&) {}
  void keep(const OtherRecord&) {}
  void keep(KernelCodeEvent event);
  void keep(CgroupEvent event);
  Result<> write();
  Result<> write_archive(uint64_t until);
  Result<> write_perf_map(uint32_t pid, uint64_t time);

  SamplerOptions options_;
  Sampler& sampler_;
  RecordingSink& sink_;
  std::unordered_set<uint32_t> followed_;  // the targets and their children
  std::unordered_set<uint32_t> sampled_;
  size_t process_count_ = 0;                   // that were in sampled_
  std::unordered_set<uint32_t> go_processes_;  // that the sampler knows
  std::set<std::string> unknown_go_versions_;
  std::vector<uint32_t> live_tids_;  // of threads that are targets
  bool have_threads_ended_ = false;
  FileHelper helper_;
  ImageCatalog images_{&helper_};
  Archive archive_;
  uint64_t max_size_;
  size_t archived_ = 0;

  // Drained and not yet written.
  std::vector<SidebandRecord> pending_;  // too young: an older one may still come
  std::vector<Event> events_;
  std::vector<raw::SampleBatch> batches_;

  HeldEvents held_;
  std::vector<SidebandRecord> given_;  // what that does not hold, and that was not kept yet
  uint64_t kept_until_ = 0;            // all events up to then were kept, or are held

  // Processes whose mappings are to be read from /proc, for not all of their events have come.
  struct Rereading {
    uint64_t since = 0;       // something may be missing
    uint64_t not_before = 0;  // so that it is not done all the time
  };
  std::map<uint32_t, Rereading> to_read_;
  std::map<uint32_t, uint64_t> read_at_;  // when that was done last
  uint64_t lost_events_ = 0;              // when it was looked at last
  size_t fresh_count_ = 0;                // of events, at the last look at the rings
  uint64_t dropped_events_ = 0;           // there were too many at once
  uint64_t last_drain_ = 0;
  // Samples of code of which nothing was known then: how many, and one of their addresses.
  struct Unplaced {
    uint64_t count = 0;
    uint64_t address = 0;
  };
  std::map<uint32_t, Unplaced> unplaced_;
  uint64_t unplaced_count_ = 0;  // of processes that have ended

  CodeRanges code_;
  CodeRules code_rules_;
  std::vector<StackWord> words_;  // scratch of keep()

  PerfMaps perf_maps_{&helper_};
  // Processes whose first thread has ended, while others may go on: or one of these executes
  // another program, and is the first from then on.
  struct Ending {
    uint64_t time = 0;     // of the last end of a thread of it
    bool is_gone = false;  // the last has ended too
  };
  std::map<uint32_t, Ending> ending_;
  std::vector<std::string> perf_map_problems_;

  std::vector<uint32_t> unreadable_;  // processes whose mappings may not be read
  // Read before the first sample: it takes a tenth of a second, in which a ring could fill.
  KernelSymbols kernel_symbols_;
  bool has_kernel_samples_ = false;
  uint64_t start_time_ = 0;
  uint64_t end_time_ = 0;
  uint64_t last_write_ = 0;
};

}  // namespace gosym
