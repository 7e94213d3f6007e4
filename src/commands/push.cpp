#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "confine/child.h"
#include "output/output_file.h"
#include "push/http_post.h"
#include "push/push_state.h"
#include "record/recording_directory.h"

namespace gosym {

// A loop over the recordings of a directory, oldest first. `gosym report` makes the body of a
// request of each, curl sends it (push/http_post.h), and a file remembers the last that needs
// no sending any more (push/push_state.h). So neither recordings nor replies of servers are
// understood in this process.

namespace {

// A server, as far as requests to them differ.
struct PushProtocol {
  std::string_view name;  // also that of the format which the body has, of gosym report
  std::string_view path;  // behind the server's URL
  std::string_view type;  // of the body
  bool is_compressed;     // the body; else what is in it is compressed already
};
constexpr PushProtocol kProtocols[] = {
    {"otlp", "/v1development/profiles", "application/x-protobuf", true},
    {"pyroscope", "/push.v1.PusherService/Push", "application/proto", false},
    {"parca", "/api/profiles/writeraw", "application/json", false}};

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
  if (url.ends_with(path))
    return options.url;
  while (url.ends_with('/'))
    url.remove_suffix(1);
  return fmt::format("{}{}", url, path);
}

// More than any server takes: the collector's limit is 20 MiB.
constexpr size_t kMaxBody = 64 << 20;

// The body of a request for a recording, by `gosym report`, which reads it in a process without
// rights: nothing of a recording is understood here. Fails, with the status of that, if it
// cannot be made or there is nothing to be sent.
Result<std::string> make_body(const PushOptions& options, const std::string& path) {
  Result<std::string> body = std::string();
  auto become_report = [&] {
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
    return Error("it cannot be read").with_exit_status(status);
  return body;
}

std::string compressed(std::string_view data) {
  std::string result;
  GzipStream stream([&](std::string_view part) {
    result += part;
    return true;
  });
  stream.write(data);
  stream.finish();
  return result;
}

// Read again each time: tokens are replaced while we run.
Result<std::string> token_header(const std::string& path) {
  constexpr size_t kMaxToken = 64 << 10;
  auto text = read_file(path, kMaxToken);
  if (!text)
    return std::move(text).error().context(fmt::format("--token-file '{}'", printable(path)));
  // Only the first line: an editor may have put a line break behind it, and a header must not
  // have one.
  std::string_view rest = *text;
  std::string_view token = take_line(rest);
  if (token.empty() || !is_printable(token))
    return errorf("--token-file '{}' has no token", printable(path));
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

// Servers are down, or full, or know us not yet: that can get better without another request.
// One that fails at a request may do so each time.
PushAttempt attempt_of(HttpReply reply) {
  constexpr int kOk = 200;
  constexpr int kRedirected = 300;
  std::string reason = reply.status == 0
                           ? reply.text
                           : fmt::format("the server answers {}{}{}", reply.status,
                                         reply.text.empty() ? "" : ": ", reply.text);
  if (reply.status >= kOk && reply.status < kRedirected)
    return {PushOutcome::kSent};
  constexpr int kCanGetBetter[] = {0, 401, 403, 404, 408, 429, 502, 503, 504};
  if (std::ranges::find(kCanGetBetter, reply.status) != std::end(kCanGetBetter))
    return {PushOutcome::kNotNow, std::move(reason), reply.retry_after};
  return {reply.status >= 500 ? PushOutcome::kFailed : PushOutcome::kRefused,
          std::move(reason)};
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
    request.body = compressed(request.body);
    request.headers.emplace_back("Content-Encoding: gzip");
  }
  // A token that cannot be read now may be there soon: its file is replaced, or mounted late.
  if (!options.token_file.empty()) {
    auto header = token_header(options.token_file);
    if (!header)
      return {PushOutcome::kNotNow, header.error().message()};
    request.headers.push_back(std::move(*header));
  }
  return attempt_of(post(request));
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
  constexpr int kFailures = 5;
  constexpr int kAttemptsOnce = 4;
  std::string told;
  uint64_t pause = 1;
  for (int attempts = 1;; attempts++) {
    PushAttempt attempt = send_recording(options, path);
    bool can_get_better =
        attempt.outcome == PushOutcome::kNotNow || attempt.outcome == PushOutcome::kFailed;
    if (!can_get_better)
      return attempt;
    if (!is_still_there(path))
      return {PushOutcome::kRefused,
              fmt::format("it was removed before it was sent; {}", attempt.reason)};
    if (attempt.outcome == PushOutcome::kFailed && attempts >= kFailures)
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

// Recordings that are complete and not sent yet, in order of time.
Result<std::vector<std::string>> waiting(const PushOptions& options, const PushState& state) {
  auto all = list_recordings(options.directory);
  if (!all)
    return std::move(all).error();
  auto recorder = recorder_of(options.directory);
  if (!recorder)
    return std::move(recorder).error();
  // The newest one is still written to.
  if (*recorder && (*recorder)->kind == RecorderKind::kRotating && !all->empty())
    all->pop_back();
  std::vector<std::string> names;
  for (const ListedRecording& recording : *all)
    if (!state.is_done(recording.begin))
      names.push_back(recording.name);
  return names;
}

Result<> check_urls(const PushOptions& options) {
  if (!options.url.starts_with("http://") && !options.url.starts_with("https://"))
    return errorf("'{}' is no URL of a server", printable(options.url))
        .with_hint("as in https://otel.example:4318")
        .with_exit_status(kUsage);
  for (const std::string& header : options.headers)
    if (header.find(':') == header.npos || !is_printable(header))
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

Result<int> run_push(PushOptions& options) {
  if (auto checked = check_urls(options); !checked)
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
       .take = one_of(options->protocol, std::move(names))},
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
