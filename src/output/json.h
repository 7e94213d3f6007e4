#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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

  // An object, or an array of what `write` writes of each item.
  template <class Fill>
  void object(Fill fill) {
    begin_object();
    fill();
    end_object();
  }
  template <class Fill>
  void object(std::string_view name, Fill fill) {
    key(name);
    object(fill);
  }
  template <class Items, class WriteItem>
  void array(std::string_view name, const Items& items, WriteItem write) {
    key(name);
    begin_array();
    for (const auto& item : items)
      write(item);
    end_array();
  }
  template <class Items>
  void values(std::string_view name, const Items& items) {
    array(name, items, [this](const auto& item) { this->value(item); });
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

// Facts about one thing: lines for people, and members of an object for programs. Most facts are
// for both, in one order; a form may lack some.
class Record {
public:
  using Value = std::variant<std::string, uint64_t, bool, std::vector<std::string>>;

  // For both, with one text, or with a value that programs can count with.
  void add(std::string_view label, std::string_view name, std::string_view text);
  void add(std::string_view label, std::string_view text, std::string_view name, Value value);
  // For people, and for programs, alone.
  void add_line(std::string_view label, std::string_view text);
  void add_member(std::string_view name, Value value);
  // Members until end_object() are of an object within this one.
  void begin_object(std::string_view name);
  void end_object();

  // "address       0x1000", with texts in one column.
  std::string lines(size_t indent) const;
  void write_members(JsonWriter& json) const;

private:
  enum class Kind : uint8_t { kLine, kMember, kBegin, kEnd };
  struct Entry {
    Kind kind;
    std::string name = {};  // or the label of a line
    Value value = {};
  };
  std::vector<Entry> entries_;
};

// The members of an object that are texts; none if that is no JSON object.
std::map<std::string, std::string> json_texts(std::string_view object);

}  // namespace gosym
