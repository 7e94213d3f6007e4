#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/print.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "commands/command.h"
#include "confine/child.h"
#include "output/output_file.h"
#include "push/http_post.h"
#include "push/push_state.h"
#include "record/recording_directory.h"

namespace gosym {

// A loop over the recordings of a directory, oldest first. `gosym report` makes the body of a
// request of each, curl sends it (push/http_post.h), and a file remembers those that need no
// sending any more (push/push_state.h). So neither recordings nor replies of servers are
// understood in this process.

namespace {

// A server, as far as requests to them differ.
struct PushProtocol {
  std::string_view name;  // also that of the format which the body has, of gosym report
  std::string_view path;  // behind the server's URL
  std::string_view type;  // of the body
  bool is_compressed;     // the body; else what is in it is compressed already
  bool tells_rejected;    // its replies say what of a request was not taken
};
constexpr PushProtocol kProtocols[] = {
    {"otlp", "/v1development/profiles", "application/x-protobuf", true, true},
    {"pyroscope", "/push.v1.PusherService/Push", "application/proto", false, false},
    {"parca", "/api/profiles/writeraw", "application/json", false, false}};

struct PushOptions {
  std::string directory;
  std::string url;
  std::string protocol = "otlp";
  std::vector<std::string> headers;
  std::string token_file;
  std::string ca_file;
  std::string state;
  bool is_once = false;
  bool is_quiet = false;
};

const PushProtocol& protocol_of(const PushOptions& options) {
  return *std::ranges::find(kProtocols, options.protocol, &PushProtocol::name);
}

std::string url_of(const PushOptions& options) {
  std::string_view url = options.url;
  std::string_view path = protocol_of(options).path;
  while (url.ends_with('/'))
    url.remove_suffix(1);
  return url.ends_with(path) ? std::string(url) : fmt::format("{}{}", url, path);
}

// More than any server takes: the collector's limit is 20 MiB.
constexpr size_t kMaxBody = 64 << 20;

// The body of a request for a recording, by `gosym report`, which reads it in a process without
// rights: nothing of a recording is understood here. Fails, with the status of that, if it
// cannot be made or there is nothing to be sent.
Result<std::string> make_body(const PushOptions& options, const std::string& path) {
  Result<std::string> body = std::string();
  auto become_report = [&] {
    // Its warnings about a recording would come again with each attempt.
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nothing, STDERR_FILENO);
    // "--" keeps a path that begins with '-' from being an option.
    execl("/proc/self/exe", "gosym", "report", "--format", options.protocol.c_str(), "--",
          path.c_str(), nullptr);
  };
  auto ended = run_child(become_report, [&](int from) { body = read_file(from, kMaxBody); });
  if (!ended)
    return std::move(ended).error();
  // One that is not read to its end was ended by that: its status tells nothing.
  if (!body)
    return std::move(body).error().context("it is larger than a server takes");
  int status = WIFEXITED(*ended) ? WEXITSTATUS(*ended) : kFailure;
  // A damaged recording has an answer as well.
  if (status != kSuccess && status != kPartial)
    return Error("it cannot be read: gosym report tells why").with_exit_status(status);
  return body;
}

// Read again each time: tokens are replaced while we run.
Result<std::string> token_header(const std::string& path) {
  constexpr size_t kMaxToken = 64 << 10;
  // A FIFO would hold us until somebody writes to it.
  UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    return system_error(fmt::format("--token-file '{}'", printable(path)), errno);
  if (!S_ISREG(status.st_mode))
    return errorf("--token-file '{}' is not a regular file", printable(path));
  auto text = read_file(file.get(), kMaxToken);
  if (!text)
    return std::move(text).error().context(fmt::format("--token-file '{}'", printable(path)));
  std::string_view rest = *text;
  std::string_view token = take_line(rest);
  while (token.ends_with('\r') || token.ends_with(' '))
    token.remove_suffix(1);
  if (token.empty() || !is_printable(token))
    return errorf("--token-file '{}' has no token in its first line", printable(path));
  return fmt::format("Authorization: Bearer {}", token);
}

// The answer to a recording, and so what is to be done about it.
enum class PushOutcome : uint8_t {
  kSent,
  kNothing,  // it has no samples
  kRefused,  // it would be again
  kFailed,   // a server's fault, which a request may have caused
  kNotNow,   // it may get better
};

struct PushAttempt {
  PushOutcome outcome{};
  std::string reason = {};
  uint64_t retry_after = 0;  // seconds
};

// The part of a request that a server of OTLP says it has not taken, in an
// ExportProfilesServiceResponse: partial_success = 1 with rejected_profiles = 1 and
// error_message = 2. Empty: it has taken all.
std::string rejected_in(const std::string& response) {
  int64_t rejected = 0;
  std::string why;
  auto read_partial = [&](protozero::pbf_reader message) {
    while (message.next())
      switch (message.tag_and_type()) {
        case protozero::tag_and_type(1, protozero::pbf_wire_type::varint):
          rejected = message.get_int64();
          break;
        case protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited):
          why = message.get_string();
          break;
        default:
          message.skip();
      }
  };
  auto read = read_protobuf(as_bytes(response), [&](protozero::pbf_reader message) {
    while (message.next())
      if (message.tag_and_type() ==
          protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited))
        read_partial(message.get_message());
      else
        message.skip();
  });
  constexpr size_t kMost = 200;  // bytes of what a server says
  // A server that answers with another text has taken it.
  return read && rejected > 0 ? fmt::format("the server rejects {} profiles: {}", rejected,
                                            printable(why.substr(0, kMost)))
                              : std::string();
}

// Servers that are down, or full, or do not know us yet, and addresses that lead elsewhere:
// that can get better without another request. A server that fails at a request may do so each
// time: send_until_done() counts such failures (kFailed), and after a few takes the recording
// for refused, while it repeats kNotNow without end.
PushAttempt attempt_of(const HttpReply& reply, const PushProtocol& protocol) {
  constexpr int kOk = 200;
  constexpr int kRedirected = 300;
  std::string reason = reply.status == 0
                           ? reply.text
                           : fmt::format("the server answers {}{}{}", reply.status,
                                         reply.text.empty() ? "" : ": ", reply.text);
  if (reply.status >= kOk && reply.status < kRedirected) {
    std::string rejected = protocol.tells_rejected ? rejected_in(reply.body) : std::string();
    return {rejected.empty() ? PushOutcome::kSent : PushOutcome::kRefused, std::move(rejected)};
  }
  // The 0 is that of HttpReply: no reply came, and `text` says why.
  constexpr int kCanGetBetter[] = {0,   301, 302, 303, 307, 308, 401, 403, 404,
                                   405, 407, 408, 425, 429, 502, 503, 504};
  if (std::ranges::find(kCanGetBetter, reply.status) != std::end(kCanGetBetter))
    return {PushOutcome::kNotNow, std::move(reason), reply.retry_after};
  return {reply.status >= 500 ? PushOutcome::kFailed : PushOutcome::kRefused, std::move(reason),
          reply.retry_after};
}

PushAttempt send_recording(const PushOptions& options, const std::string& path) {
  auto body = make_body(options, path);
  if (!body && body.error().exit_status() == kNoTarget)
    return {PushOutcome::kNothing};
  if (!body)
    return {PushOutcome::kRefused, body.error().message()};
  const PushProtocol& protocol = protocol_of(options);
  HttpRequest request{.url = url_of(options),
                      .headers = options.headers,
                      .body = *std::move(body),
                      .ca_file = options.ca_file};
  request.headers.push_back(fmt::format("Content-Type: {}", protocol.type));
  request.headers.push_back("User-Agent: gosym/" GOSYM_VERSION);
  if (protocol.is_compressed) {
    request.body = gzip(request.body);
    request.headers.emplace_back("Content-Encoding: gzip");
  }
  // A token that cannot be read now may be there soon: its file is replaced, or mounted late.
  if (!options.token_file.empty()) {
    auto header = token_header(options.token_file);
    if (!header)
      return {PushOutcome::kNotNow, header.error().message()};
    request.headers.push_back(std::move(*header));
  }
  return attempt_of(post(request), protocol);
}

void pause_for(uint64_t seconds) {
  timespec left = {static_cast<time_t>(seconds), 0};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

bool is_still_there(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// Sends one recording, however long that takes; the retention of the directory bounds it. With
// --once a few times.
PushAttempt send_until_done(const PushOptions& options, const std::string& path) {
  constexpr uint64_t kLongest = 300;  // seconds from one attempt to the next
  // Errors of a server, in a row or not, after which the recording is taken to cause them.
  constexpr int kFailures = 5;
  constexpr int kAttemptsOnce = 4;  // with 1, 2 and 4 s between, or what the server asks for
  std::string told;
  uint64_t pause = 1;
  int failures = 0;
  for (int attempts = 1;; attempts++) {
    // The recorder removes what is older than it keeps, while a server is down.
    if (!is_still_there(path))
      return {PushOutcome::kRefused, fmt::format("it was removed before it was sent{}{}",
                                                 told.empty() ? "" : "; ", told)};
    PushAttempt attempt = send_recording(options, path);
    if (attempt.outcome != PushOutcome::kNotNow && attempt.outcome != PushOutcome::kFailed)
      return attempt;
    failures += attempt.outcome == PushOutcome::kFailed ? 1 : 0;
    if (failures >= kFailures)
      return {PushOutcome::kRefused, std::move(attempt.reason)};
    if (options.is_once && attempts >= kAttemptsOnce)
      return attempt;
    // The server's wish, but no less than what doubles each time, and no more than the
    // longest.
    pause = std::clamp(attempt.retry_after, pause, kLongest);
    // A server that is down for an hour is told once.
    if (attempt.reason != told)
      print(stderr, "gosym: {}: {}; trying again\n", path, attempt.reason);
    told = attempt.reason;
    pause_for(pause);
    pause = std::min(2 * pause, kLongest);
  }
}

// Recordings that nobody writes any more and that are not sent yet, in order of time.
Result<std::vector<std::string>> waiting(const PushOptions& options, PushState& state) {
  auto all = list_recordings(options.directory);
  if (!all)
    return std::move(all).error();
  std::set<std::string> there;
  std::vector<std::string> names;
  for (ListedRecording& recording : *all) {
    if (!state.is_done(recording.name) &&
        is_recording_at_rest(options.directory, recording.name))
      names.push_back(recording.name);
    there.insert(std::move(recording.name));
  }
  if (auto kept = state.keep_only(there); !kept)
    return std::move(kept).error();
  return names;
}

// "http://host…" or "https://host…", to which a path can be added.
bool is_url_of_server(std::string_view url) {
  for (std::string_view scheme : {"http://", "https://"})
    if (url.starts_with(scheme))
      return url.size() > scheme.size() && url[scheme.size()] != '/' && is_printable(url) &&
             url.find_first_of("?# \"\\") == url.npos;
  return false;
}

// A name of letters, digits, hyphens and underscores, and no header that says what the body is:
// send_recording() and curl set these.
bool is_header(std::string_view header) {
  size_t colon = header.find(':');
  std::string_view name = header.substr(0, colon);
  auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_';
  };
  auto is_name = [&](std::string_view of) {
    return std::ranges::equal(name, of, {}, [](char c) { return std::tolower(c); });
  };
  return colon != header.npos && !name.empty() && std::ranges::all_of(name, is_of_name) &&
         is_printable(header) && !is_name("content-type") && !is_name("content-length") &&
         !is_name("content-encoding");
}

Result<> check_push_options(const PushOptions& options) {
  if (!is_url_of_server(options.url))
    return errorf("'{}' is no URL of a server", printable(options.url))
        .with_hint("as in https://otel.example:4318")
        .with_exit_status(kUsage);
  for (const std::string& header : options.headers)
    if (!is_header(header))
      return errorf("--header '{}' is no 'Name: value'", printable(header))
          .with_exit_status(kUsage);
  if (access(kHttpClient, X_OK) != 0)
    return errorf("there is no {}, which sends", kHttpClient)
        .with_hint("on Debian and Ubuntu: apt-get install curl; Fedora, RHEL: dnf install curl")
        .with_exit_status(kUnsupported);
  return Ok{};
}

struct PushCounts {
  uint64_t sent = 0;
  uint64_t left_out = 0;  // refused
  bool is_behind = false;
};

// Sends what is there now. Stops at one that cannot be sent for the time being.
Result<> send_waiting(const PushOptions& options, PushState& state, PushCounts& counts) {
  auto names = waiting(options, state);
  if (!names)
    return std::move(names).error();
  for (const std::string& name : *names) {
    std::string path = fmt::format("{}/{}", options.directory, name);
    PushAttempt attempt = send_until_done(options, path);
    // Only with --once: else it is tried until it is sent, refused or removed. The others
    // would fail in the same way, and are left for the next time.
    if (attempt.outcome == PushOutcome::kNotNow || attempt.outcome == PushOutcome::kFailed) {
      print(stderr, "gosym: {}: {}\n", path, attempt.reason);
      counts.is_behind = true;
      return Ok{};
    }
    if (attempt.outcome == PushOutcome::kRefused) {
      print(stderr, "gosym: {}: left out: {}\n", path, attempt.reason);
      counts.left_out++;
    }
    counts.sent += attempt.outcome == PushOutcome::kSent ? 1 : 0;
    // A recording that was refused, or has no samples, is done as well.
    if (auto noted = state.set_done(name); !noted)
      return noted;
  }
  return Ok{};
}

// Without --once this ends by an error or a signal alone: the summary is that of --once.
Result<int> run_push(PushOptions& options) {
  if (auto checked = check_push_options(options); !checked)
    return std::move(checked).error();
  if (options.state.empty())
    options.state = PushState::default_path(options.directory, url_of(options));
  if (options.state.empty())
    return Error("there is no folder for what was sent").with_hint("name a file: --state FILE");
  auto state = PushState::open(options.state);
  if (!state)
    return std::move(state).error();

  PushCounts counts;
  while (true) {
    if (auto sent = send_waiting(options, *state, counts); !sent)
      return std::move(sent).error();
    if (options.is_once)
      break;
    pause_for(1);
  }
  if (!options.is_quiet)
    print(stderr, "sent {} recording{}{}\n", counts.sent, counts.sent == 1 ? "" : "s",
          counts.left_out == 0 ? std::string() : fmt::format(", left out {}", counts.left_out));
  if (counts.is_behind)
    return Result<int>(kFailure);
  return Result<int>(counts.left_out == 0 ? kSuccess : kPartial);
}

}  // namespace

Command make_push() {
  auto options = std::make_shared<PushOptions>();
  std::vector<std::string> names;
  for (const PushProtocol& protocol : kProtocols)
    names.emplace_back(protocol.name);
  std::vector<Option> what = {
      {.names = "DIR",
       .help = "Directory that gosym record --rotate or --last fills",
       .take = into(options->directory),
       .is_required = true},
      {.names = "URL",
       .help = "The server's: https://otel.example:4318",
       .take = into(options->url),
       .is_required = true},
      {.names = "--as",
       .value = "PROTOCOL",
       .help = "What the server speaks: otlp (the default), pyroscope, parca",
       .take = one_of(options->protocol, names)},
      {.names = "--once",
       .help = "Send what is there, and end",
       .take = into(options->is_once)},
      {.names = "--state",
       .value = "FILE",
       .help = "Remember there what was sent (default: below ~/.local/state/gosym)",
       .take = into(options->state)},
      {.names = "-q,--quiet",
       .help = "Do not say how many were sent",
       .take = into(options->is_quiet)}};
  std::vector<Option> access = {{.names = "--header",
                                 .value = "HEADER",
                                 .help = "Send this header too: \"X-Scope-OrgID: team\"",
                                 .take = into(options->headers),
                                 .values = Values::kEach},
                                {.names = "--token-file",
                                 .value = "FILE",
                                 .help = "Send the token in FILE, which is read each time",
                                 .take = into(options->token_file)},
                                {.names = "--ca",
                                 .value = "FILE",
                                 .help = "Trust servers that these certificates sign for",
                                 .take = into(options->ca_file)}};
  return {.name = "push",
          .summary = "Send the recordings of a directory to a server, as they come",
          .groups = {{"What to send", std::move(what)}, {"Access", std::move(access)}},
          .examples =
              "  gosym record -a -F 19 --rotate 60s --keep 24h -o /var/lib/gosym/ &\n"
              "  gosym push /var/lib/gosym http://otel-collector:4318\n"
              "  gosym push /var/lib/gosym --as pyroscope https://pyroscope.example \\\n"
              "      --token-file /run/secrets/token\n",
          .run = [options] { return run_push(*options); }};
}

}  // namespace gosym
