#include <fcntl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/exit_status.h"
#include "base/file_tree.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/record_options.h"
#include "commands/recordings.h"
#include "confine/parser.h"
#include "raw/reader.h"
#include "raw/writer.h"
#include "record/files/archive.h"
#include "record/files/file_helper.h"
#include "symbolize/make_profile.h"

namespace gosym {

// A recording gets the files that a report would ask for, as pieces appended to it.
// asked_files() finds out which: it makes a profile as a report does, callers included,
// without names. Each file is checked to be the one that was recorded before it is copied.

namespace {

struct ArchiveOptions {
  std::string recording = "cpu.raw";
  std::string symfs;
  ArchivedData data = ArchivedData::kKept;
  bool is_quiet = false;
};

// True if names of its code are in a debug file that lies elsewhere.
bool has_debug_file(const RecordedImage& image, const DebugFileOptions& where,
                    const HeldFiles& held) {
  RecordedBinary binary = open_recorded_binary(image, where, held);
  if (!binary.binary)
    return false;
  // An error says that all files there are of another build, or that a server failed: that is
  // none as well.
  auto found = open_debug_file(binary.binary->image(), image.path, where);
  return found && *found;
}

// Files that the recording has itself are copies in memory, unlike those of a store beside it.
bool is_in_recording(const HeldFiles& held, ImageId id) {
  auto found = held.find(id);
  return found != held.end() && is_sealed(found->second);
}

// Files that a report asks for names or callers.
struct AskedFiles {
  std::vector<RecordedImage> missing;  // that the recording does not have
  size_t with_debug_file = 0;          // of all of them
};

Result<AskedFiles> asked_files(raw::Recording& recording, const DebugFileOptions& where) {
  // The cache keeps the files that the recording or a store beside it has (`held`).
  ImageCache cache;
  // No filter and no grouping: an image that any report could ask for is among those found.
  auto profile = profile_with_callers(recording, {}, {}, where, cache);
  if (!profile)
    return std::move(profile).error();
  AskedFiles files;
  for (ProfileImage& image : profile->images) {
    if (image.kind != ProfileImage::Kind::kFile)
      continue;
    files.with_debug_file += has_debug_file(image.file, where, cache.held);
    if (!is_in_recording(cache.held, image.file.id))
      files.missing.push_back(std::move(image.file));
  }
  return files;
}

// The file as a store beside the recording keeps it; none: no store does.
UniqueFd find_stored_file(const RecordedImage& image, const std::vector<std::string>& stores) {
  for (const std::string& place : places_in_stores(image, stores))
    if (UniqueFd found = find_file(place))
      return found;
  return {};
}

// The file of an image, if it is the one that was recorded.
Result<ImagePieces> open_pieces(const RecordedImage& image, const ArchiveOptions& options,
                                const std::vector<std::string>& stores) {
  // The file at its path goes before a copy in a store: either has to be the one that was
  // recorded.
  UniqueFd found = find_file(image.path, options.symfs);
  RecordedBinary binary = check_recorded_binary(image, found);
  if (UniqueFd stored = binary.binary ? UniqueFd() : find_stored_file(image, stores)) {
    if (auto kept = check_recorded_binary(image, stored, /*is_held=*/true); kept.binary) {
      binary = std::move(kept);
      found = std::move(stored);
    }
  }
  if (!binary.binary)
    return Error(binary.problem);
  auto file = open_found(found);
  if (!file)
    return std::move(file).error();
  return ImagePieces::open(image.id, *std::move(file), options.data);
}

void tell_debug_files(size_t count) {
  if (count > 0)
    print(stderr,
          "note: debug files that lie apart from their binaries are not kept, {} of them here: "
          "elsewhere, name their folder by --debug-dir\n",
          count);
}

// Why the file is not in the recording now; empty if it is. Fails only where the recording
// cannot be written: then no other file can be added either.
Result<std::string> archive(const RecordedImage& image, const ArchiveOptions& options,
                            const std::vector<std::string>& stores, raw::Writer& writer) {
  auto pieces = open_pieces(image, options, stores);
  if (!pieces)
    return pieces.error().message();
  // Written as it is read: a file may be larger than memory.
  while (auto piece = pieces->next()) {
    if (!*piece)
      return piece->error().message();
    if (auto written = writer.write_piece(**piece); !written)
      return std::move(written).error();
  }
  return std::string();
}

Result<int> run_archive(const ArchiveOptions& options) {
  if (options.recording == "-")
    return Error("cannot add files to a stream: name a recording")
        .with_hint("see 'gosym archive --help'")
        .with_exit_status(kUsage);
  DebugFileOptions where;
  where.symfs = options.symfs;
  where.stores = stores_beside({options.recording});
  std::vector<std::string> roots = where.stores;
  roots.push_back(options.symfs);
  // The recording is named as output, too: the opener opens it for appending, when all has been
  // parsed.
  auto confined = become_parser(
      {.inputs = {options.recording}, .roots = roots, .outputs = {options.recording}});
  if (!confined)
    return std::move(confined).error();
  auto recording = raw::read(options.recording);
  if (!recording)
    return std::move(recording).error();
  if (recording->damaged_bytes > 0)
    warn(options, "'{}': damaged or cut short", options.recording);
  auto files = asked_files(*recording, where);
  if (!files)
    return std::move(files).error().context(fmt::format("'{}'", options.recording));
  if (files->missing.empty()) {
    if (!options.is_quiet) {
      print(stderr, "nothing to add: '{}' has all the files that it needs\n",
            options.recording);
      tell_debug_files(files->with_debug_file);
    }
    return kSuccess;
  }
  // Nothing is written unless something is to be added: a file that needs nothing keeps its
  // time.
  auto writer = raw::Writer::append_to(options.recording, *recording);
  if (!writer)
    return std::move(writer).error();

  size_t count = 0;
  for (const RecordedImage& file : files->missing) {
    auto problem = archive(file, options, where.stores, **writer);
    if (!problem)
      return std::move(problem).error();
    count += problem->empty();
    if (!problem->empty())
      warn(options, "'{}': {}", file.path, *problem);
  }
  if (!options.is_quiet)
    print(stderr, "archived {} {}; {} now in {}\n", count, count == 1 ? "file" : "files",
          human_size((*writer)->bytes_written()), options.recording);
  if (!options.is_quiet)
    tell_debug_files(files->with_debug_file);
  // Some that could not be added leave a recording that is readable in part elsewhere.
  return count == files->missing.size() ? kSuccess : kPartial;
}

}  // namespace

Command make_archive() {
  auto options = std::make_shared<ArchiveOptions>();
  std::vector<Option> all = {
      {.names = "FILE",
       .help = "Recording to add to (default: cpu.raw)",
       .take = into(options->recording)},
      archive_data_option(options->data),
      symfs_option(options->symfs),
      {.names = "-q,--quiet", .help = "Print errors only", .take = into(options->is_quiet)}};
  return {.name = "archive",
          .summary = "Put the files that were sampled into a recording",
          .groups = {{"Options", std::move(all)}},
          .examples =
              "  gosym archive                      make cpu.raw readable elsewhere\n"
              "  gosym archive --symfs ./root old.raw\n",
          .run = [options] { return run_archive(*options); }};
}

}  // namespace gosym
