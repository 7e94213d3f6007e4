#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "raw/writer.h"

namespace gosym {

// Takes away a recording that has ended without samples. Whoever takes samples reads what
// strangers wrote, and may rename and remove nothing by then: another process does, which is
// told the file before. Whatever asks it, it takes nothing else away.
class Remover {
public:
  // Starts the process, for what open_output() has made at that path. Of a stream there is
  // nothing to be done, and no process. Fails if there can be no more.
  Result<> start(const std::string& path, const raw::OutputFile& output);

  // The file has its end.
  raw::Withdrawn remove() const;

private:
  UniqueFd channel_;
};

}  // namespace gosym
