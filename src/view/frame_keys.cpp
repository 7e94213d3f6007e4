#include "view/frame_keys.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/percent.h"
#include "base/sequence_pool.h"
#include "base/text.h"
#include "model/container.h"
#include "profile/own_code.h"
#include "view/category.h"

// Keys of frames are made once a profile: KeyTable goes through all locations and numbers what
// is the same in the dimension, by KeyIdentity. Keys of samples are made of texts
// (text_of_sample()), of which there are few, or of processes and programs in the order of
// their amounts.
namespace gosym {

namespace {

using Kind = Dimension::Kind;

// Numbers that tell a key from the others of its dimension; what a dimension has no use for
// is 0.
struct KeyIdentity {
  uint32_t text = 0;  // a string, or a reason why there is none
  uint32_t image = 0;
  uint32_t line = 0;
  uint32_t file = 0;
  uint64_t address = 0;
  bool operator==(const KeyIdentity&) const = default;
};

// The hash of several texts: that of each is the seed of the next.
uint64_t hash_of(std::string_view text, uint64_t before) {
  return XXH3_64bits_withSeed(text.data(), text.size(), before);
}

uint64_t hash_of(const ProfileImage& image) {
  ImageIdentity file(image.file);
  std::string numbers = fmt::format("{} {} {} {}", static_cast<int>(image.kind), file.size,
                                    file.mtime_ns, file.is_deleted);
  return hash_of(numbers, hash_of(file.build_id, hash_of(file.path, 0)));
}

std::string image_text(const Profile& profile, uint32_t image) {
  const ProfileImage& of = profile.images[image];
  switch (of.kind) {
    case ProfileImage::Kind::kKernel:
      return "[kernel]";
    case ProfileImage::Kind::kVdso:
      return "[vdso]";
    case ProfileImage::Kind::kAnonymous:
      // Image 0 of every profile stands for what has no mapping.
      return image == 0 ? "[no mapping]" : "[anonymous]";
    case ProfileImage::Kind::kFile:
      break;
  }
  // The recording may not describe the image: then nothing is known of it.
  return of.file.path.empty() ? "[unidentified]" : printable(base_name(of.file.path));
}

// Tells a function from others of its name in its file: static ones of several sources.
// Not the file of its lines, for code of one may come from several, by #include; and only the
// name of that which declares it, for units that are compiled elsewhere write other paths. Go
// has one function of a name. Functions of a profile that was read (kGiven) may have neither a
// line nor a declaration: these are told apart by their files.
std::string home_of(const Profile& profile, const Function& function, FrameSource source) {
  if (is_go(source))
    return {};
  if (function.declared != StringId{})
    return fmt::format("{}:{}", base_name(profile.strings[function.declared]),
                       function.start_line);
  if (function.start_line > 0)
    return fmt::format(":{}", function.start_line);
  return source == FrameSource::kGiven ? std::string(profile.strings[function.file])
                                       : std::string();
}

// Numbers the keys of frames in one dimension.
class KeyTable {
public:
  KeyTable(const Profile& profile, Kind kind) : profile_(profile), kind_(kind) {
    for (const ProfileImage& image : profile.images)
      image_hashes_.push_back(hash_of(image));
  }

  KeyId of(const Location& location, const Frame& frame) {
    bool is_named = frame.source != FrameSource::kCallFrames;
    // Functions and lines without a name still have the begin of their code to be told apart
    // by, from the call frame information; other dimensions know nothing of them.
    if (!is_named && kind_ != Kind::kFunction && kind_ != Kind::kLine)
      return of_unnamed(location);
    const Function& function = profile_.functions[to_index(frame.function)];
    uint32_t image = image_of(location);
    ViewKey key = {
        .image = image, .is_named = is_named, .is_kernel = profile_.is_kernel(location)};
    switch (kind_) {
      case Kind::kFunction:
        // Namesakes in one image are told apart by home_of(): the number of the function would
        // split one whose lines come from several files.
        return number_function(
            {static_cast<uint32_t>(function.name), image, 0, home_number(frame)}, frame, key);
      case Kind::kLine:
        // The line is of the function's file, which is one of several by #include: here that
        // tells lines apart, and not home_of().
        key.line = frame.line;
        return number_function({static_cast<uint32_t>(function.name), image, frame.line,
                                static_cast<uint32_t>(function.file)},
                               frame, key);
      case Kind::kFile:
        if (function.file == StringId{})
          return number_text(fmt::format("[no file: {}]", module_text(image)), key);
        return number_text(profile_.strings[function.file], key);
      case Kind::kPackage:
        if (function.package == StringId{})
          return number_text(module_text(image), key);
        return number_text(profile_.strings[function.package], key);
      case Kind::kCategory:
        return number_category(profile_.strings[function.name],
                               profile_.strings[function.package],
                               is_surely_own(profile_, location, frame), key);
      default:
        return of_code(location, key);
    }
  }

  // The key of a location without frames.
  KeyId of_unnamed(const Location& location) {
    uint32_t image = image_of(location);
    ViewKey key = {
        .image = image, .is_named = false, .is_kernel = profile_.is_kernel(location)};
    key.is_gap = location.unnamed == Unnamed::kLeftOut;
    if (is_no_code(location.unnamed)) {
      // kPart: FrameKeys::append() looks no further for a caller with a kind of work.
      key.category = Category::Kind::kPart;
      return number_text(profile_.unnamed_text(location), key);
    }
    if (kind_ == Kind::kAddress || kind_ == Kind::kModule)
      return of_code(location, key);
    // Code without a name would else be as many entries as there are addresses: it is put
    // together by the reason, and the file if that is at fault.
    std::string group = unnamed_group(location.unnamed, profile_.images[image]);
    if (kind_ == Kind::kPackage)
      group = module_text(image);
    if (kind_ == Kind::kCategory)
      return number_category({}, {}, false, key);
    return number_text(group, key);
  }

  std::vector<ViewKey> take() && { return std::move(keys_); }

private:
  uint32_t image_of(const Location& location) const {
    return profile_.mappings[to_index(location.mapping)].image;
  }

  // Dimensions that names do not matter for.
  KeyId of_code(const Location& location, const ViewKey& key) {
    if (kind_ == Kind::kModule)
      return number_text(module_text(key.image), key);
    uint64_t address = location.image_address ? to_integer(*location.image_address)
                                              : to_integer(location.address);
    ViewKey named = key;
    named.text = profile_.is_named(location)
                     ? fmt::format("{}+{:#x}", module_text(key.image), address)
                     : printable(profile_.unnamed_text(location));
    // The text has the file's name alone: the hash of the image tells two builds apart.
    named.identity = hash_of(named.text, image_hashes_[key.image]);
    return number({0, key.image, 0, 0, address}, named);
  }

  std::string module_text(uint32_t image) const { return image_text(profile_, image); }

  // A package that the program's authors wrote is named as such.
  KeyId number_category(std::string_view name, std::string_view package, bool is_of_authors,
                        ViewKey key) {
    std::string module = module_text(key.image);
    Category category = category_of(name, package, module, key.is_kernel);
    key.category = category.kind;
    if (category.kind == Category::Kind::kPart && is_of_authors)
      return number_text(fmt::format("own code: {}", category.text), key);
    return number_text(category.text, key);
  }

  // A key that nothing but its text tells apart.
  KeyId number_text(std::string_view text, ViewKey key) {
    key.text = printable(text);
    StringId id = texts_.intern(key.text);
    key.identity = hash_of(key.text, 0);
    // UINT32_MAX is no image: such a key never equals one that belongs to an image.
    return number({static_cast<uint32_t>(id), UINT32_MAX}, key);
  }

  KeyId number(KeyIdentity identity, const ViewKey& key) {
    auto [known, is_new] = known_.try_emplace(identity, static_cast<KeyId>(keys_.size()));
    if (is_new)
      keys_.push_back(key);
    return known->second;
  }

  // The text is made once a key, not once a frame.
  KeyId number_function(KeyIdentity identity, const Frame& frame, ViewKey key) {
    size_t before = keys_.size();
    key.function = frame.function;
    KeyId id = number(identity, key);
    if (keys_.size() > before)
      describe(keys_.back(), frame);
    return id;
  }

  void describe(ViewKey& key, const Frame& frame) {
    const Function& function = profile_.functions[to_index(frame.function)];
    key.text = text_of(key);
    // Identities are hashes of names, and not numbers of this profile: they must be equal in
    // other profiles of the same code.
    uint64_t hash = hash_of(profile_.strings[function.name], image_hashes_[key.image]);
    key.function_identity = hash_of(home_of(profile_, function, frame.source), hash);
    key.identity = key.function_identity;
    if (kind_ == Kind::kLine)
      key.identity =
          hash_of(fmt::format("{}:{}", profile_.strings[function.file], key.line), hash);
  }

  // The number of what home_of() says; the same wherever it says nothing.
  uint32_t home_number(const Frame& frame) {
    if (is_go(frame.source))
      return 0;
    // One function may be named by two sources, and home_of() depends on which it is.
    uint64_t key = to_index(frame.function) * 2 + (frame.source == FrameSource::kGiven ? 1 : 0);
    auto [known, is_new] = home_numbers_.try_emplace(key);
    if (is_new)
      known.value() = static_cast<uint32_t>(homes_.intern(
          home_of(profile_, profile_.functions[to_index(frame.function)], frame.source)));
    return known->second;
  }

  std::string text_of(const ViewKey& key) const {
    const Function& function = profile_.functions[to_index(key.function)];
    std::string name = printable(profile_.strings[function.name]);
    if (kind_ != Kind::kLine || key.line == 0)
      return name;
    return fmt::format("{} {}:{}", name, printable(base_name(profile_.strings[function.file])),
                       key.line);
  }

  const Profile& profile_;
  Kind kind_;
  StringPool texts_;
  StringPool homes_;
  tsl::robin_map<uint64_t, uint32_t> home_numbers_;  // by function, and whether it is given
  std::vector<uint64_t> image_hashes_;
  std::vector<ViewKey> keys_;
  tsl::robin_map<KeyIdentity, KeyId, BytesHash> known_;
};

constexpr std::string_view kNoText = "(none)";

// A set may have several values of one key; the text lists them.
std::string label_text(const Profile& profile, uint32_t set, std::string_view key) {
  std::string text;
  for (const ProfileLabel& label : profile.label_sets[set])
    if (profile.strings[label.key] == key)
      text += (text.empty() ? "" : ", ") + std::string(profile.strings[label.value]);
  return text;
}

// An empty text says that the sample has none: sample_keys() makes "(none)" of it. Processes
// and programs have their own functions, and do not come here.
std::string text_of_sample(const Profile& profile, const SampleCount& sample,
                           const Hosts& hosts, const Dimension& dimension) {
  const Owner& owner = profile.owner(sample);
  std::string_view comm = profile.strings[owner.comm];
  std::string_view cgroup = profile.strings[owner.cgroup];
  switch (dimension.kind) {
    case Kind::kThread:
      return fmt::format("{} ({}){}", comm, owner.tid, hosts.suffix(hosts.of(owner)));
    case Kind::kComm:
      return std::string(comm);
    case Kind::kLabel:
      return label_text(profile, owner.label_set, dimension.label);
    case Kind::kCgroup:
      return std::string(cgroup);
    case Kind::kContainer:
      return std::string(container_id(cgroup));
    case Kind::kGoroutine:
      return owner.goid == 0 ? std::string() : std::to_string(owner.goid);
    // Aligned, so that the order by name is that of the numbers.
    case Kind::kCpu:
      return fmt::format("CPU {:>5}", sample.cpu);
    case Kind::kTime:  // aligned, so that it is in order by name
      return fmt::format("{:12.3f} s", to_seconds(sample.step * profile.time_step));
    case Kind::kHost:
      return std::string(hosts.name(hosts.of(owner)));
    case Kind::kRecording:
      return owner.recording < profile.recordings.size()
                 ? profile.recordings[owner.recording].name
                 : std::string();
    case Kind::kState:
      return std::string(profile.strings[owner.state]);
    case Kind::kWaker:
      return std::string(profile.strings[owner.waker]);
    default:
      return {};
  }
}

// All that the text is made of. Of a million samples there are a few hundred of them. Takes
// the same dimensions as text_of_sample().
std::array<uint64_t, 3> identity_of(const Profile& profile, const SampleCount& sample,
                                    const Hosts& hosts, Kind kind) {
  const Owner& owner = profile.owner(sample);
  switch (kind) {
    case Kind::kThread:
      return {static_cast<uint64_t>(owner.comm), owner.tid, hosts.of(owner)};
    case Kind::kComm:
      return {static_cast<uint64_t>(owner.comm)};
    case Kind::kLabel:
      return {owner.label_set};
    case Kind::kCgroup:
    case Kind::kContainer:
      return {static_cast<uint64_t>(owner.cgroup)};
    case Kind::kGoroutine:
      return {owner.goid};
    case Kind::kCpu:
      return {sample.cpu};
    case Kind::kTime:
      return {sample.step};
    case Kind::kHost:
    case Kind::kRecording:
      return {owner.recording};
    case Kind::kState:
      return {static_cast<uint64_t>(owner.state)};
    case Kind::kWaker:
      return {static_cast<uint64_t>(owner.waker)};
    default:
      return {};
  }
}

SampleKeys process_keys(const Profile& profile, std::span<const SampleCount> samples,
                        const Hosts& hosts) {
  SampleKeys result;
  std::map<std::pair<uint32_t, uint32_t>, KeyId> keys;
  for (const ProfiledProcess& process : find_processes(profile, samples, hosts)) {
    keys[{process.host, process.pid}] = static_cast<KeyId>(result.keys.size());
    result.keys.push_back(
        {.text = printable(fmt::format("{} ({}){}", profile.strings[process.comm], process.pid,
                                       hosts.suffix(process.host)))});
  }
  // find_processes() has the process of each of these samples.
  for (const SampleCount& sample : samples)
    result.ids.push_back(keys[{hosts.of(profile.owner(sample)), profile.owner(sample).pid}]);
  return result;
}

// Each sample has the key of its innermost frame. "(none)" is for a sample without a stack, and
// for one whose stack has only a gap (Unnamed::kLeftOut) in a dimension where gaps have no key.
SampleKeys leaf_keys(const Profile& profile, std::span<const SampleCount> samples, Kind kind) {
  FrameKeys frames(profile, kind);
  SampleKeys result;
  result.keys.assign(frames.all().begin(), frames.all().end());
  auto none = static_cast<KeyId>(result.keys.size());
  result.keys.push_back({.text = std::string(kNoText)});
  std::vector<KeyId> ids;
  for (const SampleCount& sample : samples) {
    ids.clear();
    frames.append(profile.stack(sample.stack), ids);
    result.ids.push_back(ids.empty() ? none : ids.front());
  }
  return result;
}

}  // namespace

std::string unnamed_function(const Profile& profile, const Location& location) {
  return location.unnamed == Unnamed::kLeftOut
             ? profile.unnamed_text(location)
             : unnamed_group(location.unnamed, profile.image_of(location.mapping));
}

std::string unnamed_group(Unnamed unnamed, const ProfileImage& image) {
  if (image.kind == ProfileImage::Kind::kKernel)
    return "[kernel]";
  if (!is_about_file(unnamed) || image.file.path.empty())
    return fmt::format("[{}]", to_string(unnamed));
  return fmt::format("[{} {}]", to_string(unnamed), printable(base_name(image.file.path)));
}

std::string file_text(const Profile& profile, const ViewKey& key) {
  return image_text(profile, key.image);
}

std::string source_text(const Profile& profile, const ViewKey& key) {
  if (key.function == ViewKey::kNoFunction)
    return {};
  const Function& function = profile.functions[to_index(key.function)];
  StringId file = function.declared != StringId{} ? function.declared : function.file;
  return printable(base_name(profile.strings[file]));
}

FrameKeys::FrameKeys(const Profile& profile, Kind kind)
    : merges_neighbours_(kind != Kind::kFunction && kind != Kind::kLine &&
                         kind != Kind::kAddress) {
  KeyTable table(profile, kind);
  for (const Location& location : profile.locations) {
    for (const Frame& frame : profile.frames_of(location))
      ids_.push_back(table.of(location, frame));
    // A gap is a step of calls for functions, lines and addresses; dimensions that merge
    // neighbours pass over it.
    if (location.frame_count == 0 &&
        (location.unnamed != Unnamed::kLeftOut || !merges_neighbours_))
      ids_.push_back(table.of_unnamed(location));
    begins_.push_back(ids_.size());
  }
  keys_ = std::move(table).take();
}

const ViewKey* FrameKeys::find(const ChosenKey& chosen) const {
  auto found = std::ranges::find_if(keys_, [&](const ViewKey& key) { return chosen.is(key); });
  return found == keys_.end() ? nullptr : &*found;
}

ChosenKey FrameKeys::choose(const Profile& profile, const ViewKey& key) const {
  ChosenKey chosen{.text = key.text, .identity = key.identity};
  std::set<uint32_t> images;
  bool has_namesake_in_file = false;
  // A place is added only as far as it tells the key from others of its text: the file, and
  // within a file the source.
  for (const ViewKey& other : keys_) {
    if (other.text != key.text || other.identity == key.identity)
      continue;
    images.insert(other.image);
    has_namesake_in_file = has_namesake_in_file || other.image == key.image;
  }
  if (images.empty())
    return chosen;
  if (images.size() > 1 || !has_namesake_in_file)
    chosen.place = file_text(profile, key);
  if (has_namesake_in_file && key.function != ViewKey::kNoFunction) {
    uint32_t line = profile.functions[to_index(key.function)].start_line;
    chosen.place += (chosen.place.empty() ? "" : ", ") + source_text(profile, key) +
                    (line == 0 ? "" : fmt::format(":{}", line));
  }
  return chosen;
}

void FrameKeys::append(std::span<const LocationId> stack, std::vector<KeyId>& keys) const {
  size_t begin = keys.size();
  for (LocationId location : stack)
    for (KeyId key : of(location))
      if (!merges_neighbours_ || keys.size() == begin || keys.back() != key)
        keys.push_back(key);

  // Entries such as the copying of memory say nothing about the kind of work. They count for
  // the nearest caller with a kind, unless that is a part of the program that merely called
  // them.
  auto is_other = [&](KeyId id) { return (*this)[id].category == Category::Kind::kOther; };
  auto caller =
      std::find_if_not(keys.begin() + static_cast<ptrdiff_t>(begin), keys.end(), is_other);
  // `caller` is the innermost entry that says something. The entries before it go if it is
  // work, and on the same side of the system call.
  bool has_caller = caller != keys.end() && (*this)[*caller].category == Category::Kind::kWork;
  // The kernel works for a program: what called it tells nothing of how.
  if (has_caller && caller - keys.begin() > static_cast<ptrdiff_t>(begin) &&
      (*this)[*caller].is_kernel == (*this)[keys[begin]].is_kernel)
    keys.erase(keys.begin() + static_cast<ptrdiff_t>(begin), caller);
}

SampleKeys sample_keys(const Profile& profile, std::span<const SampleCount> samples,
                       const Dimension& dimension) {
  if (dimension.is_of_frames())
    return leaf_keys(profile, samples, dimension.kind);
  Hosts hosts(profile);
  if (dimension.kind == Kind::kProcess)
    return process_keys(profile, samples, hosts);
  if (dimension.kind == Kind::kProgram)
    return program_keys(profile, samples);
  SampleKeys result;
  tsl::robin_map<std::string, KeyId> known;
  auto key_of = [&](const SampleCount& sample) {
    std::string text = text_of_sample(profile, sample, hosts, dimension);
    text = text.empty() ? std::string(kNoText) : printable(text);
    auto [slot, is_new] = known.try_emplace(text, static_cast<KeyId>(result.keys.size()));
    if (is_new)
      result.keys.push_back({.text = text});
    return slot->second;
  };
  // Texts are made once per distinct identity, and numbered by text, for different identities
  // may have the same one.
  tsl::robin_map<std::array<uint64_t, 3>, KeyId, BytesHash> seen;
  for (const SampleCount& sample : samples) {
    auto identity = identity_of(profile, sample, hosts, dimension.kind);
    auto slot = seen.find(identity);
    if (slot == seen.end())
      slot = seen.try_emplace(identity, key_of(sample)).first;
    result.ids.push_back(slot->second);
  }
  return result;
}

SampleKeys program_keys(const Profile& profile, std::span<const SampleCount> samples) {
  // By process, as find_programs() names each by most of its samples: a sample that bears
  // another name is of that program all the same.
  Hosts hosts(profile);
  SampleKeys result;
  std::map<std::pair<uint32_t, uint32_t>, KeyId> keys;
  for (const ProfiledProgram& program : find_programs(profile, samples, hosts)) {
    for (const ProfiledProcess& process : program.processes)
      keys[{process.host, process.pid}] = static_cast<KeyId>(result.keys.size());
    result.keys.push_back({.text = printable(profile.strings[program.comm])});
  }
  for (const SampleCount& sample : samples)
    result.ids.push_back(keys[{hosts.of(profile.owner(sample)), profile.owner(sample).pid}]);
  return result;
}

std::vector<SampleKeys> program_groups(const Profile& profile,
                                       std::span<const SampleCount> samples) {
  constexpr double kAlmostAll = 95;  // percent
  std::vector<ProfiledProgram> programs = find_programs(profile, samples, Hosts(profile));
  // Groups would be noise if one program has nearly everything.
  uint64_t all = 0;
  for (const ProfiledProgram& program : programs)
    all += program.amount;
  std::vector<SampleKeys> groups;
  if (programs.size() > 1 && percent(programs[0].amount, all) < kAlmostAll)
    groups.push_back(program_keys(profile, samples));
  return groups;
}

namespace {

using Kind = Dimension::Kind;

struct DimensionName {
  std::string_view text;
  Kind kind;
};
constexpr DimensionName kNames[] = {
    {"function", Kind::kFunction},   {"line", Kind::kLine},
    {"file", Kind::kFile},           {"module", Kind::kModule},
    {"package", Kind::kPackage},     {"category", Kind::kCategory},
    {"address", Kind::kAddress},     {"process", Kind::kProcess},
    {"program", Kind::kProgram},     {"thread", Kind::kThread},
    {"comm", Kind::kComm},           {"label:KEY", Kind::kLabel},
    {"cgroup", Kind::kCgroup},       {"container", Kind::kContainer},
    {"goroutine", Kind::kGoroutine}, {"cpu", Kind::kCpu},
    {"time[:STEP]", Kind::kTime},    {"host", Kind::kHost},
    {"recording", Kind::kRecording}, {"state", Kind::kState},
    {"waker", Kind::kWaker},
};
// Names that perf and Go use for some dimensions.
constexpr DimensionName kAliases[] = {
    {"sym", Kind::kFunction}, {"symbol", Kind::kFunction}, {"srcline", Kind::kLine},
    {"srcfile", Kind::kFile}, {"dso", Kind::kModule},      {"pid", Kind::kProcess},
    {"tid", Kind::kThread},   {"reason", Kind::kState},
};
constexpr std::string_view kLabelPrefix = "label:";
constexpr std::string_view kTimePrefix = "time:";
constexpr uint64_t kLeastStep = 1'000'000;  // 32 bits of them are seven weeks

}  // namespace

Result<Dimension> parse_dimension(std::string_view text) {
  if (text.starts_with(kLabelPrefix) && text.size() > kLabelPrefix.size())
    return Dimension{Kind::kLabel, std::string(text.substr(kLabelPrefix.size()))};
  if (text.starts_with(kTimePrefix)) {
    auto step = parse_duration(text.substr(kTimePrefix.size()));
    if (!step || *step < kLeastStep)
      return errorf("'{}' is not a duration of 1ms or more, such as time:100ms",
                    printable(text));
    return Dimension{.kind = Kind::kTime, .step = *step};
  }
  // kNames has the forms that help shows. "time[:STEP]" is one, and no word to type;
  // "label:KEY" has been taken above as the label KEY.
  auto name = std::ranges::find(kNames, text, &DimensionName::text);
  if (text == "time")
    return Dimension{.kind = Kind::kTime};
  if (name != std::end(kNames) && name->kind != Kind::kTime)
    return Dimension{name->kind};
  auto alias = std::ranges::find(kAliases, text, &DimensionName::text);
  if (alias != std::end(kAliases))
    return Dimension{alias->kind};
  return errorf("'{}' is not one of {}", printable(text), dimension_names());
}

std::string to_string(const Dimension& dimension) {
  if (dimension.kind == Kind::kLabel)
    return std::string(kLabelPrefix) + dimension.label;
  if (dimension.kind == Kind::kTime)
    return "time";
  return std::string(std::ranges::find(kNames, dimension.kind, &DimensionName::kind)->text);
}

std::string dimension_names() {
  std::vector<std::string> names;
  for (const DimensionName& name : kNames)
    names.emplace_back(name.text);
  return joined(names, ", ");
}

std::string comparable_dimension_names() {
  std::vector<std::string> names;
  for (const DimensionName& name : kNames)
    if (Dimension{.kind = name.kind}.is_comparable())
      names.emplace_back(name.text);
  return joined(names, ", ");
}

Hosts::Hosts(const Profile& profile) {
  for (const ProfiledRecording& recording : profile.recordings) {
    // Recordings of one host share its number. Hosts are few: a search is enough.
    auto known = std::ranges::find(names_, recording.info.host);
    numbers_.push_back(static_cast<uint32_t>(known - names_.begin()));
    if (known == names_.end())
      names_.push_back(recording.info.host);
  }
  // A profile without a list of recordings is of one.
  if (names_.empty())
    names_.push_back(profile.info.host);
}

std::string Hosts::suffix(uint32_t host) const {
  return names_.size() == 1 ? std::string() : fmt::format(" on {}", names_[host]);
}

std::vector<ProfiledProcess> find_processes(const Profile& profile,
                                            std::span<const SampleCount> samples,
                                            const Hosts& hosts) {
  // The name is a part of the key, so that amounts tell which one a process has most of.
  std::map<std::tuple<uint32_t, uint32_t, StringId>, uint64_t> amounts;
  for (const SampleCount& sample : samples) {
    const Owner& owner = profile.owner(sample);
    amounts[{hosts.of(owner), owner.pid, owner.process_name()}] += profile.amount(sample);
  }

  std::vector<ProfiledProcess> processes;
  uint64_t most = 0;
  // A process that ran several programs has the name that most of its samples have. The map
  // puts those of one process together.
  for (const auto& [named, amount] : amounts) {
    auto [host, pid, comm] = named;
    if (processes.empty() || processes.back().host != host || processes.back().pid != pid) {
      processes.push_back({host, pid, comm, 0});
      most = 0;
    }
    processes.back().amount += amount;
    if (amount > most)
      processes.back().comm = comm;
    most = std::max(most, amount);
  }
  std::ranges::stable_sort(processes, std::greater<>(), &ProfiledProcess::amount);
  return processes;
}

std::vector<ProfiledProgram> find_programs(const Profile& profile,
                                           std::span<const SampleCount> samples,
                                           const Hosts& hosts) {
  std::vector<ProfiledProgram> programs;
  std::map<StringId, size_t> known;
  // The largest process comes first, and so it does in each program.
  for (const ProfiledProcess& process : find_processes(profile, samples, hosts)) {
    auto [place, is_new] = known.try_emplace(process.comm, programs.size());
    if (is_new)
      programs.push_back({.comm = process.comm});
    programs[place->second].amount += process.amount;
    programs[place->second].processes.push_back(process);
  }
  std::ranges::stable_sort(programs, std::greater<>(), &ProfiledProgram::amount);
  return programs;
}

}  // namespace gosym
