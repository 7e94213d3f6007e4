#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "images/image_cache.h"
#include "profile/stack_dumps.h"

namespace gosym {

// Finds the callers that the chain of frame pointers leaves out, and puts them into the stacks
// of a profile, by the dumps that replay made of them.
//
// A stack is walked from its leaf by the unwind rules of the functions (model/unwind_rule.h),
// as far as the words of it that were recorded lead; what the chain has of the callers is known
// by the place of its first return address. From where the words end the chain goes on. So a
// leaf that has no frame gets its caller, and code without frame pointers all of its callers if
// the words reach up to the root.
//
// On a stack of a Go thread's own the walk ends where the thread left the goroutine's stack;
// that goes on with its part of the chain.
//
// Callers that are put in follow a call. A stack is cut short where the chain has an address
// that does not.
//
// A profile may still grow: its stacks are walked part by part.
class Unwinder {
public:
  // `vdso` is the ELF image that the recording has of it. All must outlive this.
  // `has_creators`: stacks of goroutines go on beyond their root with where these were created,
  // if that was recorded.
  Unwinder(std::string_view vdso, const DebugFileOptions& files, ImageCache& cache,
           bool has_creators = false);
  ~Unwinder();

  // Prepares images that the profile has got, before they are asked for callers; returns how
  // many bytes the stacks may still take.
  using OpenImages = std::function<uint64_t(Profile& profile)>;

  // Walks the stacks that the profile has from dumps.first_stack on. Words that it asks for may
  // bring the profile new locations and images. False: all of the stacks come to more than so
  // many bytes.
  bool walk(Profile& profile, const StackDumps& dumps, uint64_t memory_limit,
            const OpenImages& open = {});
  // Gives the profile, in which all have been walked, its stacks with their callers.
  void finish(Profile& profile) &&;

private:
  struct Walked;
  std::unique_ptr<Walked> walked_;
};

// Likewise for a profile that has all of its stacks. False if they come to more than its limit
// of memory: then they are unchanged.
bool unwind(Profile& profile, const StackDumps& dumps, std::string_view vdso,
            const DebugFileOptions& files);

}  // namespace gosym
