#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/sequence_pool.h"

namespace gosym {

enum class StringId : uint32_t {};

// Whose a sample is. Numbers are 0, and texts empty, where nothing is known, or nobody asked.
struct Owner {
  uint64_t goid = 0;
  uint32_t event = 0;  // index into RecordingInfo::events
  uint32_t pid = 0;
  uint32_t tid = 0;
  StringId comm{};  // of the thread when the samples were taken; ":TID": unknown
  // The name that the process's first thread had when the samples were taken, also if that has
  // no samples; ":PID": unknown. Empty in profiles of others, which tell of threads only.
  StringId process{};
  StringId cgroup{};       // path of the thread's
  uint32_t label_set = 0;  // index into Profile::label_sets
  uint32_t recording = 0;  // index into Profile::recordings
  StringId state{};        // as RecordedSample has it
  StringId waker{};        // likewise

  StringId process_name() const { return process == StringId{} ? comm : process; }
  bool operator==(const Owner&) const = default;
};

// The kind of a field: what its number is, or is an index of.
enum class OwnerRole : uint8_t {
  kNumber,
  kTask,  // of a process or a thread: 0 is one
  kText,
  kLabelSet,
  kEvent,
  kRecording,
};

template <class T>
struct OwnerField {
  // The column of the page that has it, in Owners of page.proto.
  std::string_view name;
  T Owner::*member;
  OwnerRole role;
  // The key of the label that has it in a pprof profile; empty: it has none.
  std::string_view label;
  // Samples that are too many lose it first (AccumulatedProfile).
  bool is_detail;
};

// clang deduces nothing from the members of a struct before its version 17.
template <class T>
OwnerField(std::string_view, T Owner::*, OwnerRole, std::string_view, bool) -> OwnerField<T>;

// All fields, in the order of their labels in pprof. Whoever merges, stores or reads owners
// walks this table: a new field is a member above and a row here, and a column of the page if
// page.proto has one of its name.
// clang-format off
inline constexpr auto kOwnerFields = std::tuple(
    OwnerField{"event", &Owner::event, OwnerRole::kEvent, "", false},
    OwnerField{"comm", &Owner::comm, OwnerRole::kText, "thread", false},
    OwnerField{"process", &Owner::process, OwnerRole::kText, "process", true},
    OwnerField{"pid", &Owner::pid, OwnerRole::kTask, "pid", true},
    OwnerField{"tid", &Owner::tid, OwnerRole::kTask, "tid", true},
    OwnerField{"goid", &Owner::goid, OwnerRole::kNumber, "goid", true},
    OwnerField{"cgroup", &Owner::cgroup, OwnerRole::kText, "cgroup", true},
    OwnerField{"state", &Owner::state, OwnerRole::kText, "state", false},
    OwnerField{"waker", &Owner::waker, OwnerRole::kText, "waker", true},
    OwnerField{"label_set", &Owner::label_set, OwnerRole::kLabelSet, "", true},
    OwnerField{"recording", &Owner::recording, OwnerRole::kRecording, "", false});
// clang-format on

// Calls `use(field)` of each field.
template <class Use>
constexpr void for_each_owner_field(Use use) {
  std::apply([&](const auto&... fields) { (use(fields), ...); }, kOwnerFields);
}

constexpr size_t owner_fields_size() {
  size_t size = 0;
  for_each_owner_field([&](const auto& field) { size += sizeof(Owner().*field.member); });
  return size;
}
// The rest is padding.
static_assert(sizeof(Owner) - owner_fields_size() < alignof(Owner),
              "a field has no row in the table");

// Hashes all fields, and not the padding that may be between them.
struct OwnerHash {
  size_t operator()(const Owner& owner) const {
    std::array<char, owner_fields_size()> bytes;
    size_t at = 0;
    for_each_owner_field([&](const auto& field) {
      const auto& value = owner.*field.member;
      std::memcpy(bytes.data() + at, &value, sizeof(value));
      at += sizeof(value);
    });
    return XXH3_64bits(bytes.data(), bytes.size());
  }
};

// Number of an owner within one profile. Number 0 is Owner(), of whom nothing is known.
enum class OwnerId : uint32_t {};

constexpr size_t to_index(OwnerId id) {
  return static_cast<size_t>(id);
}

// Keeps one copy of each owner and gives out dense numbers, in order of first use.
//
// Owners take few distinct values, so a sample holds a number: with all of it in each sample
// and in the keys of all samples, a report of 180,000 samples of prometheus takes 7 % longer
// and its table of samples is three times as large.
class Owners {
public:
  Owners() { intern(Owner()); }

  OwnerId intern(const Owner& owner) {
    auto [known, is_new] = ids_.try_emplace(owner, static_cast<OwnerId>(owners_.size()));
    if (is_new)
      owners_.push_back(owner);
    return known->second;
  }

  const Owner& operator[](OwnerId id) const { return owners_[to_index(id)]; }
  size_t size() const { return owners_.size(); }
  auto begin() const { return owners_.begin(); }
  auto end() const { return owners_.end(); }

  // In bytes, about.
  uint64_t memory() const {
    return memory_while_growing(owners_.capacity() * sizeof(Owner), owners_.size(),
                                owners_.capacity()) +
           memory_of_table(ids_);
  }

private:
  std::vector<Owner> owners_;
  tsl::robin_map<Owner, OwnerId, OwnerHash> ids_;
};

}  // namespace gosym
