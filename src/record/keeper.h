#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/perf/perf_ring.h"

struct bpf_map;

namespace gosym {

// Does what takes rights while samples are taken. Whoever takes them reads what strangers
// wrote, and has none: another process does it for him, the keeper, which reads nothing but his
// requests. What may be asked of it was told before it was started, and until then this process
// does the same itself.
class Keeper {
public:
  Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // An event that may be opened: for whatever runs on a CPU or, where threads inherit it, for
  // one of them.
  void keep_event(const perf_event_attr& attr);
  // A map that may be changed, or one that may be read.
  enum class MapUse : uint8_t { kChange, kRead };
  void keep_map(const bpf_map* map, MapUse use);
  // A map of rings, by CPU, and the size of each in bytes.
  void keep_rings(const bpf_map* rings, uint32_t ring_size);
  // They are no longer there.
  void forget_all();

  // Starts the process. It signals nobody but `command`, a descriptor of a process; -1: there
  // is none. Without anything to be done there is no process. Fails if there can be no more.
  Result<> start(int command);

  bool is_started() const { return bool{channel_}; }

  // errno says why there is none.
  UniqueFd open_event(const perf_event_attr& attr, uint32_t cpu, pid_t thread = kAnyThread);
  // A new ring for a CPU, which BPF programs write to from now on; likewise.
  UniqueFd make_ring(uint32_t cpu);

  // See BPF_MAP_UPDATE_ELEM and BPF_MAP_DELETE_ELEM in bpf(2). Nobody waits for the answer, or
  // learns of a failure.
  template <class Key, class Value>
  void put(const bpf_map* map, const Key& key, const Value& value, uint64_t flags) {
    Request request{.task = Task::kPut, .flags = flags};
    copy(key, request.key);
    copy(value, request.value);
    ask_of_map(map, request);
  }
  template <class Key>
  void remove(const bpf_map* map, const Key& key) {
    Request request{.task = Task::kRemove};
    copy(key, request.key);
    ask_of_map(map, request);
  }

  // The entries of a map. It may change meanwhile: then some may be there twice.
  template <class Key, class Value>
  std::vector<std::pair<Key, Value>> entries(const bpf_map* map) {
    std::vector<std::pair<Key, Value>> found;
    for (const Entry& entry : all_entries(map)) {
      auto& [key, value] = found.emplace_back();
      std::memcpy(&key, entry.key.data(), sizeof(key));
      std::memcpy(&value, entry.value.data(), sizeof(value));
    }
    return found;
  }

  // Asks the command to end: SIGINT or SIGTERM.
  void signal_command(int signal);

private:
  enum class Task : uint32_t { kOpenEvent, kMakeRing, kPut, kRemove, kList, kSignal };
  using KeyBytes = std::array<std::byte, 8>;
  using ValueBytes = std::array<std::byte, 64>;
  struct Entry {
    KeyBytes key;
    ValueBytes value;
  };
  struct Request {
    Task task;
    uint32_t index = 0;  // index of an event or a map; or a signal
    uint32_t cpu = 0;
    int32_t thread = 0;
    uint64_t flags = 0;
    uint32_t has_key = 0;  // kList: there is one before
    KeyBytes key{};
    ValueBytes value{};
  };
  struct Reply {
    int32_t error = 0;     // an errno value
    uint32_t is_last = 0;  // kList: there is no more
    KeyBytes last{};       // likewise: where to go on
    uint32_t count = 0;
    std::array<Entry, 100> entries{};
  };
  struct KeptMap {
    int fd;
    MapUse use;
    uint32_t max_entries;
  };

  template <class From, class To>
  static void copy(const From& from, To& to) {
    static_assert(sizeof(From) <= sizeof(To) && std::is_trivially_copyable_v<From>);
    std::memcpy(to.data(), &from, sizeof(from));
  }
  static bool has_reply(Task task);
  void ask_of_map(const bpf_map* map, Request& request);
  std::vector<Entry> all_entries(const bpf_map* map);
  Reply ask(const Request& request, UniqueFd& given);
  Reply perform(const Request& request, UniqueFd& given) const;
  UniqueFd open(const Request& request) const;
  UniqueFd make_ring(const Request& request) const;
  static void list(const KeptMap& map, const Request& request, Reply& reply);
  void serve(int channel) const;

  std::vector<perf_event_attr> events_;
  std::vector<KeptMap> maps_;
  int rings_ = -1;
  uint32_t ring_size_ = 0;
  int command_ = -1;
  UniqueFd channel_;  // none: it was not started
  std::mutex asking_;
};

}  // namespace gosym
