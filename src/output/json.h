#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "output/write.h"

namespace gosym {

// Writes one JSON value to a string. Text from outside is made valid UTF-8, and safe for a
// terminal: a byte that is not part of a character becomes U+FFFD, and what printable() does
// not let pass is escaped.
class JsonWriter {
public:
  JsonWriter();
  ~JsonWriter();

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();

  void key(std::string_view name);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag);
  void value(uint64_t number);
  void value(uint32_t number);
  void value(int32_t number);
  void value(double number);
  void null();

  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

  // Begins anew, in the memory that it has.
  void clear();

  // The text that was written so far; valid until the next call.
  std::string_view text() const;

  // Passes that on if it is more than so many bytes, and goes on behind it: a long value is
  // never whole in memory. False: nobody reads it any more.
  bool flush(const Write& write, size_t least = 0);
  static constexpr size_t kPart = 1 << 20;  // worth to be passed on

private:
  struct State;  // the library is known to json.cpp alone: to read it takes long
  std::unique_ptr<State> state_;
};

// The members of an object that are texts; none if that is no JSON object.
std::map<std::string, std::string> json_texts(std::string_view object);

}  // namespace gosym
