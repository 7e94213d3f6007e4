#include "confine/client_paths.h"

#include <string>

#include "base/text.h"

namespace gosym {

ReachablePaths paths_of_client() {
  // Libraries and loaders, then what the C library reads to find a host, then certificates, by
  // the places of the large distributions.
  ReachablePaths paths = {
      .read = {"/usr",
               "/lib",
               "/lib64",
               "/etc/ld.so.cache",
               "/etc/resolv.conf",
               "/etc/hosts",
               "/etc/host.conf",
               "/etc/nsswitch.conf",
               "/etc/gai.conf",
               "/etc/services",
               "/etc/protocols",
               "/etc/localtime",
               "/etc/ssl",
               "/etc/pki",
               "/etc/ca-certificates",
               "/etc/gnutls",
               "/etc/crypto-policies",
               "/dev/urandom",
               "/proc/self",
               "/proc/sys",
               "/sys/devices/system/cpu"},
      .written = {"/dev/null"},
      .executed = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
                   "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"}};
  // OpenSSL and curl take certificates from these.
  for (const char* name : {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"})
    if (std::string path = environment(name); !path.empty())
      paths.read.push_back(path);
  return paths;
}

}  // namespace gosym
