#include "exchange/input_kind.h"

#include <algorithm>
#include <cassert>

#include "base/exit_status.h"
#include "base/text.h"
#include "exchange/folded_reader.h"
#include "exchange/gunzip.h"
#include "exchange/page_reader.h"
#include "exchange/pprof_reader.h"
#include "page/html.h"

// Kinds are told by the strongest sign first: magic bytes, the first tag of a page, then text
// with a line that folded text may have. A profile.proto that is not compressed has no magic:
// its first byte has to do, and only if nothing else fits.
namespace gosym {

namespace {

// Magic bytes of files that could be taken for the others: perf.data begins with text.
constexpr std::string_view kOtherMagics[] = {"GOSYMRAW", "PERFILE", "PERFFILE", "2ELIFREP",
                                             "\177ELF"};

bool is_text(std::string_view begin) {
  return std::ranges::none_of(begin, [](char c) {
    auto byte = static_cast<uint8_t>(c);
    return byte == 0x7f || (byte < 0x20 && c != '\n' && c != '\r' && c != '\t');
  });
}

// Fields of a profile.proto are numbers (0) or messages and text (2), up to number 15.
bool begins_as_protobuf(char first) {
  auto byte = static_cast<uint8_t>(first);
  // A key is the number of the field times 8 and the wire type: those of 16 and more have two
  // bytes, of which the first has the highest bit.
  return byte >= 8 && byte < 0x80 && ((byte & 7) == 0 || (byte & 7) == 2);
}

// The last line may be cut where the beginning ends.
bool has_folded_line(std::string_view begin) {
  while (!begin.empty()) {
    std::string_view line = take_line(begin);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (is_no_stack(line))
      continue;
    size_t space = line.rfind(' ');
    std::string_view last = space == line.npos ? "" : line.substr(space + 1);
    // A line longer than half of what is looked at may have its number behind the end.
    return looks_like_number(last) || (begin.empty() && line.size() >= kKindBytes / 2);
  }
  return false;
}

}  // namespace

std::string_view to_string(InputKind kind) {
  switch (kind) {
    case InputKind::kPprof:
      return "a pprof profile";
    case InputKind::kPage:
      return "a page for a browser";
    case InputKind::kFolded:
      return "folded text";
    case InputKind::kRecording:
      break;
  }
  return "a recording";
}

InputKind detect_input_kind(std::string_view begin) {
  // kRecording is the answer for all that is none of the others: its reader says what it is.
  begin = begin.substr(0, kKindBytes);
  auto is_begin = [&](std::string_view magic) { return begin.starts_with(magic); };
  if (begin.empty() || std::ranges::any_of(kOtherMagics, is_begin))
    return InputKind::kRecording;
  if (begin.starts_with(kGzipMagic))
    return InputKind::kPprof;
  if (page::is_html(begin))
    return InputKind::kPage;
  if (is_text(begin))
    return has_folded_line(begin) ? InputKind::kFolded : InputKind::kRecording;
  return begins_as_protobuf(begin.front()) ? InputKind::kPprof : InputKind::kRecording;
}

Error no_sides() {
  return Error("it has no sides, as a page of gosym diff has").with_exit_status(kUsage);
}

Result<Profile> read_profile(InputKind kind, std::string_view file, uint64_t memory_budget,
                             std::optional<Side> side) {
  switch (kind) {
    case InputKind::kPprof:
      return read_pprof(file, memory_budget);
    case InputKind::kPage:
      return read_page(file, memory_budget, side);
    case InputKind::kFolded:
      return read_folded(file, memory_budget);
    case InputKind::kRecording:
      break;
  }
  assert(false);
  return Error("not a profile");
}

}  // namespace gosym
