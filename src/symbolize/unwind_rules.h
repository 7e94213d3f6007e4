#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/unwind_rule.h"
#include "dwarf/call_frames.h"
#include "elf/symbol_table.h"
#include "go/module.h"
#include "profile/profile.h"
#include "symbolize/debug_file.h"
#include "symbolize/recorded_file.h"

namespace gosym {

struct SymbolCache;

// What an image has to say of its frames; nothing if it cannot be opened, which the symbolizer
// tells.
struct UnwoundImage {
  std::unique_ptr<MappedFile> file;
  elf::Image image;
  std::optional<go::Module> go_module;
  std::unique_ptr<dwarf::CallFrames> call_frames;
  std::optional<elf::SymbolTable> symbols;  // read when they are asked for
  bool is_held = false;                     // one of those that the recording keeps

  void read(elf::Image parsed);
  // Whether it is the first function of gccgo's goroutines, which returns to nothing.
  bool is_kickoff(ImageAddress address);
  // Of code without a rule: whether a stack begins there, by its name, and by what it does
  // when it is returned to.
  bool is_root(ImageAddress address);
  bool is_root_returned_to(ImageAddress address);
  std::string_view name_at(ImageAddress address);  // empty: none
  bool is_of_go(ImageAddress address) const;
};

// How to get from the functions of a profile to their callers. The files are opened when they
// are first asked about, and stay open.
class UnwindRules {
public:
  // `vdso` is the ELF image that the recording has of it. All of them must outlive this. With a
  // cache files are taken from there, and left there.
  UnwindRules(std::string_view vdso, const DebugFileOptions& files, const HeldFiles& held,
              SymbolCache* cache = nullptr);
  ~UnwindRules();

  // The profile whose locations are asked for. One that follows has all that the one before
  // had.
  void set_profile(const Profile& profile) {
    profile_ = &profile;
    images_.resize(profile.images.size());
  }

  // For the code at a location; none if nobody knows. Where the tables leave code out, as those
  // of musl, its instructions tell (elf/return_path.h). Where a stack begins is known by more
  // as well: by the code of a coroutine's start, the entry of the program, names in the C
  // library, and what is done with what the first function returns.
  std::optional<UnwindRule> find(const Location& location);
  // As dwarf::CallFrames has them.
  std::optional<CallerFrame> evaluate(const Location& location, MachineState& state);
  CallerRegister caller_register(const Location& location, uint64_t number, uint64_t cfa,
                                 MachineState& state);
  // Whether a location can be what a call returns to: false only if there is no call before,
  // and what lies there is not the call of runtime.deferreturn.
  bool is_return_address(const Location& location);

  // Whether a handler of a signal returns there, which nothing calls.
  bool is_signal_return(const Location& location);
  // Whether a stack begins there, to which nothing leads by a call.
  bool is_context_start(const Location& location);

private:
  UnwoundImage& open(const Location& location);
  std::shared_ptr<UnwoundImage> open_image(const ProfileImage& image);

  const Profile* profile_ = nullptr;
  std::string_view vdso_;
  const DebugFileOptions& files_;
  const HeldFiles& held_;
  SymbolCache* cache_;                                 // null: none
  std::vector<std::shared_ptr<UnwoundImage>> images_;  // as in the profile
};

}  // namespace gosym
