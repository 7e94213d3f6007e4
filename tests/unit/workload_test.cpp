#include "model/workload.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace gosym::workload_test {

namespace {

const std::string kId(64, 'a');
const std::string kUid = "0b8d2f2e-5c1a-4a1e-9d0f-1234567890ab";
const std::string kUidOfSlice = "0b8d2f2e_5c1a_4a1e_9d0f_1234567890ab";

struct Whose {
  std::string unit;
  std::string container;
  std::string pod;
  bool operator==(const Whose&) const = default;
};

Whose whose(const std::string& path) {
  Workload found = workload_of(path);
  return {found.unit, std::string(found.container), found.pod};
}

}  // namespace

TEST_CASE("units of systemd") {
  CHECK(whose("/system.slice/nginx.service") == Whose{"nginx.service", "", ""});
  CHECK(whose("/system.slice/system-getty.slice/getty@tty1.service") ==
        Whose{"getty@tty1.service", "", ""});
  CHECK(whose("/user.slice/user-1000.slice/user@1000.service/app.slice/web.service/inner") ==
        Whose{"web.service", "", ""});
  CHECK(whose("/user.slice/user-1000.slice/session-3.scope") ==
        Whose{"session-3.scope", "", ""});
  CHECK(whose("/system.slice/dev\\x2dhugepages.service").unit == "dev-hugepages.service");
  CHECK(whose("/system.slice/a\\x0ab.service").unit == "a\\x0ab.service");
  CHECK(whose("/system.slice/a\\x2").unit.empty());
  CHECK(whose("/system.slice/\\x2.service").unit == "\\x2.service");
  CHECK(is_unit("nginx.service", "nginx"));
  CHECK(is_unit("nginx.service", "nginx.service"));
  CHECK(is_unit("session-3.scope", "session-3.scope"));
  CHECK_FALSE(is_unit("session-3.scope", "session-3"));
  CHECK_FALSE(is_unit("nginx.service", "ngin"));
  CHECK_FALSE(is_unit("", ""));
}

TEST_CASE("containers by themselves") {
  CHECK(whose("/system.slice/docker-" + kId + ".scope") == Whose{"", kId, ""});
  CHECK(whose("/docker/" + kId) == Whose{"", kId, ""});
  CHECK(whose("/machine.slice/libpod-" + kId + ".scope/container") == Whose{"", kId, ""});
  CHECK(whose("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId +
              ".scope") == Whose{"user@1000.service", kId, ""});
  // systemd within a container
  CHECK(whose("/system.slice/docker-" + kId + ".scope/system.slice/web.service") ==
        Whose{"web.service", kId, ""});
}

TEST_CASE("containers of pods") {
  Whose pod{"", kId, kUid};
  std::string slice = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" +
                      kUidOfSlice + ".slice";
  CHECK(whose(slice + "/cri-containerd-" + kId + ".scope") == pod);
  CHECK(whose(slice + "/crio-" + kId + ".scope") == pod);
  CHECK(whose(slice + "/docker-" + kId + ".scope") == pod);
  CHECK(whose("/kubepods.slice/kubepods-pod" + kUidOfSlice + ".slice/crio-" + kId + ".scope") ==
        pod);
  CHECK(whose("/kubepods/besteffort/pod" + kUid + "/" + kId) == pod);
  CHECK(whose("/kubepods/pod" + kUid + "/" + kId) == pod);
  // within another one, as kind has them
  CHECK(whose("/docker/" + std::string(64, 'b') + "/kubelet/kubepods/burstable/pod" + kUid +
              "/" + kId) == pod);
  // of a file on the node
  std::string digits(32, '7');
  CHECK(whose("/kubepods/burstable/pod" + digits + "/" + kId) == Whose{"", kId, digits});
  CHECK(whose(slice) == Whose{"", "", kUid});
}

TEST_CASE("what only looks like one") {
  const std::vector<std::string> paths = {
      "/",
      "",
      "/kubepods/podx",
      "/kubepods/pod" + kUid.substr(1),
      "/kubepods/pod" + kUid + "0",
      "/other-pod" + kUidOfSlice + ".slice",
      "/pod",
      "/kubepods-pod.slice",
      "/kubepods-pod0B8D2F2E_5c1a_4a1e_9d0f_1234567890ab.slice"};
  for (const std::string& path : paths)
    CHECK_MESSAGE(whose(path) == Whose(), path);
}

}  // namespace gosym::workload_test
