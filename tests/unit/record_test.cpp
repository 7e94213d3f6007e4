#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/exit_status.h"
#include "proc/process.h"
#include "record/image_catalog.h"
#include "record/image_file.h"
#include "record/target.h"

using namespace gosym;

namespace {

// The first executable mapping of this program's own file.
RawMapping own_mapping() {
  auto pid = static_cast<uint32_t>(getpid());
  struct stat self {};
  REQUIRE(stat("/proc/self/exe", &self) == 0);
  auto mappings = proc::mappings_of(pid);
  REQUIRE(mappings);
  for (const proc::MapsEntry& entry : *mappings)
    if (entry.is_executable && entry.inode == self.st_ino)
      return {.time = 0,
              .pid = pid,
              .start = entry.start,
              .length = entry.end - entry.start,
              .file_offset = entry.file_offset,
              .file = {.device = entry.device, .inode = entry.inode},
              .path = entry.path};
  FAIL("this program is not mapped");
  return {};
}

}  // namespace

TEST_CASE("images: a file is identified once, by its headers") {
  ImageCatalog images;
  RawMapping mapping = own_mapping();
  ImageId id = images.identify(mapping);
  CHECK(id == ImageId{1});
  auto found = images.take_new();
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == id);
  CHECK(found[0].path == mapping.path);
  CHECK(found[0].problem.empty());
  CHECK(found[0].segments.size() >= 2);
  CHECK_FALSE(found[0].is_deleted);

  CHECK(images.identify(mapping) == id);
  CHECK(images.take_new().empty());
}

TEST_CASE("images: what no file backs is no image") {
  ImageCatalog images;
  RawMapping mapping;
  mapping.path = "[vdso]";
  CHECK(images.identify(mapping) == ImageId{});
  CHECK(images.take_new().empty());
}

TEST_CASE("images: another file at the path is not taken for the mapped one") {
  ImageCatalog images;
  RawMapping mapping = own_mapping();
  mapping.start = 0;  // no such mapping: the path is all there is
  mapping.file.inode++;
  CHECK(images.identify(mapping) == ImageId{1});
  CHECK(images.take_new().at(0).problem == "another file has its path now");

  mapping.file.inode++;
  mapping.path = "/nowhere (deleted)";
  images.identify(mapping);
  RecordedImage deleted = images.take_new().at(0);
  CHECK(deleted.problem == "deleted, and not open to us");
  CHECK(deleted.path == "/nowhere");
  CHECK(deleted.is_deleted);

  mapping.file.inode++;
  mapping.path = "/nowhere";
  images.identify(mapping);
  CHECK(images.take_new().at(0).problem == "cannot be found: No such file or directory");
}

TEST_CASE("images: only a regular file is opened") {
  RawMapping mapping = own_mapping();
  struct stat null {};
  REQUIRE(stat("/dev/null", &null) == 0);
  mapping.start = 0;
  mapping.path = "/dev/null";
  mapping.file = {.device = null.st_dev, .inode = null.st_ino};
  CHECK_FALSE(open_mapped_file(mapping));
}

TEST_CASE("targets: commands are found as a shell finds them") {
  CHECK(find_executable("sh")->ends_with("/sh"));
  CHECK(*find_executable("/bin/sh") == "/bin/sh");
  CHECK(find_executable("/").error().exit_status() == kNotFound);
  auto missing = find_executable("no-such-command");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "'no-such-command': command not found");
  CHECK(missing.error().exit_status() == kNotFound);
  auto plain = find_executable("/proc/self/status");
  REQUIRE_FALSE(plain);
  CHECK(plain.error().message() == "'/proc/self/status': not executable");
  CHECK(plain.error().exit_status() == kNotExecutable);
}

TEST_CASE("targets: a process that is not there") {
  auto missing = open_process(0);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "process 0 does not exist");
  CHECK(missing.error().exit_status() == kNoTarget);
  CHECK(open_process(static_cast<uint32_t>(getpid())));
}

TEST_CASE("targets: a held command runs when it is released, and tells its end") {
  auto exits = HeldCommand::start({"sh", "-c", "exit 7"});
  REQUIRE(exits);
  CHECK(exits->release());
  CHECK(exits->wait() == 7);

  auto killed = HeldCommand::start({"sh", "-c", "kill -KILL $$"});
  REQUIRE(killed);
  CHECK(killed->release());
  CHECK(killed->wait() == 128 + SIGKILL);

  CHECK_FALSE(HeldCommand::start({"no-such-command"}));
}
