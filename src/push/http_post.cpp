#include "push/http_post.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/mapped_file.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "base/unique_fd.h"
#include "confine/child.h"
#include "confine/client_paths.h"

// curl is told all it needs by files in memory: the configuration as descriptor 3, the body as
// its standard input. It prints the server's answer and a last line with the status; the
// pipe's end says that it is done.
namespace gosym {

namespace {

constexpr int kConfigFd = 3;

// A string of curl's configuration file.
std::string quoted_for_curl(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

std::string config_of(const HttpRequest& request) {
  std::string config = fmt::format("url = {}\n", quoted_for_curl(request.url));
  for (const std::string& header : request.headers)
    config += fmt::format("header = {}\n", quoted_for_curl(header));
  if (!request.ca_file.empty())
    config += fmt::format("cacert = {}\n", quoted_for_curl(request.ca_file));
  // curl's own "Expect:" makes it wait a second for servers that do not know it: an empty one
  // takes it away. A retry-after that did not come is an empty word of what is written out
  // (reply_in()).
  config +=
      "header = \"Expect:\"\n"
      "data-binary = \"@-\"\n"
      "silent\n"
      // Brackets in a URL, as around an IPv6 address, are no pattern.
      "globoff\n"
      "proto = \"=http,https\"\n"
      "connect-timeout = 10\n"
      "max-time = 60\n"
      // The last line of what is printed: nothing that a server says comes after it.
      "write-out = \"\\n%{http_code} %header{retry-after} %{errormsg}\"\n";
  return config;
}

// In a new process, which becomes curl.
void become_client(const HttpRequest& request, int body, int config) {
  ReachablePaths paths = paths_of_client();
  // Between fork(2) and execl(3) the process gives up what curl does not need.
  paths.executed.emplace_back(kHttpClient);
  if (!request.ca_file.empty())
    paths.read.push_back(request.ca_file);
  enter(ProcessKind::kFetcher, paths);
  // Its warnings would come again with each attempt; errors are in what it prints at the end.
  int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  bool is_ready = dup2(body, STDIN_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0 &&
                  dup2(config, kConfigFd) >= 0;
  // A descriptor that had this number already is closed by execl() but for this.
  if (is_ready && (config != kConfigFd || fcntl(config, F_SETFD, 0) == 0))
    // --disable, which has to come first, ignores a configuration that the user has.
    execl(kHttpClient, "curl", "--disable", "--config", "/dev/fd/3", nullptr);
}

// The begin and the end of what is printed until the pipe is closed: a server may say a lot.
std::string read_printed(int from) {
  constexpr size_t kKept = 64 << 10;  // bytes of each
  std::string printed;
  char part[16384];
  while (true) {
    ssize_t size = read_part(from, part);
    if (size <= 0)
      return printed;
    printed.append(part, static_cast<size_t>(size));
    if (printed.size() > 2 * kKept)
      printed.erase(kKept, printed.size() - 2 * kKept);
  }
}

// From "what the server said\n503 30 why none came".
HttpReply reply_in(std::string_view printed) {
  size_t end = printed.rfind('\n');
  if (end == printed.npos)
    return {.text = fmt::format("{} cannot be run", kHttpClient)};
  std::string_view said = printed.substr(0, end);
  std::string_view told = printed.substr(end + 1);
  // A header that did not come leaves nothing between two spaces: each word ends at the next
  // space, and only that one is skipped.
  std::string_view status = told.substr(0, told.find(' '));
  told.remove_prefix(std::min(told.size(), status.size() + 1));
  std::string_view after = told.substr(0, told.find(' '));
  told.remove_prefix(std::min(told.size(), after.size() + 1));

  HttpReply reply;
  // An interim answer, below 200, is none if nothing comes behind it.
  constexpr int kFirstFinal = 200;
  int code = static_cast<int>(parse_decimal(status).value_or(0));
  reply.status = code >= kFirstFinal ? code : 0;
  // A date is not read: the caller's own pause will do.
  reply.retry_after = parse_decimal(after).value_or(0);
  reply.body = said;
  constexpr size_t kMost = 200;  // bytes of what a server says
  while (said.starts_with('\n') || said.starts_with('\r'))
    said.remove_prefix(1);
  if (reply.status == 0 && told.empty())
    told = "the server did not answer";
  reply.text = printable(reply.status == 0 ? told : take_line(said).substr(0, kMost));
  return reply;
}

}  // namespace

HttpReply post(const HttpRequest& request) {
  UniqueFd body = file_in_memory(as_bytes(request.body));
  UniqueFd config = file_in_memory(as_bytes(config_of(request)));
  if (!body || !config)
    return {.text = std::strerror(errno)};
  std::string printed;
  auto ended = run_child([&] { become_client(request, body.get(), config.get()); },
                         [&](int from) { printed = read_printed(from); });
  return ended ? reply_in(printed) : HttpReply{.text = ended.error().message()};
}

}  // namespace gosym
