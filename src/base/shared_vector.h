#pragma once

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace gosym {

// A vector that its copies share until one of them is changed, so that to copy it takes no time
// and no memory.
//
// It is a value as std::vector is: nobody sees the changes of another one. Whoever may change it
// has rows of its own from then on, so that reading takes a const one.
template <class T>
class SharedVector {
public:
  using value_type = T;

  SharedVector() = default;
  SharedVector(std::vector<T> rows)
      : rows_(std::make_shared<std::vector<T>>(std::move(rows))) {}
  SharedVector(std::initializer_list<T> rows) : rows_(std::make_shared<std::vector<T>>(rows)) {}

  // The rows themselves. Those to be changed are no other one's.
  const std::vector<T>& rows() const { return rows_ ? *rows_ : kNone; }
  std::vector<T>& own() {
    if (!rows_ || rows_.use_count() > 1) [[unlikely]]
      unshare();
    // The last of those that shared them may have read them in another thread.
    std::atomic_thread_fence(std::memory_order_acquire);
    return *rows_;
  }
  operator const std::vector<T>&() const { return rows(); }
  operator std::vector<T>&() { return own(); }

  const T& operator[](size_t index) const { return rows()[index]; }
  T& operator[](size_t index) { return own()[index]; }
  const T& front() const { return rows().front(); }
  T& front() { return own().front(); }
  const T& back() const { return rows().back(); }
  T& back() { return own().back(); }
  auto begin() const { return rows().begin(); }
  auto begin() { return own().begin(); }
  auto end() const { return rows().end(); }
  auto end() { return own().end(); }
  size_t size() const { return rows().size(); }
  size_t capacity() const { return rows().capacity(); }
  bool empty() const { return rows().empty(); }

  void push_back(const T& row) { own().push_back(row); }
  void push_back(T&& row) { own().push_back(std::move(row)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    return own().emplace_back(std::forward<Args>(args)...);
  }
  template <class Iterator>
  void insert(typename std::vector<T>::const_iterator place, Iterator first, Iterator last) {
    own().insert(place, first, last);
  }
  void pop_back() { own().pop_back(); }
  void resize(size_t size) { own().resize(size); }
  void clear() { rows_.reset(); }

  bool operator==(const SharedVector& other) const { return rows() == other.rows(); }

private:
  // Apart from own(), which is called for each row, so that compilers put that in its callers.
  [[gnu::noinline]] void unshare() {
    rows_ =
        rows_ ? std::make_shared<std::vector<T>>(*rows_) : std::make_shared<std::vector<T>>();
  }

  inline static const std::vector<T> kNone;

  std::shared_ptr<std::vector<T>> rows_;  // null: none
};

}  // namespace gosym
