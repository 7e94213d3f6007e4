#pragma once

// Most text needs no escape, and is then copied by the vector. Version 1.1.0 takes 0x1a to 0x1f
// for text there, so that it may be given plain text only.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#elif defined(__ARM_NEON)
#define RAPIDJSON_NEON
#endif
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>

namespace gosym {

// Writes one JSON value to a string. Text from outside is made valid UTF-8, and safe for a
// terminal: a byte that is not part of a character becomes U+FFFD, and what printable() does
// not let pass is escaped.
class JsonWriter {
public:
  void begin_object() { writer_.StartObject(); }
  void end_object() { writer_.EndObject(); }
  void begin_array() { writer_.StartArray(); }
  void end_array() { writer_.EndArray(); }

  void key(std::string_view name);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag) { writer_.Bool(flag); }
  void value(uint64_t number) { writer_.Uint64(number); }
  void value(uint32_t number) { writer_.Uint(number); }
  void value(int32_t number) { writer_.Int(number); }
  void value(double number) { writer_.Double(number); }

  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

  // Begins anew, in the memory that it has.
  void clear() {
    buffer_.Clear();
    writer_.Reset(buffer_);
  }

  // What was written so far; valid until the next call.
  std::string_view text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

private:
  void write(std::string_view text);

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace gosym
