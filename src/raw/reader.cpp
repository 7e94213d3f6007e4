#include "raw/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tsl/robin_set.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mapped_file.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "base/workers.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"

// parse() walks the chunks once. Small ones are decoded at once; samples, events and pieces of
// files are only noted, with their place. Events are read after that, since only then it is
// known which processes have samples. Samples are read last, one chunk at a time and by
// whoever walks over them (SampleReader). Memory is counted all along, against a budget by the
// size of the file.

namespace gosym::raw {

namespace {

// Other files that people take for a recording.
constexpr std::pair<std::string_view, std::string_view> kOtherFiles[] = {
    {"PERFILE2", "a perf.data file: gosym report and diff read it"},
    {"\177ELF", "an ELF file: gosym inspect tells what is in it"},
};

std::string_view hint_for(Bytes file) {
  if (file.empty())
    return "the file is empty";
  for (auto [magic, hint] : kOtherFiles)
    if (as_text(file).starts_with(magic))
      return hint;
  return {};
}

Result<FileHeader> parse_header(Bytes file) {
  FileHeader header;
  if (!as_text(file).starts_with(kMagic))
    return Error("not a gosym recording").with_hint(std::string(hint_for(file)));
  if (file.size() < sizeof header)
    return errorf("header: cut short at byte {:#x} of {:#x}", file.size(), sizeof header);
  std::memcpy(&header, file.data(), sizeof header);

  // From the most telling reason to the least: a file of another version or byte order has a
  // wrong checksum as well.
  if (header.byte_order_mark != kByteOrderMark)
    return errorf("header: byte order mark is {:#010x}, not {:#010x}", header.byte_order_mark,
                  kByteOrderMark);
  if (header.major > kMajorVersion)
    return errorf("raw format {}.{} is newer than this gosym reads (up to {}.x)", header.major,
                  header.minor, kMajorVersion)
        .with_hint("use a newer gosym");
  if (header.major < kOldestMajorVersion)
    return errorf("raw format {}.{} is unknown", header.major, header.minor);
  if (uint32_t sum = checksum(header); header.checksum != sum)
    return errorf("header: checksum is {:#010x}, not {:#010x}", header.checksum, sum);
  if (header.header_size < sizeof header || header.header_size > kMaxHeaderSize ||
      header.header_size % kAlignment != 0)
    return errorf("header: size is {:#x}", header.header_size);
  return header;
}

struct Parsing {
  std::shared_ptr<const Input> file;
  Recording recording;
  bool has_info = false;
  bool has_another = false;  // chunks of another recording
};

// Moves what was decoded to its place; the error says why it was not.
template <class T>
Result<> put(Result<T> decoded, T& place) {
  if (!decoded)
    return std::move(decoded).error();
  place = *std::move(decoded);
  return Ok{};
}

Result<> add_info(Result<RecordingInfo> decoded, Parsing& parsing) {
  // Another info chunk that decodes is the beginning of a second recording.
  parsing.has_another |= parsing.has_info && decoded;
  parsing.has_info |= bool(decoded);
  return put(std::move(decoded), parsing.recording.info);
}

Result<> add_image(Result<RecordedImage> decoded, Parsing& parsing) {
  if (!decoded)
    return std::move(decoded).error();
  parsing.recording.memory +=
      sizeof(RecordedImage) + decoded->segments.size() * sizeof(LoadSegment);
  parsing.recording.images.push_back(*std::move(decoded));
  return Ok{};
}

// A busy machine skips one of so many ticks now and then: that is no loss.
constexpr uint64_t kFewSkipped = 100;

using CountsByCpu = std::map<std::pair<uint32_t, uint32_t>, CpuCounts>;

// The counts of an event on a CPU less those before.
// Counts only grow, so that a difference tells what came in between; those of a damaged file
// may wrap around, and make a wrong number of losses.
CpuCounts counted_since(CpuCounts counts, const CountsByCpu& before) {
  auto old = before.find({counts.cpu, counts.event});
  if (old == before.end())
    return counts;
  counts.samples -= old->second.samples;
  counts.lost_samples -= old->second.lost_samples;
  counts.lost_events -= old->second.lost_events;
  counts.throttled_ns -= old->second.throttled_ns;
  counts.skipped -= old->second.skipped;
  counts.lost_ns -= old->second.lost_ns;
  return counts;
}

CountsByCpu by_cpu(const RecordingStats& stats) {
  CountsByCpu counts;
  for (const CpuCounts& cpu : stats.cpus)
    counts[{cpu.cpu, cpu.event}] = cpu;
  return counts;
}

Result<> add_stats(Result<RecordingStats> decoded, Parsing& parsing) {
  if (!decoded)
    return std::move(decoded).error();
  if (decoded->cpus.size() > kMaxCpus * kMaxEvents)
    return errorf("{} counts of CPUs, where {} are allowed", decoded->cpus.size(),
                  kMaxCpus * kMaxEvents);
  // The recorder counts for the first time when it is ready to sample, which may take a second.
  bool is_first = parsing.recording.stats.time == 0;
  if (is_first && decoded->samples == 0 && decoded->lost_samples == 0)
    parsing.recording.begin_time = decoded->time;
  add_counts(*std::move(decoded), parsing.recording);
  return Ok{};
}

Result<> add_perf_map(Result<RecordedPerfMap> decoded, Parsing& parsing) {
  if (!decoded)
    return std::move(decoded).error();
  parsing.recording.memory +=
      sizeof(RecordedPerfMap) + decoded->marks.size() * sizeof(PerfMapMark);
  parsing.recording.perf_maps.push_back(*std::move(decoded));
  return Ok{};
}

Result<> add_kernel_symbols(Result<std::string> decoded, Recording& recording) {
  if (!decoded)
    return std::move(decoded).error();
  // The text may be larger than a chunk: pieces follow each other.
  recording.kernel_symbols += *decoded;
  return Ok{};
}

// Types that are unknown, or kept as they are, do not come here: add() has taken them.
Result<> add_payload(ChunkType type, Bytes payload, Parsing& parsing) {
  switch (type) {
    case ChunkType::kInfo:
      return add_info(decode_info(payload), parsing);
    case ChunkType::kImage:
      return add_image(decode_image(payload), parsing);
    case ChunkType::kKernelSymbols:
      return add_kernel_symbols(decode_contents(payload), parsing.recording);
    case ChunkType::kPerfMap:
      return add_perf_map(decode_perf_map(payload), parsing);
    case ChunkType::kVdso:
      return put(decode_contents(payload), parsing.recording.vdso);
    case ChunkType::kStats:
      return add_stats(decode_stats(payload), parsing);
    default:
      assert(type == ChunkType::kEnd);
      return put(decode_end(payload), parsing.recording.end_time);
  }
}

// The list that keeps chunks of this type as they are; null for those that are decoded at once.
std::vector<Recording::StoredChunk>* stored_chunks(ChunkType type, Recording& recording) {
  if (type == ChunkType::kSamples)
    return &recording.sample_chunks;
  if (type == ChunkType::kEvents)
    return &recording.event_chunks;
  return type == ChunkType::kImageContents ? &recording.piece_chunks : nullptr;
}

Result<> add(const Chunk& chunk, Parsing& parsing) {
  // A type of a later minor version is passed over, and is no damage.
  if (!is_known(chunk.type))
    return Ok{};
  if (auto* chunks = stored_chunks(chunk.type, parsing.recording)) {
    chunks->push_back({parsing.file, chunk.offset, static_cast<uint32_t>(chunk.stored.size()),
                       chunk.raw_size, chunk.is_compressed});
    parsing.recording.memory += sizeof(Recording::StoredChunk);
    return Ok{};
  }
  parsing.recording.memory += chunk.raw_size;  // all text that is in it
  auto payload = unpack(chunk.stored, chunk.raw_size, chunk.is_compressed);
  if (!payload)
    return std::move(payload).error();
  return add_payload(chunk.type, as_bytes(*payload), parsing);
}

// Each numbers its images and processes anew and has a clock of its own, so that what one says
// must not be taken for the other's. `begin` is where the second one begins; 0: unknown.
Error several_recordings(uint64_t begin) {
  Error error("several recordings in one file, of which each would give names to the other's");
  if (begin == 0)
    return std::move(error).with_hint("record each to a file of its own");
  return std::move(error).with_hint(fmt::format(
      "to part them: head -c {} FILE > a.raw; tail -c +{} FILE > b.raw", begin, begin + 1));
}

}  // namespace

double keep_first_samples(Recording& recording, uint64_t size) {
  auto& chunks = recording.sample_chunks;
  uint64_t all = 0;
  for (const Recording::StoredChunk& chunk : chunks)
    all += chunk.stored_size;
  uint64_t kept = 0;
  auto end = chunks.begin();
  // Chunks are nearly in order of time, so that these are of its beginning.
  while (end != chunks.end() && kept < size)
    kept += end++->stored_size;
  if (end == chunks.end())
    // All chunks are kept: what was lost is known.
    return 1;
  chunks.erase(end, chunks.end());
  // The time stays, as nothing else may tell the duration.
  RecordingStats unknown;
  unknown.time = recording.stats.time;
  recording.stats = unknown;
  recording.losses.clear();
  return static_cast<double>(kept) / static_cast<double>(all);
}

uint64_t start_realtime_ns(const Recording& recording) {
  // The header's two clocks are of one instant, so that the wall clock of the first sample is
  // reached by adding what passed on the other.
  uint64_t set_up =
      recording.begin_time - std::min(recording.monotonic_ns, recording.begin_time);
  return recording.realtime_ns + set_up;
}

uint64_t duration_ns(const Recording& recording) {
  // A recording without an end chunk lasts as far as its last counts do.
  uint64_t end = std::max(recording.end_time, recording.stats.time);
  return end - std::min(end, recording.begin_time);
}

void add_counts(RecordingStats counts, Recording& recording) {
  RecordingStats& last = recording.stats;
  CountsByCpu before = by_cpu(last);
  for (const CpuCounts& cpu : counts.cpus) {
    CpuCounts lost = counted_since(cpu, before);
    // One skipped tick is allowed at least, whatever the number of samples.
    bool has_skipped = lost.skipped > 1 + lost.samples / kFewSkipped;
    if (lost.lost_samples == 0 && lost.lost_events == 0 && lost.throttled_ns == 0 &&
        !has_skipped)
      continue;
    uint64_t begin = last.time == 0 ? recording.monotonic_ns : last.time;
    recording.losses.push_back({begin, counts.time, lost});
    recording.memory += sizeof(Loss);
  }
  last = std::move(counts);
}

RecordingStats counted_since(RecordingStats counts, const RecordingStats& before) {
  CountsByCpu old = by_cpu(before);
  for (CpuCounts& cpu : counts.cpus)
    cpu = counted_since(cpu, old);
  counts.samples -= before.samples;
  counts.lost_samples -= before.lost_samples;
  counts.lost_events -= before.lost_events;
  // The charged time of a part is known only if that before it is: none before a first sample.
  bool is_known = before.charged_ns != 0 || before.samples == 0;
  counts.charged_ns =
      is_known ? counts.charged_ns - std::min(counts.charged_ns, before.charged_ns) : 0;
  return counts;
}

uint64_t memory_budget(uint64_t file_size) {
  constexpr uint64_t kLeast = 256 << 20;
  constexpr uint64_t kMuch = uint64_t{4} << 30;
  // A small file may compress well; a large one is bounded by what real recordings take.
  return std::min(kLeast + 1024 * file_size, kMuch + 8 * file_size);
}

Error out_of_budget(const Recording& recording) {
  return errorf("it asks for more than {} of memory, which no recording of {} needs",
                human_size(recording.memory_budget), human_size(recording.file_size));
}

Result<Recording> parse(std::shared_ptr<const Input> file) {
  uint64_t budget = memory_budget(file->size());
  return parse(std::move(file), budget);
}

Result<Recording> parse(std::shared_ptr<const Input> input, uint64_t memory_budget) {
  Parsing parsing{.file = std::move(input), .recording = {}};
  const Input& file = *parsing.file;
  std::string start(kMaxHeaderSize, '\0');
  start.resize(file.read(0, start));
  auto header = parse_header(as_bytes(start));
  if (!header)
    // A wrong header ends all: the chunks behind it might be of any format.
    return std::move(header).error();
  Recording& recording = parsing.recording;
  recording.major = header->major;
  recording.minor = header->minor;
  recording.monotonic_ns = recording.begin_time = header->monotonic_ns;
  recording.realtime_ns = header->realtime_ns;
  recording.file_size = file.size();
  recording.memory_budget = memory_budget;

  Chunks chunks(file, header->header_size);
  while (auto chunk = chunks.next()) {
    // A sequence that begins anew is a second recording, whose numbers of images and processes
    // mean something else. Chunks that are missing leave a gap, which is no reason to refuse.
    parsing.has_another |= chunk->sequence + 1 < recording.next_sequence;
    recording.next_sequence = std::max(recording.next_sequence, chunk->sequence + 1);
    if (!add(*chunk, parsing))
      recording.damaged_chunks++;
    if (parsing.has_another || chunks.other_recording() != 0)
      return several_recordings(chunks.other_recording());
    // After each chunk: a single one is bounded by kMaxPayloadSize, so it exceeds by no more.
    if (recording.memory > recording.memory_budget)
      return out_of_budget(recording);
  }
  if (chunks.other_recording() != 0)
    return several_recordings(chunks.other_recording());
  // Without Info nothing tells what the samples are of.
  if (!parsing.has_info)
    return Error("first chunk: missing or damaged");
  recording.damaged_bytes = chunks.damaged_bytes();
  // A chunk that is appended must not be taken for the rest of one that was cut short.
  recording.chunks_end = std::max(file.size(), chunks.end_of_cut_chunk());
  // Events come last, when it is known which processes have samples.
  if (auto events = read_events(recording, recording.memory); !events)
    return std::move(events).error();
  return std::move(parsing.recording);
}

Result<Recording> parse(Bytes file) {
  return parse(std::make_shared<const Input>(std::string(as_text(file))));
}

Result<Recording> read(const std::string& path) {
  std::string name = path == "-" ? "standard input" : fmt::format("'{}'", path);
  auto file = Input::open(path);
  if (!file)
    return std::move(file).error().context(name);
  auto recording = parse(*std::move(file));
  if (!recording)
    return std::move(recording).error().context(name);
  return recording;
}

Result<std::string> read_payload(const Recording::StoredChunk& chunk) {
  std::string stored(chunk.stored_size, '\0');
  // A file may be shortened between the walk over its chunks and this.
  if (chunk.file->read(chunk.offset, stored) != stored.size())
    return Error("the file was cut meanwhile");
  return unpack(as_bytes(stored), chunk.raw_size, chunk.is_compressed);
}

Result<SampleBatch> read_samples(const Recording::StoredChunk& chunk, StackTreeReader& stacks) {
  auto payload = read_payload(chunk);
  if (!payload)
    return std::move(payload).error();
  return SampleBatch::decode(as_bytes(*payload), stacks);
}

struct SampleReader::Decoded {
  Result<SampleBatch> batch;
  uint64_t memory_of_tree;
  uint64_t size = batch ? batch->size_in_memory() : 0;
};

// Chunks that have been decoded and wait for who asks. They are locked once a chunk, of some
// thousand samples.
struct SampleReader::Ahead {
  // A few, so that neither thread waits for an uneven chunk; and of large ones, which no
  // recorder writes, one.
  static constexpr size_t kMost = 4;
  static constexpr uint64_t kMostBytes = 16 << 20;

  bool has_room() const { return waiting.size() < kMost && size < kMostBytes; }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Decoded> waiting;
  uint64_t size = 0;  // of these
  bool is_stopped = false;
  std::thread thread;
};

SampleReader::SampleReader(std::span<const Recording::StoredChunk> chunks)
    : chunks_(chunks), left_(chunks.size()), stacks_(std::make_unique<StackTreeReader>()) {
  // Without another thread, where there may be none or it would not pay.
  if (worker_limit == 1 || chunks.size() < 2)
    return;
  ahead_ = std::make_unique<Ahead>();
  auto decode_ahead = [this, &ahead = *ahead_, left = chunks.size()]() mutable {
    std::unique_lock lock(ahead.mutex);
    while (left-- > 0 && !ahead.is_stopped) {
      lock.unlock();
      Decoded decoded = decode_next();
      lock.lock();
      // A decoded batch waits here for room, so that one more than the limit is in memory.
      ahead.changed.wait(lock, [&] { return ahead.has_room() || ahead.is_stopped; });
      ahead.size += decoded.size;
      ahead.waiting.push_back(std::move(decoded));
      ahead.changed.notify_all();
    }
  };
  try {
    ahead_->thread = std::thread(decode_ahead);
  } catch (const std::system_error&) {
    ahead_.reset();  // no other thread is allowed
  }
}

SampleReader::~SampleReader() {
  if (!ahead_)
    return;
  {
    // The thread sees the flag at the latest when it has decoded the chunk at work.
    std::scoped_lock lock(ahead_->mutex);
    ahead_->is_stopped = true;
  }
  ahead_->changed.notify_all();
  ahead_->thread.join();
}

SampleReader::Decoded SampleReader::decode_next() {
  auto batch = read_samples(chunks_.front(), *stacks_);
  // Only one thread ever moves this: the other one, where there is one.
  chunks_ = chunks_.subspan(1);
  return {std::move(batch), stacks_->memory()};
}

std::optional<Result<SampleBatch>> SampleReader::next() {
  if (left_ == 0)
    return std::nullopt;
  left_--;
  if (!ahead_) {
    Decoded decoded = decode_next();
    memory_ = decoded.memory_of_tree;
    return std::move(decoded.batch);
  }
  std::unique_lock lock(ahead_->mutex);
  ahead_->changed.wait(lock, [&] { return !ahead_->waiting.empty(); });
  Decoded decoded = std::move(ahead_->waiting.front());
  ahead_->waiting.pop_front();
  ahead_->size -= decoded.size;
  ahead_->changed.notify_all();
  // The size is told as of this chunk: the other thread may have let the tree grow since.
  memory_ = decoded.memory_of_tree;
  return std::move(decoded.batch);
}

Result<ImagePiece> read_piece(const Recording::StoredChunk& chunk) {
  auto payload = read_payload(chunk);
  if (!payload)
    return std::move(payload).error();
  return decode_piece(as_bytes(*payload));
}

namespace {

Error last_error() {
  return Error(std::strerror(errno));
}

UniqueFd open_temporary_file() {
  std::error_code failed;
  std::string directory = std::filesystem::temp_directory_path(failed);
  UniqueFd file;
  if (!failed)
    file.reset(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file)  // some file systems have no such files
    file.reset(memfd_create("recording", MFD_CLOEXEC));
  return file;
}

// A pipe gives little at once, and the limit is told by more than that.
constexpr size_t kBeginBytes = 16 << 10;

// A stream cannot be read at other places than the next: it is copied.
Result<UniqueFd> copy_stream(int stream, const Input::StreamLimit& limit_of) {
  UniqueFd copy = open_temporary_file();
  if (!copy)
    return last_error();
  std::string begin;
  std::optional<uint64_t> limit;
  std::string buffer(size_t{256} << 10, '\0');
  for (uint64_t copied = 0; !limit || copied < *limit;) {
    ssize_t count = read_part(stream, buffer);
    if (count < 0)
      return last_error();
    if (count == 0)
      break;
    std::string_view read(buffer.data(), static_cast<size_t>(count));
    if (!write_all(copy.get(), read))
      return last_error().context("cannot keep it");
    copied += read.size();
    // The most that is read depends on the kind of file, which its first bytes tell.
    if (limit)
      continue;
    begin.append(read);
    if (begin.size() >= kBeginBytes)
      limit = limit_of(begin);
  }
  return copy;
}

}  // namespace

uint64_t Input::limit_of_recording(std::string_view begin) {
  return begin.starts_with(kMagic) ? UINT64_MAX : begin.size();
}

Result<std::shared_ptr<const Input>> Input::open(const std::string& path,
                                                 const StreamLimit& limit) {
  UniqueFd file(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    return last_error();
  if (S_ISDIR(status.st_mode))
    return Error(std::strerror(EISDIR));
  // A regular file that is read from its middle, as standard input may be, is copied as a
  // stream is: places count from where it stands.
  bool has_places = S_ISREG(status.st_mode) && lseek(file.get(), 0, SEEK_CUR) == 0;
  if (!has_places) {
    auto copy = copy_stream(file.get(), limit);
    if (!copy)
      return std::move(copy).error();
    file = *std::move(copy);
    if (fstat(file.get(), &status) != 0)
      return last_error();
  }
  return std::shared_ptr<const Input>(
      new Input(std::move(file), static_cast<uint64_t>(status.st_size)));
}

size_t Input::read(uint64_t offset, std::span<char> out) const {
  if (offset >= size_)
    return 0;
  out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
  if (!file_) {
    std::memcpy(out.data(), memory_.data() + offset, out.size());
    return out.size();
  }
  return read_at(file_.get(), offset, std::as_writable_bytes(out));
}

namespace {

// To look for who has samples takes about a twentieth of a report's time: of few events all are
// kept.
constexpr uint64_t kFewEvents = 1 << 20;  // bytes of payload

// Forks come nearly in order of time, so that going backwards once finds nearly all ancestors.
// The limit is against recordings made to be slow.
constexpr int kMaxRounds = 8;

// Numbers of processes and threads alike: Linux gives them from one range.
using Ids = tsl::robin_set<uint32_t>;

// About what an event takes in memory until the end of the report, with what is made of it to
// find it again.
uint64_t memory_of(const Event& event) {
  constexpr uint64_t kIndexed = 320;
  constexpr uint64_t kNoted = 64;
  if (const auto* map = std::get_if<MapEvent>(&event))
    return sizeof(Event) + kIndexed + map->path.capacity();
  if (const auto* comm = std::get_if<CommEvent>(&event))
    return sizeof(Event) + kNoted + comm->comm.capacity();
  if (const auto* code = std::get_if<KernelCodeEvent>(&event))
    return 2 * sizeof(Event) + kIndexed + 2 * code->name.capacity();
  if (const auto* cgroup = std::get_if<CgroupEvent>(&event))
    return sizeof(Event) + kNoted + 2 * cgroup->path.capacity();
  return sizeof(Event) + kNoted;
}

Result<> find_sampled(const Recording& recording, uint64_t budget, Ids& ids) {
  // Chunks that do not decode are passed over here, and counted when the samples are read.
  for (const Recording::StoredChunk& chunk : recording.sample_chunks) {
    auto payload = read_payload(chunk);
    if (payload)
      (void)SampleBatch::read_ids(as_bytes(*payload), [&](uint32_t id) { ids.insert(id); });
    if (ids.size() * sizeof(uint64_t) > budget)
      return out_of_budget(recording);
  }
  return Ok{};
}

// Adds the parents of those that are there already, as far as the chunk tells them.
void add_parents(const Recording::StoredChunk& chunk, Ids& ids) {
  auto payload = read_payload(chunk);
  if (!payload)
    return;
  std::vector<ForkEvent> forks;
  // A fork is told before those of its child, in one chunk or an earlier one: going backwards
  // meets the child first and its parent then.
  (void)decode_events(as_bytes(*payload), [&](Event event) {
    if (const auto* fork = std::get_if<ForkEvent>(&event))
      forks.push_back(*fork);
    return true;
  });
  // clang 14 cannot compile the views of this standard library.
  for (auto fork = forks.rbegin(); fork != forks.rend(); ++fork) {
    if (!ids.contains(fork->pid) && !ids.contains(fork->tid))
      continue;
    ids.insert(fork->parent_pid);
    ids.insert(fork->parent_tid);
  }
}

void add_ancestors(const Recording& recording, Ids& ids) {
  for (int round = 0; round < kMaxRounds; round++) {
    size_t before = ids.size();
    const auto& chunks = recording.event_chunks;
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk)
      add_parents(*chunk, ids);
    if (ids.size() == before)
      return;
  }
}

// The end of a thread or process is not needed: nothing that replays samples asks for it
// (ProcessHistory). Code of the kernel and cgroups may be those of any sample.
bool is_needed(const Event& event, const Ids& ids) {
  if (const auto* map = std::get_if<MapEvent>(&event))
    // The mappings of a process that has neither samples nor descendants with samples name
    // nothing.
    return ids.contains(map->pid);
  if (const auto* comm = std::get_if<CommEvent>(&event))
    return ids.contains(comm->tid) || (comm->is_exec && ids.contains(comm->pid));
  if (const auto* fork = std::get_if<ForkEvent>(&event))
    // A new thread matters if it has samples itself, a new process also if any of its threads
    // has: its mappings are those of the parent.
    return ids.contains(fork->tid) ||
           (fork->pid != fork->parent_pid && ids.contains(fork->pid));
  return !std::holds_alternative<ExitEvent>(event);
}

}  // namespace

Result<> read_events(Recording& recording, uint64_t& memory) {
  uint64_t size = 0;
  for (const Recording::StoredChunk& chunk : recording.event_chunks)
    size += chunk.raw_size;
  // A host that starts many processes has more events than samples. Those of processes without
  // a sample, and that no such process descends from, are passed over; to find out takes a pass
  // over all samples, which does not pay for few events.
  bool keeps_all = size <= kFewEvents;
  Ids ids;
  if (!keeps_all) {
    if (auto found = find_sampled(recording, recording.memory_budget, ids); !found)
      return found;
    add_ancestors(recording, ids);
    memory += ids.size() * 2 * sizeof(uint64_t);
  }
  for (const Recording::StoredChunk& chunk : recording.event_chunks) {
    size_t before = recording.events.size();
    auto payload = read_payload(chunk);
    // A chunk is taken as a whole or not at all: half of its events would put mappings of
    // different times together.
    bool is_sound = payload && decode_events(as_bytes(*payload), [&](Event event) {
                      if (!keeps_all && !is_needed(event, ids))
                        return true;
                      memory += memory_of(event);
                      recording.events.push_back(std::move(event));
                      return memory <= recording.memory_budget;
                    });
    if (memory > recording.memory_budget)
      return out_of_budget(recording);
    if (is_sound)
      continue;
    // Memory that these took stays counted: the budget errs towards too much.
    recording.events.resize(before);
    recording.damaged_chunks++;
  }
  recording.event_chunks.clear();
  return Ok{};
}

}  // namespace gosym::raw
