#include <doctest/doctest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "proc/cgroups.h"
#include "proc/cpu_time.h"
#include "proc/maps.h"
#include "proc/packages.h"
#include "proc/process.h"
#include "temporary_directory.h"

namespace gosym::proc_test {

namespace {

constexpr std::string_view kLine =
    "7f1c2a000000-7f1c2a156000 r-xp 00026000 fe:10 332835                     "
    "/usr/lib/x86_64-linux-gnu/libc.so.6";

std::string with_word(size_t index, std::string_view replacement) {
  std::string words[] = {"1000-2000", "r-xp", "0", "0:0", "0"};
  words[index] = replacement;
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

TEST_CASE("maps: a mapping of a file") {
  auto entry = proc::parse_maps_line(kLine);
  REQUIRE(entry);
  CHECK(entry->start == 0x7f1c2a000000);
  CHECK(entry->end == 0x7f1c2a156000);
  CHECK(entry->is_executable);
  CHECK(entry->file_offset == 0x26000);
  CHECK(entry->device == makedev(0xfe, 0x10));
  CHECK(entry->inode == 332835);
  CHECK(entry->path == "/usr/lib/x86_64-linux-gnu/libc.so.6");
}

TEST_CASE("maps: memory without a file has no path or one in brackets") {
  auto anonymous = proc::parse_maps_line("c000000000-c000400000 rw-p 00000000 00:00 0 ");
  REQUIRE(anonymous);
  CHECK_FALSE(anonymous->is_executable);
  CHECK(anonymous->inode == 0);
  CHECK(anonymous->path.empty());

  auto vsyscall = proc::parse_maps_line(
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
  REQUIRE(vsyscall);
  CHECK(vsyscall->is_executable);
  CHECK(vsyscall->path == "[vsyscall]");
}

TEST_CASE("maps: a path keeps its spaces and gets its newlines back") {
  auto entry = proc::parse_maps_line("1000-2000 r-xp 0 0:0 1 /a b\\012c\\x (deleted)");
  REQUIRE(entry);
  CHECK(entry->path == "/a b\nc\\x (deleted)");
}

TEST_CASE("maps: a prefix of a line is a mapping only if it has all fields") {
  size_t inode_begin = kLine.find("332835");
  size_t inode_end = inode_begin + 6;
  for (size_t size = 0; size <= kLine.size(); size++) {
    CAPTURE(size);
    auto entry = proc::parse_maps_line(kLine.substr(0, size));
    REQUIRE(entry.has_value() == (size > inode_begin));
    if (!entry)
      continue;
    CHECK((size < inode_end || entry->inode == 332835));
    CHECK(std::string_view("/usr/lib/x86_64-linux-gnu/libc.so.6").starts_with(entry->path));
  }
}

TEST_CASE("maps: a wrong field is not a mapping") {
  CHECK(proc::parse_maps_line(with_word(0, "1000-2000")));
  struct Case {
    size_t word;
    const char* text;
  };
  for (const Case& wrong : {Case{0, "1000"},    {0, "1000-"},
                            {0, "-2000"},       {0, "1000-2000-3000"},
                            {0, "2000-2000"},   {0, "2000-1000"},
                            {0, "0x1000-2000"}, {0, "1000-10000000000000000"},
                            {1, "r-x"},         {1, "r-xq"},
                            {1, "rrxp"},        {1, "r-xpp"},
                            {2, "g"},           {2, "-1"},
                            {3, "0"},           {3, "0:0:0"},
                            {3, "100000000:0"}, {3, "0:100000000"},
                            {4, "a"},           {4, "18446744073709551616"}}) {
    CAPTURE(wrong.text);
    CHECK_FALSE(proc::parse_maps_line(with_word(wrong.word, wrong.text)));
  }
}

TEST_CASE("maps: an error names the line") {
  std::string text = fmt::format("{}\n{}\n", kLine, kLine);
  CHECK(proc::parse_maps(text)->size() == 2);
  CHECK(proc::parse_maps("")->empty());
  CHECK(proc::parse_maps(text + "nonsense\n").error().message() == "line 3: not a mapping");
  CHECK(proc::parse_maps("\n" + text).error().message() == "line 1: not a mapping");
}

TEST_CASE("status: the fields that are read") {
  auto status = proc::parse_status(
      "Name:\tState\nState:\tS (sleeping)\nTgid:\t4242\nPid:\t4243\n"
      "Uid:\t1000\t1001\t1002\t1003\nNSpid:\t4242\t17\t1\n"
      "CapEff:\t000000c000000000\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  REQUIRE(status);
  CHECK(status->state == 'S');
  CHECK(status->pid == 4242);
  CHECK(status->user == 1001);
  CHECK(status->own_pid == 1);
  CHECK(status->capabilities == 0xc000000000);
  CHECK(status->seccomp == 2);
}

TEST_CASE("status: an error names the field that is missing or wrong") {
  auto message = [](std::string_view text) {
    return proc::parse_status(text).error().message();
  };
  CHECK(message("") == "'State': missing or malformed");
  CHECK(message("State:\t\n") == "'State': missing or malformed");
  CHECK(message("State:\tR\n") == "'Tgid': missing or malformed");
  CHECK(message("State:\tR\nTgid:\t-1\n") == "'Tgid': missing or malformed");
  CHECK(message("State:\tR\nTgid:\t4294967296\n") == "'Tgid': missing or malformed");
  std::string text = "State:\tR\nTgid:\t7\n";
  CHECK(message(text) == "'Uid': missing or malformed");
  CHECK(message(text + "Uid:\t0\t0\t0\n") == "'Uid': missing or malformed");
  CHECK(message(text + "Uid:\t0\t4294967296\t0\t0\n") == "'Uid': missing or malformed");
  text += "Uid:\t0\t0\t0\t0\n";
  CHECK(message(text + "NSpid:\t7\tx\n") == "'NSpid': malformed");
  CHECK(message(text + "NSpid:\t4294967296\n") == "'NSpid': malformed");
  CHECK(message(text) == "'CapEff': missing or malformed");
  CHECK(message(text + "CapEff:\tx\n") == "'CapEff': missing or malformed");
  text += "CapEff:\t0\n";
  CHECK(message(text + "Seccomp:\tx\n") == "'Seccomp': malformed");
  CHECK(proc::parse_status(text)->seccomp == 0);
  CHECK(proc::parse_status(text)->own_pid == 7);
}

TEST_CASE("stat: when a process began, whatever its name is") {
  std::string stat = "42 (a) b (c) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 777 23\n";
  CHECK(proc::parse_start_time(stat, 100) == 7'770'000'000);
  size_t end = stat.find(" 23");
  for (size_t size = 0; size < end; size++) {
    auto time = proc::parse_start_time(stat.substr(0, size), 1'000'000'000);
    CHECK((!time || *time == 7 || *time == 77));  // a number that is cut short is one as well
  }
  stat.replace(end - 3, 3, "18446744073709551615");
  CHECK(proc::parse_start_time(stat, 1'000'000'000) == UINT64_MAX);
  CHECK_FALSE(proc::parse_start_time(stat, 100));
  stat.replace(stat.find("18446744073709551615"), 1, "x");
  CHECK_FALSE(proc::parse_start_time(stat, 100));
}

TEST_CASE("proc: this process is there, and process 0 never is") {
  auto self = static_cast<uint32_t>(getpid());
  CHECK(proc::status_of(self)->pid == self);
  CHECK(proc::status_of(self)->user == geteuid());
  CHECK(proc::start_time_of(self).value_or(0) > 0);
  CHECK(proc::comm_of(self, self).has_value());
  CHECK(proc::mappings_of(self)->size() > 1);
  CHECK_FALSE(proc::status_of(0));
  CHECK_FALSE(proc::start_time_of(0));
  CHECK_FALSE(proc::comm_of(0, 0));
  CHECK(proc::mappings_of(0)->empty());
  CHECK(proc::thread_ids(0).empty());
}

TEST_CASE("cpus: numbers and ranges, in order and each once") {
  using proc::parse_cpu_list;
  CHECK(*parse_cpu_list("0") == std::vector<uint32_t>{0});
  CHECK(*parse_cpu_list("6,0-2,2") == std::vector<uint32_t>{0, 1, 2, 6});
  CHECK(parse_cpu_list("8191")->size() == 1);
  for (const char* bad : {"", "x", "1-", "-1", "2-1", "1,,2", "8192", "0-99999999999", "1 "}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_cpu_list(bad));
  }
  CHECK(parse_cpu_list("0,a\033").error().message() ==
        "'a\\x1b' is neither a CPU nor a range of CPUs");
  CHECK_FALSE(proc::online_cpus().empty());
}

TEST_CASE("cgroups: lines of a process") {
  auto parse = [](std::string_view line) {
    auto parsed = proc::parse_cgroup_line(line);
    REQUIRE(parsed);
    return fmt::format("{} in {}", parsed->path, parsed->controllers);
  };
  CHECK(parse("0::/system.slice/a.service") == "/system.slice/a.service in ");
  CHECK(parse("4:cpu,cpuacct:/") == "/ in cpu,cpuacct");
  CHECK(parse("9:memory:/a.slice:cri-containerd:0f") == "/a.slice:cri-containerd:0f in memory");
  CHECK(parse("0::") == " in ");
  for (std::string_view line : {"", "0", "0:", "0:memory", "/a"})
    CHECK_FALSE(proc::parse_cgroup_line(line));
}

TEST_CASE("cgroups: where their hierarchy is mounted") {
  const std::string line =
      "30 23 0:26 / /sys/fs/cgroup\\040two\\134 rw,nosuid shared:4 - cgroup2 none rw\n";
  const std::string other = "29 23 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n";
  CHECK(proc::find_cgroup_mount(other + line) == "/sys/fs/cgroup two\\");
  CHECK_FALSE(proc::find_cgroup_mount(other));
  CHECK_FALSE(proc::find_cgroup_mount("- cgroup2\n a - cgroup2\n"));
  // Whole lines only: of a mount point that is cut off the type is missing.
  for (size_t size = 0; size < line.find("cgroup2 none") + 7; size++)
    CHECK_FALSE(proc::find_cgroup_mount(line.substr(0, size)));
}

TEST_CASE("fpu state: as much as the processor has, and what the first had") {
  std::vector<uint32_t> sizes = proc::fpu_state_sizes(3);
#if defined(__x86_64__)
  REQUIRE(!sizes.empty());
  CHECK(sizes.back() == 512);
  CHECK(std::ranges::all_of(sizes, [](uint32_t size) { return size >= 512 && size < 65536; }));
  CHECK(proc::fpu_state_sizes(1).size() == 1);
#else
  CHECK(sizes.empty());
#endif
}

TEST_CASE("packages: who owns a file, by whole lines of the lists of dpkg") {
  TemporaryDirectory folder;
  std::ofstream(folder / "libc6:amd64.list") << "/.\n/lib\n/lib/libc.so.6\n/usr/share/doc";
  std::ofstream(folder / "mawk.list") << "/usr/bin/mawk\n/usr/bin/mawk-more\n";
  std::ofstream(folder / "mawk.md5sums") << "/usr/bin/other\n";
  auto owners = proc::owners_of(
      {"/usr/lib/libc.so.6", "/bin/mawk", "/usr/bin/maw", "/usr/bin/other", "/usr/share/doc"},
      folder / "");
  CHECK(owners == std::map<std::string, std::string>{{"/usr/lib/libc.so.6", "libc6"},
                                                     {"/bin/mawk", "mawk"},
                                                     {"/usr/share/doc", "libc6"}});
  CHECK(proc::owners_of({"/bin/mawk"}, folder / "nowhere").empty());
  CHECK(proc::debug_package_of("mawk") == "mawk-dbgsym");
  CHECK(proc::debug_package_of("libc6") == "libc6-dbg");
}

TEST_CASE("process: its command line is one for a shell") {
  std::string words[] = {"a b;$(touch gone)'", "-c", "kill -STOP $$", "", "\x1b[31m"};
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments.data(), nullptr) == 0);
  waitpid(child, nullptr, WUNTRACED);  // until it has stopped itself
  std::string line = proc::command_line_of(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(line == "'a b;$(touch gone)'\\''' -c 'kill -STOP $$' '' $'\\x1b[31m'");
}

TEST_CASE("proc: CPU time that the kernel charged") {
  CHECK(proc::parse_thread_time("4200000001 17 3\n") == 4'200'000'001);
  for (const char* bad : {"", "\n", "x 1 2", "-1 0 0", "9999999999999999999 0 0"})
    CHECK_FALSE(proc::parse_thread_time(bad));

  CHECK(proc::parse_cgroup_time("usage_usec 1500\nuser_usec 1000\n") == 1'500'000);
  CHECK(proc::parse_cgroup_time("a 1\nusage_usec 7") == 7000);
  for (const char* bad : {"", "usage_usec", "usage_usec x\n", "core_usage_usec 1\n",
                          "usage_usec 18446744073709551\n"})
    CHECK_FALSE(proc::parse_cgroup_time(bad));
}

TEST_CASE("proc: time in which CPUs were idle") {
  std::string_view stat = "cpu  9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7\ncpu3 0 0 0 100 0\nintr 1 2\n";
  uint32_t cpus[] = {0, 3};
  CHECK(proc::parse_idle_time(stat, cpus, 100) == 1'450'000'000);
  CHECK(proc::parse_idle_time(stat, std::span(cpus, 1), 1000) == 45'000'000);
  CHECK_FALSE(proc::parse_idle_time(stat, cpus, 0));
  uint32_t missing[] = {0, 1};
  CHECK_FALSE(proc::parse_idle_time(stat, missing, 100));
  uint32_t first[] = {0};
  for (const char* bad : {"", "cpu0", "cpu0 1 2 3 4", "cpu0 1 2 3 x 5", "cpu0 1 2 3 4 -5",
                          "cpu0 1 2 3 9223372036854775807 9223372036854775807"})
    CHECK_FALSE(proc::parse_idle_time(bad, first, 100));
}

}  // namespace gosym::proc_test
