#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <cstdlib>

#include "images/debuginfod.h"
#include "temporary_directory.h"

namespace gosym::debuginfod_test {

namespace {

// A server that takes connections and never answers.
class SilentServer {
public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    REQUIRE(bind(socket_.get(), name, size) == 0);
    REQUIRE(listen(socket_.get(), 16) == 0);
    REQUIRE(getsockname(socket_.get(), name, &size) == 0);
    url_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
  }

  const std::string& url() const { return url_; }

private:
  UniqueFd socket_;
  std::string url_;
};

}  // namespace

TEST_CASE("debuginfod: who fails once is not asked again" * doctest::skip(!has_debuginfod())) {
  TemporaryDirectory cache;
  setenv("DEBUGINFOD_CACHE_PATH", (cache / "").c_str(), 1);
  SilentServer server;
  // A second limit that counts would keep the test for a year.
  Debuginfod client(server.url(), nullptr, {.silence_ns = 50'000'000, .total_ns = UINT64_MAX});
  auto first = client.fetch("\x12\x34", "first");
  REQUIRE_FALSE(first);
  CHECK(first.error().message().starts_with(
      fmt::format("debuginfod, not asked again: '{}': no answer in ", server.url())));
  auto second = client.fetch("\x12\x35", "second");
  REQUIRE(second);
  CHECK_FALSE(*second);
  // Neither a part of the file nor a note that there is none. A file that was begun has another
  // name, and stays where a busy machine had no time to end its writer but at once.
  CHECK_FALSE(std::filesystem::exists(cache / "1234/debuginfo"));
  CHECK_FALSE(std::filesystem::exists(cache / "1234/executable"));
  unsetenv("DEBUGINFOD_CACHE_PATH");
}

TEST_CASE("debuginfod: where there is no room left, that is told" *
          doctest::skip(!has_debuginfod())) {
  TemporaryDirectory cache;
  setenv("DEBUGINFOD_CACHE_PATH", (cache / "").c_str(), 1);
  Debuginfod client("http://127.0.0.1:1", nullptr, {.cache_size = 0});
  auto fetched = client.fetch("\x12\x34", "program");
  REQUIRE_FALSE(fetched);
  CHECK(
      fetched.error().message() ==
      fmt::format("debuginfod, not asked again: 'http://127.0.0.1:1': no room for a file: all "
                  "in '{}' may take 0 B",
                  cache / ""));
  unsetenv("DEBUGINFOD_CACHE_PATH");
}

TEST_CASE("debuginfod: without an id there is nothing to ask for") {
  Debuginfod client("http://127.0.0.1:1", nullptr);
  auto fetched = client.fetch("", "program");
  REQUIRE(fetched);
  CHECK_FALSE(*fetched);
}

}  // namespace gosym::debuginfod_test
