#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/workers.h"
#include "bytes.h"
#include "raw/messages.h"
#include "raw/reader.h"
#include "raw_files.h"

namespace gosym::raw_reader_test {

namespace {

std::string some_file() {
  TemporaryDirectory directory;
  write_some(directory / "cpu.raw");
  return contents(directory / "cpu.raw");
}

// All that a recording says, a piece for each chunk and event, in the order of write_some().
std::vector<std::string> pieces(const raw::Recording& recording) {
  std::vector<std::string> result = {raw::encode(recording.info)};
  for (const RecordedImage& image : recording.images)
    result.push_back(raw::encode(image));
  for (const Event& event : recording.events)
    raw::append(event, result.emplace_back());
  raw::StackTreeReader stacks;
  for (const auto& chunk : recording.sample_chunks)
    if (auto batch = raw::read_samples(chunk, stacks))
      result.push_back(batch->encode());
  if (!recording.kernel_symbols.empty())
    result.push_back(recording.kernel_symbols);
  for (const RecordedPerfMap& map : recording.perf_maps)
    result.push_back(raw::encode(map));
  for (const auto& chunk : recording.piece_chunks)
    if (auto piece = raw::read_piece(chunk))
      result.push_back(raw::encode(*piece));
  if (!recording.vdso.empty())
    result.push_back(recording.vdso);
  if (recording.stats.time != 0)
    result.push_back(raw::encode(recording.stats));
  if (recording.end_time != 0)
    result.push_back(raw::encode_end(recording.end_time));
  return result;
}

bool is_part_of(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  auto at = all.begin();
  for (const std::string& piece : some) {
    at = std::find(at, all.end(), piece);
    if (at++ == all.end())
      return false;
  }
  return true;
}

raw::Recording parsed(std::string_view file) {
  auto recording = raw::parse(as_bytes(file));
  REQUIRE(recording);
  return *std::move(recording);
}

std::string parse_error(std::string_view file) {
  auto recording = raw::parse(as_bytes(file));
  REQUIRE_FALSE(recording);
  return recording.error().message();
}

raw::FileHeader header_of(std::string_view file) {
  raw::FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  return header;
}

// The file with another header, whose checksum is right.
std::string with_header(std::string file, raw::FileHeader header) {
  header.checksum = raw::checksum(header);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

struct ChunkParts {
  std::string_view magic = raw::kChunkMagic;
  uint16_t type = 2;
  uint16_t flags = 0;
  uint32_t extra_raw_size = 0;
  std::string payload = raw::encode(some_image());
};

// A chunk whose checksums are right, whatever is in it.
std::string chunk(const ChunkParts& parts) {
  raw::ChunkHeader header;
  std::ranges::copy(parts.magic, header.magic.begin());
  header.type = static_cast<raw::ChunkType>(parts.type);
  header.flags = parts.flags;
  header.stored_size = static_cast<uint32_t>(parts.payload.size());
  header.raw_size = header.stored_size + parts.extra_raw_size;
  header.payload_checksum = raw::checksum(as_bytes(parts.payload));
  header.header_checksum = raw::checksum(header);
  std::string result(sizeof header, '\0');
  std::memcpy(result.data(), &header, sizeof header);
  result += parts.payload;
  result.resize(raw::padded(result.size()));
  return result;
}

const std::string kHeader = with_header(std::string(64, '\0'), {});
const std::string kInfo = chunk({.type = 1, .payload = raw::encode(some_info())});
const std::string kEnd = chunk({.type = 9, .payload = raw::encode_end(201)});

}  // namespace

TEST_CASE("raw file: what was written comes back") {
  raw::Recording recording = parsed(some_file());
  CHECK(recording.major == 2);
  CHECK(recording.minor == raw::kMinorVersion);
  CHECK(recording.monotonic_ns > 0);
  CHECK(recording.realtime_ns > recording.monotonic_ns);
  CHECK(recording.file_size == some_file().size());
  CHECK(recording.damaged_bytes == 0);
  CHECK(recording.damaged_chunks == 0);
  CHECK(recording.end_time == 201);

  std::vector<std::string> expected = {raw::encode(some_info()), raw::encode(some_image())};
  for (const Event& event : some_events())
    raw::append(event, expected.emplace_back());
  expected.push_back(some_samples().encode());
  expected.push_back("ffffffff81000000 T _text\n");
  expected.push_back(raw::encode(some_perf_map()));
  expected.push_back(raw::encode(some_piece()));
  expected.push_back("an image");
  expected.push_back(raw::encode(RecordingStats{200, 50, 3, 4, {}}));
  expected.push_back(raw::encode_end(201));
  CHECK(pieces(recording) == expected);
}

TEST_CASE("raw file: a prefix holds the chunks that are whole, and nothing else") {
  TemporaryDirectory directory;
  std::vector<uint64_t> ends = write_some(directory / "cpu.raw");
  std::string file = contents(directory / "cpu.raw");
  std::vector<std::string> all = pieces(parsed(file));

  for (size_t size = 0; size <= file.size(); size++) {
    CAPTURE(size);
    auto recording = raw::parse(as_bytes(file).first(size));
    if (!recording) {
      CHECK(size < ends[0]);
      continue;
    }
    std::vector<std::string> some = pieces(*recording);
    CHECK(is_part_of(some, all));
    auto has = [&](size_t chunk) { return size >= ends[chunk]; };
    CHECK(some.size() == 1 + has(1) + some_events().size() * has(2) + has(3) + has(4) + has(5) +
                             has(6) + has(7) + has(8) + has(9));
    bool is_between_chunks = std::ranges::find(ends, size) != ends.end();
    CHECK((recording->damaged_bytes == 0) == is_between_chunks);
  }
}

TEST_CASE("raw file: with any byte changed, what is read is what was written") {
  std::string file = some_file();
  std::vector<std::string> all = pieces(parsed(file));
  for (size_t i = 0; i < file.size(); i++) {
    for (unsigned bits : {0x01u, 0x80u, 0xffu}) {
      CAPTURE(i);
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ bits);
      auto recording = raw::parse(as_bytes(changed));
      if (!recording)
        continue;
      std::vector<std::string> some = pieces(*recording);
      CHECK(is_part_of(some, all));
      // A piece is lost only where bytes are counted as damaged, and only one chunk.
      CHECK((some.size() == all.size()) == (recording->damaged_bytes == 0));
      CHECK(some.size() + some_events().size() >= all.size());
    }
  }
}

TEST_CASE("raw file: what is not a recording says what it is instead") {
  auto hint = [](std::string_view file) {
    CHECK(parse_error(file) == "not a gosym recording");
    return raw::parse(as_bytes(file)).error().hint();
  };
  CHECK(hint("") == "the file is empty");
  CHECK(hint("hello").empty());
  CHECK(hint("GOSYMRA").empty());
  CHECK(hint("PERFILE2....") == "a perf.data file: gosym report and diff read it");
  CHECK(hint("\x7f"
             "ELF") == "an ELF file: gosym inspect tells what is in it");
}

TEST_CASE("raw file: each field of the header made wrong") {
  std::string file = some_file();
  raw::FileHeader header = header_of(file);
  CHECK(parse_error(file.substr(0, 63)) == "header: cut short at byte 0x3f of 0x40");
  CHECK(parse_error(file.substr(0, 64)) == "first chunk: missing or damaged");

  SUBCASE("byte order") {
    header.byte_order_mark = 0x04030201;
    CHECK(parse_error(with_header(file, header)) ==
          "header: byte order mark is 0x04030201, not 0x01020304");
  }
  SUBCASE("newer major version") {
    header.major = 3;
    auto newer = raw::parse(as_bytes(with_header(file, header)));
    REQUIRE_FALSE(newer);
    CHECK(newer.error().message() ==
          "raw format 3.0 is newer than this gosym reads (up to 2.x)");
    CHECK(newer.error().hint() == "use a newer gosym");
    CHECK(newer.error().exit_status() == 1);
  }
  SUBCASE("no major version") {
    header.major = 0;
    CHECK(parse_error(with_header(file, header)) == "raw format 0.0 is unknown");
  }
  SUBCASE("newer minor version") {
    header.minor = 9;
    CHECK(parsed(with_header(file, header)).minor == 9);
  }
  SUBCASE("checksum") {
    header.realtime_ns++;
    std::memcpy(file.data(), &header, sizeof header);
    CHECK(parse_error(file) == fmt::format("header: checksum is {:#010x}, not {:#010x}",
                                           header.checksum, raw::checksum(header)));
  }
  SUBCASE("size") {
    for (uint32_t size : {0u, 56u, 65u, 4104u, UINT32_MAX - 7}) {
      header.header_size = size;
      CHECK(parse_error(with_header(file, header)) ==
            fmt::format("header: size is {:#x}", size));
    }
  }
  SUBCASE("size beyond the file") {
    header.header_size = 4096;
    CHECK(parse_error(with_header(file, header)) == "first chunk: missing or damaged");
  }
}

TEST_CASE("raw file: what was lost is told by CPU and time, where there was any") {
  auto stats = [](uint64_t time, std::vector<CpuCounts> cpus) {
    return chunk({.type = 7, .payload = raw::encode(RecordingStats{time, 0, 0, 0, cpus})});
  };
  raw::Recording recording = parsed(kHeader + kInfo + stats(10, {{0, 5, 0, 0, 0}}) +
                                    stats(20, {{0, 9, 2, 0, 0}, {1, 3, 0, 0, 7}}) +
                                    stats(30, {{0, 12, 2, 1, 0}, {1, 6, 0, 0, 7}}));
  REQUIRE(recording.losses.size() == 3);
  CHECK(recording.losses[0].begin == 10);
  CHECK(recording.losses[0].end == 20);
  CHECK(recording.losses[0].counts == CpuCounts{0, 4, 2, 0, 0});
  CHECK(recording.losses[1].counts == CpuCounts{1, 3, 0, 0, 7});
  CHECK(recording.losses[2].begin == 20);
  CHECK(recording.losses[2].counts == CpuCounts{0, 3, 0, 1, 0});
  CHECK(recording.stats.time == 30);
}

TEST_CASE("raw file: the first samples alone say nothing of what was lost") {
  raw::Recording whole = parsed(some_file());
  REQUIRE(whole.sample_chunks.size() == 1);
  whole.sample_chunks.resize(3, whole.sample_chunks[0]);
  uint64_t all = 0;
  for (const auto& chunk : whole.sample_chunks)
    all += chunk.stored_size;
  uint64_t first = whole.sample_chunks[0].stored_size;

  CHECK(raw::keep_first_samples(whole, UINT64_MAX) == 1);
  CHECK(raw::keep_first_samples(whole, all) == 1);
  uint64_t duration = raw::duration_ns(whole);
  uint64_t stored = whole.stats.samples;
  REQUIRE(stored > 0);
  for (uint64_t size : {uint64_t{1}, first}) {
    raw::Recording part = whole;
    CHECK(raw::keep_first_samples(part, size) ==
          static_cast<double>(first) / static_cast<double>(all));
    CHECK(part.sample_chunks.size() == 1);
    CHECK(part.stats.samples == 0);
    CHECK(part.losses.empty());
    CHECK(raw::duration_ns(part) == duration);
  }
  whole.sample_chunks.clear();
  CHECK(raw::keep_first_samples(whole, 1) == 1);
}

TEST_CASE("raw file: what was lost is told by event") {
  auto stats = [](uint64_t time, uint64_t lost) {
    std::vector<CpuCounts> cpus = {{.cpu = 3, .samples = 50, .event = 0},
                                   {.cpu = 3, .samples = 7, .lost_samples = lost, .event = 1}};
    return chunk({.type = 7, .payload = raw::encode(RecordingStats{time, 0, 0, 0, cpus})});
  };
  raw::Recording recording = parsed(kHeader + kInfo + stats(10, 2) + stats(20, 5));
  REQUIRE(recording.losses.size() == 2);
  CHECK(recording.losses[0].counts.lost_samples == 2);
  CHECK(recording.losses[1].counts == CpuCounts{.cpu = 3, .lost_samples = 3, .event = 1});
}

TEST_CASE("raw file: counts of more CPUs than there can be are damaged") {
  auto with_cpus = [](size_t count) {
    RecordingStats stats{10, 0, 0, 0, std::vector<CpuCounts>(count)};
    return parsed(kHeader + kInfo + chunk({.type = 7, .payload = raw::encode(stats)}));
  };
  constexpr size_t kMost = raw::kMaxCpus * raw::kMaxEvents;
  CHECK(with_cpus(kMost).damaged_chunks == 0);
  CHECK(with_cpus(kMost + 1).damaged_chunks == 1);
}

TEST_CASE("raw file: a longer header of a later minor version is passed over") {
  std::string file = some_file();
  raw::FileHeader header = header_of(file);
  header.header_size = 80;
  file.insert(64, "later minor ver.");
  raw::Recording recording = parsed(with_header(file, header));
  CHECK(pieces(recording) == pieces(parsed(some_file())));
  CHECK(recording.damaged_bytes == 0);
}

TEST_CASE("raw file: chunk types of a later version are skipped unseen") {
  std::string unknown =
      chunk({.type = 300, .payload = "not protobuf \xff"}) +
      chunk({.type = 301, .flags = 1, .extra_raw_size = 1, .payload = "not zstd"});
  raw::Recording recording = parsed(kHeader + kInfo + unknown + kEnd);
  CHECK(recording.end_time == 201);
  CHECK(recording.damaged_bytes == 0);
  CHECK(recording.damaged_chunks == 0);
}

TEST_CASE("raw file: each field of a chunk header made wrong loses that chunk alone") {
  std::string file;
  SUBCASE("magic") {
    file = chunk({.magic = "CHNC"});
  }
  SUBCASE("unknown flag") {
    file = chunk({.flags = 2});
  }
  SUBCASE("two sizes without compression") {
    file = chunk({.extra_raw_size = 1});
  }
  SUBCASE("compressed to the same size") {
    file = chunk({.flags = raw::kZstdFlag, .extra_raw_size = 0});
  }
  SUBCASE("a payload larger than allowed") {
    file = chunk({.flags = raw::kZstdFlag, .extra_raw_size = raw::kMaxSmallPayloadSize});
  }
  SUBCASE("header checksum") {
    file = chunk({});
    file[28] ^= 1;
  }
  SUBCASE("payload checksum") {
    file = chunk({});
    file[32] ^= 1;
  }
  raw::Recording recording = parsed(kHeader + kInfo + file + kEnd);
  CHECK(recording.images.empty());
  CHECK(recording.end_time == 201);
  CHECK(recording.damaged_bytes == file.size());
  CHECK(recording.damaged_chunks == 0);
}

TEST_CASE("raw file: a whole chunk that does not decode is counted, and used in no part") {
  std::string events;
  raw::append(ExitEvent{1, 2, 3}, events);
  static constexpr uint16_t kDecoded[] = {1, 2, 3, 5, 7, 9};
  for (uint16_t type : kDecoded) {
    CAPTURE(type);
    raw::Recording recording =
        parsed(kHeader + kInfo + chunk({.type = type, .payload = events + '\x08'}));
    CHECK(recording.damaged_chunks == 1);
    CHECK(recording.damaged_bytes == 0);
    CHECK(pieces(recording) == pieces(parsed(kHeader + kInfo)));
  }
  raw::Recording packed =
      parsed(kHeader + kInfo + chunk({.flags = raw::kZstdFlag, .extra_raw_size = 9}));
  CHECK(packed.damaged_chunks == 1);
}

TEST_CASE("raw file: junk between chunks, of any length and with decoys, costs no chunk") {
  std::string cut_header = chunk({}).substr(0, 31);
  for (const std::string& junk :
       {std::string("x"), std::string("CHN"), std::string("CHNKCHNKCHNK"), cut_header,
        std::string(4096, '\0'), kHeader.substr(0, 63), "CHNK" + std::string(28, '\0')}) {
    CAPTURE(junk.size());
    raw::Recording recording = parsed(kHeader + junk + kInfo + junk + kEnd + junk);
    CHECK(recording.info.host == some_info().host);
    CHECK(recording.end_time == 201);
    CHECK(recording.damaged_bytes == 3 * junk.size());
  }
}

TEST_CASE("raw file: a chunk larger than the file hides none of those after it") {
  std::string large = chunk({.payload = std::string(1000, 'x')}).substr(0, 40);
  raw::Recording recording = parsed(kHeader + kInfo + large + large + kEnd);
  CHECK(recording.end_time == 201);
  CHECK(recording.damaged_bytes == 2 * large.size());
}

TEST_CASE("raw file: the order and the repetition of chunks are not judged") {
  raw::Recording recording = parsed(kHeader + kEnd + chunk({}) + kInfo + chunk({}));
  CHECK(recording.end_time == 201);
  CHECK(recording.images.size() == 2);
  CHECK(recording.damaged_bytes == 0);
}

TEST_CASE("raw file: a small file cannot ask for all memory") {
  // Sixty-five times the largest payload allowed, none of which is there.
  std::string file = kHeader + kInfo;
  for (int i = 0; i < 65; i++)
    file += chunk({.type = 5, .flags = 1, .extra_raw_size = raw::kMaxPayloadSize - 1000});
  CHECK(parse_error(file) ==
        fmt::format("it asks for more than {} of memory, which no recording of {} needs",
                    human_size(raw::memory_budget(file.size())), human_size(file.size())));
  CHECK(raw::memory_budget(0) == 256 << 20);
  CHECK(raw::memory_budget(1 << 20) == 1280 << 20);
  CHECK(raw::memory_budget(uint64_t{1} << 30) == uint64_t{12} << 30);
}

TEST_CASE("raw file: several recordings in one file are refused, wherever the first ends") {
  std::string first = some_file();
  std::string second = some_file();
  constexpr std::string_view kMessage =
      "several recordings in one file, of which each would give names to the other's";
  auto refused = raw::parse(as_bytes(first + second));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() == kMessage);
  CHECK(refused.error().hint() == fmt::format("to part them: head -c {0} FILE > a.raw; tail -c "
                                              "+{1} FILE > b.raw",
                                              first.size(), first.size() + 1));
  for (size_t size = 64; size < first.size(); size++) {
    CAPTURE(size);
    CHECK(parse_error(first.substr(0, size) + second) == kMessage);
  }
  // Without its header the second one still begins anew.
  CHECK(parse_error(first + second.substr(64)) == kMessage);
  CHECK(raw::parse(as_bytes(first.substr(0, 64) + second.substr(64))));
}

TEST_CASE("raw file: of many events those are read that samples need") {
  std::string samples = chunk({.type = 4, .payload = some_samples().encode()});  // of 4242
  std::string many;
  std::string events;
  raw::append(ForkEvent{1, 7, 7, 6, 8}, events);
  raw::append(ForkEvent{1, 4242, 4242, 7, 7}, events);
  raw::append(MapEvent{1, 6, 0x1000, 0x1000, 0, {}, "//anon"}, events);
  raw::append(CommEvent{1, 8, 8, "parent", false}, events);
  raw::append(CommEvent{1, 4243, 4243, "thread", false}, events);
  raw::append(CgroupEvent{1, 9, "/a"}, events);
  size_t needed = 6;
  for (uint32_t pid = 10'000; many.size() <= (1 << 20); pid++) {
    raw::append(ForkEvent{1, pid, pid, 1, 1}, many);
    raw::append(MapEvent{1, pid, 0x1000, 0x1000, 0, {}, "//anon"}, many);
    raw::append(CommEvent{1, pid, pid, "short", true}, many);
    raw::append(ExitEvent{1, pid, pid}, many);
  }
  std::string chunks = chunk({.type = 3, .payload = events}) + samples;
  raw::Recording recording =
      parsed(kHeader + kInfo + chunk({.type = 3, .payload = many}) + chunks);
  CHECK(recording.events.size() == needed);
  CHECK(recording.damaged_chunks == 0);
  // A few are read whole.
  CHECK(parsed(kHeader + kInfo + chunk({.type = 3, .payload = events})).events.size() ==
        needed);
}

// All that a reader gives of the samples of a recording, in turn: payloads, or why there is none,
// and the memory of the tree.
std::vector<std::string> samples_of(const raw::Recording& recording, size_t most = SIZE_MAX) {
  std::vector<std::string> result;
  raw::SampleReader reader(recording.sample_chunks);
  while (result.size() < most) {
    auto batch = reader.next();
    if (!batch)
      break;
    result.push_back((*batch ? (*batch)->encode() : batch->error().message()) +
                     std::to_string(reader.memory()));
  }
  return result;
}

TEST_CASE("raw file: samples are the same, decoded ahead or when they are asked for") {
  // Chunks of several trees, of which some do not decode, and some are lost.
  std::string chunks;
  raw::StackTreeWriter tree;
  for (uint64_t i = 0; i < 50; i++) {
    raw::SampleBatch batch;
    for (uint64_t j = 0; j <= i; j++) {
      std::vector<uint64_t> stack = {0x1000 + i * j, 0x2000 + j, 0x3000};
      batch.add({.time = 100 * i + j, .kernel_stack = {}, .user_stack = stack});
    }
    std::string payload = batch.encode(tree);
    if (i % 7 == 3)
      payload.resize(payload.size() / 2);
    if (i % 11 != 5)
      chunks += chunk({.type = 4, .payload = payload});
  }
  raw::Recording recording = parsed(kHeader + kInfo + chunks);
  std::vector<std::string> alone = samples_of(recording);
  CHECK(alone.size() == recording.sample_chunks.size());
  for (size_t workers : {2, 5}) {
    worker_limit = workers;
    CHECK(samples_of(recording) == alone);
    // One who has seen enough asks for no more.
    for (size_t most : {0, 1, 7})
      CHECK(samples_of(recording, most).size() == most);
  }
  worker_limit = 1;
}

TEST_CASE("raw file: samples that do not unpack are an error") {
  auto error = [](raw::Recording::StoredChunk stored) {
    raw::StackTreeReader stacks;
    auto batch = raw::read_samples(stored, stacks);
    REQUIRE_FALSE(batch);
    return batch.error().message();
  };
  raw::Recording recording = parsed(some_file());
  raw::Recording::StoredChunk good = recording.sample_chunks.at(0);
  REQUIRE(good.is_compressed);
  raw::StackTreeReader stacks;
  CHECK(raw::read_samples(good, stacks)->rows().size() == 50);
  auto changed = [&](auto change) {
    raw::Recording::StoredChunk stored = good;
    change(stored);
    return error(stored);
  };
  CHECK(changed([](auto& c) { c.raw_size++; }) == "compressed payload of another size");
  CHECK(changed([](auto& c) { c.raw_size = UINT32_MAX; }) ==
        "compressed payload of another size");
  CHECK(changed([](auto& c) { c.offset++; }) == "compressed payload of another size");
  CHECK(changed([](auto& c) { c.stored_size--; }) ==
        "cannot decompress the payload: Src size is incorrect");
  CHECK(changed([](auto& c) { c.is_compressed = false; }).starts_with("malformed protobuf: "));
  CHECK(changed([](auto& c) { c.offset = c.file->size() - 1; }) ==
        "the file was cut meanwhile");
}

}  // namespace gosym::raw_reader_test
