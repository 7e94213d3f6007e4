#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/call.h"

namespace gosym::gsym {

// A file of LLVM's GSYM, version 1 (llvm/include/llvm/DebugInfo/GSYM): names, lines and inlined
// calls by address, made to be looked up where it lies.
//
//   header   u32 magic, u16 version, u8 size of an address offset (1, 2, 4, 8), u8 size of the
//            id, u64 base address, u32 number of functions, u32 offset and u32 size of the
//            texts, 20 bytes of id
//   offsets  of the begin of each function from the base address, rising
//   infos    from the next multiple of 4: u32 each, where the function is described
//   files    u32 number, then u32 folder, u32 name each, as offsets into the texts; the first
//            is none
//   texts    each with a NUL; offset 0 is the empty one
//
//   function := u32 size, u32 name, (u32 type, u32 size, contents)*, u32 0, u32 0
//   type 1, lines := sleb least and sleb largest step of the line, uleb first line, then rows
//            of the state that has the begin of the function, file 1 and the first line:
//            0 ends; 1 uleb file; 2 uleb to add to the address, a row; 3 sleb to add to the
//            line; n from 4 on: (n - 4) % steps more than the least step to the line, (n - 4) /
//            steps to the address, a row
//   type 2, inlined calls := node := ranges, u8 whether nodes follow, u32 name, uleb file and
//            uleb line of the call; the nodes, and a byte 0. The outermost is the function.
//   ranges := uleb number, (uleb offset, uleb size)*. Offsets are from the begin of the
//            function; in nodes below another from the begin of the first range of that.
//
// Integers are of the order that the magic has. What kind of program it is, and where its code
// lies in the binary, the format has no place for: our writer puts that behind all other texts,
// which no reader minds:
//
//   "gosym: go code=0x1000+0x5000@0x401000,..."      offset in the binary, size, address
//
// It takes 64 KiB at the most: of a binary with several thousand pieces of code some are left
// out.

inline constexpr uint32_t kMagic = 0x4753594d;
inline constexpr uint16_t kVersion = 1;
inline constexpr size_t kHeaderSize = 48;
inline constexpr size_t kMaxIdSize = 20;
inline constexpr std::string_view kFactsBegin = "gosym:";
inline constexpr size_t kMaxFacts = 64 << 10;
// The file of what is of none: readers take a row of file 0 for an error.
inline constexpr std::string_view kNoFile = "??";

enum class Part : uint32_t { kEnd = 0, kLines = 1, kInlinedCalls = 2 };
enum LineStep : uint8_t {
  kEndLines = 0,
  kSetFile = 1,
  kAddAddress = 2,
  kAddLine = 3,
  kFirst = 4
};

// Code that the kernel loads of the binary.
struct Code {
  uint64_t offset = 0;  // in the binary
  uint64_t size = 0;
  uint64_t address = 0;
};

struct Facts {
  bool is_go = false;
  std::vector<Code> code{};  // empty: not known
};

struct IndexedFunction {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string_view name{};
};

// Borrows from the bytes.
class GsymFile {
public:
  static Result<GsymFile> parse(Bytes file);
  // True for a file that begins as one.
  static bool is_one(Bytes file);

  // Appends the calls at an address, innermost first. False, and nothing appended, if no
  // function is there, or if what describes it is damaged.
  bool find(uint64_t address, std::vector<Call>& calls);

  std::string_view id() const { return id_; }
  const Facts& facts() const { return facts_; }
  uint32_t function_count() const { return function_count_; }
  // None if it is damaged.
  std::optional<IndexedFunction> function(uint32_t index) const;

private:
  struct Row {
    uint32_t file = 0;
    uint32_t line = 0;
  };
  struct Position {
    std::string_view file{};
    uint32_t line = 0;
  };

  std::optional<uint32_t> index_at(uint64_t address) const;
  uint64_t begin_of(uint32_t index) const;
  Bytes info_of(uint32_t index) const;
  std::optional<Row> find_row(Bytes lines, uint64_t begin, uint64_t address) const;
  std::string_view text(uint32_t offset) const;
  std::string_view path(uint32_t file);
  Position position(uint32_t file, uint32_t line);
  void read_facts();

  Bytes file_;
  ByteOrder order_ = ByteOrder::kLittle;
  uint8_t offset_size_ = 0;
  uint64_t base_ = 0;
  uint32_t function_count_ = 0;
  Bytes offsets_;
  Bytes infos_;
  Bytes files_;
  Bytes texts_;
  std::string_view id_;
  Facts facts_;
  std::unordered_map<uint32_t, std::string> paths_;  // by number of the file
  size_t paths_size_ = 0;
};

}  // namespace gosym::gsym
