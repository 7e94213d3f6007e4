#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gosym {

// The client that sends; it does not have to be installed.
constexpr const char* kHttpClient = "/usr/bin/curl";

struct HttpRequest {
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value", without controls
  std::string body;
  std::string ca_file =
      {};  // certificates of who signs for servers; empty: those of the system
};

struct HttpReply {
  int status = 0;            // of HTTP, from 200 on; 0: none came
  std::string text = {};     // the first line that the server said, or why none came; printable
  std::string body = {};     // its first 64 KiB, as the server sent them
  uint64_t retry_after = 0;  // seconds that the server asks for; 0: it asks for none
};

// Sends a request by POST and waits for the reply, a minute at most. Redirections are not
// followed, for headers may have secrets. Proxies are those of the environment.
//
// curl does it, in a process that reaches no file of ours. Nothing that is secret is among its
// arguments, which everybody may read.
HttpReply post(const HttpRequest& request);

}  // namespace gosym
