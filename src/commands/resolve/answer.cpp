#include "commands/resolve/answer.h"

#include <cstdio>

#include "base/text.h"

namespace gosym {

namespace {

void append_address(uint64_t address, std::string& text) {
  text += "0x";
  append_number(address, 16, text);
}

// No formats, and no copies of names: these took an eighth of the time.
void append_call(const Call& call, FrameSource source, ShownNames& names, std::string& text) {
  std::string room;
  std::string printable_room;
  text.append(printable(names.of(call, source, room), printable_room));
  if (!call.file.empty()) {
    text.push_back(' ');
    text.append(printable(call.file, room));
  }
  if (!call.file.empty() && call.line != 0) {
    text.push_back(':');
    append_number(call.line, 10, text);
  }
  text.push_back('\n');
}

// The place or the name, as it was asked for.
void append_question(const Answer& answer, std::string& text) {
  if (!answer.build_id.empty()) {
    text += printable(answer.build_id) + "+";
    append_address(answer.offset, text);
  } else if (answer.calls.empty() && !answer.name.empty()) {
    text += printable(answer.name);
  } else {
    append_address(answer.address, text);
  }
}

// " /usr/lib/libc.so.6+0x2724a"
std::string place(const Answer& answer) {
  if (answer.image.empty())
    return {};
  std::string image = printable(answer.image);
  if (!answer.image_address)
    return " " + image;
  return fmt::format(" {}+{:#x}", image, to_integer(*answer.image_address));
}

void write_frame(const Call& call, FrameSource source, ShownNames& names, JsonWriter& json) {
  json.begin_object();
  std::string room;
  json.field("function", names.of(call, source, room));
  if (!call.file.empty())
    json.field("file", call.file);
  if (call.line != 0)
    json.field("line", call.line);
  json.field("inlined", call.is_inlined);
  json.field("source", to_string(source));
  json.end_object();
}

}  // namespace

std::string_view ShownNames::of(const Call& call, FrameSource source, std::string& room) {
  constexpr size_t kMaxNames = 50'000;  // of some 200 bytes each
  // Names of Go are shown as they are, most of them.
  if (is_go(source) || form_ == NameForm::kNone)
    return display_name(call.function, source, form_, room);
  Names& names = names_[source];
  if (names.shown.size() >= kMaxNames)
    names = {};
  auto number = static_cast<size_t>(names.linker_names.intern(call.function));
  if (number == names.shown.size())
    names.shown.push_back(display_name(call.function, source, form_));
  return names.shown[number];
}

void print_text(const Answer& answer, ShownNames& names) {
  constexpr size_t kUsually = 512;
  std::string text;
  text.reserve(kUsually);
  append_question(answer, text);
  if (answer.calls.empty())
    text += fmt::format(" ?? ({}){}\n", printable(answer.reason), place(answer));
  for (size_t i = 0; i < answer.calls.size(); i++) {
    text += i == 0 ? " " : "  (inlined by) ";
    append_call(answer.calls[i], answer.source, names, text);
  }
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const Answer& answer, ShownNames& names, JsonWriter& json) {
  json.clear();
  json.begin_object();
  if (!answer.name.empty())
    json.field("name", answer.name);
  if (!answer.build_id.empty()) {
    json.field("build_id", answer.build_id);
    json.field("offset", fmt::format("{:#x}", answer.offset));
  } else if (answer.name.empty() || !answer.calls.empty()) {
    std::string address;
    append_address(answer.address, address);
    json.field("address", address);
  }
  if (!answer.image.empty())
    json.field("image", answer.image);
  if (answer.image_address)
    json.field("image_address", fmt::format("{:#x}", to_integer(*answer.image_address)));
  json.key("frames");
  json.begin_array();
  for (const Call& call : answer.calls)
    write_frame(call, answer.source, names, json);
  json.end_array();
  if (answer.calls.empty())
    json.field("reason", answer.reason);
  json.end_object();
  (void)std::fwrite(json.text().data(), 1, json.text().size(), stdout);
  (void)std::fputc('\n', stdout);
}

}  // namespace gosym
