#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

// The message Page of page.proto as plain values: its tables are columns here as there, but of
// the values themselves where the message has differences. A column but the first that holds
// nothing but zeros may be empty.

namespace gosym::page {

using Column = std::vector<uint32_t>;

// The subject of the page, and how it was made.
struct Origin {
  std::string gosym_version;
  std::string host;
  std::string kernel_release;
  std::string machine;
  std::string command_line;
  std::string selection;
  uint32_t cpu_count = 0;
  uint64_t start_realtime_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t time_step_ns = 0;
  std::string sampler;
  bool has_user = false;
  bool has_kernel = false;
  bool is_system_wide = false;
  uint64_t lost_events = 0;
  std::string source;
  bool lacks_counts = false;
  std::string compared_per;
  uint64_t scale_before = 0;
  uint64_t idle_ns = 0;
};

struct Event {
  std::string name;
  uint64_t frequency = 0;
  uint64_t period = 0;
  uint64_t unit_ns = 0;
  uint64_t unit_events = 0;
  uint64_t lost_samples = 0;
  uint64_t repaired = 0;
  uint64_t cut = 0;
  uint64_t unknown = 0;
  uint64_t deep = 0;
  uint64_t bridged = 0;
  uint64_t recorded_samples = 0;
  uint64_t skipped_ticks = 0;
  uint64_t throttled_ns = 0;
  uint64_t lost_ns = 0;
  uint64_t recorded_amount = 0;
  bool is_weighted = false;
  std::string amount;
  std::string unit;
  uint64_t walked_samples = 0;
};

struct Recording {
  std::string name;
  std::string host;
  uint64_t start_realtime_ns = 0;
  uint64_t duration_ns = 0;
  std::string command_line;
};

struct Side {
  Origin origin;
  Event event;
  uint32_t recordings = 0;
};

struct Texts {
  Column shared;
  Column rest;
  std::string bytes;
};

struct Module {
  uint32_t path = 0;
  uint32_t kind = 0;
  std::string gnu_build_id;
  std::string go_build_id;
  std::string debug_package;
  std::string own_modules;
  uint32_t is_executable = 0;
  uint32_t has_sources = 0;
};

struct Functions {
  Column name;
  Column system_name;
  Column file;
  Column start_line;
  Column package;
  Column declared;
};

struct Frames {
  Column function;
  Column line;
  Column module;
  Column source;
  Column kind;
  Column is_inlined;
  Column unnamed;
  Column text;
  Column left_out;
  Column category;
  Column category_kind;
  Column is_own;
};

struct Tree {
  Column up;
  Column added;
  Column samples;
  Column next;
  Column first;
  uint32_t root_samples = 0;
};

struct Owners {
  Column event;
  Column pid;
  Column tid;
  Column comm;
  Column process;
  Column cgroup;
  Column label_set;
  Column recording;
  Column state;
  Column waker;
};

struct LabelSet {
  Column key;
  Column value;
};

struct Samples {
  Column owner;
  Column step;
  Column count;
  std::vector<uint64_t> weight;
  std::vector<uint64_t> skipped;
};

struct Source {
  uint32_t file = 0;
  std::string text;
};

struct Note {
  std::string title;
  std::string text;
};

struct Page {
  uint32_t version = 0;
  Origin origin;
  std::vector<Event> events;
  std::vector<Recording> recordings;
  Texts texts;
  std::vector<Module> modules;
  Functions functions;
  Frames frames;
  Tree tree;
  Owners owners;
  std::vector<LabelSet> label_sets;
  Samples samples;
  std::vector<Note> notes;
  std::vector<Side> sides;
  std::vector<Source> sources;
};

inline constexpr uint32_t kVersion = 1;

std::string encode(Page page);

// The page in the message; whether its numbers fit together is not checked. An error: malformed
// bytes, another version.
Result<Page> decode(Bytes message);

// Makes the columns of a page those of page.proto: many of them as differences from what is
// likely, of which most are 0.
void shorten(Page& page);

// The other way. An error: columns of a table that differ in length.
Result<> restore(Page& page);

// The raw DEFLATE of some bytes as text, in lines. Bits, the lowest of the first byte first,
// are taken 13 at a time, and are two digits of base 91, the higher one first; up to 6 at the
// end are one. That is 1.23 times as long as the bytes (base64: 1.33), of characters that mean
// nothing to HTML.
std::string packed(std::string_view bytes);

// The bytes. An error: what is no such text, or more than so many bytes.
Result<std::string> unpacked(std::string_view text, uint64_t max_size);

}  // namespace gosym::page
