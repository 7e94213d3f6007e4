#include "page/message.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <type_traits>

#include "base/protobuf.h"

namespace gosym::page {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

// The fields of each message, for writing and for reading alike: `field` takes the number and
// the value. The numbers are those of page.proto.

template <class T, class Message>
concept Either = std::same_as<std::remove_const_t<T>, Message>;

void visit(auto& field, Either<Origin> auto& origin) {
  field(1, origin.gosym_version);
  field(2, origin.host);
  field(3, origin.kernel_release);
  field(4, origin.machine);
  field(5, origin.command_line);
  field(6, origin.selection);
  field(7, origin.cpu_count);
  field.fixed(8, origin.start_realtime_ns);
  field(9, origin.duration_ns);
  field(10, origin.time_step_ns);
  field(11, origin.sampler);
  field(12, origin.has_user);
  field(13, origin.has_kernel);
  field(14, origin.is_system_wide);
  field(15, origin.lost_events);
  field(16, origin.source);
  field(17, origin.lacks_counts);
}

void visit(auto& field, Either<Event> auto& event) {
  field(1, event.name);
  field(2, event.frequency);
  field(3, event.period);
  field(4, event.unit_ns);
  field(5, event.unit_events);
  field(6, event.lost_samples);
  field(7, event.repaired);
  field(8, event.cut);
  field(9, event.unknown);
  field(10, event.deep);
  field(11, event.bridged);
  field(12, event.recorded_samples);
  field(13, event.skipped_ticks);
  field(14, event.throttled_ns);
  field(15, event.lost_ns);
  field(16, event.recorded_amount);
  field(17, event.is_weighted);
  field(18, event.amount);
  field(19, event.unit);
}

void visit(auto& field, Either<Recording> auto& recording) {
  field(1, recording.name);
  field(2, recording.host);
  field.fixed(3, recording.start_realtime_ns);
  field(4, recording.duration_ns);
  field(5, recording.command_line);
}

void visit(auto& field, Either<Texts> auto& texts) {
  field(1, texts.shared);
  field(2, texts.rest);
  field(3, texts.bytes);
}

void visit(auto& field, Either<Module> auto& module) {
  field(1, module.path);
  field(2, module.kind);
  field(3, module.gnu_build_id);
  field(4, module.go_build_id);
  field(5, module.debug_package);
}

void visit(auto& field, Either<Functions> auto& functions) {
  field(1, functions.name);
  field(2, functions.system_name);
  field(3, functions.file);
  field(4, functions.start_line);
  field(5, functions.package);
}

void visit(auto& field, Either<Frames> auto& frames) {
  field(1, frames.function);
  field(2, frames.line);
  field(3, frames.module);
  field(4, frames.source);
  field(5, frames.kind);
  field(6, frames.is_inlined);
  field(7, frames.unnamed);
  field(8, frames.text);
  field(9, frames.left_out);
  field(10, frames.category);
  field(11, frames.category_kind);
}

void visit(auto& field, Either<Tree> auto& tree) {
  field(1, tree.up);
  field(2, tree.next);
  field(3, tree.first);
  field(4, tree.samples);
  field(5, tree.root_samples);
}

void visit(auto& field, Either<Owners> auto& owners) {
  field(1, owners.event);
  field(2, owners.pid);
  field(3, owners.tid);
  field(4, owners.comm);
  field(5, owners.cgroup);
  field(6, owners.label_set);
  field(7, owners.recording);
  field(8, owners.state);
  field(9, owners.waker);
}

void visit(auto& field, Either<LabelSet> auto& labels) {
  field(1, labels.key);
  field(2, labels.value);
}

void visit(auto& field, Either<Samples> auto& samples) {
  field(1, samples.owner);
  field(2, samples.step);
  field(3, samples.count);
  field(4, samples.weight);
  field(5, samples.skipped);
}

void visit(auto& field, Either<Note> auto& note) {
  field(1, note.title);
  field(2, note.text);
}

void visit(auto& field, Either<Page> auto& page) {
  field(1, page.version);
  field(2, page.origin);
  field(3, page.events);
  field(4, page.recordings);
  field(5, page.texts);
  field(6, page.modules);
  field(7, page.functions);
  field(8, page.frames);
  field(9, page.tree);
  field(10, page.owners);
  field(11, page.label_sets);
  field(12, page.samples);
  field(13, page.notes);
}

template <class Message>
std::string encode_message(const Message& message);

// Writes what is not 0, false or empty, of columns those that do not hold zeros alone, and the
// first of each table.
class FieldWriter {
public:
  explicit FieldWriter(pbf_writer& out) : out_(out) {}

  void operator()(uint32_t number, const std::string& value) {
    if (!value.empty())
      out_.add_bytes(number, value);
  }

  void operator()(uint32_t number, const std::vector<int32_t>& values) {
    out_.add_packed_sint32(number, values.begin(), values.end());
  }

  template <std::unsigned_integral T>
  void operator()(uint32_t number, const std::vector<T>& values) {
    bool is_length_of_table = number == 1;
    if (is_length_of_table || std::ranges::any_of(values, [](T value) { return value != 0; }))
      out_.add_packed_uint64(number, values.begin(), values.end());
  }

  template <class Message>
  void operator()(uint32_t number, const std::vector<Message>& messages) {
    for (const Message& message : messages)
      out_.add_message(number, encode_message(message));
  }

  template <std::unsigned_integral T>
  void operator()(uint32_t number, T value) {
    if (value != T{})
      out_.add_uint64(number, value);
  }

  template <class Message>
  requires std::is_class_v<Message>
  void operator()(uint32_t number, const Message& message) {
    out_.add_message(number, encode_message(message));
  }

  void fixed(uint32_t number, uint64_t value) {
    if (value != 0)
      out_.add_fixed64(number, value);
  }

private:
  pbf_writer& out_;
};

template <class Message>
std::string encode_message(const Message& message) {
  std::string payload;
  pbf_writer out(payload);
  FieldWriter field(out);
  visit(field, message);
  return payload;
}

template <class Message>
void read(pbf_reader in, Message& message);

// Takes the value at which `in` stands, if it is that of the field.
class FieldReader {
public:
  explicit FieldReader(pbf_reader& in) : in_(in) {}

  bool has_read() const { return has_read_; }

  void operator()(uint32_t number, std::string& value) {
    if (is_at(number, pbf_wire_type::length_delimited))
      value = in_.get_string();
  }

  void operator()(uint32_t number, std::vector<int32_t>& values) {
    if (is_at(number, pbf_wire_type::length_delimited))
      for (int32_t value : in_.get_packed_sint32())
        values.push_back(value);
  }

  template <std::unsigned_integral T>
  void operator()(uint32_t number, std::vector<T>& values) {
    if (is_at(number, pbf_wire_type::length_delimited))
      for (uint64_t value : in_.get_packed_uint64())
        values.push_back(number_as<T>(value));
  }

  template <class Message>
  void operator()(uint32_t number, std::vector<Message>& messages) {
    if (is_at(number, pbf_wire_type::length_delimited))
      read(in_.get_message(), messages.emplace_back());
  }

  template <std::unsigned_integral T>
  void operator()(uint32_t number, T& value) {
    if (is_at(number, pbf_wire_type::varint))
      value = number_as<T>(in_.get_uint64());
  }

  template <class Message>
  requires std::is_class_v<Message>
  void operator()(uint32_t number, Message& message) {
    if (is_at(number, pbf_wire_type::length_delimited))
      read(in_.get_message(), message);
  }

  void fixed(uint32_t number, uint64_t& value) {
    if (is_at(number, pbf_wire_type::fixed64))
      value = in_.get_fixed64();
  }

private:
  // What is too large for a column refers to nothing.
  template <class T>
  static T number_as(uint64_t value) {
    return static_cast<T>(std::min<uint64_t>(value, std::numeric_limits<T>::max()));
  }

  bool is_at(uint32_t number, pbf_wire_type type) {
    if (in_.tag_and_type() != protozero::tag_and_type(number, type))
      return false;
    has_read_ = true;
    return true;
  }

  pbf_reader& in_;
  bool has_read_ = false;
};

template <class Message>
void read(pbf_reader in, Message& message) {
  while (in.next()) {
    FieldReader field(in);
    visit(field, message);
    if (!field.has_read())
      in.skip();
  }
}

}  // namespace

std::string encode(const Page& page) {
  return encode_message(page);
}

Result<Page> decode(Bytes message) {
  Page page;
  auto done = read_protobuf(message, [&](pbf_reader in) { read(in, page); });
  if (!done)
    return std::move(done).error();
  if (page.version != kVersion)
    return errorf("a page of version {}, where this gosym reads version {}", page.version,
                  kVersion);
  return page;
}

}  // namespace gosym::page
