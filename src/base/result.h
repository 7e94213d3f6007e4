#pragma once

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gosym {

// A failure, as one clause a user can act on: lower case, no full stop, culprit first. A caller
// that knows more puts that in front:
//
//   cannot read 'cpu.raw': header: cut short at byte 0x10 of 0x40
//
// `hint` says what to do, in one line, and is empty unless we are sure. `exit_status` is what
// the program ends with if nobody handles the error (the values are in exit_status.h).
class Error {
public:
  explicit Error(std::string message) : message_(std::move(message)) {}

  Error context(std::string_view outer) && {
    message_ = fmt::format("{}: {}", outer, message_);
    return std::move(*this);
  }
  Error with_hint(std::string hint) && {
    hint_ = std::move(hint);
    return std::move(*this);
  }
  Error with_exit_status(int status) && {
    exit_status_ = status;
    return std::move(*this);
  }

  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  int exit_status() const { return exit_status_; }

private:
  std::string message_;
  std::string hint_;
  int exit_status_ = 1;
};

template <class... Args>
Error errorf(fmt::format_string<Args...> format, Args&&... args) {
  return Error(fmt::format(format, std::forward<Args>(args)...));
}

// "WHAT: No such file or directory", from an errno value.
Error system_error(std::string_view what, int cause);

struct Ok {};

// A value, or the reason there is none: the part of std::expected that we use, which g++ 12 and
// clang 14 do not have yet. No std::variant, which takes most of a second more to compile in
// each of the larger files.
template <class T = Ok>
class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}

  explicit operator bool() const { return value_.has_value(); }

  T& operator*() & { return value_.value(); }
  const T& operator*() const& { return value_.value(); }
  T&& operator*() && { return std::move(value_).value(); }
  T* operator->() { return &value_.value(); }
  const T* operator->() const { return &value_.value(); }
  Error&& error() && { return std::move(*error_); }
  const Error& error() const& { return *error_; }

private:
  std::optional<T> value_;
  std::unique_ptr<Error> error_;  // null if there is a value
};

}  // namespace gosym
