#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace gosym {

// Files of a recording that goes on from file to file. Where one is not to be had errno says
// why.
class RotationFiles {
public:
  RotationFiles() = default;
  virtual ~RotationFiles() = default;
  RotationFiles(const RotationFiles&) = delete;
  RotationFiles& operator=(const RotationFiles&) = delete;

  // A file for a recording that began so long ago, without its name until publish() gives it:
  // nobody finds one that cannot be read. Empty: it got none.
  virtual UniqueFd begin_recording(uint64_t seconds_ago) = 0;
  virtual std::string publish() = 0;
  virtual void drop() = 0;

  // Files of programs, by build id. One that is found is needed by the recording that is
  // written.
  virtual bool find_stored(std::string_view id) = 0;
  virtual UniqueFd begin_stored(std::string_view id) = 0;
  virtual bool finish_stored(bool is_whole) = 0;

  // The disk is full: removes old recordings of so many bytes, if any are to be removed at all.
  // False: nothing was.
  virtual bool make_room(uint64_t size) = 0;
};

}  // namespace gosym
