#include "profile/string_pool.h"

namespace gosym {

StringPool::StringPool() {
  intern("");
}

StringPool::StringPool(const StringPool& other) {
  for (const std::string& text : other.texts_)
    intern(text);
}

StringPool::StringPool(StringPool&&) noexcept = default;
StringPool& StringPool::operator=(StringPool&&) noexcept = default;
StringPool::~StringPool() = default;

StringId StringPool::intern(std::string_view text) {
  if (auto known = ids_.find(text); known != ids_.end())
    return known->second;
  auto id = static_cast<StringId>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  text_size_ += text.size();
  return id;
}

uint64_t StringPool::memory() const {
  constexpr uint64_t kEntry = sizeof(std::string_view) + 2 * sizeof(uint64_t);
  return text_size_ + texts_.size() * sizeof(std::string) + ids_.bucket_count() * kEntry;
}

}  // namespace gosym
