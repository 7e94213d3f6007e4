#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <filesystem>
#include <list>

#include "goroutine/wall_samples.h"
#include "raw/messages.h"
#include "raw/replay_recording.h"
#include "raw/sample_batch.h"
#include "raw/writer.h"

using namespace gosym;

namespace {

constexpr uint32_t kEventCount = 3;  // of the recording's info

// The input: first a list of samples and events, of which a few bytes make large ones; the rest
// is the memory of a Go program.
class Choices {
public:
  explicit Choices(Bytes bytes) : bytes_(bytes) {}

  bool has_more() const { return !bytes_.empty(); }
  Bytes rest() const { return bytes_; }

  // 0 when there is nothing more to choose.
  uint64_t number(size_t size) {
    uint64_t value = 0;
    size = std::min(size, bytes_.size());
    std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }
  size_t size_up_to(size_t most) { return number(2) % (most + 1); }

  std::string text(size_t most) {
    std::string text(size_up_to(most), static_cast<char>(number(1)));
    for (size_t i = number(1) % 8; i < text.size(); i += 7)
      text[i] = static_cast<char>(text[i] + static_cast<char>(i));
    return text;
  }
  std::vector<uint64_t> stack() {
    std::vector<uint64_t> stack(size_up_to(2 * raw::kMaxStackSize));
    uint64_t first = number(8);
    uint64_t step = number(1);
    for (size_t i = 0; i < stack.size(); i++)
      stack[i] = first + i * step;
    return stack;
  }

private:
  Bytes bytes_;
};

// A sample with all that its spans refer to.
struct GivenSample {
  RecordedSample sample;
  std::vector<uint64_t> kernel_stack;
  std::vector<uint64_t> user_stack;
  std::vector<StackWord> words;
  std::vector<Label> labels;
  std::string state;
  std::string waker;

  GivenSample() = default;
  explicit GivenSample(const RecordedSample& of)
      : sample(of),
        kernel_stack(of.kernel_stack.begin(), of.kernel_stack.end()),
        user_stack(of.user_stack.begin(), of.user_stack.end()),
        words(of.words.begin(), of.words.end()),
        labels(of.labels.begin(), of.labels.end()),
        state(of.state),
        waker(of.waker) {
    refer();
  }
  GivenSample(const GivenSample&) = delete;
  GivenSample& operator=(const GivenSample&) = delete;

  void refer() {
    sample.kernel_stack = kernel_stack;
    sample.user_stack = user_stack;
    sample.words = words;
    sample.labels = labels;
    sample.state = state;
    sample.waker = waker;
  }
};

void choose_words(Choices& from, std::vector<StackWord>& words) {
  words.resize(from.size_up_to(raw::kMaxTopWords + 100));
  uint64_t offset = from.number(3);
  uint64_t step = from.number(1);
  uint64_t value = from.number(8);
  for (StackWord& word : words) {
    word = {offset, value};
    offset += step;
    value += step << 8;
  }
}

void choose_sample(Choices& from, GivenSample& given) {
  RecordedSample& sample = given.sample;
  uint64_t parts = from.number(1);
  sample.time = from.number(8);
  sample.pid = static_cast<uint32_t>(from.number(2));
  sample.tid = static_cast<uint32_t>(from.number(4));
  sample.cpu = static_cast<uint32_t>(from.number(1));
  sample.event = static_cast<uint32_t>(from.number(1) % kEventCount);
  sample.user_end = static_cast<StackEnd>(from.number(1) % 4);
  if ((parts & 1) != 0)
    given.kernel_stack = from.stack();
  if ((parts & 2) != 0)
    given.user_stack = from.stack();
  if ((parts & 4) != 0)
    choose_words(from, given.words);
  if ((parts & 8) != 0)
    for (size_t count = from.size_up_to(raw::kMaxLabels + 9); given.labels.size() < count;)
      given.labels.push_back({from.text(400), from.text(400)});
  if ((parts & 16) != 0) {
    given.state = from.text(400);
    given.waker = from.text(400);
  }
  if ((parts & 32) != 0) {
    sample.gap = static_cast<uint32_t>(from.number(2));
    sample.missing = static_cast<uint32_t>(from.number(4));
    sample.goroutine_start = static_cast<uint32_t>(from.number(2));
    sample.frame_offset = from.number(4);
  }
  if ((parts & 64) != 0) {
    sample.goid = from.number(8);
    sample.weight = from.number(8);
    sample.cgroup = from.number(8);
    sample.doublings = static_cast<uint32_t>(from.number(4));
  }
  given.refer();
}

Event choose_event(Choices& from) {
  auto time = from.number(8);
  auto pid = static_cast<uint32_t>(from.number(2));
  switch (from.number(1) % 6) {
    case 0:
      return MapEvent{time,           pid,        from.number(8), from.number(8),
                      from.number(8), ImageId{7}, from.text(5000)};
    case 1:
      return CommEvent{time, pid, pid, from.text(raw::kMaxComm), from.number(1) != 0};
    case 2:
      return ForkEvent{time, pid, pid, static_cast<uint32_t>(from.number(2)), 1};
    case 3:
      return ExitEvent{time, pid, pid};
    case 4:
      return KernelCodeEvent{time, from.number(8), from.number(8), from.text(500), false};
    default:
      return CgroupEvent{time, from.number(8), from.text(5000)};
  }
}

// All that a recorder has taken, to be written, and to be compared with what is read.
struct Taken {
  std::list<GivenSample> samples;
  std::vector<Event> events;

  void sample_memory(Bytes memory);
};

// Reads, as a sampler does, a program that has whatever it likes in its memory.
void Taken::sample_memory(Bytes memory) {
  constexpr uint64_t kBegin = 0x10000;
  proc::ReadMemory read_memory = [&](std::span<proc::MemoryPiece> pieces) -> Result<> {
    for (proc::MemoryPiece& piece : pieces) {
      uint64_t offset = piece.address - kBegin;
      piece.is_read = offset <= memory.size() && piece.bytes.size() <= memory.size() - offset;
      if (piece.is_read && !piece.bytes.empty())
        std::memcpy(piece.bytes.data(), memory.data() + offset, piece.bytes.size());
    }
    return Ok{};
  };
  GoRuntime runtime;
  runtime.allgs = {kBegin, kBegin + 8};
  runtime.layout = *go::goroutine_layout("go1.27");
  runtime.is_entry = [](uint64_t address) { return address % 4 == 0; };
  runtime.find_rule = [](uint64_t address) -> std::optional<UnwindRule> {
    if (address % 8 == 0)
      return std::nullopt;
    bool is_root = address % 8 == 1;
    return UnwindRule{.cfa = {Anchor::kStackPointer, static_cast<int32_t>(address % 32)},
                      .return_kind = is_root ? UnwindRule::ReturnAddress::kNone
                                             : UnwindRule::ReturnAddress::kOnStack,
                      .return_address = {Anchor::kCfa, -8}};
  };
  WallSamples wall(std::move(runtime), read_memory, [](uint64_t address) {
    return WallSamples::Owner{address % 16 == 3, address % 32 == 3};
  });
  const double random[] = {0, 0.1, 0.5, 0.9};
  RecordedSample base;
  base.pid = 7;
  base.weight = 10'000'000;
  for (int look = 0; look < 2; look++)
    wall.look(random, base,
              [&](const RecordedSample& sample) { samples.emplace_back(sample); });
}

void must(const Result<>& done) {
  assert(done);
}

// Writes them as a recorder does.
void write_all(const Taken& taken, const std::string& path) {
  RecordingInfo info;
  info.events.resize(kEventCount);
  auto writer = raw::Writer::create(path, info);
  assert(writer);
  must((*writer)->write_events(taken.events));
  std::vector<raw::SampleBatch> batches;
  for (const GivenSample& given : taken.samples) {
    if (batches.empty() || batches.back().is_full())
      batches.emplace_back();
    batches.back().add(given.sample);
  }
  for (const raw::SampleBatch& batch : batches)
    must((*writer)->write_samples(batch));
  must((*writer)->write_end(1));
}

bool is_within(const GivenSample& given) {
  auto is_text = [](const std::string& text) { return text.size() <= raw::kMaxText; };
  auto is_label = [](const Label& label) {
    return std::max(label.key.size(), label.value.size()) <= raw::kMaxLabelText;
  };
  auto registers = std::ranges::count_if(given.words, &StackWord::is_register);
  const RecordedSample& sample = given.sample;
  size_t depth = given.user_stack.size();
  bool has_gap = sample.gap != 0 && sample.missing != 0;
  return given.kernel_stack.size() <= raw::kMaxStackSize && depth <= raw::kMaxStackSize &&
         given.words.size() <= raw::kMaxTopWords &&
         registers <= static_cast<ptrdiff_t>(kMaxRegisters) &&
         std::ranges::all_of(given.words, raw::is_possible) &&
         std::ranges::is_sorted(given.words, {}, &StackWord::offset) &&
         given.labels.size() <= raw::kMaxLabels &&
         std::ranges::all_of(given.labels, is_label) && is_text(given.state) &&
         is_text(given.waker) && raw::is_frame_offset(sample.frame_offset) &&
         (sample.goroutine_start == 0 || sample.goroutine_start < depth) &&
         (has_gap ? sample.gap < depth && sample.missing <= raw::kMaxMissing
                  : sample.gap == 0 && sample.missing == 0);
}

bool is_begin_of(std::string_view text, std::string_view whole) {
  if (text == whole)
    return true;
  return text.size() <= raw::kMaxText && text.ends_with("...") &&
         whole.starts_with(text.substr(0, text.size() - 3));
}

// Both ends of what was given, with as many frames missing as there are.
void check_stack(const GivenSample& given, const RecordedSample& read) {
  const std::vector<uint64_t>& whole = given.user_stack;
  if (given.kernel_stack.size() > raw::kMaxStackSize) {
    assert(read.user_stack.empty());
    return;
  }
  size_t size = read.user_stack.size();
  assert(size == std::min<size_t>(whole.size(), raw::kMaxStackSize));
  if (size == whole.size()) {
    assert(std::ranges::equal(read.user_stack, whole));
    return;
  }
  assert(0 < read.gap && read.gap < size && read.missing >= whole.size() - size);
  assert(std::equal(whole.begin(), whole.begin() + read.gap, read.user_stack.begin()));
  assert(std::equal(whole.rbegin(), whole.rbegin() + static_cast<ptrdiff_t>(size - read.gap),
                    read.user_stack.rbegin()));
}

void check_sample(const GivenSample& given, const RecordedSample& read) {
  const RecordedSample& sample = given.sample;
  assert(read.time == sample.time && read.pid == sample.pid && read.tid == sample.tid &&
         read.cpu == sample.cpu && read.event == sample.event && read.goid == sample.goid &&
         read.weight == sample.weight && read.cgroup == sample.cgroup &&
         read.doublings == sample.doublings);
  check_stack(given, read);
  assert(is_begin_of(read.state, given.state) && is_begin_of(read.waker, given.waker));
  assert(read.labels.size() == std::min(given.labels.size(), raw::kMaxLabels));
  for (size_t i = 0; i < read.labels.size(); i++)
    assert(is_begin_of(read.labels[i].key, given.labels[i].key) &&
           is_begin_of(read.labels[i].value, given.labels[i].value));
  if (!is_within(given))
    return;
  assert(std::ranges::equal(read.kernel_stack, given.kernel_stack));
  assert(std::ranges::equal(read.words, given.words));
  assert(std::ranges::equal(read.labels, given.labels));
  assert(read.state == given.state && read.waker == given.waker);
  assert(read.user_end == sample.user_end && read.frame_offset == sample.frame_offset &&
         read.goroutine_start == sample.goroutine_start && read.gap == sample.gap &&
         read.missing == sample.missing);
}

std::string payload_of(std::span<const Event> events) {
  std::string payload;
  for (const Event& event : events)
    raw::append(event, payload);
  return payload;
}

void check_recording(const Taken& taken, raw::Recording& recording) {
  assert(recording.damaged_bytes == 0 && recording.damaged_chunks == 0);
  assert(payload_of(recording.events) == payload_of(taken.events));
  raw::StackTreeReader stacks;
  auto given = taken.samples.begin();
  for (const raw::Recording::StoredChunk& chunk : recording.sample_chunks) {
    auto batch = raw::read_samples(chunk, stacks);
    assert(batch && batch->left_out() == 0 && batch->problem().empty());
    for (const auto& row : batch->rows())
      check_sample(*given++, batch->sample(row));
  }
  assert(given == taken.samples.end());
  auto replayed = replay(recording, {}, {});
  assert(replayed && recording.damaged_chunks == 0 && recording.damaged_samples == 0);
}

// In memory, where it can be.
std::string path_of_recording() {
  std::filesystem::path folder = "/dev/shm";
  if (access(folder.c_str(), W_OK) != 0)
    folder = std::filesystem::temp_directory_path();
  return folder / fmt::format("gosym-round-trip-{}.raw", getpid());
}

}  // namespace

// All that a recorder writes is read again, whatever it met: nothing is refused, and nothing
// changed that is within the limits of the format.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Few events, so that the reader keeps those of processes without samples as well.
  constexpr size_t kMaxEvents = 100;
  constexpr size_t kMaxSamples = 200;
  Taken taken;
  Choices from(std::as_bytes(std::span(data, size)));
  for (uint64_t count = from.number(1); count > 0 && from.has_more(); count--) {
    bool is_event = from.number(1) % 4 == 0;
    if (is_event && taken.events.size() < kMaxEvents)
      taken.events.push_back(choose_event(from));
    else if (taken.samples.size() < kMaxSamples)
      choose_sample(from, taken.samples.emplace_back());
  }
  taken.sample_memory(from.rest());

  static const std::string path = path_of_recording();
  write_all(taken, path);
  auto recording = raw::read(path);
  unlink(path.c_str());
  assert(recording);
  check_recording(taken, *recording);
  return 0;
}
