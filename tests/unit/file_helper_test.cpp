#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "proc/process.h"
#include "record/files/file_helper.h"
#include "record/system_state.h"
#include "temporary_directory.h"

namespace gosym::file_helper_test {

namespace {

RawMapping own_code() {
  auto mappings = code_mappings_of(static_cast<uint32_t>(getpid()), 1);
  REQUIRE(mappings);
  for (RawMapping& mapping : *mappings)
    if (mapping.file.inode != 0)
      return std::move(mapping);
  FAIL("no code of a file is mapped");
  return {};
}

}  // namespace

TEST_CASE("file helper: gives what looks give that are taken here") {
  FileHelper helper;
  RawMapping mapping = own_code();
  auto here = look_at_mapped_file(mapping);
  auto there = helper.open_mapped(mapping);
  REQUIRE(here);
  REQUIRE(there);
  CHECK(there->device == here->device);
  CHECK(there->inode == here->inode);
  CHECK(there->size == here->size);
  CHECK(there->mtime_ns == here->mtime_ns);
  CHECK(there->is_at_path);
  if (here->file)
    CHECK(key_of(there->file) == key_of(here->file));
}

TEST_CASE("file helper: says why there is no file") {
  FileHelper helper;
  RawMapping mapping = own_code();
  mapping.pid = 0;
  mapping.path = "/nowhere/at/all";
  auto opened = helper.open_mapped(mapping);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message() == look_at_mapped_file(mapping).error().message());
}

TEST_CASE("file helper: a file at a path, if it is that one") {
  FileHelper helper;
  TemporaryDirectory folder;
  std::string path = folder / "file";
  std::ofstream(path) << "text";
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  FileKey key = key_of(file);
  CHECK(helper.open_at(path, key));
  CHECK_FALSE(helper.open_at(folder / "other", key));
  key.inode++;
  CHECK_FALSE(helper.open_at(path, key));
}

TEST_CASE("file helper: mappings and /tmp of a process") {
  FileHelper helper;
  auto pid = static_cast<uint32_t>(getpid());
  auto maps = helper.read_maps(pid);
  REQUIRE(maps);
  CHECK(code_mappings_in(*maps, pid, 1)->size() == code_mappings_of(pid, 1)->size());
  CHECK(*helper.read_maps(0) == "");
  struct stat tmp {};
  REQUIRE(stat("/tmp", &tmp) == 0);
  CHECK(key_of(helper.open_tmp(pid)) == FileKey{tmp.st_dev, tmp.st_ino});
}

TEST_CASE("file helper: at the end there is no time for more") {
  FileHelper helper;
  helper.hurry(0);
  auto opened = helper.open_mapped(own_code());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message() == "not read: the recording had ended");
}

}  // namespace gosym::file_helper_test
