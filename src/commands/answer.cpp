#include "commands/answer.h"

#include "base/print.h"
#include "base/text.h"

namespace gosym {

namespace {

std::string position(const Call& call) {
  if (call.file.empty())
    return {};
  std::string file = printable(call.file);
  return call.line == 0 ? " " + file : fmt::format(" {}:{}", file, call.line);
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

void write_frame(const Call& call, FrameSource source, NameForm form, JsonWriter& json) {
  json.begin_object();
  json.field("function", display_name(call.function, source, form));
  if (!call.file.empty())
    json.field("file", call.file);
  if (call.line != 0)
    json.field("line", call.line);
  json.field("inlined", call.is_inlined);
  json.field("source", to_string(source));
  json.end_object();
}

}  // namespace

void print_text(const Answer& answer, NameForm form) {
  print(stdout, "{:#x}", answer.address);
  if (answer.calls.empty())
    print(stdout, " ?? ({}){}\n", printable(answer.reason), place(answer));
  for (size_t i = 0; i < answer.calls.size(); i++)
    print(stdout, "{}{}{}\n", i == 0 ? " " : "  (inlined by) ",
          printable(display_name(answer.calls[i].function, answer.source, form)),
          position(answer.calls[i]));
}

void print_json(const Answer& answer, NameForm form, JsonWriter& json) {
  json.clear();
  json.begin_object();
  json.field("address", fmt::format("{:#x}", answer.address));
  if (!answer.image.empty())
    json.field("image", answer.image);
  if (answer.image_address)
    json.field("image_address", fmt::format("{:#x}", to_integer(*answer.image_address)));
  json.key("frames");
  json.begin_array();
  for (const Call& call : answer.calls)
    write_frame(call, answer.source, form, json);
  json.end_array();
  if (answer.calls.empty())
    json.field("reason", answer.reason);
  json.end_object();
  print(stdout, "{}\n", json.text());
}

}  // namespace gosym
