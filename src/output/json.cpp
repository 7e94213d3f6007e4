#include "output/json.h"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/text.h"

// RapidJSON writes the structure, the commas and the numbers. Text is written here: the
// library would check and copy it byte by byte, and lets characters pass that a terminal must
// not get.
namespace gosym {

namespace {

// The first character of valid UTF-8.
std::string_view first_character(std::string_view text) {
  auto lead = static_cast<uint8_t>(text.front());
  return text.substr(0, lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);
}

uint32_t code_point_of(std::string_view character) {
  auto lead = static_cast<uint8_t>(character.front());
  uint32_t code_point = character.size() == 1 ? lead : lead & (0x7fu >> character.size());
  for (char c : character.substr(1))
    code_point = code_point << 6 | (static_cast<uint8_t>(c) & 0x3fu);
  return code_point;
}

// A pair of surrogates beyond 16 bits.
std::string escape(uint32_t code_point) {
  if (code_point < 0x10000)
    return fmt::format("\\u{:04X}", code_point);
  uint32_t rest = code_point - 0x10000;
  return fmt::format("\\u{:04X}\\u{:04X}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
}

// With its quotes.
std::string quoted(std::string_view text) {
  std::string valid = valid_utf8(text);
  // One character at a time: few texts come here at all (State::write()).
  std::string result = "\"";
  for (std::string_view rest = valid; !rest.empty();) {
    std::string_view character = first_character(rest);
    if (character == "\"" || character == "\\")
      result.append("\\").append(character);
    else if (is_printable(character))
      result += character;
    else
      result += escape(code_point_of(character));
    rest.remove_prefix(character.size());
  }
  return result + '"';
}

}  // namespace

struct JsonWriter::State : rapidjson::Writer<rapidjson::StringBuffer> {
  rapidjson::StringBuffer buffer;

  State() { Reset(buffer); }

  // Most text needs no escape and is copied whole: the library looks at each character.
  void write(std::string_view text) {
    if (!is_plain(text) || text.find('"') != text.npos || text.find('\\') != text.npos) {
      std::string json = quoted(text);
      RawValue(json.data(), json.size(), rapidjson::kStringType);
      return;
    }
    // Prefix() writes the comma or colon before the value, and keeps the library's count of
    // members.
    Prefix(rapidjson::kStringType);
    char* place = buffer.Push(text.size() + 2);
    *place = '"';
    std::memcpy(place + 1, text.data(), text.size());
    place[text.size() + 1] = '"';
  }
};

JsonWriter::JsonWriter() : state_(std::make_unique<State>()) {}
JsonWriter::~JsonWriter() = default;

void JsonWriter::begin_object() {
  state_->StartObject();
}
void JsonWriter::end_object() {
  state_->EndObject();
}
void JsonWriter::begin_array() {
  state_->StartArray();
}
void JsonWriter::end_array() {
  state_->EndArray();
}

void JsonWriter::key(std::string_view name) {
  state_->write(name);
}
void JsonWriter::value(std::string_view text) {
  state_->write(text);
}
void JsonWriter::value(bool flag) {
  state_->Bool(flag);
}
void JsonWriter::value(uint64_t number) {
  state_->Uint64(number);
}
void JsonWriter::value(uint32_t number) {
  state_->Uint(number);
}
void JsonWriter::value(int32_t number) {
  state_->Int(number);
}
void JsonWriter::value(double number) {
  state_->Double(number);
}

void JsonWriter::null() {
  state_->Null();
}

void JsonWriter::clear() {
  state_->buffer.Clear();
  // A writer that has written a whole value refuses another until it is reset.
  state_->Reset(state_->buffer);
}

std::string_view JsonWriter::text() const {
  return {state_->buffer.GetString(), state_->buffer.GetSize()};
}

bool JsonWriter::flush(const Write& write, size_t least) {
  bool is_read = true;
  if (text().size() > least) {
    // Only the text goes: the writer still knows which objects and arrays are open.
    is_read = write(text());
    state_->buffer.Clear();
  }
  return is_read;
}

void Record::add(std::string_view label, std::string_view name, std::string_view text) {
  add(label, text, name, std::string(text));
}

void Record::add(std::string_view label, std::string_view text, std::string_view name,
                 Value value) {
  add_line(label, text);
  add_member(name, std::move(value));
}

void Record::add_line(std::string_view label, std::string_view text) {
  entries_.push_back({Kind::kLine, std::string(label), std::string(text)});
}

void Record::add_member(std::string_view name, Value value) {
  entries_.push_back({Kind::kMember, std::string(name), std::move(value)});
}

void Record::begin_object(std::string_view name) {
  entries_.push_back({Kind::kBegin, std::string(name)});
}

void Record::end_object() {
  entries_.push_back({Kind::kEnd});
}

std::string Record::lines(size_t indent) const {
  std::string text;
  for (const Entry& entry : entries_)
    // add_line() gives each line a text, and no other kind of value.
    if (entry.kind == Kind::kLine)
      text += fmt::format("{:<{}}{}\n", entry.name, indent,
                          printable(std::get<std::string>(entry.value)));
  return text;
}

void Record::write_members(JsonWriter& json) const {
  for (const Entry& entry : entries_) {
    // Lines are for people alone, and are passed over.
    if (entry.kind == Kind::kEnd)
      json.end_object();
    if (entry.kind == Kind::kMember || entry.kind == Kind::kBegin)
      json.key(entry.name);
    if (entry.kind == Kind::kBegin)
      json.begin_object();
    if (entry.kind != Kind::kMember)
      continue;
    if (const auto* items = std::get_if<std::vector<std::string>>(&entry.value)) {
      json.begin_array();
      for (const std::string& item : *items)
        json.value(item);
      json.end_array();
    } else if (const auto* text = std::get_if<std::string>(&entry.value)) {
      json.value(*text);
    } else if (const auto* number = std::get_if<uint64_t>(&entry.value)) {
      json.value(*number);
    } else {
      json.value(std::get<bool>(entry.value));
    }
  }
}

std::map<std::string, std::string> json_texts(std::string_view object) {
  // Without recursion: whoever wrote it chooses how deep it is.
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(object.data(), object.size());
  std::map<std::string, std::string> texts;
  if (document.HasParseError() || !document.IsObject())
    return texts;
  // By numbers: its iterators have a comparison that C++20 calls ambiguous.
  for (rapidjson::SizeType i = 0; i < document.MemberCount(); i++)
    if (const auto& member = document.MemberBegin()[static_cast<ptrdiff_t>(i)];
        member.value.IsString())
      texts[{member.name.GetString(), member.name.GetStringLength()}] = {
          member.value.GetString(), member.value.GetStringLength()};
  return texts;
}

}  // namespace gosym
