#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/option_values.h"
#include "commands/terminal.h"
#include "confine/parser.h"
#include "output/output_file.h"
#include "symbolize/make_index.h"

namespace gosym {

// Each binary is opened with all its sources of names, as for resolve, and what they find of
// its code is written as one GSYM file: in the working directory, where -o says, or into a
// store by its build id, where report and resolve look for it.

namespace {

struct IndexOptions {
  std::vector<std::string> binaries;
  std::string output;
  std::string store;
  bool is_quiet = false;
  DebugOptions debug;
};

// Beside nobody's binary, but here: "server.gsym".
std::string default_output(const std::string& binary) {
  return std::string(base_name(binary)) + ".gsym";
}

// The share of a binary that is indexed, as a line of progress.
class IndexLine {
public:
  explicit IndexLine(std::string_view binary) : binary_(printable(base_name(binary))) {}

  // Called as the code is gone through (IndexProgress).
  void show(uint64_t done, uint64_t all) {
    auto percent = static_cast<int>(done * 100 / std::max<uint64_t>(all, 1));
    if (percent == percent_)
      return;
    percent_ = percent;
    show_progress(fmt::format("{}: {} %", binary_, percent));
  }
  void erase() const {
    if (percent_ >= 0)
      show_progress("");
  }

private:
  std::string binary_;
  int percent_ = -1;
};

Result<> make_folder(const std::string& path) {
  constexpr mode_t kMode = 0777;  // less the umask
  if (mkdir(path.c_str(), kMode) != 0 && errno != EEXIST)
    return system_error(fmt::format("cannot make '{}'", printable(path)), errno);
  return Ok{};
}

// The folders around what store_path() names.
Result<> make_folders(const std::string& store, const std::string& path) {
  if (auto made = make_folder(store + "/.build-id"); !made)
    return made;
  return make_folder(path.substr(0, path.rfind('/')));
}

Result<std::string> output_path(const ImageSymbols& symbols, const std::string& binary,
                                const IndexOptions& options) {
  if (options.store.empty())
    return options.output.empty() ? default_output(binary) : options.output;
  std::string id = symbols.id();
  // The first byte of the id names the folder, the others the file.
  if (id.size() < 2)
    return Error("it has no build id, by which a store knows files")
        .with_hint("write a file: gosym index -o FILE");
  std::string path = store_path(options.store, id) + ".gsym";
  if (auto made = make_folders(options.store, path); !made)
    return std::move(made).error();
  return path;
}

Result<> write_index(const ImageSymbols& symbols, const std::string& binary,
                     const IndexOptions& options) {
  auto path = output_path(symbols, binary, options);
  if (!path)
    return std::move(path).error();
  gsym::GsymWriter writer;
  IndexLine line(binary);
  add_names(symbols, writer, [&](uint64_t done, uint64_t all) { line.show(done, all); });
  line.erase();
  // The file is opened once the names are known: a binary that cannot be indexed leaves none
  // behind.
  auto file = OutputFile::open(*path);
  if (!file)
    return std::move(file).error();
  // finish() of the file tells whether all was written.
  auto written = writer.finish(symbols.id(), index_facts(symbols),
                               [&](std::string_view part) { (void)file->write(part); });
  if (written)
    written = file->finish();
  if (!written)
    return written;
  if (!options.is_quiet && *path != "-")
    print(stderr, "{}: {} of {}, {}\n", printable(*path),
          count_text(writer.function_count(), "function"), printable(binary),
          human_size(file->size()));
  return Ok{};
}

Result<> index_binary(const std::string& binary, const IndexOptions& options,
                      const DebugFileOptions& files) {
  auto symbols = ImageSymbols::open(binary, files);
  if (!symbols)
    return std::move(symbols).error();
  if ((*symbols)->image().type == ET_REL)
    return Error("relocatable: its code has addresses only where it is linked or loaded");
  if (std::string problem = (*symbols)->problem(); !problem.empty())
    print_warning("'{}': {}", printable(binary), printable(problem));
  return write_index(**symbols, binary, options);
}

// Without a slash at its end, as paths in it are told by.
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return path;
}

// Two binaries of one name would have one index, that of the last.
Result<> check_outputs(const std::vector<std::string>& binaries) {
  std::map<std::string, std::string> indexed;  // binary, by output
  for (const std::string& binary : binaries) {
    auto [known, is_new] = indexed.emplace(default_output(binary), binary);
    if (!is_new && known->second != binary)
      return errorf("'{}' and '{}' would both be written to '{}'", printable(known->second),
                    printable(binary), printable(known->first))
          .with_hint("write them to a store: --store DIR")
          .with_exit_status(kUsage);
  }
  return Ok{};
}

Result<int> run_index(IndexOptions options) {
  options.store = without_slashes(options.store);
  if (!options.output.empty() && options.binaries.size() > 1)
    return Error("-o is of one index, and there are several binaries")
        .with_hint("write them to a store: --store DIR")
        .with_exit_status(kUsage);
  if (options.output.empty() && options.store.empty())
    if (auto checked = check_outputs(options.binaries); !checked)
      return std::move(checked).error();
  auto files = find_debug_files(options.debug, stderr);
  if (!files)
    return std::move(files).error();
  NamedFiles named{.inputs = options.binaries, .roots = roots_of(*files)};
  if (!options.store.empty())
    named.stores = {options.store};
  else if (!options.output.empty())
    named.outputs = {options.output};
  else
    for (const std::string& binary : options.binaries)
      named.outputs.push_back(default_output(binary));
  // The outputs have to be named before: openers write nothing else.
  if (auto confined = become_parser(named); !confined)
    return std::move(confined).error();
  int status = kSuccess;
  for (const std::string& binary : options.binaries) {
    auto indexed = index_binary(binary, options, *files);
    if (indexed)
      continue;
    Error error = std::move(indexed).error().context(fmt::format("'{}'", printable(binary)));
    // The others are indexed even if one of several cannot be.
    if (options.binaries.size() == 1)
      return error;
    print(stderr, "gosym: error: {}\n", error.message());
    status = kFailure;
  }
  return status;
}

}  // namespace

Command make_index() {
  auto options = std::make_shared<IndexOptions>();
  std::vector<Option> all = {
      {.names = "BINARY",
       .help = "ELF files, which may be stripped",
       .take = into(options->binaries),
       .values = Values::kWords,
       .is_required = true},
      {.names = "-o,--output",
       .value = "FILE",
       .help = "File to write (default: the name of BINARY with .gsym, here)",
       .take = into(options->output),
       .excludes = {"--store"}},
      {.names = "--store",
       .value = "DIR",
       .help = "Write DIR/.build-id/xx/yyyy.gsym, where resolve and report find it",
       .take = into(options->store, parse_directory)},
      {.names = "-q,--quiet",
       .help = "Print warnings and errors only",
       .take = into(options->is_quiet)}};
  return {
      .name = "index",
      .summary = "Write the names of a binary's code as GSYM",
      .groups = {{"Options", std::move(all)}, debug_options(options->debug)},
      .examples =
          "  gosym index ./server                 server.gsym, for llvm-gsymutil and others\n"
          "  gosym index --store ./names ./server /usr/lib/x86_64-linux-gnu/libc.so.6\n"
          "  gosym report --debug-dir ./names     where the binaries are gone\n",
      .run = [options] { return run_index(*options); }};
}

}  // namespace gosym
