#include "commands/resolve/resolve.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "base/workers.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/option_values.h"
#include "commands/resolve/address_filter.h"
#include "commands/resolve/build_id_names.h"
#include "commands/resolve/live_process.h"
#include "confine/parser.h"
#include "output/output_file.h"
#include "record/helper_process.h"
#include "symbolize/find_functions.h"
#include "symbolize/image_symbols.h"
#include "symbolize/symbol_source.h"

namespace gosym {

// Questions are words of the command line, or lines of standard input: addresses, names, or
// places by build id. An Ask answers a batch of them (of a binary, or of a process that runs),
// a Tell prints each answer. --filter is apart: it copies text and puts names into it
// (address_filter.h). Batches are large, because addresses that are asked for in order are
// found many times faster.

namespace {

struct ResolveOptions {
  std::string binary;
  std::string file;                // the binary as addr2line is told it, by -e
  std::vector<std::string> words;  // addresses, or names of functions
  std::optional<uint32_t> pid;
  bool is_json = false;
  bool no_inlines = false;
  bool keeps_wrappers = false;
  bool has_base_names = false;
  bool is_filter = false;
  bool has_build_ids = false;  // places are told by build ids
  std::vector<std::string> stores;
  size_t jobs = 0;  // threads; 0: as many as are usual
  DebugOptions debug;
  std::optional<NameForm> name_form;  // none: short in text, as the linker has them in JSON
};

// Answers some addresses, in their order. The answer is the caller's until the next.
using Tell = std::function<void(Answer&)>;
using Ask = std::function<Result<>(std::span<const uint64_t>, const Tell&)>;

void warn_of(const std::string& file, const std::string& problem) {
  print_warning("'{}': {}", printable(file), printable(problem));
}

std::string why_unnamed(const ImageSymbols& symbols, ImageAddress address) {
  if (symbols.image().type == ET_REL)
    return "relocatable";
  // An index has no segments, and so no code that an address could lie outside of.
  if (!symbols.is_index() && !symbols.image().is_executable_at(address))
    return "not in a code segment";
  auto function = symbols.find_nameless(address);
  return fmt::format("{}{}",
                     symbols.has_code_names() ? "no symbol there" : "no symbols in this file",
                     function ? fmt::format(", in {}", function->name) : "");
}

// Result for one address: calls that lie with those of others.
struct Found {
  std::optional<FrameSource> source;
  ptrdiff_t first_call = 0;
  ptrdiff_t end_call = 0;
};

// Results for the addresses that are answered together. Its memory is kept for the next ones:
// to give it back and touch it anew took 3 % of the time.
struct Answers {
  std::vector<std::pair<uint64_t, size_t>> order;  // by address: which it is
  std::vector<Found> found;
  std::vector<Call> calls;
};

using Symbols = std::shared_ptr<ImageSymbols>;

// The symbols of one binary, for as many threads as have enough to do.
class SharedSymbols {
public:
  explicit SharedSymbols(Symbols symbols) : symbols_(std::move(symbols)) {}

  const ImageSymbols& symbols() const { return *symbols_; }

  // Readers for so many addresses: one, or several that share them.
  std::vector<ImageSymbols*> share(size_t count) {
    // Debugging information is read unit by unit, some of them for two readers.
    constexpr size_t kEnough = 256;
    size_t wanted = std::min<size_t>(worker_limit, count / kEnough);
    if (wanted < 2 || !may_share_)
      return {symbols_.get()};
    while (twins_.size() < wanted) {
      auto twin = symbols_->twin();
      // No twin: to share would not pay (ImageSymbols::twin()).
      may_share_ = twin != nullptr;
      if (!may_share_)
        return {symbols_.get()};
      twins_.push_back(std::move(twin));
    }
    std::vector<ImageSymbols*> readers;
    for (size_t i = 0; i < wanted; i++)
      readers.push_back(twins_[i].get());
    return readers;
  }

  // True: the answers are not those that one would have given who read everything, for there is
  // a limit to what each reads. From now on there is one.
  bool have_given_up() {
    auto has_given_up = [](const auto& twin) { return twin->has_given_up(); };
    if (std::ranges::none_of(twins_, has_given_up))
      return false;
    may_share_ = false;
    twins_.clear();
    return true;
  }

  std::string search_problem() const {
    std::string problem = symbols_->search_problem();
    return problem.empty() && !twins_.empty() ? twins_.front()->search_problem() : problem;
  }

private:
  Symbols symbols_;
  // Each reads for itself; none until there is enough to share.
  std::vector<std::unique_ptr<ImageSymbols>> twins_;
  bool may_share_ = true;
};

// Asks for a part of the addresses; places of calls are those among the part's own.
void find_part(const ImageSymbols& symbols, std::span<const std::pair<uint64_t, size_t>> part,
               std::vector<Found>& found, std::vector<Call>& calls) {
  for (auto [address, i] : part) {
    found[i].first_call = std::ssize(calls);
    found[i].source = symbols.find(ImageAddress{address}, calls);
    found[i].end_call = std::ssize(calls);
  }
}

// Shares the sorted addresses: each reader has as many, all near to one another.
void find_parts(const std::vector<ImageSymbols*>& readers, Answers& answers) {
  std::span<const std::pair<uint64_t, size_t>> all = answers.order;
  std::vector<Found>& found = answers.found;
  std::vector<Call>& calls = answers.calls;
  calls.clear();
  if (readers.size() == 1)
    return find_part(*readers.front(), all, found, calls);
  auto begin_of = [&](size_t part) { return part * all.size() / readers.size(); };
  auto part_of = [&](size_t part) {
    return all.subspan(begin_of(part), begin_of(part + 1) - begin_of(part));
  };
  std::vector<std::vector<Call>> by_part(readers.size());
  share_work(readers.size(), [&](size_t part) {
    find_part(*readers[part], part_of(part), found, by_part[part]);
  });
  for (size_t part = 0; part < readers.size(); part++) {
    for (auto [address, i] : part_of(part)) {
      found[i].first_call += std::ssize(calls);
      found[i].end_call += std::ssize(calls);
    }
    calls.insert(calls.end(), by_part[part].begin(), by_part[part].end());
  }
}

// Near addresses are asked for after one another, so that each part of debugging information is
// read once, and each table of a Go function walked once.
void find_all(SharedSymbols& readers, std::span<const uint64_t> addresses, Answers& answers) {
  auto& [order, found, calls] = answers;
  order.clear();
  // Answers go out in the order of the questions, so the order is kept beside each address.
  for (uint64_t address : addresses)
    order.emplace_back(address, order.size());
  std::ranges::sort(order);
  found.resize(addresses.size());
  find_parts(readers.share(addresses.size()), answers);
  if (readers.have_given_up())
    find_parts(readers.share(addresses.size()), answers);
}

// Has what is told soon fetched: calls and names lie in the order of addresses, not of answers.
// To wait for each was a sixth of the time of 100,000 random addresses.
void prefetch(const Answers& answers, size_t next) {
  const auto& [order, found, calls] = answers;
  constexpr size_t kCallsAhead = 16;
  constexpr size_t kNamesAhead = 8;
  if (next + kCallsAhead < found.size())
    __builtin_prefetch(calls.data() + found[next + kCallsAhead].first_call);
  if (next + kNamesAhead >= found.size() || !found[next + kNamesAhead].source)
    return;
  // An address that has a source has a call at least (ImageSymbols::find()).
  const Call& call = calls[static_cast<size_t>(found[next + kNamesAhead].first_call)];
  __builtin_prefetch(call.function.data());
  __builtin_prefetch(call.file.data());
}

void ask_symbols(SharedSymbols& readers, std::span<const uint64_t> addresses, Answers& answers,
                 const Tell& tell) {
  find_all(readers, addresses, answers);
  const auto& [order, found, calls] = answers;
  Answer answer;
  // The answer is one object whose memory is used again.
  for (size_t i = 0; i < addresses.size(); i++) {
    prefetch(answers, i);
    auto [source, first, end] = found[i];
    answer.address = addresses[i];
    answer.source = source.value_or(FrameSource{});
    answer.calls.assign(calls.begin() + first, calls.begin() + end);
    answer.reason = source ? "" : why_unnamed(readers.symbols(), ImageAddress{addresses[i]});
    tell(answer);
  }
}

// An index stands in for its binary.
Result<std::unique_ptr<ImageSymbols>> open_binary_or_index(const std::string& path,
                                                           const DebugFileOptions& files) {
  auto file = MappedFile::open(path, files.symfs);
  if (!file)
    return std::move(file).error();
  // Told apart by the first bytes, for an index is no ELF file.
  if (gsym::GsymFile::is_one((*file)->bytes()))
    return ImageSymbols::open_index(*std::move(file), path, "");
  return ImageSymbols::open(*std::move(file), path, files);
}

Result<Symbols> open_binary(const std::string& path, const DebugFileOptions& files) {
  auto opened = open_binary_or_index(path, files);
  if (!opened)
    return std::move(opened).error().context(fmt::format("'{}'", printable(path)));
  Symbols symbols = *std::move(opened);
  // An image that cannot be read whole still names what it can.
  for (const std::string& note : {symbols->problem(), symbols->assumption()})
    if (!note.empty())
      warn_of(path, note);
  return symbols;
}

Ask ask_binary(const Symbols& symbols, const std::string& path) {
  auto readers = std::make_shared<SharedSymbols>(symbols);
  auto answers = std::make_shared<Answers>();
  auto told = std::make_shared<std::string>();
  return Ask([=](std::span<const uint64_t> addresses, const Tell& tell) -> Result<> {
    ask_symbols(*readers, addresses, *answers, tell);
    // Searching for separate files goes on with the addresses, so it may fail at any batch;
    // each problem is told once.
    if (std::string problem = readers->search_problem(); problem != *told)
      warn_of(path, *told = problem);
    return Ok{};
  });
}

Result<Ask> ask_process(const ResolveOptions& options, const DebugFileOptions& files) {
  // Rights are needed to open the process; what is read of it afterwards needs none in this
  // process.
  auto opened = LiveProcess::open(*options.pid);
  if (!opened)
    return std::move(opened).error();
  if (auto made = make_helper_starter(*options.pid); !made)
    return std::move(made).error();
  auto confined = become_parser({.roots = roots_of(files), .has_processes = true});
  if (!confined)
    return std::move(confined).error();
  auto process = std::make_shared<LiveProcess>(*std::move(opened));
  // Problems of files come up as addresses lie in these; each file is told once for all
  // batches. `files` is that of run_resolve(), and outlives what is returned.
  auto told = std::make_shared<std::set<std::string>>();
  return Ask([process, told, &files](std::span<const uint64_t> addresses,
                                     const Tell& tell) -> Result<> {
    // Mappings may change between batches: each is a look of its own.
    auto answers = process->ask(addresses, files);
    for (const auto& [path, problem] : process->problems())
      if (told->insert(path).second)
        warn_of(path, problem);
    if (!answers)
      return std::move(answers).error();
    std::ranges::for_each(*answers, tell);
    return Ok{};
  });
}

void choose_calls(const ResolveOptions& options, std::vector<Call>& calls) {
  // The outermost call is the function that holds the code.
  if (options.no_inlines && !calls.empty())
    calls.erase(calls.begin(), std::prev(calls.end()));
  if (!options.keeps_wrappers)
    hide_wrappers(calls);
  if (options.has_base_names)
    for (Call& call : calls)
      call.file = base_name(call.file);
}

// Prints one answer after the other.
Tell answer_printer(const ResolveOptions& options) {
  NameForm usual = options.is_json ? NameForm::kNone : NameForm::kShort;
  auto names = std::make_shared<ShownNames>(options.name_form.value_or(usual));
  auto json = std::make_shared<JsonWriter>();
  return [&options, names, json](Answer& answer) {
    choose_calls(options, answer.calls);
    if (options.is_json)
      print_json(answer, *names, *json);
    else
      print_text(answer, *names);
  };
}

// Answers the items of a stream, batch by batch, until it ends: an empty batch is the end,
// since ItemLines::next() passes over blank lines. `ask(items, tell)` gives each answer to
// `tell`.
template <class Lines, class AskItems>
Result<> resolve_lines(Lines lines, const AskItems& ask, const ResolveOptions& options) {
  Tell tell = answer_printer(options);
  while (true) {
    // Answers are written before more input is waited for: a program may ask line by line.
    std::fflush(stdout);
    auto items = lines.next();
    if (!items)
      return std::move(items).error();
    if (items->empty())
      return Ok{};
    if (Result<> resolved = ask(*items, tell); !resolved)
      return resolved;
  }
}

// True if the word is meant for an address, be it one or not: no function has such a name.
bool looks_like_address(std::string_view word) {
  return word.starts_with("0x") ||
         word.find_first_not_of("0123456789abcdefABCDEF") == word.npos;
}

// The functions of a binary, listed when a name is asked for.
class Names {
public:
  explicit Names(Symbols symbols) : symbols_(std::move(symbols)) {}

  bool has(std::string_view name) { return !find(name).empty(); }

  void ask(const std::string& name, const Tell& tell) {
    auto found = find(name);
    Answer answer;
    answer.name = name;
    answer.reason =
        symbols_->has_code_names() ? "no function of that name" : "no symbols in this file";
    if (found.empty())
      tell(answer);
    for (const FunctionRange& function : found) {
      answer.address = to_integer(function.address);
      answer.calls.clear();
      answer.source =
          symbols_->find(function.address, answer.calls).value_or(FrameSource::kCallFrames);
      // The outermost call holds the code: it is the function, under one of its names.
      if (answer.calls.empty())
        answer.calls.emplace_back();
      answer.calls.erase(answer.calls.begin(), std::prev(answer.calls.end()));
      answer.calls.back().function = function.name;
      tell(answer);
    }
  }

private:
  std::vector<FunctionRange> find(std::string_view name) {
    if (!functions_)
      functions_ = symbols_->functions();
    return functions_named(*symbols_, *functions_, name);
  }

  Symbols symbols_;
  std::optional<std::vector<FunctionRange>> functions_;
};

// "add" is a number as well as a name. Few addresses have no digit from 0 to 9.
bool is_name(const std::string& word, Names* names) {
  // A word that is no number is a name, unless it looks like an address that was mistyped.
  if (!names || !parse_hex(word))
    return names && !looks_like_address(word);
  // Hexadecimal letters alone: a name if there is one, else an address.
  return word.find_first_of("0123456789") == word.npos && names->has(word);
}

// Answers the words in their order, addresses in a row together. Gives kUsage if one is neither
// an address nor a name, which is said where it stands. Without `names` none is a name.
Result<int> resolve_words(const Ask& ask, Names* names, const ResolveOptions& options) {
  int status = kSuccess;
  Tell tell = answer_printer(options);
  std::vector<uint64_t> addresses;
  // Addresses are gathered, as they are found in order many times faster, up to a word that
  // needs an answer of its own.
  auto ask_addresses = [&]() -> Result<> {
    std::vector<uint64_t> asked = std::exchange(addresses, {});
    return asked.empty() ? Result<>(Ok{}) : ask(asked, tell);
  };
  for (const std::string& word : options.words) {
    bool wants_name = is_name(word, names);
    auto address = wants_name ? std::nullopt : parse_hex(word);
    if (address) {
      addresses.push_back(*address);
      continue;
    }
    if (auto asked = ask_addresses(); !asked)
      return std::move(asked).error();
    if (wants_name) {
      names->ask(word, tell);
      continue;
    }
    // The error stands between the answers of the words before and after it.
    std::fflush(stdout);
    print(stderr, "gosym: error: '{}' is not a hexadecimal address\n", printable(word));
    status = kUsage;
  }
  if (auto asked = ask_addresses(); !asked)
    return std::move(asked).error();
  return status;
}

Result<int> answer_all(const Ask& ask, Names* names, const ResolveOptions& options) {
  if (!options.words.empty())
    return resolve_words(ask, names, options);
  if (auto resolved = resolve_lines(AddressLines(STDIN_FILENO), ask, options); !resolved)
    return std::move(resolved).error();
  return kSuccess;
}

Result<> write_now(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    return write_error("-", errno);
  return Ok{};
}

// Answers are written before the input is waited for again.
Result<> filter_input(AddressFilter filter) {
  std::vector<char> chunk(1 << 16);
  std::string output;
  while (true) {
    ssize_t count = read_part(STDIN_FILENO, chunk);
    if (count < 0)
      return system_error("cannot read standard input", errno);
    if (count == 0)
      break;
    output.clear();
    filter.add(std::string_view(chunk.data(), static_cast<size_t>(count)), output);
    if (auto written = write_now(output); !written)
      return written;
  }
  output.clear();
  filter.finish(output);
  return write_now(output);
}

NamedFiles files_for(const std::vector<std::string>& paths, const ResolveOptions& options,
                     const DebugFileOptions& files) {
  NamedFiles named{.inputs = paths, .roots = roots_of(files)};
  named.inputs.insert(named.inputs.end(), options.stores.begin(), options.stores.end());
  return named;
}

Result<std::vector<NamedBinary>> open_binaries(const std::vector<std::string>& paths,
                                               const DebugFileOptions& files) {
  std::vector<NamedBinary> binaries;
  for (const std::string& path : paths) {
    auto symbols = open_binary(path, files);
    if (!symbols)
      return std::move(symbols).error();
    binaries.push_back({path, *std::move(symbols)});
  }
  return binaries;
}

void warn_of_id(const std::string& id, const std::string& problem) {
  std::fflush(stdout);
  print_warning("build id {}: {}", printable(id), printable(problem));
}

// All words are binaries.
Result<int> run_filter(const ResolveOptions& options, const DebugFileOptions& files) {
  // The first word of the line was taken for BINARY.
  std::vector<std::string> paths = options.words;
  if (!options.binary.empty())
    paths.insert(paths.begin(), options.binary);
  if (auto confined = become_parser(files_for(paths, options, files)); !confined)
    return std::move(confined).error();
  auto binaries = open_binaries(paths, files);
  if (!binaries)
    return std::move(binaries).error();
  auto choose = [&options](std::vector<Call>& calls) { choose_calls(options, calls); };
  NameForm form = options.name_form.value_or(NameForm::kShort);
  // Binaries that are named know their ids, too: only others are looked for in stores.
  BuildIdNames by_id(files, warn_of_id);
  for (const NamedBinary& binary : *binaries)
    by_id.add(binary.symbols);
  CodeNames names = names_of(*std::move(binaries), choose, form);
  names.by_build_id = [&](std::string_view id, uint64_t offset) -> std::string {
    const ImageSymbols* symbols = by_id.find(std::string(id));
    auto address = symbols ? symbols->code_at_offset(offset) : std::nullopt;
    return address ? describe_code(*symbols, *address, choose, form) : "";
  };
  if (auto filtered = filter_input(AddressFilter(std::move(names))); !filtered)
    return std::move(filtered).error();
  return kSuccess;
}

// Words are places, or else binaries that may have them.
Result<int> run_by_build_id(const ResolveOptions& options, const DebugFileOptions& files) {
  std::vector<std::string> words = options.words;
  if (!options.binary.empty())
    words.insert(words.begin(), options.binary);
  std::vector<std::string> paths;
  // A word that reads as a build id with an offset is a place, whatever files there are.
  std::vector<CodePlace> places;
  for (const std::string& word : words)
    if (auto place = parse_code_place(word))
      places.push_back(*std::move(place));
    else
      paths.push_back(word);
  if (auto confined = become_parser(files_for(paths, options, files)); !confined)
    return std::move(confined).error();
  auto binaries = open_binaries(paths, files);
  if (!binaries)
    return std::move(binaries).error();
  BuildIdNames names(files, warn_of_id);
  for (const NamedBinary& binary : *binaries)
    names.add(binary.symbols);
  auto ask = [&names](std::span<const CodePlace> asked, const Tell& tell) -> Result<> {
    names.ask(asked, tell);
    return Ok{};
  };
  // Without places on the command line they are read from standard input.
  if (!places.empty()) {
    (void)ask(places, answer_printer(options));
    return kSuccess;
  }
  ItemLines<CodePlace> lines(STDIN_FILENO, parse_code_place_line,
                             "a build id with an offset, BUILDID+0xOFFSET");
  if (auto resolved = resolve_lines(std::move(lines), ask, options); !resolved)
    return std::move(resolved).error();
  return kSuccess;
}

bool asks_by_build_id(const ResolveOptions& options) {
  // A place among the words is enough: --build-ids is needed only where all come by standard
  // input.
  auto is_place = [](const std::string& word) { return parse_code_place(word).has_value(); };
  return !options.pid &&
         (options.has_build_ids || !options.stores.empty() || is_place(options.binary) ||
          std::ranges::any_of(options.words, is_place));
}

Result<int> run_resolve(const ResolveOptions& options) {
  set_workers(options.jobs);
  bool is_by_build_id = asks_by_build_id(options);
  if (options.binary.empty() && !options.pid && !is_by_build_id)
    return Error("BINARY is required, or --pid PID")
        .with_hint("see 'gosym resolve --help'")
        .with_exit_status(kUsage);
  auto files = find_debug_files(options.debug, stderr);
  if (!files)
    return std::move(files).error();
  if (options.is_filter)
    return run_filter(options, *files);
  if (is_by_build_id)
    return run_by_build_id(options, *files);
  if (options.pid) {
    auto ask = ask_process(options, *files);
    // No names: those of a process are of many files.
    return ask ? answer_all(*ask, nullptr, options) : Result<int>(std::move(ask).error());
  }
  auto confined = become_parser({.inputs = {options.binary}, .roots = roots_of(*files)});
  if (!confined)
    return std::move(confined).error();
  auto symbols = open_binary(options.binary, *files);
  if (!symbols)
    return std::move(symbols).error();
  Names names(*symbols);
  return answer_all(ask_binary(*symbols, options.binary), &names, options);
}

// With -e or --pid, which tell what to look into, the first word is an address as well.
ResolveOptions with_places(ResolveOptions options) {
  if (options.file.empty() && !options.pid)
    return options;
  if (!options.binary.empty())
    options.words.insert(options.words.begin(), std::move(options.binary));
  options.binary = std::move(options.file);
  return options;
}

// "-pfie FILE": with -e, which only addr2line has, its -p is not that of --pid. It asks for one
// line an address, as nearly is the form of here.
void drop_pretty(std::vector<std::string>& line) {
  auto is_cluster = [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-') &&
           word.find_first_not_of("aCefips", 1) == word.npos;
  };
  auto names_file = [&](const std::string& word) {
    return word.starts_with("--exe") || (is_cluster(word) && word.find('e') != word.npos);
  };
  // -p is --pid unless another word shows that the line is one of addr2line's.
  if (std::ranges::none_of(line, names_file))
    return;
  for (std::string& word : line)
    if (is_cluster(word))
      std::erase(word, 'p');
  // A "-p" alone has become "-".
  std::erase(line, "-");
  std::erase(line, "--pretty-print");
}

}  // namespace

Command make_resolve() {
  auto options = std::make_shared<ResolveOptions>();
  std::vector<Option> common = {
      {.names = "BINARY",
       .help = "ELF file, which may be stripped",
       .take = into(options->binary)},
      {.names = "ADDR|NAME",
       .help = "Hexadecimal link-time addresses, function names, or BUILDID+0xOFFSET; without "
               "any, read one address per line from standard input",
       .take = into(options->words),
       .values = Values::kWords},
      {.names = "-p,--pid",
       .value = "PID",
       .help = "Look up run-time addresses of this process and of the kernel, instead of a "
               "binary's",
       .take = into(options->pid, parse_process_id)},
      {.names = "--filter",
       .help = "Copy standard input, and add names to the addresses of BINARY in it (stack "
               "traces, logs, crashes)",
       .take = into(options->is_filter),
       .excludes = {"--pid", "--json"}},
      {.names = "--store",
       .value = "DIR",
       .help = "Look for the files of build ids below DIR/.build-id; may be repeated",
       .take =
           [options](const std::string& text) {
             auto directory = parse_directory(text);
             if (!directory)
               return directory.error().message();
             options->stores.push_back(*directory);
             // A store is a debug directory as well: it has debug files by build id.
             options->debug.debug_dirs.push_back(*directory);
             return std::string();
           },
       .excludes = {"--pid"},
       .values = Values::kEach},
      {.names = "--build-ids",
       .help = "Take BUILDID+0xOFFSET for addresses, and all other words for binaries",
       .take = into(options->has_build_ids),
       .excludes = {"--pid"}},
      {.names = "--json",
       .help = "Print one JSON object per line",
       .take = into(options->is_json)},
      {.names = "--no-inlines",
       .help = "Print only the function that contains the code",
       .take = into(options->no_inlines)},
      jobs_option(options->jobs),
      name_option(options->name_form),
      {.names = "--wrappers",
       .help = "Keep the wrapper functions that Go's own tracebacks leave out",
       .take = into(options->keeps_wrappers)},
      {.names = "-s,--basenames",
       .help = "Print file names without directories",
       .take = into(options->has_base_names)},
      {.names = "-e,--exe",
       .value = "FILE",
       .help = "The same as BINARY, for compatibility with addr2line",
       .take = into(options->file, parse_given),
       .excludes = {"--pid"}},
      {.names = "-a,-C,-f,-i",
       .help = "Accepted for compatibility with addr2line, as is -p with -e; always on"}};
  return {
      .name = "resolve",
      .summary = "Name addresses of a binary or of a running process",
      .groups = {{"Options", std::move(common)}, debug_options(options->debug)},
      .examples =
          "  gosym resolve ./server 4a1b20\n"
          "  gosym resolve ./server main.main 'main.(*Server).handle'\n"
          "  gosym resolve --json ./server 0x4a1b20 0x4a1b24\n"
          "  grep -o '0x[0-9a-f]*' crash.log | gosym resolve ./server\n"
          "  tail -f server.log | gosym resolve --filter ./server\n"
          "  gosym resolve --pid 4242 7f0c3a2b1e40\n"
          "  gosym resolve --store ./names 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b+0x1a20\n"
          "  bpftrace stacks.bt | gosym resolve --filter --store ./names\n",
      .rewrite = drop_pretty,
      .run = [options] { return run_resolve(with_places(*options)); }};
}

namespace {

void append_address(uint64_t address, std::string& text) {
  text += "0x";
  append_number(address, 16, text);
}

// No formats, and no copies of names: these took an eighth of the time.
void append_call(const Call& call, FrameSource source, ShownNames& names, std::string& text) {
  std::string room;
  std::string printable_room;
  text.append(printable(names.of(call, source, room), printable_room));
  if (!call.file.empty()) {
    text.push_back(' ');
    text.append(printable(call.file, room));
  }
  if (!call.file.empty() && call.line != 0) {
    text.push_back(':');
    append_number(call.line, 10, text);
  }
  text.push_back('\n');
}

// The place or the name, as it was asked for. A name that was found is told by the address of
// its function.
void append_question(const Answer& answer, std::string& text) {
  if (!answer.build_id.empty()) {
    text += printable(answer.build_id) + "+";
    append_address(answer.offset, text);
  } else if (answer.calls.empty() && !answer.name.empty()) {
    text += printable(answer.name);
  } else {
    append_address(answer.address, text);
  }
}

// " /usr/lib/libc.so.6+0x2724a"
std::string place(const Answer& answer) {
  if (answer.image.empty())
    return {};
  std::string image = printable(answer.image);
  if (!answer.image_address)
    return " " + image;
  return fmt::format(" {}+{:#x}", image, to_integer(*answer.image_address));
}

void write_frame(const Call& call, FrameSource source, ShownNames& names, JsonWriter& json) {
  json.begin_object();
  std::string room;
  json.field("function", names.of(call, source, room));
  if (!call.file.empty())
    json.field("file", call.file);
  if (call.line != 0)
    json.field("line", call.line);
  json.field("inlined", call.is_inlined);
  json.field("source", to_string(source));
  json.end_object();
}

}  // namespace

std::string_view ShownNames::of(const Call& call, FrameSource source, std::string& room) {
  constexpr size_t kMaxNames = 50'000;  // of some 200 bytes each
  // Names of Go are shown as they are, most of them.
  if (is_go(source) || form_ == NameForm::kNone)
    return display_name(call.function, source, form_, room);
  Names& names = names_[source];
  // Demangling takes longer than finding: names of C++ and Rust are kept, until they are too
  // many.
  if (names.shown.size() >= kMaxNames)
    names = {};
  // Numbers go up by one from 1, for the empty text has 0: a new one is that of the next in
  // `shown`.
  auto number = static_cast<size_t>(names.linker_names.intern(call.function));
  if (number == names.shown.size())
    names.shown.push_back(display_name(call.function, source, form_));
  return names.shown[number];
}

void print_text(const Answer& answer, ShownNames& names) {
  constexpr size_t kUsually = 512;
  std::string text;
  text.reserve(kUsually);
  append_question(answer, text);
  if (answer.calls.empty())
    text += fmt::format(" ?? ({}){}\n", printable(answer.reason), place(answer));
  for (size_t i = 0; i < answer.calls.size(); i++) {
    text += i == 0 ? " " : "  (inlined by) ";
    append_call(answer.calls[i], answer.source, names, text);
  }
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const Answer& answer, ShownNames& names, JsonWriter& json) {
  json.clear();
  json.begin_object();
  if (!answer.name.empty())
    json.field("name", answer.name);
  if (!answer.build_id.empty()) {
    json.field("build_id", answer.build_id);
    json.field("offset", fmt::format("{:#x}", answer.offset));
  } else if (answer.name.empty() || !answer.calls.empty()) {
    std::string address;
    append_address(answer.address, address);
    json.field("address", address);
  }
  if (!answer.image.empty())
    json.field("image", answer.image);
  if (answer.image_address)
    json.field("image_address", fmt::format("{:#x}", to_integer(*answer.image_address)));
  json.key("frames");
  json.begin_array();
  for (const Call& call : answer.calls)
    write_frame(call, answer.source, names, json);
  json.end_array();
  if (answer.calls.empty())
    json.field("reason", answer.reason);
  json.end_object();
  (void)std::fwrite(json.text().data(), 1, json.text().size(), stdout);
  (void)std::fputc('\n', stdout);
}

namespace {

// A longer line is no address; the limit keeps memory small whatever comes in.
constexpr size_t kLongestLine = 4096;
// Bytes that are read at once. The more addresses are answered together, in order, the less of
// the tables that name them is read twice.
constexpr size_t kChunk = 256 << 10;

}  // namespace

AddressLines::AddressLines(int stream)
    : ItemLines(
          stream,
          [](std::string_view line) {
            auto address = parse_hex(take_word(line));
            return take_word(line).empty() ? address : std::nullopt;
          },
          "a hexadecimal address") {}

template <class Item>
Result<std::vector<Item>> ItemLines<Item>::next() {
  // Addresses before a wrong line are answered first; the line is met again by the next call,
  // with none before it, and is then the error.
  std::vector<Item> items;
  while (true) {
    auto taken = take(items);
    if (!items.empty())
      return items;
    if (!taken)
      return std::move(taken).error();
    if (is_end_)
      return items;
    if (auto read = read_more(); !read)
      return std::move(read).error();
  }
}

// Whole lines, up to the first that is wrong: it stays, and is met again.
template <class Item>
Result<> ItemLines<Item>::take(std::vector<Item>& items) {
  std::string_view rest = pending_;
  Result<> result = Ok{};
  // The last line may lack its end.
  while (rest.find('\n') != std::string_view::npos || (is_end_ && !rest.empty())) {
    std::string_view after = rest;
    std::string_view line = take_line(after);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    auto item = parse_(line);
    std::string_view word = take_word(line);
    // Empty lines are passed over.
    if (!word.empty() && !item) {
      result = errorf("standard input, line {}: '{}' is not {}", line_number_ + 1,
                      printable(word), what_);
      break;
    }
    if (item)
      items.push_back(*std::move(item));
    line_number_++;
    rest = after;
  }
  pending_.erase(0, pending_.size() - rest.size());
  return result;
}

template <class Item>
Result<> ItemLines<Item>::read_more() {
  // next() has taken all whole lines, so that what is left is the begin of one.
  if (pending_.size() > kLongestLine)
    return errorf("standard input, line {}: longer than {} bytes", line_number_ + 1,
                  kLongestLine);
  size_t old_size = pending_.size();
  pending_.resize(old_size + kChunk);
  ssize_t count = read_part(stream_, std::span(pending_).subspan(old_size));
  pending_.resize(old_size + static_cast<size_t>(std::max(count, ssize_t{0})));
  if (count < 0)
    return system_error("cannot read standard input", errno);
  is_end_ = count == 0;
  return Ok{};
}

template class ItemLines<uint64_t>;
template class ItemLines<CodePlace>;

}  // namespace gosym
