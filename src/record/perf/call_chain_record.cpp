#include "record/perf/call_chain_record.h"

#include <linux/perf_event.h>

#include <array>

#include "base/reader.h"

namespace gosym {

namespace {

constexpr uint64_t kFirstMarker = static_cast<uint64_t>(PERF_CONTEXT_MAX);

void read_chain(Reader& in, CallChain& sample) {
  uint64_t part = 0;
  for (uint64_t left = in.u64(); left > 0 && in.ok(); left--) {
    uint64_t address = in.u64();
    if (address >= kFirstMarker)
      part = address;
    else if (part == static_cast<uint64_t>(PERF_CONTEXT_KERNEL))
      sample.kernel_stack.push_back(address);
    else if (part == static_cast<uint64_t>(PERF_CONTEXT_USER) && address != 0)
      sample.user_stack.push_back(address);
  }
}

// The words from the next multiple of 8 below the first byte on, which lies `misaligned` above.
std::vector<uint64_t> words_of(Bytes data, uint64_t misaligned) {
  std::vector<uint64_t> words((misaligned + data.size()) / sizeof(uint64_t));
  if (!words.empty())  // memcpy takes no null pointer, not even for nothing
    std::memcpy(reinterpret_cast<std::byte*>(words.data()) + misaligned, data.data(),
                words.size() * sizeof(uint64_t) - misaligned);
  return words;
}

void read_registers(Reader& in, CallChain& sample) {
#if defined(__x86_64__)
  // DWARF's numbers for the registers in the order in which the kernel writes them. The pc
  // comes as the last one, 16, and is dropped: the chain has it.
  constexpr std::array kNumbers = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
  sample.registers.resize(kNumbers.size());
  for (int number : kNumbers)
    sample.registers[static_cast<size_t>(number)] = in.u64();
  sample.registers.resize(kNumbers.size() - 1);
  sample.frame_pointer = sample.registers[6];
  sample.stack_pointer = sample.registers[7];
#else
  sample.frame_pointer = in.u64();
  sample.stack_pointer = in.u64();
  in.u64();  // the pc, which the chain has
#endif
}

void read_stack(Reader& in, CallChain& sample) {
  uint64_t abi = in.u64();
  if (abi != PERF_SAMPLE_REGS_ABI_NONE)
    read_registers(in, sample);
  sample.misaligned = sample.stack_pointer % 8;
  sample.stack_pointer -= sample.misaligned;
  uint64_t size = in.u64();
  if (size == 0)
    return;
  Bytes stack = in.bytes(size);
  uint64_t taken = std::min(in.u64(), size);
  if (in.ok() && abi == PERF_SAMPLE_REGS_ABI_64)
    sample.top = words_of(stack.first(taken), sample.misaligned);
}

}  // namespace

bool is_call_chain(Bytes record) {
  return load<uint32_t>(record, 0) == PERF_RECORD_SAMPLE;
}

std::optional<uint64_t> event_id_of(Bytes record) {
  return load<uint64_t>(record, sizeof(perf_event_header));
}

Result<CallChain> parse_call_chain(Bytes data, bool has_period) {
  Reader in(data);
  uint32_t type = in.u32();
  in.u16();  // misc
  uint16_t size = in.u16();
  if (!in.ok() || type != PERF_RECORD_SAMPLE || size != data.size())
    return errorf("sample: {:#x} bytes of type {}, its header says {:#x}", data.size(), type,
                  size);
  CallChain sample;
  in.u64();  // the event's id
  sample.pid = in.u32();
  sample.tid = in.u32();
  sample.time = in.u64();
  sample.period = has_period ? in.u64() : 0;
  read_chain(in, sample);
  read_stack(in, sample);
  if (!in.ok())
    return in.error("sample");
  return sample;
}

}  // namespace gosym
