#pragma once

#include <deque>
#include <set>

#include "record/files/file_looks.h"
#include "record/helper_process.h"

namespace gosym {

// Takes the looks of file_looks.h in a process of its own (helper_process.h), one after the
// other. What takes longer than it may is an answer as well, an error or none.
//
// A file system that once took too long is not looked at again, and after a few nothing is that
// no disk holds.
//
// The process parses none of them: where a file cannot be handed over, it has another one for
// that, without rights. The messages have a fixed size, and each side checks what comes as what
// comes from outside.
class FileHelper {
public:
  FileHelper();
  FileHelper(const FileHelper&) = delete;
  FileHelper& operator=(const FileHelper&) = delete;

  // Announces a call of open_mapped(), in this order: the answers to all of them are then
  // waited for once. Only the first few are asked for.
  void ask_ahead(const RawMapping& mapping);

  // See the functions of file_looks.h for all of these.
  Result<OpenedFile> open_mapped(const RawMapping& mapping);
  // Always a file to be read, if there is one: a copy of it, in memory, where it is not local.
  Result<UniqueFd> open_to_read(const RawMapping& mapping);
  UniqueFd open_at(const std::string& path, const FileKey& key);
  UniqueFd open_tmp(uint32_t pid);
  UniqueFd open_mount_owner(uint32_t pid);
  UniqueFd open_perf_map(const UniqueFd& found);
  Result<std::string> read_maps(uint32_t pid);
  Result<std::string> read_smaps(uint32_t pid);

  // The recording ends: all looks from now on have so long together.
  void hurry(uint64_t nanoseconds);

  uint64_t hung_count() const { return hung_count_; }

  // Runs in the helper, until the channel has no other end any more.
  static void serve(int channel);

private:
  enum class Look : uint32_t;
  struct Request;
  struct Reply;

  bool send(const Request& request, int found = -1);
  void stop();
  Result<UniqueFd> ask(const Request& request, Reply& reply, int found = -1);
  Result<UniqueFd> ask_for(Look look, const RawMapping& of);
  Result<std::string> read_text(Look look, uint32_t pid);
  Result<UniqueFd> take_reply(const Request& request, Reply& reply);
  std::optional<Error> refusal(uint64_t device) const;
  void forget_asked();
  static void fill(Request& request, const RawMapping& mapping);
  static void parse(int channel);
  static UniqueFd start_parser();
  static UniqueFd answer(const Request& request, const UniqueFd& parser, Reply& reply);
  static UniqueFd answer_mapped(const RawMapping& mapping, const UniqueFd& parser,
                                Reply& reply);
  static UniqueFd answer_to_read(const RawMapping& mapping, Reply& reply);
  static void describe(const FileContents& contents, Reply& reply);
  static Result<> read_contents_of(const Reply& reply, OpenedFile& opened);

  HelperProcess process_;
  std::deque<RawMapping> asked_;  // ahead; their replies come first
  std::set<uint64_t> slow_;       // devices
  uint64_t hung_count_ = 0;
};

}  // namespace gosym
