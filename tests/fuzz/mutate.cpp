// Damages a file over and over, in ways aimed at its tables, and has gosym read what is left:
//
//   mutate [--seed S] [--first N] [--count N] FILE      a campaign
//   mutate [--seed S] --only N [--write COPY] FILE      one mutation of it, again
//
// FILE is a binary or a perf map. One that another program needs, such as its debug file, is
// tried with that:
//
//   mutate ... --as PLACE --of PROGRAM FILE             PLACE is where PROGRAM looks for it
//
// Whatever the damage: no crash, no text from outside the file, no more than 2 s of CPU time,
// no more than 256 MiB of memory. What breaks this is told with the number of its mutation;
// then the exit status is 1. The campaign runs in a child process, and goes on in another where
// one ends.

#include <fcntl.h>
#include <getopt.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "base/mapped_file.h"
#include "base/print.h"
#include "base/text.h"
#include "exercise.h"
#include "mutation.h"

// Freed memory that a sanitizer keeps back must not count as memory that is used; and an
// allocation that fails is a finding as well. Shallow stacks of allocations save a quarter of
// the time.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=8:max_allocation_size_mb=256:malloc_context_size=4";
}

using namespace gosym;

namespace {

constexpr double kMaxSeconds = 2;
constexpr int kKilledAfterSeconds = 20;  // of CPU time, by SIGPROF: then it is a loop
constexpr double kMaxMebibytes = 256;
constexpr int kTookTooMuch = 3;  // the exit status of a child that has told so

struct Options {
  std::string file;
  std::string place;
  std::string program;
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t count = 1000;
  std::optional<uint64_t> only;
  std::string write;
};

// The most that any mutation took of something, and which one that was.
struct Most {
  double amount = 0;
  uint64_t number = 0;

  void note(double taken, uint64_t by) {
    if (taken > amount)
      *this = {taken, by};
  }
};

// Memory that parent and child share.
struct Progress {
  uint64_t number = 0;  // of the mutation that is being tried
  std::array<uint64_t, kReadings> readings{};
  uint64_t named = 0;  // addresses
  Most seconds{};
  Most mebibytes{};  // above what the child began with
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void tell(const Options& options, uint64_t number, std::string_view what) {
  print(stdout, "FINDING: {}: mutation {} of seed {}: {}\n", options.file, number, options.seed,
        what);
  std::fflush(stdout);
}

void write(const std::string& path, Bytes file) {
  std::ofstream(path, std::ios::binary) << as_text(file);
}

Answers try_reading(const Options& options, Mutant& mutant) {
  if (options.program.empty())
    return exercise(mutant.file);
  write(options.place, mutant.file);
  return {.named = exercise_program(options.program)};
}

// False, and told, if the mutation takes too much. Memory that earlier ones took counts too.
bool try_mutant(const Options& options, const Original& original, uint64_t number,
                double start_mebibytes, Progress& progress) {
  itimerval limit{.it_interval = {}, .it_value = {.tv_sec = kKilledAfterSeconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  Mutant mutant = make_mutant(original, options.seed, number);
  double start = cpu_seconds();
  Answers answers = try_reading(options, mutant);
  double seconds = cpu_seconds() - start;
  double mebibytes = peak_mebibytes() - start_mebibytes;

  progress.readings[static_cast<size_t>(answers.reading)]++;
  progress.named += answers.named;
  progress.seconds.note(seconds, number);
  progress.mebibytes.note(mebibytes, number);
  if (seconds > kMaxSeconds)
    tell(options, number, fmt::format("{:.1f} s", seconds));
  if (mebibytes > kMaxMebibytes)
    tell(options, number, fmt::format("{:.0f} MiB", mebibytes));
  return seconds <= kMaxSeconds && mebibytes <= kMaxMebibytes;
}

// Ends the process, at the first mutation that takes too much or after the last.
[[noreturn]] void run_child(const Options& options, const Original& original,
                            Progress& progress) {
  double start_mebibytes = peak_mebibytes();
  for (; progress.number < options.first + options.count; progress.number++)
    if (!try_mutant(options, original, progress.number, start_mebibytes, progress))
      _exit(kTookTooMuch);
  _exit(EXIT_SUCCESS);
}

std::string describe(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    return fmt::format("still at it after {} s", kKilledAfterSeconds);
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {}", strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

void print_summary(const Options& options, const Progress& progress, uint64_t findings) {
  auto count = [&](Reading reading) { return progress.readings[static_cast<size_t>(reading)]; };
  print(stdout, "{}: {} mutations of seed {}: {} findings\n", options.file, options.count,
        options.seed, findings);
  print(stdout, "  tables: {} read, {} refused, {} not found, {} not ELF\n",
        count(Reading::kTable), count(Reading::kUnusableTable), count(Reading::kNoTable),
        count(Reading::kNotElf));
  print(stdout, "  named by debugging information or a perf map: {} addresses\n",
        progress.named);
  print(stdout, "  the most: {:.0f} ms by number {}, {:.1f} MiB by number {}\n",
        progress.seconds.amount * 1000, progress.seconds.number, progress.mebibytes.amount,
        progress.mebibytes.number);
}

// The number of findings.
uint64_t run_campaign(const Options& options, const Original& original) {
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return 1;
  auto& progress = *new (shared) Progress{.number = options.first};
  uint64_t findings = 0;
  while (progress.number < options.first + options.count) {
    pid_t child = fork();
    if (child == 0)
      run_child(options, original, progress);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
      return findings + 1;
    if (status == 0)
      break;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != kTookTooMuch)
      tell(options, progress.number, describe(status));
    findings++;
    progress.number++;
  }
  print_summary(options, progress, findings);
  return findings;
}

void run_one(const Options& options, const Original& original) {
  Mutant mutant = make_mutant(original, options.seed, *options.only);
  print(stdout, "{}\n", mutant.description);
  std::fflush(stdout);
  if (!options.write.empty())
    write(options.write, mutant.file);
  (void)try_reading(options, mutant);
  print(stdout, "{:.0f} ms\n", cpu_seconds() * 1000);
}

bool parse_options(int argc, char** argv, Options& options) {
  constexpr option kOptions[] = {
      {"seed", required_argument, nullptr, 's'},  {"first", required_argument, nullptr, 'f'},
      {"count", required_argument, nullptr, 'c'}, {"only", required_argument, nullptr, 'o'},
      {"write", required_argument, nullptr, 'w'}, {"as", required_argument, nullptr, 'a'},
      {"of", required_argument, nullptr, 'p'},    {}};
  auto number = [] { return parse_decimal(optarg).value_or(0); };
  for (int given; (given = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (given) {
      case 's':
        options.seed = number();
        break;
      case 'f':
        options.first = number();
        break;
      case 'c':
        options.count = number();
        break;
      case 'o':
        options.only = number();
        break;
      case 'w':
        options.write = optarg;
        break;
      case 'a':
        options.place = optarg;
        break;
      case 'p':
        options.program = optarg;
        break;
      default:
        return false;
    }
  }
  if (optind + 1 != argc || (!options.program.empty() && options.place.empty()))
    return false;
  options.file = argv[optind];
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    print(stderr,
          "usage: mutate [--seed N] [--first N] [--count N] [--only N] [--write FILE]\n"
          "              [--as FILE --of PROGRAM] FILE\n");
    return 2;
  }

  auto file = MappedFile::open(options.file);
  auto original = file ? study((*file)->bytes()) : Result<Original>(std::move(file).error());
  if (!original) {
    print(stderr, "mutate: '{}': {}\n", options.file, original.error().message());
    return 2;
  }
  if (options.only)
    run_one(options, *original);
  else if (run_campaign(options, *original) > 0)
    return 1;
  return 0;
}
