#pragma once

#include <doctest/doctest.h>

#include <array>

#include "frame_builder.h"
#include "profile/replay.h"
#include "unwind/unwind.h"

namespace gosym {

// Stacks of the functions of a vdso, which needs no file, each 0x100 bytes long. Behind a call,
// each is returned to at kReturn.
enum Place : uint64_t {
  kFrameless,
  kFramed,
  kSized,
  kLosing,
  kHandler,
  kRoot,
  kByRax,
  kByLoad,
  kByRbx,
  kSavesRbx,
  kLeft,
  kByRedZone,
  kPopped,
  kMisaligned,
  kAligned,
  kDoubles,
  kUnknown
};
constexpr uint64_t kReturn = 0x40;
constexpr uint64_t kLoaded = 0x7f0000000000;

inline uint64_t leaf(Place place) {
  return kLoaded + FrameSpec::kCode + 0x100 * place + 8;
}
inline uint64_t caller(Place place) {
  return kLoaded + FrameSpec::kCode + 0x100 * place + kReturn;
}

inline std::string make_unwind_vdso() {
  FrameSpec usual;
  FrameSpec handler{.augmentation = "zRS"};
  std::string frames = usual.setup_entry();
  auto add = [&](Place place, std::string instructions) {
    FrameSpec spec{.instructions = std::move(instructions)};
    frames += spec.function_entry(frames.size(), FrameSpec::kCode + 0x100 * place);
  };
  add(kFrameless, "");
  add(kFramed, "\x0e\x10\x86\x02\x0d\x06");  // CFA is rbp + 16, rbp at CFA - 16
  add(kSized, "\x0e\x20\x86\x02");           // CFA is rsp + 32, rbp at CFA - 16
  add(kLosing, "\x0e\x10\x07\x06");          // CFA is rsp + 16, rbp lost
  add(kRoot, "\x07\x10");
  add(kByRax, std::string("\x0c\0\x08", 3));           // CFA is rax + 8
  add(kByLoad, "\x0f\x05\x77\x10\x06\x23\x08");        // CFA is the word at rsp + 16, and 8
  add(kByRbx, "\x0c\x03\x10");                         // CFA is rbx + 16
  add(kSavesRbx, "\x0e\x18\x83\x02");                  // CFA is rsp + 24, rbx at CFA - 16
  add(kLeft, "\x86\x02");                              // CFA is rsp + 8, rbp at CFA - 16
  add(kByRedZone, "\x0f\x05\x77\x78\x06\x23\x08");     // CFA is the word at rsp - 8, and 8
  add(kPopped, std::string("\x0e\0\x09\x10\x03", 5));  // CFA is rsp, the caller is in rbx
  add(kMisaligned, "\x0e\x0a");                        // CFA is rsp + 10
  // CFA is the word at rbp - 8, rbp at rbp
  add(kAligned, std::string("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\0", 10));
  // CFA is rsp + 8, rbx is rbx + rbx
  add(kDoubles, std::string("\x16\x03\x05\x73\0\x73\0\x22", 8));
  size_t setup = frames.size();
  frames += handler.setup_entry();
  frames +=
      handler.function_entry(frames.size(), FrameSpec::kCode + 0x100 * kHandler, 0x100, setup);

  ImageSpec spec = usual.image(frames);
  std::string& text = spec.parts[0].contents;
  text.resize(0x100 * (kUnknown + 1), '\x90');
  for (uint64_t place = kFrameless; place <= kUnknown; place++)
    text[0x100 * place + kReturn - 5] = '\xe8';
  return build_image(spec);
}

inline const std::string& unwind_vdso() {
  static const std::string vdso = make_unwind_vdso();
  return vdso;
}

struct Sampled {
  std::vector<uint64_t> stack;
  uint64_t frame_offset = kNoFrame;
  std::vector<StackWord> words{};
  StackEnd end = StackEnd::kRoot;
  uint32_t gap = 0;  // of ten frames
  uint32_t goroutine_start = 0;
  std::vector<StackSwitch> switches{};
};

struct Unwound {
  // "framed root<": innermost first, with "<" behind callers, and "..." for what is left out
  std::string stack;
  UnwindCounts counts;
};

inline Unwound unwound(const Sampled& sampled) {
  constexpr std::array kNames = {
      "frameless", "framed",     "sized",   "losing",    "handler", "root",
      "by-rax",    "by-load",    "by-rbx",  "saves-rbx", "left",    "by-red-zone",
      "popped",    "misaligned", "aligned", "doubles",   "unknown"};
  std::vector<Event> events;
  events.emplace_back(MapEvent{0, 1, kLoaded, 0x4000, 0, ImageId{}, "[vdso]"});
  Replay replay({}, {}, std::move(events));
  replay.add({.time = 1,
              .pid = 1,
              .tid = 1,
              .cpu = 0,
              .user_end = sampled.end,
              .kernel_stack = {},
              .user_stack = sampled.stack,
              .frame_offset = sampled.frame_offset,
              .words = sampled.words,
              .goroutine_start = sampled.goroutine_start,
              .switches = sampled.switches,
              .gap = sampled.gap,
              .missing = sampled.gap == 0 ? 0u : 10u});
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  unwind(profile, dumps, unwind_vdso(), {});

  Unwound result{.stack = {}, .counts = profile.unwound};
  REQUIRE(profile.samples.size() == 1);
  for (LocationId id : profile.stack(profile.samples[0].stack)) {
    const Location& location = profile.locations[to_index(id)];
    if (location.unnamed == Unnamed::kLeftOut) {
      result.stack.append(" ...");
      continue;
    }
    uint64_t place = (to_integer(location.address) - kLoaded - FrameSpec::kCode) / 0x100;
    result.stack.append(result.stack.empty() ? "" : " ")
        .append(kNames.at(place))
        .append(location.is_return ? "<" : "");
  }
  return result;
}

}  // namespace gosym
