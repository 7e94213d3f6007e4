#pragma once

#include <map>
#include <utility>

#include "model/call.h"
#include "profile/profile.h"

namespace gosym {

// Puts the functions of Go calls into a profile, which must outlive this and gets functions
// from nobody else: those of one name and file are one.
class CalledFunctions {
public:
  explicit CalledFunctions(Profile& profile) : profile_(profile) {}

  FunctionId add(const Call& call);

private:
  Profile& profile_;
  std::map<std::pair<StringId, StringId>, FunctionId> ids_;  // by name and file
};

}  // namespace gosym
