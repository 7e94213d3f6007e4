#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace gosym {

enum class StringId : uint32_t {};

// Keeps one copy of each string and gives out dense ids, in order of first use. Here borrowed
// text becomes owned: a Profile holds ids only and outlives every file they came from. Id 0 is
// "".
class StringPool {
public:
  StringPool();
  ~StringPool();
  StringPool(const StringPool& other);
  StringPool& operator=(const StringPool&) = delete;
  StringPool(StringPool&&) noexcept;
  StringPool& operator=(StringPool&&) noexcept;

  StringId intern(std::string_view text);

  // Valid as long as the pool, wherever it is moved.
  std::string_view operator[](StringId id) const { return texts_[static_cast<size_t>(id)]; }
  size_t size() const { return texts_.size(); }
  // In bytes, about.
  uint64_t memory() const;

private:
  uint64_t text_size_ = 0;
  std::deque<std::string> texts_;  // a deque: the keys below point into it
  tsl::robin_map<std::string_view, StringId> ids_;
};

}  // namespace gosym
