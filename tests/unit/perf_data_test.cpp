#include <doctest/doctest.h>

#include "base/mapped_file.h"
#include "base/text.h"
#include "perf_data/kernel.h"
#include "perf_data/reader.h"
#include "perf_data_file.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"

namespace gosym::perf_data_test {

namespace {

Result<raw::Recording> read_text(const std::string& text) {
  auto read = perf_data::read(raw::Input(text), 256 << 20, {}, {});
  if (!read)
    return std::move(read).error();
  return std::move(read->recording);
}

raw::Recording read(const std::string& text) {
  auto recording = read_text(text);
  REQUIRE(recording);
  return *std::move(recording);
}

struct Read {
  RecordedSample sample;
  std::vector<uint64_t> kernel;
  std::vector<uint64_t> user;
  std::vector<StackWord> words;
};

std::vector<Read> samples_of(const raw::Recording& recording) {
  std::vector<Read> samples;
  raw::StackTreeReader stacks;
  for (const auto& chunk : recording.sample_chunks) {
    auto batch = raw::read_samples(chunk, stacks);
    REQUIRE(batch);
    for (const auto& row : batch->rows()) {
      RecordedSample one = batch->sample(row);
      samples.push_back({one,
                         {one.kernel_stack.begin(), one.kernel_stack.end()},
                         {one.user_stack.begin(), one.user_stack.end()},
                         {one.words.begin(), one.words.end()}});
    }
  }
  return samples;
}

using Stack = std::vector<uint64_t>;

}  // namespace

TEST_CASE("perf.data: a sample and what was told beside it") {
  File file;
  file.records =
      mapping("/no/such/program") +
      record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
             u32(kPid) + u32(kTid) + padded("program") + trailer(0)) +
      sample({kKernel, 0xffffffff81000010, kGuest, 0x77, kUser, 0x401000, 0x402000, 0});
  file.features = {{3, text_feature("web")},
                   {5, text_feature("6.1")},
                   {6, text_feature("x86_64")},
                   {7, u32(8) + u32(4)},
                   {11, u32(2) + text_feature("perf") + text_feature("record")},
                   {40, "?"}};
  raw::Recording recording = read(file.text());
  CHECK(recording.info.source == "a perf.data file of perf 6.1");
  CHECK(recording.info.host == "web");
  CHECK(recording.info.cpu_count == 4);
  CHECK(recording.info.command_line == "perf record");
  REQUIRE(recording.info.events.size() == 1);
  CHECK(event_text(recording.info.events[0]) == "cpu-clock at 99 Hz");
  REQUIRE(recording.images.size() == 1);
  CHECK(recording.images[0].path == "/no/such/program");
  CHECK(recording.images[0].problem == "perf wrote no build id of it");
  REQUIRE(recording.events.size() == 2);
  CHECK(std::get<MapEvent>(recording.events[0]).start == 0x400000);
  CHECK(std::get<CommEvent>(recording.events[1]).is_exec);
  auto samples = samples_of(recording);
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].sample.pid == kPid);
  CHECK(samples[0].sample.tid == kTid);
  CHECK(samples[0].sample.time == kTime);
  CHECK(samples[0].sample.cpu == 3);
  CHECK(samples[0].kernel == Stack{0xffffffff81000010});
  CHECK(samples[0].user == Stack{0x401000, 0x402000});
  CHECK(recording.end_time == kTime);
  CHECK(joined(recording.notes, "; ") ==
        "kernel code has no names: perf wrote no build id of the kernel; "
        "not read: feature 40, which is unknown");
}

TEST_CASE("perf.data: names of the kernel, if it lies where it did") {
  std::string_view text =
      "1000 T _stext\n1200 t alias\n1200 T function\n1300 d data\n1400 t next\n"
      "8000 t of_module\t[ext4]\n9000 t moved\t[xfs]\n";
  perf_data::KernelPlaces places = {
      .symbol = "_stext", .symbol_address = 0x1000, .modules = {}};
  places.modules["ext4"] = {0x8000, 0x8800};
  places.modules["xfs"] = {0xa000, 0xa800};
  auto named = [&](std::string_view kallsyms, const perf_data::KernelAddresses& addresses) {
    RunningKernel kernel = {.symbols = file_in_memory(as_bytes(kallsyms)), .vdso = {}};
    auto symbols = perf_data::kernel_symbols(kernel, places, addresses);
    return symbols ? *symbols : symbols.error().message();
  };
  CHECK(named(text, {0x1210}) == "1200 t alias\n1200 t function\n1400 t next\n");
  CHECK(named(text, {0x8010}) == "8000 t of_module\t[ext4]\n");
  CHECK(named(text, {0x9010}) == "8000 t of_module\t[ext4]\n");  // the last that is known
  CHECK(named(text, {0x10}).empty());
  CHECK(named("0 T _stext\n0 t function\n", {0x1210}) ==
        "/proc/kallsyms hides addresses from this user");
  places.symbol_address = 0x2000;
  CHECK(named(text, {0x1210}) == "it lay elsewhere, before the machine was started anew");
  places.symbol.clear();
  CHECK(named(text, {0x1210}) == "perf did not write where the kernel lay");
}

TEST_CASE("perf.data: user stacks that come later") {
  File file;
  std::string deferred =
      record(22, PERF_RECORD_MISC_USER,
             u64(7) + u64(3) + u64(kUser) + u64(0x401000) + u64(0x402000) + trailer());
  file.records =
      sample({kKernel, 0xffffffff81000010, kDeferred, 7}) + sample({kDeferred, 8}) + deferred;
  auto samples = samples_of(read(file.text()));
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].kernel == Stack{0xffffffff81000010});
  CHECK(samples[0].user == Stack{0x401000, 0x402000});
  CHECK(samples[1].user == Stack{0x401000});  // where it was
}

TEST_CASE("perf.data: records that were compressed") {
  File file;
  std::string all = sample({kUser, 0x401000}) + sample({kUser, 0x402000});
  // A record lies in two pieces of the stream.
  std::string stream =
      packed(all.substr(0, all.size() - 9)) + packed(all.substr(all.size() - 9));
  SUBCASE("COMPRESSED") {
    file.records = record(81, 0, stream.substr(0, 40)) + record(81, 0, stream.substr(40));
  }
  SUBCASE("COMPRESSED2") {
    file.records = record(83, 0, u64(stream.size()) + padded(stream));
  }
  raw::Recording recording = read(file.text());
  CHECK(samples_of(recording).size() == 2);
  CHECK(recording.damaged_bytes == 0);
}

TEST_CASE("perf.data: what does not unpack is damage, and what follows is read") {
  File file;
  file.records = record(81, 0, "no stream of zstd") + sample({kUser, 0x401000});
  raw::Recording recording = read(file.text());
  CHECK(samples_of(recording).size() == 1);
  CHECK(recording.damaged_bytes == 17);
}

TEST_CASE("perf.data: what was lost") {
  File file;
  file.records = sample({kUser, 0x401000}) +
                 record(PERF_RECORD_LOST, 0, u64(1) + u64(5) + trailer()) +
                 record(PERF_RECORD_LOST_SAMPLES, 0, u64(3) + trailer());
  CHECK(read(file.text()).stats.lost_samples == 5);
}

TEST_CASE("perf.data: events of one name are one, if they count the same") {
  File file;
  perf_event_attr cycles = clock_attr();
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  perf_event_attr of_other_cores = cycles;
  of_other_cores.config |= uint64_t{8} << 32;
  perf_event_attr of_users = cycles;
  of_users.exclude_kernel = 1;
  perf_event_attr dummy = clock_attr();
  dummy.config = PERF_COUNT_SW_DUMMY;
  file.attrs = {{dummy, {1}}, {cycles, {2}}, {of_other_cores, {3}}, {of_users, {4}}};
  for (uint64_t id : {2, 3, 4, 9})
    file.records += sample({kUser, 0x401000}, id);
  raw::Recording recording = read(file.text());
  REQUIRE(recording.info.events.size() == 2);
  CHECK(recording.info.events[0].name == "cycles");
  CHECK(recording.info.events[1].name == "cycles (2)");
  auto samples = samples_of(recording);
  REQUIRE(samples.size() == 3);
  CHECK(samples[0].sample.event == 0);
  CHECK(samples[1].sample.event == 0);
  CHECK(samples[2].sample.event == 1);
  CHECK(recording.damaged_samples == 1);
}

TEST_CASE("perf.data: of each CPU and event, as many as there may be, and one more") {
  File file;
  auto with_cpu = [](std::string bytes, uint32_t cpu) {
    constexpr size_t kPlace = 40;
    return bytes.replace(kPlace, sizeof(cpu), u32(cpu));
  };
  constexpr uint32_t kLast = raw::kMaxCpus - 1;
  for (uint32_t cpu = 0; cpu <= kLast + 1; cpu++)
    file.records += with_cpu(sample({}), cpu);
  file.records += with_cpu(sample({}), kLast);
  raw::Recording recording = read(file.text());
  auto samples = samples_of(recording);
  REQUIRE(samples.size() == raw::kMaxCpus + 2);
  CHECK(samples[kLast + 1].sample.cpu == kLast + 1);
  CHECK(samples[kLast + 2].sample.cpu == kLast);
  const std::vector<CpuCounts>& counts = recording.stats.cpus;
  REQUIRE(counts.size() == raw::kMaxCpus);
  CHECK(counts.front().samples == 2);
  CHECK(counts.back().cpu == kLast);
  CHECK(counts.back().samples == 2);
}

TEST_CASE("perf.data: a copy of a stack, of x86-64 and of arm64") {
  File file;
  file.attrs[0].first.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  bool is_arm = false;
  uint64_t frame = 0x7f0010;
  uint64_t stack = 0x7f0000;
  std::string registers;
  SUBCASE("x86-64") {
    file.attrs[0].first.sample_regs_user = 1 << 6 | 1 << 7 | 1 << 8;
    registers = u64(frame) + u64(stack) + u64(0x401000);
  }
  SUBCASE("arm64") {
    is_arm = true;
    file.attrs[0].first.sample_regs_user =
        uint64_t{1} << 29 | uint64_t{1} << 30 | uint64_t{1} << 31 | uint64_t{1} << 32;
    registers = u64(frame) + u64(0x403000) + u64(stack) + u64(0x401000);
  }
  std::string words = u64(5) + u64(0x402000) + u64(0x7f0020) + u64(0);
  file.features = {{6, text_feature(is_arm ? "aarch64" : "x86_64")}};
  // The mapping comes after the sample: that of another CPU may.
  file.records = sample({}, 1, u64(2) + registers + u64(words.size()) + words + u64(24)) +
                 mapping("/no/such/program");
  raw::Recording recording = read(file.text());
  CHECK(recording.info.machine == (is_arm ? "aarch64" : "x86_64"));
  auto samples = samples_of(recording);
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].user == Stack{0x401000});
  CHECK(samples[0].sample.frame_offset == 0x10);
  REQUIRE(samples[0].words.size() >= 2);
  CHECK(samples[0].words[0] == StackWord{8, 0x402000});
  CHECK(samples[0].words[1] == StackWord{16, 0x20});
  // A leaf that has not saved its link register returns to that.
  StackWord link{offset_of_register(kLinkRegister), 0x403000};
  CHECK(std::ranges::count(samples[0].words, link) == (is_arm ? 1 : 0));
}

TEST_CASE("perf.data: build ids of mappings, and old mappings") {
  File file;
  std::string id = u32(4) + "abcd" + std::string(16, '\0');
  file.records = record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1 << 14,
                        u32(kPid) + u32(kPid) + u64(0x400000) + u64(0x1000) + u64(0) + id +
                            u32(5) + u32(2) + padded("/no/such/program") + trailer(0)) +
                 record(PERF_RECORD_MMAP, PERF_RECORD_MISC_USER,
                        u32(kPid) + u32(kPid) + u64(0x500000) + u64(0x1000) + u64(0) +
                            padded("//anon") + trailer(0));
  raw::Recording recording = read(file.text());
  REQUIRE(recording.images.size() == 1);
  CHECK(recording.images[0].gnu_build_id == "abcd");
  CHECK(recording.images[0].problem.empty());
  REQUIRE(recording.events.size() == 2);
  CHECK(std::get<MapEvent>(recording.events[1]).path == "//anon");
}

TEST_CASE("perf.data: without times records count in their order") {
  File file;
  file.attrs[0].first.sample_type &= ~uint64_t{PERF_SAMPLE_TIME};
  std::string body = u64(1) + u64(0x401000) + u32(kPid) + u32(kTid) + u64(3) + u64(5) + u64(0);
  std::string one = record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body);
  file.records = one + one;
  auto samples = samples_of(read(file.text()));
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].sample.time < samples[1].sample.time);
}

TEST_CASE("perf.data: a stream") {
  std::string stream = "PERFILE2" + u64(16) + record(64, 0, bytes_of(clock_attr()) + u64(1)) +
                       record(80, 0, u64(3) + text_feature("web")) +
                       record(66, 0, u32(3) + u32(0)) + std::string(8, 'x') +
                       sample({kUser, 0x401000});
  raw::Recording recording = read(stream);
  CHECK(recording.info.host == "web");
  CHECK(samples_of(recording).size() == 1);
  CHECK(recording.damaged_bytes == 0);
}

TEST_CASE("perf.data: files that are cut are read as far as they go, or refused in words") {
  File file;
  file.records =
      mapping("/no/such/program") + sample({kUser, 0x401000}) + sample({kUser, 0x402000});
  file.features = {{3, text_feature("web")}};
  std::string whole = file.text();
  size_t begin = whole.size() - file.records.size() - 16 - file.features[3].size();
  for (size_t size = 0; size < whole.size(); size++) {
    CAPTURE(size);
    auto recording = read_text(whole.substr(0, size));
    if (size < begin)
      CHECK((!recording || recording->end_time == 0));
    else
      REQUIRE(recording);
    if (!recording)
      continue;
    size_t kept = samples_of(*recording).size();
    size_t there = std::min<size_t>(size - std::min(size, begin), file.records.size());
    bool is_whole = there == file.records.size();
    CHECK(kept == (is_whole                                               ? 2
                   : there >= file.records.size() - sample({1, 1}).size() ? 1
                                                                          : 0));
    CHECK((recording->end_time == 0) == !is_whole);
  }
}

TEST_CASE("perf.data: what is not read is refused in words") {
  auto message = [](const std::string& text) { return read_text(text).error().message(); };
  CHECK(message("2ELIFREP") == "it is of a big-endian machine, whose files are not read");
  CHECK(message("PERFFILE").starts_with("it is of the first format of perf"));
  File file;
  file.features = {{24, u64(1)}};
  file.records = sample({kUser, 0x401000});
  CHECK(message(file.text()) == "its records are in other files of its directory");
  file.attrs.clear();
  CHECK(message(file.text()) == "perf.data header: no events");
}

}  // namespace gosym::perf_data_test
