#include "raw/replay_recording.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "raw/sample_batch.h"

namespace gosym {

namespace {

// The time that the profile is of: that of the recording, or the filter's part of it.
void set_times(const raw::Recording& recording, uint64_t end_time, const TimeRange& range,
               Profile& profile) {
  uint64_t duration = end_time - std::min(recording.begin_time, end_time);
  uint64_t begin = std::min(range.begin, duration);
  profile.start_realtime_ns = raw::start_realtime_ns(recording) + begin;
  profile.duration_ns = std::min(range.end, duration) - begin;
}

std::vector<Loss> losses_since(std::vector<Loss> losses, uint64_t start) {
  for (Loss& loss : losses) {
    loss.begin -= std::min(loss.begin, start);
    loss.end -= std::min(loss.end, start);
  }
  return losses;
}

// Numbers of the stacks, tops and label sets that samples of a chunk share, given when the
// first sample needs them: samples that the filter drops need none. Numbering them for each
// sample takes a sixth more time.
class SharedNumbers {
public:
  SharedNumbers(const raw::SampleBatch& batch, Replay& replay)
      : batch_(batch),
        replay_(replay),
        stacks_(batch.stack_count()),
        tops_(batch.top_count()),
        switches_(batch.switch_list_count()),
        label_sets_(batch.label_set_count()) {}

  Replay::Numbers of(const raw::SampleBatch::Row& row) {
    return {stack(row.kernel_index), stack(row.user_index),     stack(row.creator_index),
            top(row.top_index),      switches(row.switch_list), labels(row.label_set)};
  }

private:
  using Known = std::optional<uint32_t>;

  uint32_t stack(uint32_t index) {
    Known& known = stacks_[index];
    return known ? *known : *(known = replay_.number_stack(batch_.stack(index)));
  }
  uint32_t top(uint32_t index) {
    Known& known = tops_[index];
    return known ? *known : *(known = replay_.number_top(batch_.top(index)));
  }
  uint32_t switches(uint32_t list) {
    Known& known = switches_[list];
    return known ? *known : *(known = replay_.number_switches(batch_.switches(list)));
  }
  uint32_t labels(uint32_t set) {
    Known& known = label_sets_[set];
    return known ? *known : *(known = replay_.number_labels(batch_.labels(set)));
  }

  const raw::SampleBatch& batch_;
  Replay& replay_;
  std::vector<Known> stacks_;
  std::vector<Known> tops_;
  std::vector<Known> switches_;
  std::vector<Known> label_sets_;
};

// Cuts an interval to a range of time; its weight is 0 if nothing of it lies there. The
// sample's time is the end of its interval, and has to lie in the range for the filter to keep
// it, which `end` does not.
void cut_interval(RecordedSample& sample, const TimeRange& range, uint64_t begin_time) {
  uint64_t begin = begin_time + range.begin;
  uint64_t end = range.end > UINT64_MAX - begin_time ? UINT64_MAX : begin_time + range.end;
  uint64_t from = std::max(sample.time - std::min(sample.time, sample.weight), begin);
  if (sample.time >= end)
    sample.time = end - 1;
  sample.weight = sample.time - std::min(sample.time, from);
}

void note_left_out(size_t samples, std::string problem, raw::Recording& recording) {
  if (samples > 0 && recording.damaged_samples == 0)
    recording.sample_problem = std::move(problem);
  recording.damaged_samples += samples;
}

// Each row may bring a stack of 2,048 addresses: 128 Ki in all (memory_while_growing).
constexpr size_t kRowsBetweenChecks = 64;

uint64_t memory_left(const raw::Recording& recording, uint64_t used) {
  return recording.memory_budget - std::min(recording.memory_budget, recording.memory + used);
}

// So much that most recordings come to it but once, at the end, and that all else of a large
// one is more.
constexpr uint64_t kMuchOfStacks = 128 << 20;

bool find_callers(const raw::Recording& recording, Replay& replay,
                  const raw::SampleReader& samples, const FindCallersWithin& find) {
  return replay.find_callers(kMuchOfStacks, [&](Profile& profile, const StackDumps& dumps) {
    return find(profile, dumps, memory_left(recording, replay.memory() + samples.memory()));
  });
}

}  // namespace

Result<Replayed> replay(raw::Recording& recording, const Filter& filter, GroupBy group_by,
                        const FindCallersWithin& find) {
  size_t event_count = recording.info.events.size();
  const std::vector<RecordedEvent> events = recording.info.events;
  // The histories of processes and mappings are built of all events first, so that samples may
  // come in any order: chunks of different CPUs overlap in time.
  Replay replay(std::move(recording.info), std::move(recording.images),
                std::move(recording.events), recording.perf_maps, group_by);
  replay.set_begin(recording.begin_time, filter.time.begin);
  uint64_t end_time = std::max(recording.end_time, recording.stats.time);
  bool keeps_all = filter.keeps_all();
  raw::SampleReader samples(recording.sample_chunks);
  auto has_room = [&] {
    return memory_left(recording, replay.memory() + samples.memory()) > 0;
  };
  while (auto decoded = samples.next()) {
    auto& batch = *decoded;
    if (!batch) {
      recording.damaged_chunks++;
      continue;
    }
    note_left_out(batch->left_out(), batch->problem(), recording);
    SharedNumbers numbers(*batch, replay);
    size_t row_number = 0;
    for (const raw::SampleBatch::Row& row : batch->rows()) {
      // Memory is asked for now and then only: to add it up takes longer than to add a sample.
      if (row_number++ % kRowsBetweenChecks == 0 && !has_room())
        return raw::out_of_budget(recording);
      // The sample borrows from the batch, which lives until the end of the loop.
      RecordedSample sample = batch->sample(row);
      if (sample.event >= event_count) {
        note_left_out(1, fmt::format("event {} of {}", sample.event, event_count), recording);
        continue;
      }
      // Before the filter: the duration is that of the recording, whatever is shown of it.
      end_time = std::max(end_time, sample.time);
      if (is_interval(events[sample.event], sample)) {
        cut_interval(sample, filter.time, recording.begin_time);
        if (sample.weight == 0)
          continue;
      }
      if (keeps_all || filter.keeps(sample, replay.names(sample), recording.begin_time))
        replay.add(sample, numbers.of(row));
    }
    // Callers are found between chunks if words of stacks have come to be much: they are freed
    // then.
    if (find && !find_callers(recording, replay, samples, find))
      return raw::out_of_budget(recording);
  }

  if (!has_room())
    return raw::out_of_budget(recording);
  uint64_t left = memory_left(recording, replay.memory());
  // The profile may take what is left for all that is made of its stacks later. Half of what
  // the replay took is of the addresses as they were recorded, which go now.
  uint64_t freed = replay.memory() / 2;
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  profile.memory_limit = left + freed;
  profile.stats = recording.stats;
  profile.losses = losses_since(recording.losses, recording.begin_time);
  profile.filter = filter.to_string();
  set_times(recording, end_time, filter.time, profile);
  if (filter.event)
    profile = of_event(profile, *filter.event);
  return replayed;
}

}  // namespace gosym
