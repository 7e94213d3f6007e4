#pragma once

#include <cstdint>

#include "base/result.h"

// A program's user has rights of his own. Its file may give it more, to whoever runs it: by
// capabilities (setcap) or by belonging to root (set-user-ID). With those nothing may be read
// that the user could not read without them.

namespace gosym {

bool has_rights_of_file();

enum class Purpose : uint8_t { kReading, kSampling };

// To be called before anything is opened. Of the rights that the file gives, what is left is
// those to take samples with, if that is the purpose, and to learn which files the user's own
// processes map. What the user may do himself is not changed.
Result<> give_up_rights_of_file(Purpose purpose);

// True if the user's own rights suffice to look into a process, as ptrace(2) has it.
bool may_look_into(uint32_t pid);

// From now on no program that is executed has more rights than we have now, whatever its file
// says: for one who reads files of strangers.
void forbid_new_privileges();

}  // namespace gosym
