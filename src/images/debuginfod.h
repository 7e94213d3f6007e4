#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// The client of elfutils, which does not have to be installed. A program linked statically can
// load no library of that: both kinds run it.
constexpr const char* kDebuginfodTool = "/usr/bin/debuginfod-find";
constexpr const char* kNoDebuginfod = "there is no /usr/bin/debuginfod-find";
constexpr const char* kHowToInstallDebuginfod =
    "on Debian and Ubuntu: apt-get install debuginfod; Fedora, RHEL: dnf install "
    "elfutils-debuginfod-client";
bool has_debuginfod();

// Fetches debug files by build id from debuginfod servers. What was fetched stays in the cache
// of the client, $XDG_CACHE_HOME/debuginfod_client.
//
// A process of its own works for us, and starts the client, so that nothing can hold us longer
// than we are willing to wait.
class Debuginfod {
public:
  // The longest wait for a file. After that no server is asked again: each of the files that
  // are still to come would be waited for in vain.
  struct Limits {
    uint64_t silence_ns = 10'000'000'000;  // since anything new of it arrived
    uint64_t total_ns = 120'000'000'000;
    // Bytes on the disk, which may be a thousand times those that are sent: of a file, of all
    // that lies in the cache. Of what the disk has left half is taken at most.
    uint64_t file_size = uint64_t{4} << 30;
    uint64_t cache_size = uint64_t{16} << 30;
  };

  // `urls` are those of the servers, separated by spaces. Progress is shown on `terminal`;
  // null: nowhere.
  Debuginfod(std::string urls, std::FILE* terminal, Limits limits);
  Debuginfod(std::string urls, std::FILE* terminal)
      : Debuginfod(std::move(urls), terminal, Limits()) {}
  ~Debuginfod();
  Debuginfod(const Debuginfod&) = delete;
  Debuginfod& operator=(const Debuginfod&) = delete;

  // Starts the worker, which otherwise the first file does that is asked for: for one who may
  // start nothing later.
  Result<> start();

  // The path of the debug file, in the cache; `name` is what progress calls it. None if no
  // server has it, and for every file once the servers failed, which is an error once.
  Result<std::optional<std::string>> fetch(std::string_view build_id, std::string_view name);

  // Removes from the cache what was fetched, and is not what it should be.
  void refuse(std::string_view build_id);

private:
  Result<std::optional<std::string>> ask(std::string_view build_id, std::string_view name);
  void stop_worker();

  std::string urls_;
  std::FILE* terminal_;
  Limits limits_;
  UniqueFd worker_;  // the socket to it
  pid_t worker_pid_ = -1;
  bool has_failed_ = false;
};

}  // namespace gosym
