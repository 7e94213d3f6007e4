#include "perf_data/header.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/reader.h"
#include "base/text.h"
#include "perf_data/layout.h"
#include "raw/messages.h"

// A file is read in three steps: its header names the section of attrs, which gives the
// events, and the records, behind which a table leads to the features. A stream (`perf record
// -o -`) has none of these: the same parts come as records, which reader.cpp passes to the
// add_*() functions while it reads.
//
// Sizes and counts of a file are bounded by constants before they size anything. Features that
// are not understood are noted in Header::unread, which the report tells.
namespace gosym::perf_data {

namespace {

// More than perf writes of any.
constexpr uint64_t kMaxSection = 64 << 20;
constexpr size_t kMaxAttrSize = 4096;
constexpr uint32_t kMaxAttrs = 4096;
constexpr size_t kMaxIds = 1 << 20;  // all events together: CPUs times events
constexpr size_t kMaxArguments = 1 << 16;

struct Section {
  uint64_t offset = 0;
  uint64_t size = 0;
};

Section read_section(Reader& in) {
  Section section;
  section.offset = in.u64();
  section.size = in.u64();
  return section;
}

// Reads a section, as far as it is there.
std::string read_bytes(const raw::Input& file, const Section& section) {
  std::string bytes(std::min({section.size, kMaxSection, file.size()}), '\0');
  bytes.resize(file.read(section.offset, bytes));
  return bytes;
}

std::string read_text(Reader& in) {
  // perf pads texts with NULs to a multiple of 64 bytes.
  std::string_view text = as_text(in.bytes(in.u32()));
  return std::string(text.substr(0, text.find('\0')));
}

// An attr of an older or newer perf: fields that it does not have are 0, those that are not
// known here are cut off. The structure only ever grew at its end.
perf_event_attr attr_in(Bytes bytes) {
  perf_event_attr attr{};
  std::memcpy(&attr, bytes.data(), std::min(bytes.size(), sizeof(attr)));
  return attr;
}

// The sum is bounded, for each attr of a damaged file may claim the same section of ids.
bool has_room_for_ids(const Header& header, size_t count) {
  size_t known = 0;
  for (const EventAttr& attr : header.attrs)
    known += attr.ids.size();
  return known + count <= kMaxIds;
}

std::vector<uint64_t> ids_in(Bytes bytes) {
  std::vector<uint64_t> ids(bytes.size() / sizeof(uint64_t));
  if (!ids.empty())
    std::memcpy(ids.data(), bytes.data(), ids.size() * sizeof(uint64_t));
  return ids;
}

// The name is of the attr whose first number is that of these, or of the one at this place.
void name_event(std::string name, std::span<const uint64_t> ids, size_t place, Header& header) {
  auto named = std::ranges::find_if(header.attrs, [&](const EventAttr& attr) {
    return !ids.empty() && !attr.ids.empty() && attr.ids.front() == ids.front();
  });
  if (named != header.attrs.end())
    named->name = std::move(name);
  else if (ids.empty() && place < header.attrs.size())
    header.attrs[place].name = std::move(name);
}

// Reads the feature kEventDesc of layout.h.
void read_event_names(Reader& in, Header& header) {
  uint32_t count = std::min<uint32_t>(in.u32(), kMaxAttrs);
  // The attrs are there a second time, with names. The first ones are kept, as they say what
  // the records have.
  uint32_t attr_size = in.u32();
  for (uint32_t i = 0; i < count && in.ok(); i++) {
    in.bytes(attr_size);
    uint64_t id_count = in.u32();
    std::string name = read_text(in);
    std::vector<uint64_t> ids = ids_in(in.bytes(id_count * sizeof(uint64_t)));
    if (in.ok())
      name_event(std::move(name), ids, i, header);
  }
}

void read_command_line(Reader& in, Header& header) {
  std::vector<std::string> arguments;
  for (size_t left = std::min<size_t>(in.u32(), kMaxArguments); left > 0 && in.ok(); left--)
    arguments.push_back(read_text(in));
  if (in.ok())
    header.command_line = joined(arguments, " ");
}

void read_build_ids(Bytes section, Header& header) {
  while (true) {
    // The size of a record is in its header, behind u32 type and u16 misc.
    uint16_t size = load<uint16_t>(section, 6).value_or(0);
    auto record = slice(section, 0, size);
    if (!record || size < sizeof(perf_event_header))
      return;
    add_build_id(*record, header);
    section = section.subspan(size);
  }
}

// Reads the feature kClockData: one moment, since 1970 and by the clock of the samples.
void read_clock(Reader& in, Header& header) {
  in.u32();  // version
  in.u32();  // the clock
  uint64_t realtime = in.u64();
  uint64_t clock = in.u64();
  if (!in.ok())
    return;
  header.realtime_ns = realtime;
  header.clock_ns = clock;
}

// `section` has the contents that layout.h tells for each; a Reader that has run past its end
// gives 0 and empty texts.
void read_feature(uint32_t feature, Bytes section, Header& header) {
  Reader in(section);
  switch (static_cast<Feature>(feature)) {
    case Feature::kBuildId:
      return read_build_ids(section, header);
    case Feature::kHostName:
      header.host = read_text(in);
      return;
    case Feature::kOsRelease:
      header.kernel_release = read_text(in);
      return;
    case Feature::kVersion:
      header.version = read_text(in);
      return;
    case Feature::kArch:
      header.machine = read_text(in);
      return;
    case Feature::kNrCpus:
      in.u32();  // present
      header.cpu_count = in.u32();
      return;
    case Feature::kCommandLine:
      return read_command_line(in, header);
    case Feature::kEventDesc:
      return read_event_names(in, header);
    case Feature::kSampleTime:
      header.first_time = in.u64();
      header.last_time = in.u64();
      return;
    case Feature::kClockData:
      return read_clock(in, header);
    case Feature::kDirectory:
      header.has_other_files = true;
      return;
    case Feature::kTracingData:
      header.unread.insert("the fields of tracepoints");
      return;
    case Feature::kAuxTrace:
      header.unread.insert("the trace of the hardware");
      return;
    default:
      if (feature > static_cast<uint32_t>(Feature::kLastKnown))
        header.unread.insert(fmt::format("feature {}, which is unknown", feature));
  }
}

Result<> read_attrs(const raw::Input& file, const Section& section, uint64_t entry_size,
                    Header& header) {
  // An entry is an attr with the section of its ids behind it. The entry's size tells that of
  // the attr, which depends on the version of perf.
  constexpr uint64_t kSection = 16;
  if (entry_size < PERF_ATTR_SIZE_VER0 + kSection || entry_size > kMaxAttrSize ||
      section.size / entry_size > kMaxAttrs)
    return errorf("perf.data header: attrs of {} bytes, {} in all", entry_size, section.size);
  std::string bytes = read_bytes(file, section);
  for (Bytes rest = as_bytes(bytes); rest.size() >= entry_size;
       rest = rest.subspan(entry_size)) {
    EventAttr attr = {
        .attr = attr_in(rest.first(entry_size - kSection)), .ids = {}, .name = {}};
    Reader in(rest.subspan(entry_size - kSection));
    Section ids = read_section(in);
    if (!has_room_for_ids(header, ids.size / sizeof(uint64_t)))
      return Error("perf.data header: more numbers of events than a machine can have");
    attr.ids = ids_in(as_bytes(read_bytes(file, ids)));
    header.attrs.push_back(std::move(attr));
  }
  return header.attrs.empty() ? errorf("perf.data header: no events") : Result<>(Ok{});
}

// `bits` stands at the 256 bits of the header, one for each feature that the file has.
void read_features(const raw::Input& file, Reader& bits, Header& header) {
  std::vector<uint32_t> features;
  for (uint32_t word = 0; word < kFeatureBits / 64; word++)
    // Clears the lowest bit that is set each time, so that features come in the order of their
    // numbers, as their sections do.
    for (uint64_t left = bits.u64(); left != 0; left &= left - 1)
      features.push_back(64 * word + static_cast<uint32_t>(std::countr_zero(left)));
  constexpr uint64_t kSectionSize = 16;
  std::string table = read_bytes(file, {header.records_end, features.size() * kSectionSize});
  Reader sections(as_bytes(table));
  // Sections may lie over one another: their sum is bounded.
  uint64_t left = kMaxSection;  // of all together
  for (uint32_t feature : features) {
    Section section = read_section(sections);
    if (!sections.ok()) {
      header.unread.insert("what follows the records: it is cut off");
      return;
    }
    std::string bytes = read_bytes(file, {section.offset, std::min(section.size, left)});
    left -= bytes.size();
    read_feature(feature, as_bytes(bytes), header);
  }
}

Result<> read_file_header(const raw::Input& file, Bytes begin, Header& header) {
  // The magic was found: `begin` has its 8 bytes.
  Reader in(begin.subspan(sizeof(uint64_t)));
  uint64_t size = in.u64();
  uint64_t entry_size = in.u64();
  Section attrs = read_section(in);
  Section records = read_section(in);
  read_section(in);  // event types
  // The bits are read after the attrs, whose events the features may name.
  Reader features = in;
  in.bytes(kFeatureBits / 8);
  if (!in.ok() || size != kFileHeaderSize)
    return errorf("perf.data header: {} bytes, it says {}", begin.size(), size);
  if (auto read = read_attrs(file, attrs, entry_size, header); !read)
    return read;
  header.records_begin = records.offset;
  // perf writes the size of the records when it ends: 0, or more than there is, tells that it
  // did not.
  header.is_cut =
      records.size == 0 || records.size > file.size() - std::min(records.offset, file.size());
  header.records_end = header.is_cut ? file.size() : records.offset + records.size;
  // The features lie behind the records, and perf writes them last.
  if (!header.is_cut)
    read_features(file, features, header);
  return Ok{};
}

// By PERF_COUNT_HW_* and PERF_COUNT_SW_* of linux/perf_event.h, in the order of their values.
constexpr std::array<std::string_view, 10> kHardwareEvents = {"cycles",
                                                              "instructions",
                                                              "cache-references",
                                                              "cache-misses",
                                                              "branches",
                                                              "branch-misses",
                                                              "bus-cycles",
                                                              "stalled-cycles-frontend",
                                                              "stalled-cycles-backend",
                                                              "ref-cycles"};
constexpr std::array<std::string_view, 12> kSoftwareEvents = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

// "cycles" of "cpu_core/cycles/u" and of "cycles:P"; that of a tracepoint as it is.
std::string_view without_modifiers(std::string_view name, uint32_t type) {
  if (type == PERF_TYPE_TRACEPOINT)
    return name;
  for (std::string_view cores : {"cpu_core/", "cpu_atom/"})
    if (name.starts_with(cores)) {
      name.remove_prefix(cores.size());
      return name.substr(0, name.find('/'));
    }
  size_t colon = name.rfind(':');
  bool are_modifiers =
      colon != name.npos && name.find_first_not_of("ukhGHpPSDWIeb", colon + 1) == name.npos;
  return are_modifiers ? name.substr(0, colon) : name;
}

// The name of what is counted, whatever perf calls it. A PMU of some cores may be in the upper
// half.
std::string name_of(const EventAttr& event) {
  const perf_event_attr& attr = event.attr;
  auto index = static_cast<uint32_t>(attr.config);
  if (attr.type == PERF_TYPE_HARDWARE && index < kHardwareEvents.size())
    return std::string(kHardwareEvents[index]);
  if (attr.type == PERF_TYPE_SOFTWARE && index < kSoftwareEvents.size())
    return std::string(kSoftwareEvents[index]);
  std::string_view told = without_modifiers(event.name, attr.type);
  return told.empty() ? fmt::format("event {}:{:#x}", attr.type, attr.config)
                      : std::string(told);
}

// perf opens a dummy event for the side-band, and a bpf-output event for programs that write
// to it: neither samples code.
bool has_samples(const perf_event_attr& attr) {
  return attr.type != PERF_TYPE_SOFTWARE ||
         (attr.config != PERF_COUNT_SW_DUMMY && attr.config != PERF_COUNT_SW_BPF_OUTPUT);
}

RecordedEvent recorded(const EventAttr& event) {
  const perf_event_attr& attr = event.attr;
  return {.name = name_of(event),
          .frequency = attr.freq != 0 ? attr.sample_freq : 0,
          .period = attr.freq != 0 ? 0 : attr.sample_period};
}

bool counts_the_same(const perf_event_attr& one, const perf_event_attr& other) {
  return one.exclude_user == other.exclude_user && one.exclude_kernel == other.exclude_kernel;
}

}  // namespace

bool BuildId::is_of(const std::string& gnu_build_id) const {
  std::string id = gnu_build_id.substr(0, kBuildIdSize);
  // Records without a size have 20 bytes: shorter ids were filled with zeros.
  if (!has_size)
    id.resize(kBuildIdSize);
  return id == bytes;
}

BuildId read_build_id(Bytes bytes, uint8_t size) {
  BuildId id;
  id.has_size = size != 0 && size <= kBuildIdSize;
  id.bytes = as_text(bytes.first(id.has_size ? size : kBuildIdSize));
  return id;
}

// Takes the attr of a record, which has a whole header, as Records::next() gives no shorter
// one.
void add_attr(Bytes record, Header& header) {
  Bytes body = record.subspan(sizeof(perf_event_header));
  // The attr tells its own size; the ids are all that follows.
  uint32_t size = load<uint32_t>(body, offsetof(perf_event_attr, size)).value_or(0);
  if (size < PERF_ATTR_SIZE_VER0 || size > body.size() || header.attrs.size() >= kMaxAttrs ||
      !has_room_for_ids(header, (body.size() - size) / sizeof(uint64_t)))
    return;
  header.attrs.push_back(
      {.attr = attr_in(body.first(size)), .ids = ids_in(body.subspan(size)), .name = {}});
}

void add_event_update(Bytes record, Header& header) {
  // Other kinds update the unit, the scale or the CPUs of an event, which are of no use here.
  constexpr uint64_t kName = 2;
  Reader in(record.subspan(sizeof(perf_event_header)));
  uint64_t kind = in.u64();
  uint64_t id = in.u64();
  std::string name(in.cstring());
  if (in.ok() && kind == kName)
    name_event(std::move(name), {&id, 1}, 0, header);
}

void add_feature(Bytes record, Header& header) {
  Reader in(record.subspan(sizeof(perf_event_header)));
  uint64_t feature = in.u64();
  // The last one, which is empty, is behind those that this perf knows.
  if (in.ok() && feature < kFeatureBits && in.remaining() > 0)
    read_feature(static_cast<uint32_t>(feature), in.bytes(in.remaining()), header);
}

void add_build_id(Bytes record, Header& header) {
  constexpr size_t kMaxBuildIds = 1 << 18;
  // The record is kBuildId of layout.h; a file has the same ones as a feature.
  Reader in(record);
  in.u32();  // type
  uint16_t misc = in.u16();
  in.u16();  // size
  in.u32();  // pid
  Bytes bytes = in.bytes(kBuildIdSize);
  uint8_t size = in.u8();
  in.bytes(3);
  std::string_view path = as_text(in.bytes(in.remaining()));
  if (!in.ok() || header.build_ids.size() >= kMaxBuildIds)
    return;
  header.build_ids[std::string(path.substr(0, path.find('\0')))] =
      read_build_id(bytes, (misc & kHasIdSize) != 0 ? size : 0);
}

Result<Header> read_header(const raw::Input& file) {
  std::string bytes(kFileHeaderSize, '\0');
  bytes.resize(file.read(0, bytes));
  std::string_view begin = bytes;
  if (begin.starts_with(kOtherOrder))
    return Error("it is of a big-endian machine, whose files are not read");
  if (begin.starts_with(kOldMagic))
    return Error("it is of the first format of perf, which only perf before 2013 wrote");
  if (!begin.starts_with(kMagic))
    return Error("not a perf.data file");
  Header header;
  // The size of the header tells a stream, whose attributes come as records, from a file, whose
  // attributes lie at an offset.
  uint64_t size = load<uint64_t>(as_bytes(begin), kMagic.size()).value_or(0);
  if (size == kStreamHeaderSize) {
    header.is_stream = true;
    header.records_begin = kStreamHeaderSize;
    header.records_end = file.size();
    return header;
  }
  if (auto read = read_file_header(file, as_bytes(begin), header); !read)
    return std::move(read).error();
  return header;
}

// Only what counts the same may be added up.
Result<std::vector<RecordedEvent>> number_events(std::vector<EventAttr>& attrs) {
  std::vector<RecordedEvent> events;
  std::vector<const EventAttr*> firsts;
  for (EventAttr& attr : attrs) {
    if (!has_samples(attr.attr))
      continue;
    RecordedEvent event = recorded(attr);
    // perf opens an event for each CPU or process: those that count the same are one.
    size_t same = 0;
    while (same < events.size() &&
           !(name_of(*firsts[same]) == event.name && recorded(*firsts[same]) == event &&
             counts_the_same(firsts[same]->attr, attr.attr)))
      same++;
    attr.index = static_cast<uint32_t>(same);
    if (same < events.size())
      continue;
    if (events.size() == raw::kMaxEvents)
      return errorf("more than {} events, which are not read", raw::kMaxEvents);
    // Two events of one name get those of perf, or numbers, to be told apart.
    auto is_taken = [&](std::string_view name) {
      return std::ranges::find(events, name, &RecordedEvent::name) != events.end();
    };
    if (is_taken(event.name))
      event.name = attr.name.empty() || is_taken(attr.name)
                       ? fmt::format("{} ({})", event.name, events.size() + 1)
                       : attr.name;
    event.measure = measure_of(event.name, event.period, event.unit);
    events.push_back(std::move(event));
    firsts.push_back(&attr);
  }
  // There is always an event 0: that is the index of attrs without samples of code, and of all
  // counts that are of no event.
  if (events.empty())
    events.emplace_back();
  return events;
}

}  // namespace gosym::perf_data
