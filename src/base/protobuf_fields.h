#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "base/protobuf.h"

// Protobuf messages as plain values. A class Fields says of each message what its fields are,
// for writing and for reading alike:
//
//   struct Fields {
//     static void visit(auto& field, Either<Point> auto& point) {
//       field(1, point.x);
//       field(2, point.y);
//     }
//   };
//
// Numbers, bools and ids are varints (signed ones zigzag), vectors of numbers packed, strings
// bytes; other classes are messages, and vectors of them are repeated ones.

namespace gosym {

template <class T, class Message>
concept Either = std::same_as<std::remove_const_t<T>, Message>;

template <class Fields, class Message>
std::string encode_message(const Message& message);

// Writes the fields that are not 0, false or empty. (Nested messages are encoded on their own:
// a pbf_writer for a part of another one drops it when it is empty.)
template <class Fields>
class FieldWriter {
public:
  explicit FieldWriter(protozero::pbf_writer& out) : out_(out) {}

  void operator()(uint32_t number, const std::string& value) {
    if (!value.empty())
      out_.add_bytes(number, value);
  }

  template <std::unsigned_integral T>
  void operator()(uint32_t number, const std::vector<T>& values) {
    out_.add_packed_uint64(number, values.begin(), values.end());
  }

  template <class Message>
  void operator()(uint32_t number, const std::vector<Message>& messages) {
    for (const Message& message : messages)
      out_.add_message(number, encode_message<Fields>(message));
  }

  template <class T>
  void operator()(uint32_t number, const T& value) {
    if constexpr (std::is_class_v<T>)
      out_.add_message(number, encode_message<Fields>(value));
    else if (value == T{})
      return;
    else if constexpr (std::is_signed_v<T>)
      out_.add_sint64(number, value);
    else
      out_.add_uint64(number, static_cast<uint64_t>(value));
  }

  void fixed(uint32_t number, uint64_t value) {
    if (value != 0)
      out_.add_fixed64(number, value);
  }

private:
  protozero::pbf_writer& out_;
};

template <class Fields, class Message>
std::string encode_message(const Message& message) {
  std::string payload;
  protozero::pbf_writer out(payload);
  FieldWriter<Fields> field(out);
  Fields::visit(field, message);
  return payload;
}

template <class Fields, class Message>
void read_message(protozero::pbf_reader in, Message& message);

// Takes the value at which `in` stands, if it is that of the field.
template <class Fields>
class FieldReader {
public:
  explicit FieldReader(protozero::pbf_reader& in) : in_(in) {}

  bool has_read() const { return has_read_; }

  void operator()(uint32_t number, std::string& value) {
    if (is_at(number, Wire::length_delimited))
      value = in_.get_string();
  }

  template <std::unsigned_integral T>
  void operator()(uint32_t number, std::vector<T>& values) {
    if (is_at(number, Wire::length_delimited))
      for (uint64_t value : in_.get_packed_uint64())
        values.push_back(number_as<T>(value));
  }

  template <class Message>
  void operator()(uint32_t number, std::vector<Message>& messages) {
    if (is_at(number, Wire::length_delimited))
      read_message<Fields>(in_.get_message(), messages.emplace_back());
  }

  // A value of another wire type than that of the field is passed over by read_message().
  template <class T>
  void operator()(uint32_t number, T& value) {
    if constexpr (std::is_class_v<T>) {
      if (is_at(number, Wire::length_delimited))
        read_message<Fields>(in_.get_message(), value);
    } else if (is_at(number, Wire::varint)) {
      if constexpr (std::is_signed_v<T>)
        value = in_.get_sint64();
      else if constexpr (std::unsigned_integral<T>)
        value = number_as<T>(in_.get_uint64());
      else
        value = static_cast<T>(in_.get_uint64());
    }
  }

  void fixed(uint32_t number, uint64_t& value) {
    if (is_at(number, Wire::fixed64))
      value = in_.get_fixed64();
  }

private:
  using Wire = protozero::pbf_wire_type;

  // A number that is too large becomes the largest of its type: it refers to nothing.
  template <class T>
  static T number_as(uint64_t value) {
    return static_cast<T>(std::min<uint64_t>(value, std::numeric_limits<T>::max()));
  }

  bool is_at(uint32_t number, Wire type) {
    if (in_.tag_and_type() != protozero::tag_and_type(number, type))
      return false;
    has_read_ = true;
    return true;
  }

  protozero::pbf_reader& in_;
  bool has_read_ = false;
};

template <class Fields, class Message>
void read_message(protozero::pbf_reader in, Message& message) {
  while (in.next()) {
    FieldReader<Fields> field(in);
    Fields::visit(field, message);
    if (!field.has_read())
      in.skip();
  }
}

// Whole or not at all: an error if the payload is malformed. Fields that it lacks are those of
// `message`.
template <class Fields, class Message>
Result<Message> decode_message(Bytes payload, Message message = {}) {
  auto done = read_protobuf(
      payload, [&](protozero::pbf_reader in) { read_message<Fields>(in, message); });
  if (!done)
    return std::move(done).error();
  return message;
}

}  // namespace gosym
