#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elf/image.h"
#include "go/build_info.h"
#include "output/json.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// The answer of `gosym inspect`, on one screen. Views borrow from the image.
struct Summary {
  struct GoTable {
    uint32_t magic = 0;
    std::string releases;  // "Go 1.20 to 1.25"
    uint32_t function_count = 0;
    uint64_t nameless_count = 0;  // of these, with an empty name, as garble -tiny leaves them
    uint64_t text = 0;            // where the code begins; 0 if the table has addresses
    std::string_view text_base;
    std::string found_by;
    std::string assumption;
    bool has_inlined_calls = false;
  };

  uint64_t file_size = 0;
  elf::Kind kind;
  bool is_relocatable = false;
  elf::BuildIds ids;
  std::optional<go::BuildInfo> go;
  std::optional<GoTable> table;
  std::string problem;                 // why a table that is there cannot be used
  bool has_damaged_table = false;      // that of Go
  uint64_t symtab_count = 0;           // functions in .symtab
  uint64_t minidebuginfo_count = 0;    // functions in .gnu_debugdata
  uint64_t dynsym_count = 0;           // functions in .dynsym
  std::string debug_file;              // the separate one that is used; empty: none
  uint64_t debug_symtab_count = 0;     // functions in its .symtab
  bool has_debug_dwarf = false;        // it has debugging information
  std::vector<std::string> looked_in;  // where there was none, if one is missed
  std::vector<elf::Section> sections;  // that hold code or say something of it
};

Summary summarize(const ImageSymbols& symbols, const std::string& path,
                  const DebugFileOptions& files);
std::string summary_text(const std::string& path, const Summary& summary);
std::string summary_json(const std::string& path, const Summary& summary);

// The Go versions that write a table of this kind; the runtime's record tells the latest apart.
std::string_view releases_of(const go::Module& module);

// In percent.
double share_of_file(uint64_t size, uint64_t file_size);
void write_section(JsonWriter& json, const elf::Section& section, uint64_t file_size);

}  // namespace gosym
