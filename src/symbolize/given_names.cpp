#include "symbolize/given_names.h"

#include <vector>

#include "base/file_tree.h"
#include "elf/build_ids.h"
#include "profile/location_table.h"

namespace gosym {

namespace {

// Finds what a recording would have noted of a file of this build. `problem` says why it
// cannot.
void identify(RecordedImage& image, const DebugFileOptions& files) {
  if (image.gnu_build_id.empty() && image.go_build_id.empty()) {
    image.problem = "the profile has no build id of it";
    return;
  }
  UniqueFd found = find_file(image.path, files.symfs);
  if (!found)
    return;
  auto file = MappedFile::open(found);
  if (!file)
    return;
  auto now = elf::parse((*file)->bytes());
  if (!now)
    return;
  elf::BuildIds ids = elf::build_ids(*now);
  bool is_same =
      image.gnu_build_id.empty() ? image.go_build_id == ids.go : image.gnu_build_id == ids.gnu;
  if (!is_same)
    return;
  image.gnu_build_id = ids.gnu;
  image.go_build_id = ids.go;
  image.size = (*file)->bytes().size();
  image.mtime_ns = (*file)->mtime_ns();
  for (const elf::Segment& segment : now->segments)
    if (segment.type == PT_LOAD)
      image.segments.push_back({segment.offset, segment.file_size, to_integer(segment.address),
                                segment.memory_size, segment.flags});
}

// Sets the addresses in their files of code without a name.
void find_image_addresses(Profile& profile, const DebugFileOptions& files) {
  std::vector<bool> is_identified(profile.images.size());
  for (Location& location : profile.locations) {
    if (location.frame_count > 0 || location.mapping == kNoMapping)
      continue;
    const Mapping& mapping = profile.mappings[to_index(location.mapping)];
    ProfileImage& image = profile.images[mapping.image];
    if (image.kind == ProfileImage::Kind::kVdso)
      location.image_address = ImageAddress{to_integer(location.address) - mapping.start};
    if (image.kind != ProfileImage::Kind::kFile)
      continue;
    if (!is_identified[mapping.image])
      identify(image.file, files);
    is_identified[mapping.image] = true;
    location.image_address =
        code_at(image.file.segments, mapping.file_offset_of(location.address));
  }
}

}  // namespace

// Each name is the linker's, or what another tool made of it.
void show_names(Profile& profile, NameForms forms) {
  std::vector<FrameSource> sources(profile.functions.size(), FrameSource::kCallFrames);
  for (const Frame& frame : profile.frames)
    sources[to_index(frame.function)] = frame.source;
  for (size_t i = 0; i < sources.size(); i++) {
    Function& function = profile.functions[i];
    std::string given(profile.strings[function.name]);
    std::string shown =
        display_name(given, sources[i], is_go(sources[i]) ? forms.go : forms.native);
    std::string package = package_of(given, shown, sources[i]);
    if (package.empty() && is_go(sources[i]))
      package = package_of_assembly(profile.strings[function.file]);
    function.package = profile.strings.intern(package);
    function.name = profile.strings.intern(shown);
    if (!forms.has_system_names)
      function.system_name = function.name;
  }
}

SymbolizerReport name_given(Profile& profile, NameForms forms, const DebugFileOptions& files) {
  show_names(profile, forms);
  find_image_addresses(profile, files);
  return symbolize(profile, {}, forms, files);
}

}  // namespace gosym
