#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "go/unwind_rule.h"
#include "images/image_cache.h"
#include "model/unwind_rule.h"
#include "profile/profile.h"

namespace gosym {

// Rules that lead from the functions of a profile to their callers. The files are opened when
// they are first asked about, and stay open.
class UnwindRules {
public:
  // `vdso` is the ELF image that the recording has of it. All of them must outlive this.
  UnwindRules(std::string_view vdso, const DebugFileOptions& files, ImageCache& cache)
      : vdso_(vdso), files_(files), cache_(cache) {}

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
  // These two are those of dwarf::CallFrames.
  std::optional<CallerFrame> evaluate(const Location& location, MachineState& state);
  CallerRegister caller_register(const Location& location, uint64_t number, uint64_t cfa,
                                 MachineState& state);
  // True if a call can return to the location: false only if there is no call before, and it is
  // neither the call of runtime.deferreturn nor an address where Go's runtime says that a
  // goroutine left its stack (go/unwind_rule.h).
  bool is_return_address(const Location& location);

  // Known of the code of a function of Go; none of other code.
  std::optional<go::Bordering> bordering(const Location& location);

  // True if a handler of a signal returns there, which nothing calls.
  bool is_signal_return(const Location& location);
  // True if a stack begins there, to which nothing leads by a call.
  bool is_context_start(const Location& location);
  // True if a goroutine is said to have left its stack there, before any instruction of the
  // function.
  bool begins_switch(const Location& location);

private:
  Binary& open(const Location& location);
  std::shared_ptr<Binary> open_image(const ProfileImage& image) const;

  const Profile* profile_ = nullptr;
  std::string_view vdso_;
  const DebugFileOptions& files_;
  ImageCache& cache_;
  // By the profile's number of the image; null: not asked about yet. One without anything
  // stands for a file that cannot be used, which the symbolizer tells.
  std::vector<std::shared_ptr<Binary>> images_;
};

}  // namespace gosym
