#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/address.h"
#include "model/call.h"
#include "output/json.h"
#include "profile/profile.h"
#include "symbolize/names.h"

namespace gosym {

// Answer for an address or a name that was asked for. The calls borrow from the object that
// gave it.
struct Answer {
  uint64_t address = 0;       // as it was asked, or where the function of the name begins
  std::string name{};         // as it was asked; empty: an address was
  std::vector<Call> calls{};  // innermost first; empty: then `reason` says why
  FrameSource source{};
  std::string reason{};
  std::string image{};  // that is mapped there; empty where none was asked for, or none is
  std::optional<ImageAddress> image_address{};
  // The build id that was asked for, with an offset, instead of an address; empty: an address
  // or a name was.
  std::string build_id{};
  uint64_t offset = 0;  // in the file
};

// The names of functions in one form. Each of native code is demangled once, not once an
// address.
class ShownNames {
public:
  explicit ShownNames(NameForm form) : form_(form) {}

  // Valid until the next call, and as long as `room` and the call's own name.
  std::string_view of(const Call& call, FrameSource source, std::string& room);

private:
  struct Names {
    StringPool linker_names;
    std::deque<std::string> shown = {""};  // by the number of the linker's
  };

  NameForm form_;
  std::map<FrameSource, Names> names_;
};

// A line for people, or more where calls were inlined.
void print_text(const Answer& answer, ShownNames& names);
// A line with an object. The writer is used for one after the other.
void print_json(const Answer& answer, ShownNames& names, JsonWriter& json);

// Items from a stream, one a line; blank lines are passed over. What has come is given before
// more is waited for, so that a program can hold a conversation.
template <class Item>
class ItemLines {
public:
  using Parse = std::function<std::optional<Item>(std::string_view line)>;

  // Messages call the stream "standard input", and a line that is none "not `what`".
  ItemLines(int stream, Parse parse, std::string what)
      : stream_(stream), parse_(std::move(parse)), what_(std::move(what)) {}

  // All whose lines are there, at least one; none at the end. A line that is no item is
  // an error, once those before it are given.
  Result<std::vector<Item>> next();

private:
  // Takes the items of whole lines off what is pending.
  Result<> take(std::vector<Item>& items);
  // Waits until something has come, and appends it to what is pending; sets is_end_ at the end.
  Result<> read_more();

  int stream_;
  Parse parse_;
  std::string what_;
  std::string pending_;
  uint64_t line_number_ = 0;  // of the last line that was taken
  bool is_end_ = false;
};

// Hexadecimal addresses.
class AddressLines : public ItemLines<uint64_t> {
public:
  explicit AddressLines(int stream);
};

}  // namespace gosym
