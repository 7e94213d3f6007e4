#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string_view>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/sigbus_handler.h"
#include "commands/build.h"
#include "commands/command.h"
#include "commands/completion.h"
#include "commands/foreign_words.h"
#include "output/output_file.h"
#include "record/rights.h"

namespace {

void print_error(const gosym::Error& error) {
  std::fflush(stdout);  // what was answered before stands before the error
  gosym::print(stderr, "gosym: error: {}\n", error.message());
  if (!error.hint().empty())
    gosym::print(stderr, "gosym: hint: {}\n", error.hint());
}

// Opens standard streams that are closed: the next file that is opened would take the place of
// one, and get what is meant for the stream.
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

// A command that is to be recorded may get rights by being executed, so that `record` forbids
// them itself, once that has begun.
gosym::Result<int> run(const gosym::Command& command) {
  bool is_sampling =
      command.name == "record" || command.name == "top" || command.name == "doctor";
  auto purpose = is_sampling ? gosym::Purpose::kSampling : gosym::Purpose::kReading;
  if (auto given_up = gosym::give_up_rights_of_file(purpose); !given_up)
    return std::move(given_up).error();
  if (!is_sampling)
    gosym::forbid_new_privileges();
  return command.run();
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  buffer_output();
  gosym::install_sigbus_handler();
  // No code handles a lack of memory: the program ends, in words that take none.
  std::set_new_handler([] {
    constexpr std::string_view kMessage = "gosym: error: out of memory\n";
    (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
    _exit(gosym::kFailure);
  });
  gosym::Program program = {
      .name = "gosym",
      .version = gosym::version_text(),
      .summary =
          "Profile running programs: Go, stripped and inlined, and all that runs beside it",
      .examples =
          "  gosym record -p 4242 -d 10s     sample a running process into cpu.raw\n"
          "  gosym report                    name what was sampled: top functions\n"
          "  gosym top -p 4242               the same while it runs\n"
          "  gosym diff old.raw new.raw      what changed, and whether it is noise\n"
          "  gosym goroutines 4242           where the goroutines of a process wait\n"
          "  gosym heap 4242                 who allocated the memory of a process\n"
          "  gosym inspect ./server          what symbol information is in a binary\n"
          "  gosym resolve ./server 4a1b20   name an address of a binary\n"
          "  gosym doctor                    what can be recorded here, and why not\n",
      .licenses = gosym::licenses_text,
      .commands = {gosym::make_record(), gosym::make_report(), gosym::make_top(),
                   gosym::make_diff(), gosym::make_goroutines(), gosym::make_heap(),
                   gosym::make_archive(), gosym::make_index(), gosym::make_inspect(),
                   gosym::make_resolve(), gosym::make_annotate(), gosym::make_snapshot(),
                   gosym::make_push(), gosym::make_doctor()},
      .foreign_commands = gosym::words_for_commands(),
  };
  program.commands.push_back(gosym::make_completion(program));
  auto [command, usage] = gosym::parse_command_line(program, argc, argv);
  auto status = command ? run(*command) : usage;
  if (status && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0))
    status = gosym::write_error("-", errno);
  // The recorder goes on without the file.
  if (status && gosym::cut_page_count() > 0 && command->name != "record" &&
      command->name != "top")
    status = gosym::Error(
        "a file was cut short, or its disk failed, while it was read: answers may be wrong");
  if (status)
    return *status;
  print_error(status.error());
  return status.error().exit_status();
}
