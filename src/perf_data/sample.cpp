#include "perf_data/sample.h"

#include <bit>

#include "base/reader.h"

// A sample has no field numbers: each bit of its event's sample_type adds a field, and all
// come in the order that perf_event_open(2) gives under PERF_RECORD_SAMPLE. Fields that are of
// no use have to be passed over by their size, and a field that is not known here would shift
// all behind it. DATA_PAGE_SIZE, CODE_PAGE_SIZE and AUX come behind all that is read.
namespace gosym::perf_data {

namespace {

constexpr auto kFirstMarker = static_cast<uint64_t>(PERF_CONTEXT_MAX);
constexpr auto kKernelMarker = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
constexpr auto kUserMarker = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr auto kDeferredMarker = static_cast<uint64_t>(-640);  // PERF_CONTEXT_USER_DEFERRED

// These are newer than the headers that this may be compiled with.
constexpr uint64_t kFormatLost = 1 << 4;
constexpr uint64_t kBranchHardwareIndex = 1 << 17;
constexpr uint64_t kBranchCounters = 1 << 19;

void skip(Reader& in, uint64_t count, uint64_t size) {
  // A count beyond the record may overflow with its size: reading more than there is makes the
  // reader fail.
  in.bytes(count > in.remaining() ? UINT64_MAX : count * size);
}

// Values of a counter, or of a group of them.
void skip_counts(Reader& in, const perf_event_attr& attr) {
  auto has = [&](uint64_t format) { return (attr.read_format & format) != 0; };
  // A group is u64 count, the times, and so many entries; a single counter is one entry with
  // the times in its middle. The size is the same.
  uint64_t words = 1U + has(PERF_FORMAT_ID) + has(kFormatLost);
  uint64_t times =
      0U + has(PERF_FORMAT_TOTAL_TIME_ENABLED) + has(PERF_FORMAT_TOTAL_TIME_RUNNING);
  uint64_t count = has(PERF_FORMAT_GROUP) ? in.u64() : 1;
  skip(in, times, 8);
  skip(in, count, words * 8);
}

void skip_branches(Reader& in, const perf_event_attr& attr) {
  uint64_t count = in.u64();
  if ((attr.branch_sample_type & kBranchHardwareIndex) != 0)
    in.u64();
  // struct perf_branch_entry: from, to, and flags.
  skip(in, count, 24);
  if ((attr.branch_sample_type & kBranchCounters) != 0)
    skip(in, count, 8);
}

uint64_t marker_of(uint16_t misc) {
  switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL:
      return kKernelMarker;
    case PERF_RECORD_MISC_USER:
      return kUserMarker;
    default:  // of a guest, or a hypervisor
      return 0;
  }
}

// `part` is the last marker; what belongs to a guest or a hypervisor is left out. Behind the
// marker of a deferred stack comes its cookie.
void add_address(uint64_t part, uint64_t address, Sample& sample) {
  if (part == kKernelMarker)
    sample.kernel_stack.push_back(address);
  else if (part == kUserMarker && address != 0)
    sample.user_stack.push_back(address);
  else if (part == kDeferredMarker && !sample.deferred)
    sample.deferred = address;
}

void read_chain(Reader& in, Sample& sample) {
  // Until the first marker, addresses are of the mode that was interrupted.
  uint64_t part = marker_of(sample.misc);
  for (uint64_t left = in.u64(); left > 0 && in.ok(); left--) {
    uint64_t address = in.u64();
    // A chain is one list, in which markers say to whose code the addresses behind them
    // belong. The markers are the highest 4,095 numbers, which are no addresses.
    if (address >= kFirstMarker)
      part = address;
    else
      add_address(part, address, sample);
  }
}

void read_user_registers(Reader& in, const perf_event_attr& attr, Sample& sample) {
  // A thread of the kernel has no user registers: the ABI is all that is there then.
  sample.register_abi = in.u64();
  if (sample.register_abi == PERF_SAMPLE_REGS_ABI_NONE)
    return;
  for (int left = std::popcount(attr.sample_regs_user); left > 0; left--)
    sample.registers.push_back(in.u64());
}

void read_stack(Reader& in, Sample& sample) {
  // A size of 0 has no field behind it that says how much of it was filled.
  uint64_t size = in.u64();
  if (size == 0)
    return;
  Bytes stack = in.bytes(size);
  // The kernel reserves a fixed size, and says how much of it is the stack.
  sample.stack = stack.first(std::min<uint64_t>(in.u64(), stack.size()));
}

// Reads the fields before the call chain.
void read_begin(Reader& in, const perf_event_attr& attr, Sample& sample) {
  auto has = [&](uint64_t field) { return (attr.sample_type & field) != 0; };
  // Each of these fields takes 8 bytes, in this order.
  for (uint64_t field : {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID,
                         PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
                         PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD}) {
    // IDENTIFIER comes first where it is there, and is the same as ID.
    uint64_t value = has(field) ? in.u64() : 0;
    if (field == PERF_SAMPLE_IP)
      sample.ip = value;
    if (field == PERF_SAMPLE_TID) {
      sample.pid = static_cast<uint32_t>(value);
      sample.tid = static_cast<uint32_t>(value >> 32);
    }
    if (field == PERF_SAMPLE_TIME)
      sample.time = value;
    if (field == PERF_SAMPLE_CPU)
      sample.cpu = static_cast<uint32_t>(value);
    if (field == PERF_SAMPLE_PERIOD)
      sample.period = value;
  }
  if (has(PERF_SAMPLE_READ))
    skip_counts(in, attr);
}

// Reads the fields behind the stack, of which only the cgroup is of use.
void read_end(Reader& in, const perf_event_attr& attr, Sample& sample) {
  auto has = [&](uint64_t field) { return (attr.sample_type & field) != 0; };
  if (has(PERF_SAMPLE_WEIGHT) || has(PERF_SAMPLE_WEIGHT_STRUCT))
    in.u64();
  if (has(PERF_SAMPLE_DATA_SRC))
    in.u64();
  if (has(PERF_SAMPLE_TRANSACTION))
    in.u64();
  if (has(PERF_SAMPLE_REGS_INTR) && in.u64() != PERF_SAMPLE_REGS_ABI_NONE)
    skip(in, static_cast<uint64_t>(std::popcount(attr.sample_regs_intr)), 8);
  if (has(PERF_SAMPLE_PHYS_ADDR))
    in.u64();
  if (has(PERF_SAMPLE_CGROUP))
    sample.cgroup = in.u64();
}

}  // namespace

std::optional<size_t> place_of_id(const perf_event_attr& attr) {
  if ((attr.sample_type & PERF_SAMPLE_IDENTIFIER) != 0)
    return sizeof(perf_event_header);
  if ((attr.sample_type & PERF_SAMPLE_ID) == 0)
    return std::nullopt;
  // Without IDENTIFIER, which was made to stand first, the id's place depends on the fields
  // before it, each of 8 bytes.
  constexpr uint64_t kBefore =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  return sizeof(perf_event_header) +
         8 * static_cast<size_t>(std::popcount(attr.sample_type & kBefore));
}

Result<Sample> parse_sample(Bytes record, const perf_event_attr& attr) {
  Reader in(record);
  Sample sample;
  in.u32();  // type
  sample.misc = in.u16();
  in.u16();  // size
  // The order is that of the kernel and of perf_event_open(2), and not that of the bits.
  read_begin(in, attr, sample);
  auto has = [&](uint64_t field) { return (attr.sample_type & field) != 0; };
  if (has(PERF_SAMPLE_CALLCHAIN))
    read_chain(in, sample);
  if (has(PERF_SAMPLE_RAW))
    in.bytes(in.u32());
  if (has(PERF_SAMPLE_BRANCH_STACK))
    skip_branches(in, attr);
  if (has(PERF_SAMPLE_REGS_USER))
    read_user_registers(in, attr, sample);
  if (has(PERF_SAMPLE_STACK_USER))
    read_stack(in, sample);
  read_end(in, attr, sample);
  if (!in.ok())
    return in.error("sample");
  // Without a call chain, or with an empty one, the place of the sample is its stack.
  if (sample.kernel_stack.empty() && sample.user_stack.empty() && !sample.deferred)
    take_ip_as_stack(sample);
  return sample;
}

void take_ip_as_stack(Sample& sample) {
  add_address(marker_of(sample.misc), sample.ip, sample);
}

// Each field takes 8 bytes. Without sample_id_all other records have none.
size_t trailer_size(const perf_event_attr& attr) {
  constexpr uint64_t kFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                               PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  return attr.sample_id_all == 0
             ? 0
             : 8 * static_cast<size_t>(std::popcount(attr.sample_type & kFields));
}

// IDENTIFIER, which comes last, is of no use.
Trailer read_trailer(Bytes trailer, const perf_event_attr& attr) {
  Reader in(trailer);
  auto read = [&](uint64_t field) { return (attr.sample_type & field) != 0 ? in.u64() : 0; };
  Trailer read_here;
  read(PERF_SAMPLE_TID);
  read_here.time = read(PERF_SAMPLE_TIME);
  read(PERF_SAMPLE_ID);
  read(PERF_SAMPLE_STREAM_ID);
  read_here.cpu = static_cast<uint32_t>(read(PERF_SAMPLE_CPU));
  return read_here;
}

}  // namespace gosym::perf_data
