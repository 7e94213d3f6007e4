#include "page/message.h"

#include "base/protobuf_fields.h"
#include "page/short_columns.h"

namespace gosym::page {

namespace {

// The numbers are those of page.proto.
struct Fields {
  static void visit(auto& field, Either<Origin> auto& origin) {
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
    field(18, origin.compared_per);
    field(19, origin.scale_before);
    field(20, origin.idle_ns);
  }

  static void visit(auto& field, Either<Event> auto& event) {
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
    field(20, event.walked_samples);
  }

  static void visit(auto& field, Either<Recording> auto& recording) {
    field(1, recording.name);
    field(2, recording.host);
    field.fixed(3, recording.start_realtime_ns);
    field(4, recording.duration_ns);
    field(5, recording.command_line);
  }

  static void visit(auto& field, Either<Side> auto& side) {
    field(1, side.origin);
    field(2, side.event);
    field(3, side.recordings);
  }

  static void visit(auto& field, Either<Texts> auto& texts) {
    field(1, texts.shared);
    field(2, texts.rest);
    field(3, texts.bytes);
  }

  static void visit(auto& field, Either<Module> auto& module) {
    field(1, module.path);
    field(2, module.kind);
    field(3, module.gnu_build_id);
    field(4, module.go_build_id);
    field(5, module.debug_package);
    field(6, module.own_modules);
    field(7, module.is_executable);
    field(8, module.has_sources);
  }

  static void visit(auto& field, Either<Functions> auto& functions) {
    field(1, functions.name);
    field(2, functions.system_name);
    field(3, functions.file);
    field(4, functions.start_line);
    field(5, functions.package);
    field(6, functions.declared);
  }

  static void visit(auto& field, Either<Frames> auto& frames) {
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
    field(12, frames.is_own);
  }

  static void visit(auto& field, Either<Tree> auto& tree) {
    field(1, tree.up);
    field(2, tree.added);
    field(3, tree.samples);
    field(4, tree.next);
    field(5, tree.first);
    field(6, tree.root_samples);
  }

  static void visit(auto& field, Either<Owners> auto& owners) {
    field(1, owners.event);
    field(2, owners.pid);
    field(3, owners.tid);
    field(4, owners.comm);
    field(5, owners.cgroup);
    field(6, owners.label_set);
    field(7, owners.recording);
    field(8, owners.state);
    field(9, owners.waker);
    field(10, owners.process);
  }

  static void visit(auto& field, Either<LabelSet> auto& labels) {
    field(1, labels.key);
    field(2, labels.value);
  }

  static void visit(auto& field, Either<Samples> auto& samples) {
    field(1, samples.owner);
    field(2, samples.step);
    field(3, samples.count);
    field(4, samples.weight);
    field(5, samples.skipped);
  }

  static void visit(auto& field, Either<Source> auto& source) {
    field(1, source.file);
    field(2, source.text);
  }

  static void visit(auto& field, Either<Note> auto& note) {
    field(1, note.title);
    field(2, note.text);
  }

  static void visit(auto& field, Either<Page> auto& page) {
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
    field(14, page.sides);
    field(15, page.sources);
  }
};

}  // namespace

std::string encode(Page page) {
  shorten(page);
  return encode_message<Fields>(page);
}

Result<Page> decode(Bytes message) {
  auto page = decode_message<Fields, Page>(message);
  if (!page)
    return page;
  if (page->version != kVersion)
    return errorf("a page of version {}, where this gosym reads version {}", page->version,
                  kVersion);
  if (auto restored = restore(*page); !restored)
    return std::move(restored).error();
  return page;
}

}  // namespace gosym::page
