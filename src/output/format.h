#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "output/output_file.h"
#include "output/view_options.h"
#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// The treatment of a profile of several events by a format: it is written whole, or once for
// each event, or only its first event is. Each value of an event's samples counts as an event.
enum class EventsWritten : uint8_t { kTogether, kEach, kFirst };

// A form that a profile can be written in.
struct Format {
  std::string_view name;
  EventsWritten events;        // `write` takes several with kTogether only
  bool is_binary = false;      // report refuses to write it to a terminal
  bool has_values = false;     // of a sample all values are written together
  bool has_views = false;      // writes what ViewOptions::view and `by` ask for
  bool is_for_people = false;  // without waits that tell them nothing (rewrite_stacks.h)
  bool is_for_tools = false;   // that know functions by the names that the linker gave them
  bool is_whole = false;       // whose the samples are, when they came, all names: read back
  bool is_request = false;     // to a server, as gosym push sends it
  std::string_view help = {};  // of the option of its name; empty: it has none
  uint64_t max_samples = UINT64_MAX;   // the most, where each takes lines of its own
  bool names_file = false;             // that option has a value, the file to be written
  std::string_view next_command = {};  // what may be done with the file, "{}"; empty: read it
  void (*write)(const Profile& profile, const ViewOptions& options, const Write& write);
};

// All formats; the first is the default.
std::span<const Format> formats();
// Null if there is none of this name.
const Format* find_format(std::string_view name);

// A profile of pprof, and so a request, has the addresses of what was sampled. Those of the
// kernel's code tell where it was loaded, which only root may know: a file with them is for its
// owner, as recordings are.
Readers readers_of(std::string_view format, const Profile& profile);

// An error if the format writes each sample by itself, and there are more than `max_samples`.
Result<> check_samples(const Profile& profile, const Format& format);

// Writes a profile with all of its events, as the format takes them.
void write_events(const Profile& profile, const Format& format, const ViewOptions& view,
                  const Write& write);

}  // namespace gosym
