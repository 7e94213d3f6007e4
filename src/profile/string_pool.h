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
  StringPool() { intern(""); }
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;

  StringId intern(std::string_view text) {
    if (auto known = ids_.find(text); known != ids_.end())
      return known->second;
    auto id = static_cast<StringId>(texts_.size());
    ids_.emplace(texts_.emplace_back(text), id);
    text_size_ += text.size();
    return id;
  }

  // Valid as long as the pool, wherever it is moved.
  std::string_view operator[](StringId id) const { return texts_[static_cast<size_t>(id)]; }
  size_t size() const { return texts_.size(); }
  // In bytes, about.
  uint64_t memory() const {
    constexpr uint64_t kEntry = sizeof(std::string_view) + 2 * sizeof(uint64_t);
    return text_size_ + texts_.size() * sizeof(std::string) + ids_.bucket_count() * kEntry;
  }

private:
  uint64_t text_size_ = 0;
  std::deque<std::string> texts_;  // a deque: the keys below point into it
  tsl::robin_map<std::string_view, StringId> ids_;
};

}  // namespace gosym
