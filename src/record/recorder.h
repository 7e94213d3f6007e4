#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "proc/maps.h"
#include "record/event_queue.h"
#include "record/files/file_helper.h"
#include "record/files/image_catalog.h"
#include "record/held_events.h"
#include "record/kernel_symbols.h"
#include "record/memory_helper.h"
#include "record/process_state.h"
#include "record/sampler.h"
#include "record/sideband_record.h"
#include "record/sink.h"
#include "record/stacks/passed_callers.h"

namespace gosym {

namespace raw {
class SampleBatch;
}

// Fills in the first chunk of a recording.
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
    uint64_t due_ticks = 0;
    double skipped_percent = 0;
    uint64_t unfollowed = 0;  // children that were not sampled: too many
    uint64_t untracked = 0;   // threads whose waits are not known: too many
    uint64_t charged_ns = 0;  // as RecordingStats has it
    int64_t excess_ns = 0;    // time that samples stand for beyond charged_ns, if it is much
    uint64_t unreadable = 0;  // sampled processes whose mappings may not be read
    uint64_t hung_looks = 0;  // at files, memory maps and memory without an answer in time
    uint64_t refused_events = 0;        // mappings of processes that map code all the time
    uint64_t shortened_stacks = 0;      // samples whose stacks were deeper than the format's
    uint64_t costly_stacks = 0;         // goroutines whose stacks were cut: too much to read
    uint64_t shortened_texts = 0;       // samples with labels too long, or too many
    uint64_t unplaced = 0;              // samples of code that nothing is known of
    bool lacks_kernel_symbols = false;  // there are kernel frames, but no names for them
    std::vector<std::string> perf_map_problems;    // one a map that was not used, or cut
    std::vector<std::string> unknown_go_versions;  // whose goroutines cannot be told
    size_t archived = 0;                           // files that were kept
    std::vector<std::string> archive_problems;     // one a file that was not, or in part
    size_t process_count = 0;                      // processes with samples
    uint64_t duration_ns = 0;
    uint64_t file_size = 0;
  };

  // The sampler was opened with these options; it and the sink must outlive the recorder. Files
  // for which there is no room in `max_size` bytes of the recording are not archived.
  Recorder(const SamplerOptions& options, Sampler& sampler, RecordingSink& sink,
           ArchiveChoice archive = {}, uint64_t max_size = UINT64_MAX);
  ~Recorder();

  // Writes what is mapped now, and lets the sampler run.
  Result<> start();

  // Takes what has come in, and writes it if that is worth a chunk.
  Result<> collect();

  // Writes what was collected and would else wait until it is worth a chunk.
  Result<> write();

  // Writes all that is known, as at the end, while sampling goes on: what comes next may go
  // into another file.
  Result<> end_part();

  // Stops sampling and ends the file.
  Result<> finish();

  // Worth a collect() when it is readable; 50 ms after the last one is soon enough.
  int poll_fd() const { return sampler_.poll_fd(); }
  // True if events were lost in the last half second: somebody makes more of them than the
  // rings hold.
  bool is_overrun() const;

  // Threads were named as targets, and each has ended.
  bool have_threads_ended() const { return have_threads_ended_; }
  uint64_t file_size() const { return sink_.bytes_written(); }

  // All counts since the start, up to the last write.
  RecordingStats stats() const;
  // All of these but the charged time, where that is work (Sampler::charged_ns()).
  RecordingStats counts() const;
  Summary summary() const;

private:
  bool has_all_processes() const {
    return options_.scope.is_system_wide || !options_.scope.cgroups.empty();
  }
  bool is_followed(uint32_t pid) const;
  ProcessState* find(uint32_t pid);

  // The state before the first event.
  std::vector<uint32_t> processes_at_start() const;
  void snapshot_cgroups();
  void snapshot_processes();
  void snapshot(uint32_t pid, uint64_t time);
  std::vector<RawMapping> find_copied_code(std::span<const proc::MapsEntry> entries,
                                           uint32_t pid, uint64_t time);
  void snapshot_unknown_code(uint32_t pid, uint64_t time);

  void drain_samples();
  bool may_lack_code(const RecordedSample& sample) const;
  void on_sample(RecordedSample sample, const StackTop& top);
  void count_unplaced(const RecordedSample& sample, ProcessState& process);
  void select_words(const RecordedSample& sample, const StackTop& top,
                    const ProcessState& process);

  // Each event passes three stages.
  //
  // It is drained: what it tells of code is known at once, for samples of that are drained
  // next. Gives the time up to which all events were drained.
  uint64_t drain_events();
  // Adds events to the queue and notes their code. Gives what the queue kept of them, in order
  // of time, until the next call.
  std::span<const SidebandRecord> enqueue(EventQueue::Records drained);
  void note_code(const SidebandRecord& record);
  void inherit_code(const ForkEvent& fork);
  void note_code(const RawMapping& mapping);
  void note_losses();

  // It is handled, in order of time: it tells who is followed and who has ended. The last two
  // give false if it is of nobody who is recorded.
  uint64_t handle_events(uint64_t until, uint64_t deadline);
  void handle(SidebandRecord record);
  bool handle_fork(const ForkEvent& event);
  bool handle_exit(const ExitEvent& event);

  // It is given out by HeldEvents, once there are samples of its process: it goes into the
  // recording, and tells what the process maps and runs.
  void handle_given();
  void on_mmap(RawMapping mapping);
  void look_for_copies(ProcessState& process, const MapEvent& event);
  void learn_code(ProcessState& process, const MapEvent& event, const UniqueFd& file);
  void on_comm(CommEvent event);
  void on_exec(const CommEvent& event);
  void on_fork(const ForkEvent& event);
  void on_kernel_code(KernelCodeEvent event);
  void set_go_program(ProcessState& process, const GoProgram& program, const MapEvent& code);
  void leave_images(ProcessState& process);
  void want_left_images(const RecordedSample& sample);

  // Processes whose events did not come, or not all.
  void read_later(uint32_t pid, ProcessState& process, uint64_t since);
  void read_incomplete();
  void read_again(uint32_t pid, ProcessState& process);

  // Processes that have ended.
  Result<> forget_ended();
  void replace(const ForkEvent& event, ProcessState& process);
  Result<> finish_replaced();
  void watch_perf_maps();
  Result<> write_left_perf_maps();
  Result<> write_perf_map(uint32_t pid, const ProcessState& process, uint64_t time);
  Result<> write(std::optional<RecordedPerfMap> map);
  void forget(uint32_t pid);
  void count_out(ProcessState& process);

  void give_back_memory();
  Result<> write_archive(uint64_t until);
  Result<> write_perf_maps(uint64_t time);

  SamplerOptions options_;
  Sampler& sampler_;
  RecordingSink& sink_;

  ProcessTable processes_;
  // Processes of the table that are incomplete, and those that have ended. A number is passed
  // over if its process is neither by now, or the table has it no longer.
  std::set<uint32_t> to_read_;
  std::set<uint32_t> ending_;
  // Processes whose number was given to another before they were forgotten.
  std::vector<std::pair<uint32_t, ProcessState>> replaced_;
  // Images of programs that a process left without a sample, up to that time; in order of it.
  struct LeftImages {
    uint32_t pid;
    uint64_t until;
    Archive::Images images;
  };
  std::deque<LeftImages> left_images_;
  size_t process_count_ = 0;  // processes with samples, whether they are still known or not
  // Counts of processes that were forgotten, for the summary.
  uint64_t unplaced_count_ = 0;
  uint64_t unreadable_count_ = 0;

  std::set<std::string> unknown_go_versions_;
  std::vector<uint32_t> live_tids_;  // target threads that have not ended
  bool have_threads_ended_ = false;
  FileHelper helper_;
  MemoryHelper memory_{MemoryHelper::kPatienceOfRecording};
  ImageCatalog images_{&helper_};
  CodeRules code_rules_;
  PerfMaps perf_maps_{&helper_};
  std::vector<std::string> perf_map_problems_;
  uint64_t next_watch_ = 0;  // when perf maps are looked at next, in ns
  // Maps of programs that processes have left just now: the time, and where they are.
  struct LeftPerfMap {
    uint32_t pid;
    uint64_t time;
    PerfMaps::Place place;
  };
  std::vector<LeftPerfMap> left_perf_maps_;
  Archive archive_;
  uint64_t max_size_;
  size_t archived_ = 0;

  // Events, by stage.
  EventQueue queue_;                   // drained
  uint64_t handled_until_ = 0;         // all up to then
  uint64_t sampled_until_ = 0;         // all samples from before this time are here
  HeldEvents held_;                    // handled, of threads without samples
  std::vector<SidebandRecord> given_;  // handled, of others
  std::vector<Event> events_;          // to be written
  std::vector<raw::SampleBatch> batches_;
  uint64_t shortened_stacks_ = 0;  // as the summary has them
  uint64_t shortened_texts_ = 0;

  uint64_t last_drain_ = 0;
  size_t fresh_count_ = 0;       // events that the last look at the rings found
  uint64_t lost_events_ = 0;     // when it was looked at last
  uint64_t last_loss_ = 0;       // when there were more than before; 0: never
  uint64_t last_end_check_ = 0;  // when it was looked whether ending processes are gone

  std::vector<StackWord> words_;  // scratch of select_words()
  SettledStack settled_;          // scratch of on_sample(): of the sample, if it was changed

  // Opened as long as there are the rights for it, and read before the first sample: it takes a
  // tenth of a second, in which a ring could fill.
  UniqueFd kallsyms_;
  KernelSymbols kernel_symbols_;
  bool has_kernel_samples_ = false;
  uint64_t start_time_ = 0;      // from here on changes of processes are events
  uint64_t sampling_since_ = 0;  // later: what ran already has been looked at
  uint64_t end_time_ = 0;
  uint64_t last_write_ = 0;
  uint64_t gave_back_at_ = 0;
};

}  // namespace gosym
