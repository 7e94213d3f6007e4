#pragma once

#include <cstdint>
#include <tuple>

#include "raw/sample_batch.h"

namespace gosym::raw {

// The fields of Samples in raw.proto that are not columns.
enum SampleField : uint32_t {
  kTree = 1,
  kFirstNode,
  kCallers,
  kNodeAddresses,
  kStackNodes,
  kDumpWords,
  kWordOffsets,
  kWordAddresses,
  kWordPlaces,
  kDumpRegisters,
  kRegisters,
  kRegisterValues,
  kLabelSets,
  kTexts = 31,
  kListSwitches = 35,
  kSwitchStarts,
  kSwitchWords,
  kSwitchFrames,
  kStackEnds = 41,
  kDumpBases,
  kDumpShared,
  kDumpOutermost,
  kWordSteps,
  kWordHeights,
  kTimeShift = 49,
};

// The coding of the numbers of a column.
enum class Coding : uint8_t {
  kPlain,
  kPlusOne,     // 0 is "none", all bits set
  kDifference,  // to the number before it
  kTime,        // likewise, without the low bits that are 0 in all (kTimeShift)
  kNewest,      // 0, or 1 + the difference to the largest number before it
};

enum class Presence : uint8_t {
  kNeeded,
  kOptional,  // it is left out if all numbers are 0
  kOld,       // only recordings of version 1 have it
};

// One number a sample, a member of Row or of RecordedSample.
template <class Owner, class T>
struct Column {
  uint32_t field;
  T Owner::*member;
  Coding coding;
  Presence presence;

  constexpr Column(uint32_t number, T Owner::*of, Coding coded = Coding::kPlain,
                   Presence present = Presence::kOptional)
      : field(number), member(of), coding(coded), presence(present) {}
};

inline constexpr Column kPids(15, &SampleBatch::Row::pid, Coding::kPlain, Presence::kNeeded);
inline constexpr Column kTids(16, &SampleBatch::Row::tid, Coding::kPlain, Presence::kNeeded);

// All columns: a new one is a row here, a field in raw.proto and a member of RecordedSample.
// clang-format off
inline constexpr auto kColumns = std::tuple(
    Column(14, &SampleBatch::Row::time, Coding::kTime, Presence::kNeeded),
    kPids,
    kTids,
    Column(17, &SampleBatch::Row::cpu, Coding::kPlain, Presence::kNeeded),
    Column(18, &SampleBatch::Row::kernel_index, Coding::kPlain, Presence::kOld),
    Column(19, &SampleBatch::Row::user_index, Coding::kPlain, Presence::kOld),
    Column(47, &SampleBatch::Row::kernel_index, Coding::kNewest),
    Column(48, &SampleBatch::Row::user_index, Coding::kNewest),
    Column(21, &SampleBatch::Row::top_index),
    Column(22, &SampleBatch::Row::frame_offset, Coding::kPlusOne),
    Column(23, &SampleBatch::Row::goroutine_start),
    Column(24, &SampleBatch::Row::goid, Coding::kDifference),
    Column(25, &SampleBatch::Row::label_set),
    Column(26, &SampleBatch::Row::gap),
    Column(27, &SampleBatch::Row::missing),
    Column(28, &SampleBatch::Row::event),
    Column(29, &SampleBatch::Row::weight, Coding::kDifference),
    Column(30, &SampleBatch::Row::cgroup, Coding::kDifference),
    Column(32, &SampleBatch::Row::state_text),
    Column(33, &SampleBatch::Row::waker_text),
    Column(39, &SampleBatch::Row::switch_list),
    Column(40, &SampleBatch::Row::creator_index),
    Column(34, &SampleBatch::Row::doublings),
    Column(50, &SampleBatch::Row::objects),
    Column(51, &SampleBatch::Row::bytes),
    Column(52, &SampleBatch::Row::chance),
    // Last, for it may not be missing: so no part of a payload passes for a whole one.
    Column(20, &SampleBatch::Row::user_end, Coding::kPlain, Presence::kNeeded));
// clang-format on
inline constexpr size_t kColumnCount = std::tuple_size_v<decltype(kColumns)>;

// Calls `use(column)` of each column.
template <class Use>
constexpr void for_each_column(Use use) {
  std::apply([&](const auto&... columns) { (use(columns), ...); }, kColumns);
}

constexpr uint32_t kIsPlace = 1;  // in an offset or a step of a word

// Kind of a register's value: added to its number times kRegisterKinds.
enum RegisterKind : uint32_t { kRegisterAddress, kRegisterPlace, kRegisterNumber };
constexpr uint32_t kRegisterKinds = 4;

}  // namespace gosym::raw
