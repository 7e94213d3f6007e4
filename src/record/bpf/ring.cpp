#include "record/bpf/ring.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <atomic>

namespace gosym {

namespace {

size_t size_of_page() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Both ends count bytes since the ring was made.
std::atomic_ref<uint64_t> position(const MappedPart& page) {
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(page.get()));
}

}  // namespace

MappedPart::MappedPart(int map, size_t size, int protection, size_t offset) : size_(size) {
  void* at = mmap(nullptr, size, protection, MAP_SHARED, map, static_cast<off_t>(offset));
  if (at != MAP_FAILED)
    at_ = static_cast<std::byte*>(at);
}

UniqueFd create_ring(uint32_t size) {
  return UniqueFd(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "samples", 0, 0, size, nullptr));
}

std::optional<BpfRing> BpfRing::map(UniqueFd ring, uint32_t size) {
  size_t page = size_of_page();
  // The kernel lets the position of the reader be written, and all else only be read.
  MappedPart read(ring.get(), page, PROT_READ | PROT_WRITE);
  if (!read)
    return std::nullopt;
  // The records are mapped twice in a row, so that one that runs over the end is in one piece.
  MappedPart written(ring.get(), page + 2 * size_t{size}, PROT_READ, page);
  if (!written)
    return std::nullopt;
  return BpfRing(std::move(ring), size, std::move(read), std::move(written));
}

void BpfRing::consume(const std::function<void(Bytes)>& take) {
  std::byte* records = written_.get() + size_of_page();
  uint64_t at = position(read_).load(std::memory_order_relaxed);
  // The kernel raises the end before it has written a record, and marks the record until then.
  uint64_t end = position(written_).load(std::memory_order_acquire);
  while (at < end) {
    // The size is a power of two; a record over the end goes on in the second mapping.
    std::byte* record = records + (at & (size_ - 1));
    std::atomic_ref header(*reinterpret_cast<uint32_t*>(record));
    uint32_t length = header.load(std::memory_order_acquire);
    if ((length & BPF_RINGBUF_BUSY_BIT) != 0)  // it is being written
      return;
    bool is_discarded = (length & BPF_RINGBUF_DISCARD_BIT) != 0;
    length &= ~BPF_RINGBUF_DISCARD_BIT;
    // The kernel's header is not ours to trust blindly: a wrong length would leave the ring.
    if (length > size_)
      return;
    if (!is_discarded)
      take({record + BPF_RINGBUF_HDR_SZ, length});
    // Records begin at multiples of 8 bytes.
    at += (BPF_RINGBUF_HDR_SZ + uint64_t{length} + 7) / 8 * 8;
    // Given back record by record, so that the room is free again at once.
    position(read_).store(at, std::memory_order_release);
  }
}

}  // namespace gosym
