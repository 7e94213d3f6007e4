// Damages an input of `gosym report` over and over, and reports what is left:
//
//   mutate_inputs [--seed S] [--first N] [--count N] FILE
//
// FILE is a recording, a pprof profile (not compressed), folded text, a page or a core file. Of
// recordings and pages it is the payloads that are damaged, and packed anew, so that damage
// comes further than to a checksum. What is made of an input is written in all formats; to
// standard output goes, for each mutation, its number and the size of the JSON on a line, and
// then the JSON: scripts/mutate has it parsed. Of a core file there is none.

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/print.h"
#include "base/text.h"
#include "elf/core_file.h"
#include "exchange/input_kind.h"
#include "exchange/page_reader.h"
#include "goroutine/core_memory.h"
#include "output/folded.h"
#include "output/html.h"
#include "output/pprof.h"
#include "output/report_json.h"
#include "output/svg.h"
#include "output/text.h"
#include "page/html.h"
#include "perf_data/reader.h"
#include "raw/messages.h"
#include "raw/reader.h"
#include "symbolize/make_profile.h"
#include "symbolize/symbolizer.h"

extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=8:max_allocation_size_mb=2048:malloc_context_size=4";
}

using namespace gosym;

namespace {

constexpr uint64_t kBudget = 256 << 20;

class Mutation {
public:
  Mutation(uint64_t seed, uint64_t number) : random_(seed * 1'000'003 + number) {}

  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  bool one_in(size_t n) { return below(n) == 0; }

  void damage(std::string& text) {
    for (size_t changes = 1 + below(4); changes > 0 && !text.empty(); changes--)
      change(text);
  }

private:
  void change(std::string& text) {
    size_t at = below(text.size());
    size_t size = std::min(text.size() - at, 1 + below(one_in(4) ? 4096 : 12));
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text[at] = static_cast<char>(below(256));
        break;
      case 2:  // the largest number of a varint, or a number of eight bytes
        for (size_t i = 0; i < std::min<size_t>(size, 10); i++)
          text[at + i] = static_cast<char>(i + 1 < 10 ? 0xff : 0x01);
        break;
      case 3:
        text.erase(at, size);
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), size));
        break;
      case 5:
        text.replace(at, size, size, static_cast<char>(one_in(2) ? 0 : 0xff));
        break;
      default:
        text.resize(one_in(4) ? at : text.size());
        std::swap(
            text[below(std::max<size_t>(text.size(), 1)) % std::max<size_t>(text.size(), 1)],
            text[0]);
    }
  }

  std::mt19937_64 random_;
};

struct Payload {
  raw::ChunkType type;
  std::string text;
};

std::vector<Payload> payloads_of(const std::string& file) {
  raw::Input input(file);
  raw::Chunks chunks(input, sizeof(raw::FileHeader));
  std::vector<Payload> payloads;
  while (auto chunk = chunks.next())
    if (auto text = raw::unpack(chunk->stored, chunk->raw_size, chunk->is_compressed))
      payloads.push_back({chunk->type, *std::move(text)});
  return payloads;
}

template <class T>
void append(const T& what, std::string& text) {
  text.append(reinterpret_cast<const char*>(&what), sizeof(what));
}

std::string pack(std::string_view header, const std::vector<Payload>& payloads) {
  std::string file(header);
  for (size_t i = 0; i < payloads.size(); i++) {
    raw::ChunkHeader chunk;
    chunk.type = payloads[i].type;
    chunk.stored_size = chunk.raw_size = static_cast<uint32_t>(payloads[i].text.size());
    chunk.sequence = i;
    chunk.payload_checksum = raw::checksum(as_bytes(payloads[i].text));
    chunk.header_checksum = raw::checksum(chunk);
    append(chunk, file);
    file += payloads[i].text;
    file.resize(raw::padded(file.size()));
  }
  return file;
}

std::string damaged_recording(const std::string& file, Mutation& mutation) {
  std::vector<Payload> payloads = payloads_of(file);
  size_t first = mutation.one_in(20) ? 0 : 1;  // without an info it is none
  for (size_t i = 1 + mutation.below(3); i > 0; i--) {
    size_t at = first + mutation.below(payloads.size() - first);
    if (mutation.one_in(8))
      payloads.insert(payloads.begin() + static_cast<ptrdiff_t>(at), payloads[at]);
    else if (mutation.one_in(8))
      std::swap(payloads[at], payloads[first + mutation.below(payloads.size() - first)]);
    else
      mutation.damage(payloads[at].text);
  }
  std::string packed = pack(file.substr(0, sizeof(raw::FileHeader)), payloads);
  if (mutation.one_in(10))
    mutation.damage(packed);
  return packed;
}

size_t written = 0;
bool count(std::string_view part) {
  written += part.size();
  return written < kBudget;
}

// All outputs but JSON, which is given back.
std::string report(Profile& profile) {
  written = 0;
  for (View view : {View::kSummary, View::kTree, View::kInverted})
    (void)make_text(profile, {.view = view, .is_verbose = true, .screen = {.width = 70}});
  write_folded(profile, count);
  encode_pprof(profile, count);
  write_html(profile, count);
  (void)make_svg(profile);
  return make_report_json(profile, {});
}

Result<raw::Recording> recording_of_perf(const std::string& file) {
  auto read = perf_data::read(raw::Input(file), kBudget, {.symfs = "/no/such/folder"}, {});
  if (!read)
    return std::move(read).error();
  return std::move(read->recording);
}

std::string report_recording(const std::string& file) {
  auto recording =
      perf_data::is_perf_data(file) ? recording_of_perf(file) : raw::parse(as_bytes(file));
  if (!recording)
    return {};
  auto named = make_profile(*recording, {}, {.has_tids = true}, {}, {});
  return named ? report(named->profile) : std::string();
}

std::string report_profile(InputKind kind, const std::string& file) {
  auto profile = read_profile(kind, file, kBudget);
  if (!profile && kind == InputKind::kPage)
    profile = read_profile(kind, file, kBudget, Side::kAfter);
  if (!profile)
    return {};
  if (kind == InputKind::kPage)
    show_names(*profile, {});
  else
    name_given(*profile, {}, {});
  return report(*profile);
}

std::string report_page(const std::string& file, Mutation& mutation) {
  auto page = page::read_html(file, kBudget);
  if (!page || mutation.one_in(10)) {
    std::string html = file;
    mutation.damage(html);
    return report_profile(InputKind::kPage, html);
  }
  std::string message = page::encode(*page);
  mutation.damage(message);
  auto damaged = page::decode(as_bytes(message));
  if (!damaged)
    return {};
  auto profile = make_profile_of(*damaged, kBudget);
  if (!profile)
    profile = make_profile_of(*damaged, kBudget, Side::kBefore);
  if (!profile)
    return {};
  show_names(*profile, {});
  return report(*profile);
}

void read_core(const std::string& file) {
  auto core = elf::parse_core(as_bytes(file));
  if (!core)
    return;
  CoreMemory memory(*core);
  for (const auto& [id, registers] : core->threads) {
    std::byte room[256];
    proc::MemoryPiece piece = {registers.stack_pointer, room};
    memory.read({&piece, 1});
  }
}

std::string read_damaged(const std::string& file, Mutation& mutation) {
  InputKind kind = detect_input_kind(file);
  bool is_core = file.starts_with("\177ELF");
  if (kind == InputKind::kPage)
    return report_page(file, mutation);
  if (kind == InputKind::kRecording && !is_core && !perf_data::is_perf_data(file))
    return report_recording(damaged_recording(file, mutation));
  std::string damaged = file;
  mutation.damage(damaged);
  damaged.shrink_to_fit();
  if (kind == InputKind::kRecording && !is_core)
    return report_recording(damaged);
  if (!is_core)
    return report_profile(kind, damaged);
  read_core(damaged);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t count = 1000;
  const option options[] = {{"seed", required_argument, nullptr, 's'},
                            {"first", required_argument, nullptr, 'f'},
                            {"count", required_argument, nullptr, 'c'},
                            {}};
  for (int chosen; (chosen = getopt_long(argc, argv, "", options, nullptr)) != -1;)
    (chosen == 's' ? seed : chosen == 'f' ? first : count) = std::strtoull(optarg, nullptr, 10);
  auto file = optind < argc ? read_file(argv[optind], kBudget) : Error("no file is named");
  if (file && file->empty())
    file = Error("the file is empty");
  if (!file) {
    print(stderr, "mutate_inputs: {}\n", file.error().message());
    return 2;
  }
  for (uint64_t number = first; number < first + count; number++) {
    print(stdout, "{} ", number);  // seen last where it ends
    std::fflush(stdout);
    Mutation mutation(seed, number);
    std::string json = read_damaged(*file, mutation);
    std::printf("%zu\n", json.size());
    std::fwrite(json.data(), 1, json.size(), stdout);
  }
  return 0;
}
