#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace gosym {

// An empty directory, gone with the test.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "gosym-test-XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(std::string_view name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

}  // namespace gosym
