#include "commands/needs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "elf/image.h"
#include "go/build_info.h"
#include "output/json.h"
#include "output/table.h"
#include "proc/packages.h"

namespace gosym {

namespace {

// The images whose code has no name in each stack, and why.
using Missing = std::map<uint32_t, std::pair<Unnamed, uint64_t>>;

// A sample counts once for each file in its stack, however many frames are of that. The reason
// is that of the first location without a name.
Missing find_missing(const Profile& profile) {
  Missing missing;
  std::set<uint32_t> seen;  // of a stack
  for (const SampleCount& sample : profile.samples) {
    seen.clear();
    for (LocationId id : profile.stack(sample.stack)) {
      const Location& location = profile.locations[to_index(id)];
      if (profile.is_named(location) || !is_about_file(location.unnamed))
        continue;
      uint32_t image = profile.mappings[to_index(location.mapping)].image;
      auto [place, is_new] = missing.try_emplace(image, location.unnamed, 0);
      if (seen.insert(image).second)
        place->second.second += sample.count;
    }
  }
  return missing;
}

// The package by what the file says of itself: a distribution's note, or a Go program's record.
void set_package_of_file(const elf::Image& image, NeededFile& file) {
  // The note .note.package is JSON; a member that it lacks is an empty text here.
  auto note = json_texts(elf::build_ids(image).package);
  file.package = note["name"];
  file.version = note["version"];
  if (!file.package.empty())
    return;
  if (auto info = go::read_build_info(image)) {
    file.package = info->main.required.path.empty() ? info->path : info->main.required.path;
    file.version = info->main.required.version;
  }
}

// Asked for all files at once: dpkg's lists are read from begin to end each time.
void set_packages_by_dpkg(std::vector<NeededFile>& files, const std::set<std::string>& paths) {
  if (paths.empty())
    return;
  auto owners = proc::owners_of(paths);
  std::set<std::string> packages;
  for (const auto& [path, package] : owners)
    packages.insert(package);
  auto versions = proc::versions_of(packages);
  for (NeededFile& file : files)
    if (auto owner = owners.find(file.file.path);
        owner != owners.end() && paths.contains(file.file.path) && file.package.empty()) {
      file.package = owner->second;
      file.version = versions[owner->second];
    }
}

std::string id_of(const RecordedImage& image) {
  return image.gnu_build_id.empty() ? printable(image.go_build_id) : hex(image.gnu_build_id);
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : printable(text);
}

Table table_of_needs(const std::vector<NeededFile>& files) {
  using Kind = Table::Kind;
  Table table{{{"SAMPLES"},
               {"FILE", Kind::kPath},
               {"WHY", Kind::kName},
               {"BUILD ID", Kind::kName},
               {"PACKAGE", Kind::kName},
               {"VERSION", Kind::kName}},
              {}};
  for (const NeededFile& needed : files) {
    const RecordedImage& file = needed.file;
    table.rows.push_back(
        {{with_commas(needed.samples)},
         {printable(file.path)},
         {std::string(to_string(needed.reason))},
         {is_told_by_time(file) ? "none: known by size and time" : id_of(file)},
         {or_unknown(needed.package)},
         {or_unknown(needed.version)}});
  }
  return table;
}

std::string text_of_needs(const std::vector<NeededFile>& files, const Profile& profile,
                          const SymbolizerReport& symbols, const Screen& screen) {
  std::string text =
      files.empty() ? "all files that were sampled have names\n"
                    : fmt::format("{} {} without all names, in {} samples\n\n{}", files.size(),
                                  files.size() == 1 ? "file is" : "files are",
                                  with_commas(profile.total_count()),
                                  text_of(table_of_needs(files), screen));
  if (symbols.debug_files.empty())
    return text;
  text += fmt::format(
      "\n{} {} named from debug files that lie apart, and that no archive keeps:\n",
      symbols.debug_files.size(), symbols.debug_files.size() == 1 ? "file is" : "files are");
  for (const auto& [path, debug_file] : symbols.debug_files)
    text += fmt::format("{}: {}\n", printable(path), printable(debug_file));
  return text;
}

void write_file(const NeededFile& needed, JsonWriter& json) {
  const RecordedImage& file = needed.file;
  json.begin_object();
  json.field("path", file.path);
  json.field("build_id", hex(file.gnu_build_id));
  json.field("go_build_id", file.go_build_id);
  json.field("is_known_by_time", is_told_by_time(file));
  json.field("reason", to_string(needed.reason));
  json.field("samples", needed.samples);
  json.field("package", needed.package);
  json.field("version", needed.version);
  json.end_object();
}

std::string json_of_needs(const std::vector<NeededFile>& files, const Profile& profile,
                          const SymbolizerReport& symbols) {
  constexpr uint32_t kFormatVersion = 1;
  JsonWriter json;
  json.begin_object();
  json.field("version", kFormatVersion);
  json.field("samples", profile.total_count());
  json.key("files");
  json.begin_array();
  for (const NeededFile& needed : files)
    write_file(needed, json);
  json.end_array();
  json.key("debug_files");
  json.begin_array();
  for (const auto& [path, debug_file] : symbols.debug_files) {
    json.begin_object();
    json.field("path", path);
    json.field("debug_file", debug_file);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::string(json.text()) + '\n';
}

}  // namespace

std::vector<NeededFile> find_needed(const Profile& profile, const DebugFileOptions& where,
                                    const HeldFiles& held) {
  std::vector<NeededFile> files;
  std::set<std::string> unpackaged;  // paths of files that are here and say nothing of it
  for (const auto& [image, missing] : find_missing(profile)) {
    NeededFile needed{profile.images[image].file, missing.first, missing.second};
    // The file itself, not its debug file: a package is that of what ran.
    RecordedBinary binary = open_recorded_binary(needed.file, where, held);
    if (binary.binary)
      set_package_of_file(binary.binary->image(), needed);
    // Only files of this system can be those of its packages.
    if (binary.binary && where.symfs.empty() && !held.contains(needed.file.id))
      unpackaged.insert(needed.file.path);
    files.push_back(std::move(needed));
  }
  set_packages_by_dpkg(files, unpackaged);
  std::ranges::stable_sort(files, std::greater<>(), &NeededFile::samples);
  return files;
}

bool has_needs(std::string_view format) {
  return format == "text" || format == "json" || format == "csv" || format == "md";
}

std::string make_needs(const std::vector<NeededFile>& files, const Profile& profile,
                       const SymbolizerReport& symbols, std::string_view format,
                       const Screen& screen) {
  if (format == "json")
    return json_of_needs(files, profile, symbols);
  if (format == "csv")
    return csv_of(table_of_needs(files));
  if (format == "md")
    return markdown_of(table_of_needs(files));
  return text_of_needs(files, profile, symbols, screen);
}

}  // namespace gosym
