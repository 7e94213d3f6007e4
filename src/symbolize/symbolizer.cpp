#include "symbolize/symbolizer.h"

#include <malloc.h>
#include <tsl/robin_map.h>
#include <xxhash.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/file_tree.h"
#include "base/sequence_pool.h"
#include "base/text.h"
#include "base/workers.h"
#include "elf/image.h"
#include "proc/kallsyms.h"
#include "proc/perf_map.h"
#include "profile/location_table.h"
#include "profile/rewrite_stacks.h"
#include "profile/told_code.h"
#include "symbolize/own_code.h"
#include "symbolize/symbol_cache.h"
#include "symbolize/symbol_source.h"

// symbolize() sorts the locations of a profile by image and gives each group to the function
// for its kind: files, the kernel, the vdso, code made at run time. Each of these writes
// frames, or the reason why there are none. Files are opened by FileSet, several at once where
// there are several threads; their answers are kept in NamedFile, so that a profile that
// follows asks only for what is new.
namespace gosym {

namespace {

struct FunctionHash {
  size_t operator()(const Function& function) const {
    const uint32_t words[] = {static_cast<uint32_t>(function.name),
                              static_cast<uint32_t>(function.system_name),
                              static_cast<uint32_t>(function.file), function.start_line};
    return XXH3_64bits(words, sizeof(words));
  }
};

// A file may have any number of names of 64 KiB, each a part of the other, and a perf map
// longer ones. Those of templates of C++ have some thousand bytes at times.
constexpr size_t kMaxName = 4096;

// The beginning of a name that is too long. Its size and a hash tell the rest, so that names
// that differ still do.
std::string shortened(std::string_view name) {
  return fmt::format("{}...[{} bytes, {:08x}]", beginning_of(name, kMaxName), name.size(),
                     XXH32(name.data(), name.size(), 0));
}

// Appends frames to a profile, each distinct function once.
class FrameWriter {
public:
  FrameWriter(Profile& profile, NameForms forms) : profile_(profile), forms_(forms) {}

  // Names that were cut.
  uint64_t cut_names() const { return cut_names_; }

  void write(Location& location, const std::vector<Call>& calls, FrameSource source) {
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    location.frame_count = static_cast<uint32_t>(calls.size());
    for (const Call& call : calls)
      profile_.frames.push_back({intern(call, source), call.line, source, call.kind});
  }

private:
  struct Names {
    StringId name{};
    StringId system_name{};
    StringId package{};
  };
  struct NameKey {
    StringId linker_name;
    uint32_t source;  // as wide as the other, for it is hashed with it
    bool operator==(const NameKey&) const = default;
  };

  FunctionId intern(const Call& call, FrameSource source) {
    // The name is looked up without the place, as one function may have many.
    Names names = names_of(call.function, source);
    if (names.package == StringId{} && is_go(source))
      names.package = intern(package_of_assembly(call.file));
    Function function{names.name,      names.system_name, intern(call.file),
                      call.start_line, names.package,     intern(call.declared)};
    auto [known, is_new] =
        ids_.try_emplace(function, static_cast<FunctionId>(profile_.functions.size()));
    if (is_new)
      profile_.functions.push_back(function);
    return known->second;
  }

  // Each name is demangled once, not once an address.
  const Names& names_of(std::string_view linker_name, FrameSource source) {
    NameKey key{linker_names_.intern(linker_name), static_cast<uint32_t>(source)};
    auto [known, is_new] = names_.try_emplace(key);
    if (!is_new)
      return known->second;
    std::string name =
        display_name(linker_name, source, is_go(source) ? forms_.go : forms_.native);
    // The package is found by the linker's name too, which the shown one may have lost.
    StringId id = intern(name);
    known.value() = {id, forms_.has_system_names ? intern(linker_name) : id,
                     intern(package_of(linker_name, name, source))};
    return known->second;
  }

  StringId intern(std::string_view name) {
    if (name.size() <= kMaxName)
      return profile_.strings.intern(name);
    size_t before = profile_.strings.size();
    StringId id = profile_.strings.intern(shortened(name));
    // A name is counted when it is new, not for each of its frames.
    cut_names_ += profile_.strings.size() - before;
    return id;
  }

  Profile& profile_;
  NameForms forms_;
  uint64_t cut_names_ = 0;
  StringPool linker_names_;
  tsl::robin_map<NameKey, Names, BytesHash> names_;
  tsl::robin_map<Function, FunctionId, FunctionHash> ids_;
};

void symbolize_kernel(const Profile& profile, const std::vector<Location*>& locations,
                      std::string_view kernel_symbols, FrameWriter& frames) {
  Kallsyms kallsyms(kernel_symbols);
  for (Location* location : locations) {
    // Code that was loaded during the recording is not in the list that was read once.
    if (location->kernel_name != StringId{}) {
      std::string_view name = profile.strings[location->kernel_name];
      frames.write(*location, {{.function = name, .file = {}}}, FrameSource::kKernelCode);
      continue;
    }
    auto symbol = kallsyms.find(location->call_of(to_integer(location->address)));
    if (symbol)
      frames.write(*location, {{.function = symbol->name, .file = {}}}, FrameSource::kKallsyms);
    else
      location->unnamed = kallsyms.empty() ? Unnamed::kNoKernelSymbols : Unnamed::kNoSymbol;
  }
}

std::shared_ptr<NamedFile> open_named(const RecordedImage& image, const DebugFileOptions& files,
                                      SymbolCache& cache) {
  // A file that the recording keeps may come while a session goes on: what was opened before
  // at the path is then opened anew.
  bool is_held = cache.images.held.contains(image.id);
  if (auto known = cache.named.find(image.id); known && known->is_held == is_held)
    return known;
  auto opened = std::make_shared<NamedFile>();
  opened->is_held = is_held;
  opened->file = open_recorded(image, cache.images.open(image, files), files);
  // With one profile nothing is asked again: the file is closed when its names are read.
  if (cache.is_for_one)
    cache.images.forget(image.id);
  else
    cache.named.keep(image.id, opened);
  return opened;
}

std::string problem_of(const RecordedFile& file, const RecordedImage& image,
                       const std::map<ImageId, std::string>& file_problems) {
  std::string problem = file.problem;
  if (auto known = file_problems.find(image.id); known != file_problems.end())
    problem +=
        (problem.empty() ? "not all of it is in the recording: " : "; not in the recording: ") +
        known->second;
  return problem.empty() && file.symbols ? file.symbols->search_problem() : problem;
}

// Files with the locations that are in them, those of one after those of the other.
class FileSet {
public:
  // `by_image` has the locations of each image of the profile, and must outlive this.
  FileSet(const Profile& profile, const std::vector<std::vector<Location*>>& by_image,
          const DebugFileOptions& files, SymbolCache& cache)
      : profile_(profile), by_image_(by_image), files_(files), cache_(cache) {}

  // Images are asked for in their order, without those that open_from() passes over: what is
  // taken is the next that was opened. Several files are open at once where there are several
  // threads: each asks one of them for all of its names.
  std::shared_ptr<NamedFile> open(size_t image) {
    if (opened_.empty())
      open_from(image);
    std::shared_ptr<NamedFile> named = std::move(opened_.back());
    opened_.pop_back();
    return named;
  }

private:
  void open_from(size_t image) {
    std::vector<std::span<Location* const>> locations;
    // Opens as many files as there are threads: each thread asks one of them alone, since
    // sources are not made for two.
    for (; image < by_image_.size() && opened_.size() < worker_limit; image++) {
      const ProfileImage& next = profile_.images[image];
      if (next.kind != ProfileImage::Kind::kFile || by_image_[image].empty())
        continue;
      opened_.push_back(open_named(next.file, files_, cache_));
      locations.emplace_back(by_image_[image]);
    }
    // symbolize_file() asks one that is alone.
    if (opened_.size() > 1)
      share_work(opened_.size(), [&](size_t i) { ask(*opened_[i], locations[i]); });
    // open() takes from the back.
    std::ranges::reverse(opened_);
  }

  static void ask(NamedFile& named, std::span<Location* const> locations) {
    // More answers than are kept would be forgotten before they are used; symbolize_file()
    // asks then. There are never more than kMaxAnswers: find() sees to it.
    if (!named.file.symbols || locations.size() > NamedFile::kMaxAnswers - named.answers.size())
      return;
    for (const Location* location : locations)
      if (location->image_address)
        named.find(location->call_in_image());
  }

  const Profile& profile_;
  const std::vector<std::vector<Location*>>& by_image_;
  const DebugFileOptions& files_;
  SymbolCache& cache_;
  std::vector<std::shared_ptr<NamedFile>> opened_;  // the next one last
};

void symbolize_file(std::span<Location* const> locations, NamedFile& named,
                    FrameWriter& frames) {
  const RecordedFile& file = named.file;
  for (Location* location : locations) {
    location->unnamed = file.unnamed;
    if (!file.symbols)
      continue;
    // The reason, which holds unless a name is found below.
    location->unnamed =
        file.symbols->has_code_names() ? Unnamed::kNoSymbol : Unnamed::kStripped;
    if (!location->image_address)
      continue;
    const NamedFile::Answer& answer = named.find(location->call_in_image());
    if (answer.source)
      frames.write(*location, answer.calls, *answer.source);
  }
}

// Notes what the report says of a file beside its names.
void note_file(const RecordedFile& file, bool is_held, ProfileImage& image,
               SymbolizerReport& report) {
  if (!file.symbols)
    return;
  image.is_told_by_time = !is_held && is_told_by_time(image.file);
  image.own = own_code_of(*file.symbols, image.file.path);
  if (const auto& debug_file = file.symbols->debug_file())
    report.debug_files[image.file.path] = debug_file->path;
}

// A process of 32 bits has another vdso than the one recorded, which is that of the recorder.
bool is_64_bit(const Location& location) {
  return to_integer(location.address) > UINT32_MAX;
}

void symbolize_vdso(const std::vector<Location*>& locations, std::string_view vdso,
                    FrameWriter& frames) {
  auto image = elf::parse(as_bytes(vdso));
  // The vdso has no table of symbols but that of those it exports.
  auto symbols = image ? open_dynsym_source(*image) : nullptr;
  std::vector<Call> calls;
  for (Location* location : locations) {
    location->unnamed = Unnamed::kVdso;
    calls.clear();
    // Each location of the vdso has an address in its image: find_image_address().
    ImageAddress address = location->call_in_image();
    // A 32-bit process would be named by tables of other code.
    if (symbols && is_64_bit(*location) && symbols->find(address, calls))
      frames.write(*location, calls, FrameSource::kVdso);
  }
}

void symbolize_by_perf_map(const std::vector<Location*>& locations, const RecordedPerfMap& map,
                           FrameWriter& frames) {
  auto place_of = [](const Location& location) {
    return proc::PerfMapPlace{location.call_of(to_integer(location.address)),
                              location.told_size};
  };
  // All places are looked for in one pass: a map may have millions of lines.
  std::set<proc::PerfMapPlace> places;
  for (const Location* location : locations)
    places.insert(place_of(*location));
  auto names = proc::find_in_perf_map(map.text, places);
  for (Location* location : locations) {
    // The reason, unless a name is found below: no map, or a map that does not list the code.
    location->unnamed = map.text.empty() ? Unnamed::kAnonymous : Unnamed::kUnlisted;
    auto name = names.find(place_of(*location));
    if (name != names.end())
      frames.write(*location, {{.function = name->second, .file = {}}}, FrameSource::kPerfMap);
  }
}

bool is_remade(const Location& location) {
  return location.told_size != ToldCode::kAll;
}

// Code that no file holds. Each process names its own, if it does.
void symbolize_anonymous(const Profile& profile, const std::vector<Location*>& locations,
                         std::span<const RecordedPerfMap> perf_maps, FrameWriter& frames,
                         SymbolizerReport& report) {
  std::map<uint32_t, std::vector<Location*>> by_map;
  for (Location* location : locations) {
    location->unnamed = Unnamed::kAnonymous;
    by_map[profile.mappings[to_index(location->mapping)].perf_map].push_back(location);
  }
  // Maps are numbered from 1: code with number 0 has none.
  for (const auto& [number, covered] : by_map) {
    if (number == 0 || number > perf_maps.size())
      continue;
    const RecordedPerfMap& map = perf_maps[number - 1];
    if (!map.problem.empty())
      report.image_problems[map.path] = map.problem;
    symbolize_by_perf_map(covered, map, frames);
    report.remade_places += static_cast<uint64_t>(std::ranges::count_if(
        covered, [](const Location* location) { return is_remade(*location); }));
  }
}

}  // namespace

const NamedFile::Answer& NamedFile::find(ImageAddress address) {
  if (answers.size() >= kMaxAnswers)
    answers.clear();
  auto [known, is_new] = answers.try_emplace(to_integer(address));
  Answer& answer = known.value();
  if (!is_new)
    return answer;
  // Whoever asks has seen that the file has symbols.
  answer.source = file.symbols->find(address, answer.calls);
  if (answer.source)
    return answer;
  // The begin of a function, from the call frame information, still tells it from others.
  if (auto function = file.symbols->find_nameless(address)) {
    answer.calls = {{.function = function->name, .file = {}}};
    answer.source = FrameSource::kCallFrames;
  }
  return answer;
}

// The heap keeps more of large files that were closed than all the rest takes.
void SymbolCache::begin_profile() {
  bool has_closed = named.begin_profile();
  has_closed |= images.begin_profile();
  if (has_closed)
    malloc_trim(0);
}

SymbolizerReport symbolize(Profile& profile, const RecordedSymbols& recorded, NameForms forms,
                           const DebugFileOptions& files, SymbolCache& cache) {
  SymbolizerReport report;
  FrameWriter frames(profile, forms);
  std::vector<std::vector<Location*>> by_image(profile.images.size());
  for (Location& location : profile.locations) {
    // Locations that stand for no code, or that a profile brought with names, are left as they
    // are.
    if (is_no_code(location.unnamed) || location.frame_count > 0)
      continue;
    location.unnamed = Unnamed::kUnmapped;
    if (location.mapping != kNoMapping)
      by_image[profile.mappings[to_index(location.mapping)].image].push_back(&location);
  }
  // In a file by address, so that each unit of debugging information is read once.
  for (size_t i = 0; i < by_image.size(); i++)
    if (profile.images[i].kind == ProfileImage::Kind::kFile)
      std::ranges::stable_sort(by_image[i], {}, &Location::image_address);
  FileSet opened(profile, by_image, files, cache);
  for (size_t i = 0; i < by_image.size(); i++) {
    ProfileImage& image = profile.images[i];
    if (by_image[i].empty())
      continue;
    switch (image.kind) {
      case ProfileImage::Kind::kFile: {
        auto named = opened.open(i);
        symbolize_file(by_image[i], *named, frames);
        // The next profile mostly asks for addresses that have answers already.
        if (named->file.symbols)
          named->file.symbols->forget_pages();
        note_file(named->file, named->is_held, image, report);
        std::string problem = problem_of(named->file, image.file, cache.images.file_problems);
        if (!problem.empty())
          report.image_problems[image.file.path] = problem;
        break;
      }
      case ProfileImage::Kind::kKernel:
        symbolize_kernel(profile, by_image[i], recorded.kernel, frames);
        break;
      case ProfileImage::Kind::kVdso:
        symbolize_vdso(by_image[i], recorded.vdso, frames);
        break;
      case ProfileImage::Kind::kAnonymous:
        symbolize_anonymous(profile, by_image[i], recorded.perf_maps, frames, report);
        break;
    }
  }
  for (const Location& location : profile.locations)
    if (location.frame_count > 0)
      report.locations_by_source[profile.frames[location.first_frame].source]++;
  report.cut_names = frames.cut_names();
  return report;
}

SymbolizerReport symbolize(Profile& profile, const RecordedSymbols& recorded, NameForms forms,
                           const DebugFileOptions& files) {
  SymbolCache cache;
  cache.is_for_one = true;
  return symbolize(profile, recorded, forms, files, cache);
}

namespace {

RecordedFile accept(std::unique_ptr<ImageSymbols> symbols) {
  std::string problem = symbols->problem();
  return {.symbols = std::move(symbols),
          .unnamed = Unnamed::kNotSymbolized,
          .problem = std::move(problem)};
}

}  // namespace

Result<std::unique_ptr<ImageSymbols>> open_by_id(const std::string& id, const std::string& name,
                                                 const DebugFileOptions& options) {
  if (id.empty())
    return std::unique_ptr<ImageSymbols>();
  auto found = open_stored_file(id, options);
  if (found && *found)
    return ImageSymbols::open((*found)->binary, (*found)->path, options);
  // An index that is of use saves a download. If it is not, the servers may still have the
  // file.
  auto index = open_stored_index(id, options);
  if (index && index->file) {
    auto symbols = ImageSymbols::open_index(std::move(index->file), index->path, id);
    if (symbols)
      return symbols;
    index =
        std::move(symbols).error().context(fmt::format("index '{}'", printable(index->path)));
  }
  // Problems are told only if nothing was found at all, those of the nearest place first.
  auto fetched = fetch_debug_file(id, name, options);
  if (fetched && *fetched)
    return ImageSymbols::open((*fetched)->binary, (*fetched)->path, options);
  if (!found)
    return std::move(found).error();
  if (!index)
    return std::move(index).error();
  if (!fetched)
    return std::move(fetched).error();
  return std::unique_ptr<ImageSymbols>();
}

RecordedFile open_recorded(const RecordedImage& image, const RecordedBinary& binary,
                           const DebugFileOptions& options) {
  if (binary.binary)
    return accept(ImageSymbols::open(binary.binary, image.path, options));
  RecordedFile file = {
      .symbols = nullptr, .unnamed = binary.unnamed, .problem = binary.problem};
  // A file that was not identified when it was recorded cannot be known again anywhere.
  if (file.unnamed == Unnamed::kUnidentified)
    return file;
  // A debug file has the names also where the binary is gone.
  auto symbols = open_by_id(store_id(image), image.path, options);
  if (!symbols)
    file.problem += "; " + symbols.error().message();
  if (!symbols || !*symbols)
    return file;
  return accept(*std::move(symbols));
}

RecordedFile open_recorded(const RecordedImage& image, const DebugFileOptions& options,
                           const HeldFiles& held) {
  return open_recorded(image, open_recorded_binary(image, options, held), options);
}

namespace {

// The file of an image, at its path or in a store. By an id only: the profile has no size and
// time to compare, and a file at the path may be of another build. Null if there is none.
std::shared_ptr<Binary> find_by_id(const RecordedImage& image, const DebugFileOptions& files) {
  UniqueFd found = find_file(image.path, files.symfs);
  auto file = found ? MappedFile::open(found) : Error("not found");
  auto binary = file ? Binary::open(*std::move(file)) : std::move(file).error();
  if (binary) {
    // There is one of the ids: identify() has looked.
    elf::BuildIds ids = elf::build_ids((*binary)->image());
    if (image.gnu_build_id.empty() ? image.go_build_id == ids.go
                                   : image.gnu_build_id == ids.gnu)
      return *std::move(binary);
  }
  auto stored = open_stored_file(store_id(image), files);
  return stored && *stored ? (*stored)->binary : nullptr;
}

// Finds what a recording would have noted of a file of this build. `problem` says why it
// cannot, if there is no id to look for; of a file that is not there open_recorded() tells.
void identify(RecordedImage& image, const DebugFileOptions& files) {
  if (image.gnu_build_id.empty() && image.go_build_id.empty()) {
    image.problem = "the profile has no build id of it";
    return;
  }
  std::shared_ptr<Binary> binary = find_by_id(image, files);
  if (!binary)
    return;
  // From here on the image is as if it had been recorded, so that the same code names it.
  const elf::Image& now = binary->image();
  elf::BuildIds ids = elf::build_ids(now);
  image.gnu_build_id = ids.gnu;
  image.go_build_id = ids.go;
  image.size = now.file.size();
  image.mtime_ns = binary->mtime_ns();
  image.segments = elf::load_segments(now);
}

// Sets the addresses in their files of code without a name.
void find_image_addresses(Profile& profile, const DebugFileOptions& files) {
  std::vector<bool> is_identified(profile.images.size());
  for (Location& location : profile.locations) {
    if (location.frame_count > 0 || location.mapping == kNoMapping)
      continue;
    uint32_t number = profile.mappings[to_index(location.mapping)].image;
    ProfileImage& image = profile.images[number];
    if (image.kind == ProfileImage::Kind::kFile && !is_identified[number])
      identify(image.file, files);
    is_identified[number] = true;
    location.image_address = profile.find_image_address(location);
  }
}

}  // namespace

// Each name is the linker's, or what another tool made of it.
void show_names(Profile& profile, NameForms forms) {
  // All frames of a function have one source. A name without frames is shown as it is.
  std::vector<FrameSource> sources(profile.functions.size(), FrameSource::kCallFrames);
  for (const Frame& frame : profile.frames)
    sources[to_index(frame.function)] = frame.source;
  for (size_t i = 0; i < sources.size(); i++) {
    Function& function = profile.functions[i];
    std::string given(profile.strings[function.name]);
    std::string shown =
        display_name(given, sources[i], is_go(sources[i]) ? forms.go : forms.native);
    std::string package = package_of(given, shown, sources[i]);
    if (package.empty() && is_go(sources[i]))
      package = package_of_assembly(profile.strings[function.file]);
    // The package is told by the name as it was given, so before that is replaced.
    function.package = profile.strings.intern(package);
    function.name = profile.strings.intern(shown);
    if (!forms.has_system_names)
      function.system_name = function.name;
  }
}

SymbolizerReport name_given(Profile& profile, NameForms forms, const DebugFileOptions& files) {
  show_names(profile, forms);
  find_image_addresses(profile, files);
  return symbolize(profile, {}, forms, files);
}

}  // namespace gosym
