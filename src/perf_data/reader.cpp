#include "perf_data/reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/reader.h"
#include "base/text.h"
#include "perf_data/layout.h"
#include "perf_data/perf_maps.h"
#include "perf_data/records.h"
#include "perf_data/sample.h"
#include "perf_data/stacks.h"
#include "raw/messages.h"
#include "raw/reader.h"
#include "raw/sample_batch.h"
#include "record/sideband_record.h"

// The header is read first (header.h). Then each record is taken in the order of the file:
// records of perf's own complete the header, those of the kernel become events, samples become
// samples of a batch. Chunks of both are kept as a recording file would hold them, so that
// everything after `run` is the code that reads recordings. Samples with copies of stacks need
// a second pass, for they are unwound with the mappings of the whole file.
namespace gosym::perf_data {

namespace {

constexpr size_t kHeaderSize = sizeof(perf_event_header);
// perf writes the mappings of the kernel and its modules at the beginning of the file, with
// this pid.
constexpr uint32_t kKernelPid = UINT32_MAX;

// The build id of an MMAP2 record that has one (kHasBuildId): the kernel writes it where other
// MMAP2 records have device, inode and generation, as u8 size, 3 bytes, the id.
BuildId build_id_of_mapping(Bytes record) {
  constexpr size_t kPlace = kHeaderSize + 32;  // behind pid, tid, start, length and offset
  auto size = load<uint8_t>(record, kPlace);
  auto bytes = slice(record, kPlace + 4, kBuildIdSize);
  return size && bytes ? read_build_id(*bytes, *size) : BuildId();
}

// A chunk that was never compressed: its payload is a file of its own in memory.
raw::Recording::StoredChunk chunk_of(std::string payload) {
  auto size = static_cast<uint32_t>(payload.size());
  return {.file = std::make_shared<const raw::Input>(std::move(payload)),
          .offset = 0,
          .stored_size = size,
          .raw_size = size};
}

// Adds what samples and events say up, chunk by chunk.
class Chunks {
public:
  explicit Chunks(raw::Recording& recording) : recording_(recording) {}

  void add(const RecordedSample& sample) {
    batch_.add(sample);
    if (batch_.is_full())
      end_batch();
  }
  void add(const Event& event) {
    raw::append(event, events_);
    if (events_.size() >= raw::kUsualPayloadSize)
      end_events();
  }
  void finish() {
    if (!batch_.empty())
      end_batch();
    if (!events_.empty())
      end_events();
  }

private:
  void end_batch() {
    recording_.sample_chunks.push_back(chunk_of(std::exchange(batch_, {}).encode(stacks_)));
    count(recording_.sample_chunks.back());
  }
  void end_events() {
    recording_.event_chunks.push_back(chunk_of(std::exchange(events_, {})));
    count(recording_.event_chunks.back());
  }
  void count(const raw::Recording::StoredChunk& chunk) {
    recording_.memory += sizeof(chunk) + chunk.raw_size;
  }

  raw::Recording& recording_;
  raw::SampleBatch batch_;
  raw::StackTreeWriter stacks_;
  std::string events_;
};

// Makes a recording of the records of a file.
class Conversion {
public:
  Conversion(const raw::Input& file, const Inputs& others, Header header,
             uint64_t memory_budget)
      : file_(file), others_(others), header_(std::move(header)), chunks_(recording_) {
    recording_.memory_budget = memory_budget;
    recording_.file_size = file.size();
    for (const auto& other : others)
      recording_.file_size += other->size();
  }

  Result<ReadFile> run(const FilePlaces& places, const RunningKernel& kernel);

private:
  struct Held {
    Sample sample;
    const EventAttr* attr;
  };

  Result<> read_all(bool is_for_stacks);
  Result<> read_records(Records records, bool is_for_stacks);
  Result<> take(Bytes record);
  Result<> begin_samples();
  Result<> take_sample(Bytes record);
  void take_other(Bytes record);
  void take(SidebandRecord record, const Trailer& trailer, Bytes bytes);
  void take_mapping(const RawMapping& mapping, const BuildId& id, uint16_t misc);
  void take_deferred(Bytes record);
  void add(Sample sample, const EventAttr& attr);
  void add_deferred();
  const EventAttr* attr_of(Bytes record) const;
  uint64_t next_place() { return ++place_; }
  bool has_times() const {
    return !header_.attrs.empty() &&
           (header_.attrs.front().attr.sample_type & PERF_SAMPLE_TIME) != 0;
  }
  // Copies of them.
  bool has_stacks() const {
    return std::ranges::any_of(header_.attrs, [](const EventAttr& event) {
      return (event.attr.sample_type & PERF_SAMPLE_STACK_USER) != 0;
    });
  }
  // An estimate for the memory budget, with 64 bytes for what the containers add.
  static size_t bytes_of(const Sample& sample) {
    return sizeof(Held) + 8 * (sample.kernel_stack.size() + sample.user_stack.size()) + 64;
  }
  // Memory that is not in the recording yet, or never will be.
  uint64_t memory_beside() const {
    return images_.memory() + stacks_.memory() + held_bytes_ + 32 * kernel_addresses_.size();
  }
  // The CPU that a record is counted for. There are as many counts, each of a CPU and an event,
  // as Linux has CPUs at the most; from then on a CPU without one counts as 0, for a damaged
  // file may name any.
  uint32_t counted_cpu(uint32_t cpu, uint32_t event) const {
    return counts_.size() < raw::kMaxCpus || counts_.contains({cpu, event}) ? cpu : 0;
  }
  void leave_out(std::string problem);
  void set_info();
  void set_times(const FilePlaces& places);
  void set_counts();
  void name_kernel(const RunningKernel& kernel, const FilePlaces& places);

  const raw::Input& file_;
  const Inputs& others_;
  Header header_;
  raw::Recording recording_;
  Chunks chunks_;
  Images images_;
  KernelPlaces kernel_places_;
  KernelAddresses kernel_addresses_;  // of samples
  ProcessStacks stacks_;
  std::unordered_map<uint64_t, const EventAttr*> attr_of_id_;
  bool has_begun_ = false;         // samples have come: the events are known
  bool waits_for_stacks_ = false;  // samples are read when all mappings are known
  bool is_second_ = false;         // they are read now
  uint64_t place_ = 0;             // in the file, by records
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Held>> held_;  // by thread and cookie
  size_t held_bytes_ = 0;
  uint64_t first_time_ = UINT64_MAX;
  uint64_t last_time_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, CpuCounts> counts_;  // by CPU and event
  std::map<uint64_t, Throttling> throttling_;                  // by the number of a counter
  uint64_t lost_records_ = 0;
  uint64_t lost_samples_ = 0;
  bool has_trace_ = false;
  std::set<uint32_t> sampled_;  // processes
  std::set<uint32_t> makers_;   // of code in memory
};

Result<ReadFile> Conversion::run(const FilePlaces& places, const RunningKernel& kernel) {
  if (auto read = read_all(/*is_for_stacks=*/false); !read)
    return std::move(read).error();
  // Copies of stacks are unwound by all mappings, of which some come after the samples: these
  // are read in a second pass.
  if (waits_for_stacks_) {
    is_second_ = true;
    if (auto read = read_all(/*is_for_stacks=*/true); !read)
      return std::move(read).error();
  }
  if (!has_begun_)
    if (auto begun = begin_samples(); !begun)
      return std::move(begun).error();
  // Samples whose user stack never came: they are kept with what the kernel's part tells.
  add_deferred();
  chunks_.finish();
  set_info();
  set_times(places);
  set_counts();
  recording_.memory += images_.memory();
  if (recording_.memory > recording_.memory_budget)
    return raw::out_of_budget(recording_);
  // A perf map is of use only if the process had samples, and code in memory.
  std::erase_if(makers_, [this](uint32_t pid) { return !sampled_.contains(pid); });
  recording_.perf_maps = read_perf_maps(makers_, last_time_, places.symfs);
  for (const RecordedPerfMap& map : recording_.perf_maps)
    recording_.memory += sizeof(map) + map.text.size();
  // Not before all records are read: any of them may tell the build id of a path.
  std::set<std::string> unchecked;
  recording_.images = std::move(images_).find(header_.build_ids, places, unchecked);
  // From here on it is a recording, read as any other. The memory of its events is added to
  // what is taken already.
  if (auto events = raw::read_events(recording_, recording_.memory); !events)
    return std::move(events).error();
  if (!kernel_addresses_.empty())
    name_kernel(kernel, places);
  if (is_running(header_, places))
    recording_.vdso = kernel.vdso;
  if (has_trace_)
    header_.unread.insert("the trace of the hardware");
  if (!header_.unread.empty())
    recording_.notes.push_back(
        "not read: " + joined(std::vector(header_.unread.begin(), header_.unread.end()), ", "));
  return ReadFile{std::move(recording_), std::move(unchecked)};
}

Result<> Conversion::read_all(bool is_for_stacks) {
  // Both passes number the records alike, as the numbers stand for times in files without any.
  place_ = 0;
  auto read = read_records({file_, header_.records_begin, header_.records_end}, is_for_stacks);
  for (const auto& other : others_)
    if (read)
      read = read_records({*other, 0, other->size()}, is_for_stacks);
  return read;
}

Result<> Conversion::read_records(Records records, bool is_for_stacks) {
  while (auto record = records.next()) {
    next_place();
    bool is_sample =
        type_of(*record) == PERF_RECORD_SAMPLE || type_of(*record) == kCallchainDeferred;
    if (is_for_stacks && !is_sample)
      continue;
    if (auto taken = take(*record); !taken)
      return taken;
    if (recording_.memory + memory_beside() > recording_.memory_budget)
      return raw::out_of_budget(recording_);
  }
  // Damage is counted in the first pass alone.
  if (!is_for_stacks)
    recording_.damaged_bytes += records.damaged_bytes();
  return Ok{};
}

Result<> Conversion::take(Bytes record) {
  switch (type_of(record)) {
    case PERF_RECORD_SAMPLE:
      return take_sample(record);
    case kCallchainDeferred:
      if (!waits_for_stacks_ || is_second_)
        take_deferred(record);
      return Ok{};
    case kHeaderAttr:
      // Attributes behind the first sample would number events anew, and move those that
      // attr_of_id_ points to.
      if (header_.is_stream && !has_begun_)
        add_attr(record, header_);
      return Ok{};
    case kEventUpdate:
      add_event_update(record, header_);
      return Ok{};
    case kHeaderFeature:
      add_feature(record, header_);
      return Ok{};
    case kBuildId:
      add_build_id(record, header_);
      return Ok{};
    case kAuxTraceInfo:
    case kAuxTrace:
      has_trace_ = true;
      return Ok{};
    default:
      // Smaller numbers are of the kernel's records, larger ones of perf's own.
      if (type_of(record) < kHeaderAttr)
        take_other(record);
      return Ok{};
  }
}

// All events are told before the first sample.
Result<> Conversion::begin_samples() {
  has_begun_ = true;
  auto events = number_events(header_.attrs);
  if (!events)
    return std::move(events).error();
  recording_.info.events = *std::move(events);
  // Without attributes nothing says that either was left out.
  recording_.info.has_user = recording_.info.has_kernel = header_.attrs.empty();
  for (const EventAttr& attr : header_.attrs) {
    for (uint64_t id : attr.ids)
      attr_of_id_.emplace(id, &attr);
    recording_.info.has_user |= attr.attr.exclude_user == 0;
    recording_.info.has_kernel |= attr.attr.exclude_kernel == 0;
  }
  waits_for_stacks_ = has_stacks();
  return Ok{};
}

const EventAttr* Conversion::attr_of(Bytes record) const {
  if (header_.attrs.empty())
    return nullptr;
  const EventAttr& first = header_.attrs.front();
  // The number of its event is at one place in all samples of a file.
  auto place = place_of_id(first.attr);
  // Without numbers in the samples all of them count for the first event.
  if (header_.attrs.size() == 1 || !place)
    return &first;
  auto known = attr_of_id_.find(load<uint64_t>(record, *place).value_or(0));
  return known == attr_of_id_.end() ? nullptr : known->second;
}

void Conversion::leave_out(std::string problem) {
  if (recording_.damaged_samples++ == 0)
    recording_.sample_problem = std::move(problem);
}

Result<> Conversion::take_sample(Bytes record) {
  if (!has_begun_)
    if (auto begun = begin_samples(); !begun)
      return begun;
  if (waits_for_stacks_ && !is_second_)
    return Ok{};
  // A sample that cannot be read is counted and left out: the size of its record was right, so
  // that the next one can be read.
  const EventAttr* attr = attr_of(record);
  if (!attr) {
    leave_out("of an event that the file does not tell of");
    return Ok{};
  }
  auto sample = parse_sample(record, attr->attr);
  if (!sample) {
    leave_out(sample.error().message());
    return Ok{};
  }
  // Without times the order in the file stands for them.
  if (!has_times())
    sample->time = place_;
  if (!sample->deferred) {
    add(*std::move(sample), *attr);
    return Ok{};
  }
  // The copy of the stack is a view of the record, and is not needed where the kernel walks.
  sample->stack = {};
  held_bytes_ += bytes_of(*sample);
  // The cookie is that of one entry into the kernel by one thread: all samples until the
  // thread is back in user code wait for the same stack.
  auto& held = held_[{sample->tid, *sample->deferred}];
  held.push_back({*std::move(sample), attr});
  return Ok{};
}

void Conversion::take_deferred(Bytes record) {
  if (header_.attrs.empty())
    return;
  const perf_event_attr& attr = header_.attrs.front().attr;
  Reader in(record.subspan(kHeaderSize));
  // Read by the attr of the first event, as all records are that are no samples: the trailers
  // of a file have one layout.
  uint64_t cookie = in.u64();
  uint64_t count = in.u64();
  if (count > in.remaining() / sizeof(uint64_t))
    return;
  std::vector<uint64_t> stack;
  // Zeros and markers of contexts are no addresses.
  for (; count > 0; count--)
    if (uint64_t address = in.u64();
        address != 0 && address < static_cast<uint64_t>(PERF_CONTEXT_MAX))
      stack.push_back(address);
  size_t size = trailer_size(attr);
  if (!in.ok() || in.remaining() < size || (attr.sample_type & PERF_SAMPLE_TID) == 0)
    return;
  // The thread comes first in the trailer.
  uint32_t tid = load<uint32_t>(record, record.size() - size + 4).value_or(0);
  // One user stack for all samples of the thread since it was last in user code.
  auto held = held_.find({tid, cookie});
  if (held == held_.end())
    return;
  // Taken off before the stack is put in: without it the sample was counted.
  for (Held& one : held->second) {
    held_bytes_ -= bytes_of(one.sample);
    one.sample.user_stack = stack;
    add(std::move(one.sample), *one.attr);
  }
  held_.erase(held);
}

// Samples whose user stack never came have the kernel's part, or where they were.
void Conversion::add_deferred() {
  for (auto& [key, samples] : held_)
    for (Held& one : samples) {
      if (one.sample.kernel_stack.empty())
        take_ip_as_stack(one.sample);
      add(std::move(one.sample), *one.attr);
    }
  held_.clear();
}

void Conversion::add(Sample sample, const EventAttr& attr) {
  // number_events() has given each attr the index of an event that is there. A weight of 0
  // stands for what the event's period says.
  RecordedSample recorded = {
      .time = sample.time,
      .pid = sample.pid,
      .tid = sample.tid,
      .cpu = sample.cpu,
      .kernel_stack = {},
      .user_stack = {},
      .event = attr.index,
      .weight = is_weighted(recording_.info.events[attr.index]) ? sample.period : 0,
      .cgroup = sample.cgroup,
  };
  // The stacks are assigned after this: words_of() may put the leaf into the sample's.
  recorded.words = stacks_.words_of(sample, attr.attr, header_.machine, recorded);
  recorded.kernel_stack = sample.kernel_stack;
  recorded.user_stack = sample.user_stack;
  // The kernel does not tell why its walk ended: report knows a root when it sees one.
  // 127 is the default of kernel.perf_event_max_stack.
  constexpr size_t kUsualFrames = 127;
  size_t limit = attr.attr.sample_max_stack != 0 ? attr.attr.sample_max_stack : kUsualFrames;
  recorded.user_end = sample.kernel_stack.size() + sample.user_stack.size() >= limit
                          ? StackEnd::kLimit
                          : StackEnd::kRoot;
  first_time_ = std::min(first_time_, sample.time);
  last_time_ = std::max(last_time_, sample.time);
  kernel_addresses_.insert(sample.kernel_stack.begin(), sample.kernel_stack.end());
  // perf writes no counts of samples by CPU: they are those of the samples that came.
  counts_[{counted_cpu(recorded.cpu, recorded.event), recorded.event}].samples++;
  recording_.stats.samples++;
  sampled_.insert(sample.pid);
  chunks_.add(recorded);
}

void Conversion::take_other(Bytes record) {
  if (header_.attrs.empty())
    return;
  const perf_event_attr& attr = header_.attrs.front().attr;
  size_t size = trailer_size(attr);
  // Damaged records are counted where a recording of ours has its damaged chunks of events.
  if (record.size() < kHeaderSize + size) {
    recording_.damaged_chunks++;
    return;
  }
  // Trailers are read by the attr of the first event: those of a file have one layout.
  // The body ends where the trailer begins, and only the trailer tells the time.
  size_t trailer = place_of_trailer(record, size);
  Trailer told = read_trailer(record.subspan(trailer, size), attr);
  if (!has_times())
    told.time = place_;
  Bytes body = record.first(trailer).subspan(kHeaderSize);
  auto other = parse_sideband_body(body, type_of(record), misc_of(record), told.time);
  if (!other)
    recording_.damaged_chunks++;
  else
    take(*std::move(other), told, record);
}

void Conversion::take(SidebandRecord record, const Trailer& trailer, Bytes bytes) {
  uint16_t misc = misc_of(bytes);
  if (auto* mapping = std::get_if<RawMapping>(&record)) {
    bool has_id = type_of(bytes) == PERF_RECORD_MMAP2 && (misc & kHasBuildId) != 0;
    take_mapping(*mapping, has_id ? build_id_of_mapping(bytes) : BuildId(), misc);
  } else if (auto* lost = std::get_if<LostRecords>(&record)) {
    lost_records_ += lost->count;
  } else if (auto* throttle = std::get_if<ThrottleRecord>(&record)) {
    // u64 time, u64 id, u64 stream_id. The last is the number of the counter itself. The id is
    // that of the counter that it was inherited from, which the counters of several threads
    // share.
    uint64_t counter = load<uint64_t>(bytes, kHeaderSize + 16).value_or(0);
    // A damaged file may name any number of counters.
    constexpr size_t kMaxCounters = 1 << 16;
    // Such times are summed up over all events: they are put down to event 0.
    if (throttling_.size() < kMaxCounters)
      counts_[{counted_cpu(trailer.cpu, 0), 0}].throttled_ns +=
          throttling_[counter].ended_by(*throttle);
  } else if (auto* comm = std::get_if<CommEvent>(&record)) {
    chunks_.add(std::move(*comm));
  } else if (auto* fork = std::get_if<ForkEvent>(&record)) {
    if (has_stacks())
      stacks_.add(*fork);
    chunks_.add(*fork);
  } else if (auto* exit = std::get_if<ExitEvent>(&record)) {
    chunks_.add(*exit);
  } else if (auto* code = std::get_if<KernelCodeEvent>(&record)) {
    chunks_.add(std::move(*code));
  } else if (auto* cgroup = std::get_if<CgroupEvent>(&record)) {
    chunks_.add(std::move(*cgroup));
  } else if (type_of(bytes) == PERF_RECORD_LOST_SAMPLES) {
    // Samples that a filter of BPF dropped are no loss.
    bool is_filtered = (misc & (1 << 15)) != 0;
    lost_samples_ += is_filtered ? 0 : load<uint64_t>(bytes, kHeaderSize).value_or(0);
  } else if (type_of(bytes) == PERF_RECORD_AUX || type_of(bytes) == PERF_RECORD_ITRACE_START) {
    has_trace_ = true;
  }
}

void Conversion::take_mapping(const RawMapping& mapping, const BuildId& id, uint16_t misc) {
  uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  if (mode == PERF_RECORD_MISC_KERNEL && mapping.pid == kKernelPid) {
    add_mapping(mapping, kernel_places_);
    if (!id.bytes.empty() && mapping.path.starts_with(kKernelPath))
      // A build id that the header has for the kernel counts.
      header_.build_ids.try_emplace(std::string(kKernelPath), id);
    return;
  }
  // Data and guests have no code that is sampled here.
  bool is_data = (misc & PERF_RECORD_MISC_MMAP_DATA) != 0;
  if (is_data || mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER)
    return;
  if (has_stacks())
    stacks_.add(mapping);
  // A process with code in memory may have written a perf map, which is read at the end.
  if (is_memory(mapping.path))
    makers_.insert(mapping.pid);
  RawMapping of_file = mapping;
  // The build id took the place of device and inode in the record.
  if (!id.bytes.empty())
    of_file.file = {};
  // An image has the path. Memory that no file backs is no image, and its event keeps the name.
  ImageId image = images_.of(of_file, id);
  chunks_.add(MapEvent{.time = mapping.time,
                       .pid = mapping.pid,
                       .start = mapping.start,
                       .length = mapping.length,
                       .file_offset = mapping.file_offset,
                       .image = image,
                       .path = image == ImageId{} ? mapping.path : ""});
}

void Conversion::set_info() {
  RecordingInfo& info = recording_.info;
  info.source = header_.version.empty() ? "a perf.data file"
                                        : "a perf.data file of perf " + header_.version;
  info.host = header_.host;
  info.kernel_release = header_.kernel_release;
  info.machine = header_.machine;
  info.command_line = header_.command_line;
  info.cpu_count = header_.cpu_count;
  info.sampler = "perf";
  // The chunks in memory have the form that this gosym writes.
  recording_.major = raw::kMajorVersion;
  recording_.minor = raw::kMinorVersion;
}

void Conversion::set_times(const FilePlaces& places) {
  // No sample came: the header may still tell when the first one was.
  if (first_time_ > last_time_)
    first_time_ = last_time_ = header_.first_time;
  uint64_t begin = first_time_;
  // is_running() compares the clock of the last sample that was read with the end of the file.
  header_.last_time = last_time_;
  recording_.monotonic_ns = recording_.begin_time = begin;
  // Losses are counted from here on (set_counts()).
  recording_.stats.time = begin;
  // With CLOCK_DATA the file pairs a time since 1970 with one of its clock. Otherwise the last
  // sample is taken to be as old as the file, which perf writes until the end.
  if (header_.realtime_ns != 0)
    recording_.realtime_ns = header_.realtime_ns + (begin - header_.clock_ns);
  else if (places.end_realtime_ns > last_time_ - begin)
    recording_.realtime_ns = places.end_realtime_ns - (last_time_ - begin);
  // 0: the recording has no end, as perf has not ended it.
  recording_.end_time = header_.is_cut ? 0 : std::max<uint64_t>(last_time_, 1);
}

// perf tells of losses twice: LOST counts records of all kinds, LOST_SAMPLES samples alone.
void Conversion::set_counts() {
  RecordingStats stats = {.time = last_time_, .samples = recording_.stats.samples};
  // LOST counts what the ring buffer dropped. LOST_SAMPLES is what perf sums up from the
  // counters at the end, and has the samples among those again: adding both would count them
  // twice.
  stats.lost_samples = std::max(lost_samples_, lost_records_);
  // The larger sum is of all CPUs and events together. It is put down to event 0 on CPU 0,
  // because add_counts() finds losses in the counts of a CPU and an event only.
  if (stats.lost_samples > 0)
    counts_[{0, 0}].lost_samples = stats.lost_samples;
  for (auto& [key, counts] : counts_) {
    std::tie(counts.cpu, counts.event) = key;
    stats.cpus.push_back(counts);
  }
  // add_counts() takes all of it for lost between recording_.stats.time, which set_times() has
  // set to the begin, and the time of the last sample.
  raw::add_counts(std::move(stats), recording_);
}

// Takes the names of the kernel that runs if they are those of the recording. A note, which
// reports show, says why not.
void Conversion::name_kernel(const RunningKernel& kernel, const FilePlaces& places) {
  if (!is_running(header_, places)) {
    recording_.notes.emplace_back(
        header_.build_ids.contains(std::string(kKernelPath))
            ? "kernel code has no names: another kernel runs here"
            : "kernel code has no names: perf wrote no build id of the kernel");
    return;
  }
  auto symbols = kernel_symbols(kernel, kernel_places_, kernel_addresses_);
  if (symbols)
    recording_.kernel_symbols = *std::move(symbols);
  else
    recording_.notes.push_back("kernel code has no names: " + symbols.error().message());
}

}  // namespace

bool is_perf_data(std::string_view begin) {
  return begin.starts_with(kMagic) || begin.starts_with(kOtherOrder) ||
         begin.starts_with(kOldMagic);
}

Result<ReadFile> read(const raw::Input& file, uint64_t memory_budget, const FilePlaces& places,
                      const RunningKernel& kernel, const Inputs& others) {
  auto header = read_header(file);
  if (!header)
    return std::move(header).error();
  if (header->has_other_files && others.empty())
    return Error("its records are in other files of its directory")
        .with_hint("name the directory, and not the file 'data' in it");
  // The files of a directory are read only if the header says that the records are there.
  Inputs none;
  const Inputs& all = header->has_other_files ? others : none;
  return Conversion(file, all, *std::move(header), memory_budget).run(places, kernel);
}

}  // namespace gosym::perf_data
