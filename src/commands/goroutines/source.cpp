#include "commands/goroutines/source.h"

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/file_tree.h"
#include "base/text.h"
#include "commands/option_values.h"
#include "confine/parser.h"
#include "record/files/file_helper.h"
#include "record/helper_process.h"
#include "record/target.h"

namespace gosym {

// A source is opened in two steps. choose_source() finds the process or the core file, starts
// what needs rights, and gives them up; open_source() then reads memory and files, by helpers
// in the case of a process. A core file is mapped, and its memory read from there.

namespace {

// A core file may be larger than memory and may have holes, which are kept as such.
Result<std::unique_ptr<MappedFile>> map_file(const std::string& path) {
  UniqueFd found = find_file(path);
  if (!found)
    return system_error("cannot open the core file", errno);
  auto file = open_found(found);
  if (!file)
    return std::move(file).error();
  return MappedFile::open(*file, /*may_have_holes=*/true);
}

// The parts of it that are missing; empty: none.
std::vector<std::string> missing_parts(const elf::CoreFile& core) {
  std::vector<std::string> parts;
  if (core.missing_notes > 0)
    parts.emplace_back(
        "the core file is cut short: notes are missing, which tell its threads, and which "
        "files "
        "were mapped where; gcore writes them behind all else");
  if (core.missing > 0)
    parts.push_back(fmt::format(
        "the core file is cut short: {} of memory are missing, between {:#x} and {:#x}",
        human_size(core.missing), core.missing_from, core.missing_to));
  return parts;
}

// A core file names its program by a path: if that could not be opened the user can name
// another.
Error no_go_code(const GoroutineSource& source) {
  return source.notes.empty() ? Error("no Go code is mapped in it").with_exit_status(kNoTarget)
                              : Error(source.notes.front())
                                    .with_hint("name the program behind the core file")
                                    .with_exit_status(kUnsupported);
}

Result<GoroutineSource> open_core(const std::string& path, const std::string& program) {
  auto file = map_file(path);
  if (!file)
    return std::move(file).error();
  auto core = elf::parse_core((*file)->bytes());
  if (!core)
    return std::move(core).error();
  GoroutineSource source;
  source.pid = core->pid;
  source.is_core = true;
  // The core file has no time of its own: it was written when the program crashed, more or
  // less. A negative time of change is damage.
  source.realtime_ns = static_cast<uint64_t>(std::max<int64_t>((*file)->mtime_ns(), 0));
  // The kernel writes the thread that the signal came to before all others.
  source.crashed = core->first_thread;
  source.core = *std::move(file);
  source.memory = std::make_unique<CoreMemory>(*core);
  source.notes = missing_parts(*core);
  // Threads and files are told by notes: without them nothing says what lies where.
  if (core->missing_notes > 0 && core->mappings.empty())
    return Error(source.notes.front())
        .with_hint("write it again, where there is room for all of it")
        .with_exit_status(kUnsupported);
  // The parts of files that the core lacks, such as code, are put into its memory by GoCode.
  auto code = GoCode::open(*core, program, *source.memory);
  if (!code)
    return std::move(code).error();
  source.code = *std::move(code);
  const std::vector<std::string>& problems = source.code.problems();
  source.notes.insert(source.notes.end(), problems.begin(), problems.end());
  if (source.code.files().empty())
    return no_go_code(source);
  // Captured by pointer, because `source` is moved when it is returned, and what `memory`
  // points to is not.
  source.read_memory = [memory = source.memory.get()](std::span<proc::MemoryPiece> pieces) {
    memory->read(pieces);
    return Result<>(Ok{});
  };
  for (const auto& [id, registers] : core->threads)
    source.threads[id] = {registers.pc, registers.stack_pointer, registers.frame_pointer,
                          registers.link_register};
  return source;
}

// A number is taken as it is: open_process() says whether there is one. A name has to be that
// of one process only, since goroutines are those of one. Numbers have 32 bits at the most
// (parse_process()).
Result<uint32_t> find_process(const std::string& text) {
  if (auto pid = parse_decimal(text))
    return static_cast<uint32_t>(*pid);
  std::vector<uint32_t> found = processes_named(text);
  if (found.empty())
    return errorf("'{}' is no file, and no process has this name", printable(text))
        .with_exit_status(kNoTarget);
  if (found.size() == 1)
    return found.front();
  std::vector<std::string> pids;
  for (uint32_t pid : found)
    pids.push_back(std::to_string(pid));
  return errorf("{} processes run '{}'", found.size(), printable(text))
      .with_hint("name one of them: " + joined(pids, ", "))
      .with_exit_status(kUsage);
}

}  // namespace

Result<GoroutineSource> open_process_source(uint32_t pid) {
  GoroutineSource source;
  // A helper reads files and memory for this process, which has given up the right to.
  source.files = std::make_unique<FileHelper>();
  auto code = GoCode::open(pid, *source.files);
  if (!code)
    return std::move(code).error();
  if (code->files().empty())
    return errorf("process {} runs no Go code{}", pid, code->doubt())
        .with_hint("'gosym record' samples programs of any language")
        .with_exit_status(kNoTarget);
  source.pid = pid;
  source.realtime_ns = clock_ns(CLOCK_REALTIME);
  source.code = *std::move(code);
  source.helper = std::make_unique<MemoryHelper>(MemoryHelper::kPatienceOfCommand);
  source.read_memory = source.helper->reader_of(pid);
  return source;
}

Result<GoroutineSource> open_core_source(const std::string& path, const std::string& program) {
  auto source = open_core(path, program);
  if (!source)
    return std::move(source).error().context(fmt::format("'{}'", printable(path)));
  return source;
}

OptionGroup source_words(std::string& process, std::string& program) {
  return {"",
          {{.names = "PID|NAME|CORE",
            .help = "Process of a Go program, by PID or name, or its core file",
            .take = into(process, parse_process)},
           {.names = "PROGRAM",
            .help = "Program of the core file, if it is not at its path",
            .take = into(program, parse_given)}}};
}

Option process_option(std::string& process) {
  return {.names = "-p,--pid",
          .value = "PID|NAME",
          .help = "The process, in the words of record",
          .take = into(process, parse_process),
          .excludes = {"PROGRAM"}};
}

Result<ChosenSource> choose_source(std::string_view command, const std::string& word,
                                   const std::string& program,
                                   std::vector<std::string> outputs) {
  if (word.empty())
    return Error("PID, NAME or CORE is required: of which process?")
        .with_hint(fmt::format("gosym {} 4242, or a name, or a core file", command))
        .with_exit_status(kUsage);
  ChosenSource chosen;
  chosen.is_core = names_core_file(word);
  // Options that were not given are empty.
  std::erase(outputs, "");
  NamedFiles files = {.outputs = std::move(outputs), .has_processes = true};
  if (chosen.is_core) {
    chosen.core = word;
    chosen.program = program;
    files.inputs = {word, program};
    if (auto confined = become_parser(files); !confined)
      return std::move(confined).error();
    return chosen;
  }
  if (!program.empty())
    return errorf("'{}': a program is named only with a core file", printable(program))
        .with_exit_status(kUsage);
  auto pid = find_process(word);
  if (!pid)
    return std::move(pid).error();
  // The pidfd is opened while the process is certain to be the one that was found: a number
  // may be another process's later on (check_is_there()).
  auto process = open_process(*pid);
  if (!process)
    return std::move(process).error();
  // Helpers with rights can be started only beforehand, and for this one process alone.
  if (auto made = make_helper_starter(*pid); !made)
    return std::move(made).error();
  if (auto confined = become_parser(files); !confined)
    return std::move(confined).error();
  chosen.pid = *pid;
  chosen.process = *std::move(process);
  return chosen;
}

Result<GoroutineSource> open_source(const ChosenSource& chosen) {
  return chosen.is_core ? open_core_source(chosen.core, chosen.program)
                        : open_process_source(chosen.pid);
}

Result<> check_is_there(const ChosenSource& chosen) {
  if (!chosen.is_core && has_ended(chosen.process))
    return errorf("process {} has ended", chosen.pid).with_exit_status(kNoTarget);
  return Ok{};
}

bool names_core_file(const std::string& word) {
  // A process is more likely than a file of that name: "./4242" is the file.
  if (parse_decimal(word))
    return false;
  if (word.find('/') != word.npos)
    return true;
  auto file = map_file(word);
  // The type of an ELF file is a word of 16 bits right behind the ident, which begins with
  // ELFMAG.
  auto type = file ? load<uint16_t>((*file)->bytes(), EI_NIDENT) : std::nullopt;
  return type == ET_CORE && as_text((*file)->bytes()).starts_with(ELFMAG);
}

}  // namespace gosym
