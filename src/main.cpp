#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string_view>

#include "base/cut_files.h"
#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"

namespace {

void print_error(const gosym::Error& error) {
  std::fflush(stdout);  // what was answered before stands before the error
  gosym::print(stderr, "gosym: error: {}\n", error.message());
  if (!error.hint().empty())
    gosym::print(stderr, "gosym: hint: {}\n", error.hint());
}

// CLI11 says "A subcommand is required", whatever was given in its place.
std::string missing_command(const std::vector<std::string>& given) {
  if (given.empty())
    return "no command: record, report, archive, inspect, resolve or doctor";
  return fmt::format("unknown {} '{}'", given.front().starts_with('-') ? "option" : "command",
                     gosym::printable(given.front()));
}

std::string usage_error(const CLI::App* root, const CLI::Error& problem) {
  auto commands = root->get_subcommands();
  std::string help = "gosym --help";
  if (!commands.empty())
    help = fmt::format("gosym {} --help", commands.front()->get_name());
  std::string message = problem.what();
  if (commands.empty())
    message = missing_command(root->remaining());
  return fmt::format("gosym: error: {}\ngosym: hint: see '{}'\n", message, help);
}

// Where a standard stream is closed, the next file that is opened would take its place and get
// what is meant for the stream.
void open_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO)
    fd = open("/dev/null", O_RDWR);
  close(fd);
}

// 100,000 answers are 20 MB, which a buffer of the usual 4 KiB writes in 5,000 calls.
void buffer_output() {
  static char buffer[1 << 16];
  if (!isatty(STDOUT_FILENO))
    std::setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
}

// Cuts "-- COMMAND ARGUMENTS" off the line of `gosym record`, unless a command began before.
std::vector<std::string> take_command(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "record")
    return {};
  for (int i = 2; i < argc; i++)
    if (std::string_view(argv[i]) == "--") {
      std::vector<std::string> command(argv + i + 1, argv + argc);
      argc = i;
      return command;
    }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  buffer_output();
  gosym::outlive_cut_files();
  std::set_new_handler([] {
    constexpr std::string_view kMessage = "gosym: error: out of memory\n";
    (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
    _exit(gosym::kFailure);
  });
  CLI::App root("Find out which functions use the CPU: Go programs as they run in production",
                "gosym");
  root.set_version_flag("--version", "gosym " GOSYM_VERSION);
  root.set_help_flag("-h,--help", "Show this help");
  root.require_subcommand(1);
  root.failure_message(usage_error);
  root.footer(
      "Examples:\n"
      "  gosym record -p 4242 -d 10s     sample a running process into cpu.raw\n"
      "  gosym report                    name what was sampled: top functions of cpu.raw\n"
      "  gosym inspect ./server          what symbol information is in a binary\n"
      "  gosym resolve ./server 4a1b20   name an address of a binary\n"
      "  gosym doctor                    what can be recorded here, and why not\n");
  const gosym::Command commands[] = {
      gosym::make_record(root, take_command(argc, argv)),
      gosym::make_report(root),
      gosym::make_archive(root),
      gosym::make_inspect(root),
      gosym::make_resolve(root),
      gosym::make_doctor(root),
  };

  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {  // --help and --version come here too
    return root.exit(problem) == 0 ? gosym::kSuccess : gosym::kUsage;
  }

  for (const gosym::Command& command : commands) {
    if (!command.app->parsed())
      continue;
    auto status = command.run();
    if (status && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0))
      status = gosym::system_error("cannot write to standard output", errno);
    // The recorder goes on without the file.
    if (status && gosym::cut_page_count() > 0 && command.app->get_name() != "record")
      status = gosym::Error(
          "a file was cut short, or its disk failed, while it was read: answers may be wrong");
    if (status)
      return *status;
    print_error(status.error());
    return status.error().exit_status();
  }
  return gosym::kFailure;
}
