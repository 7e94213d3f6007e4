#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "output/write.h"

namespace gosym {

// Why a file cannot be written, or standard output for "-". Of a full disk it ends the program
// with kPartial.
Error write_error(const std::string& path, int cause);

// The readers of a new file: those whom the umask lets, or its owner alone.
enum class Readers : uint8_t { kUmask, kOwner };

// A file that is written part by part, or standard output for "-". A regular file is there
// whole when it has been finished, and until then, or if anything fails, as it was before. That
// nobody reads a pipe any more is no failure. Links and FIFOs that another user has put into a
// directory where everybody may write are refused.
class OutputFile {
public:
  static Result<OutputFile> open(const std::string& path, Readers readers = Readers::kUmask);
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // False if there is no use in more: nobody reads it, or finish() will tell what went wrong.
  bool write(std::string_view data);
  Result<> finish();
  uint64_t size() const { return size_; }  // of what was given to write()

private:
  OutputFile(std::string path, std::string temporary, UniqueFd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}
  bool flush();

  std::string path_;
  std::string temporary_;  // that becomes the file; empty: it is written in place
  UniqueFd fd_;
  std::string buffer_;
  uint64_t size_ = 0;
  int cause_ = 0;  // an errno value: why it cannot be written
};

// Passes on what `make` writes as a gzip file without name and time, as it comes.
void write_gzipped(const std::function<void(const Write&)>& make, const Write& write);
std::string gzip(std::string_view contents);

}  // namespace gosym
