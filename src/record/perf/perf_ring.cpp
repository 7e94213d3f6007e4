#include "record/perf/perf_ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>

#include "record/perf/sideband_record.h"
#include "record/rights.h"

namespace gosym {

namespace {

// Room for the largest record twice.
constexpr uint64_t kMaxRecord = 64 << 10;
constexpr size_t kMinSize = 2 * kMaxRecord;

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void* map_pages(const UniqueFd& event, size_t size) {
  return mmap(nullptr, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
}

}  // namespace

Bytes unwrap(Bytes ring, uint64_t from, uint64_t to, std::vector<std::byte>& copy) {
  assert(std::has_single_bit(ring.size()) && to - from <= ring.size());
  uint64_t start = from & (ring.size() - 1);
  uint64_t size = to - from;
  if (auto piece = slice(ring, start, size))
    return *piece;
  copy.assign(ring.begin() + static_cast<ptrdiff_t>(start), ring.end());
  copy.insert(copy.end(), ring.begin(),
              ring.begin() + static_cast<ptrdiff_t>(size - copy.size()));
  return copy;
}

Result<std::unique_ptr<PerfRing>> PerfRing::map(UniqueFd event, size_t size) {
  void* pages = map_pages(event, size);
  while (pages == MAP_FAILED && errno == EPERM && size > kMinSize)
    pages = map_pages(event, size /= 2);
  if (pages == MAP_FAILED)
    return denied_or_failed("cannot map the ring of a perf event", errno);
  return std::unique_ptr<PerfRing>(
      new PerfRing(std::move(event), static_cast<std::byte*>(pages), size));
}

PerfRing::~PerfRing() {
  munmap(pages_, page_size() + size_);
}

Bytes PerfRing::ring() const {
  return {pages_ + page_size(), size_};
}

void PerfRing::read() {
  // The kernel stores data_head after the data; it waits for data_tail before it overwrites.
  head_ = std::atomic_ref<__u64>(control().data_head).load(std::memory_order_acquire);
  next_ = head_ - std::min<uint64_t>(head_ - control().data_tail, size_);
}

// In place as a rule: a full ring is half a megabyte, and is full 20 times a second beside who
// fills it.
std::optional<Bytes> PerfRing::next() {
  uint64_t start = next_ & (size_ - 1);
  uint64_t unread = head_ - next_;
  auto record = first_record(ring().subspan(start, std::min(unread, size_ - start)));
  if (!record)
    record = first_record(unwrap(ring(), next_, next_ + std::min(unread, kMaxRecord), copy_));
  if (record)
    next_ += record->size();
  return record;
}

void PerfRing::consume() {
  std::atomic_ref<__u64>(control().data_tail).store(head_, std::memory_order_release);
}

}  // namespace gosym
