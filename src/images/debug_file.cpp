#include "images/debug_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file_tree.h"
#include "base/text.h"
#include "elf/image.h"

// Each kind of file is looked for in the same three steps: the places where it may be are
// listed in order (add_by_*()), the first file there that is the wanted one is opened
// (open_here()), and the servers are asked if there is none (open_first()). Identity says what
// is wanted, and difference() why a file is not that.
namespace gosym {

namespace {

// Identifies the file that is looked for: by its build id or, if that is empty, by its CRC.
struct Identity {
  std::string build_id;
  uint32_t crc = 0;
  std::string image_path;               // not the image itself, which a debug link may name
  std::string image_root;               // see file_tree.h
  std::vector<elf::AddressRange> code;  // of the image; empty if it is not known
};

// A larger file is not read only to be told by its CRC, which takes a second a gigabyte or two.
// It has a build id: those that make debug files so large have given one for over a decade.
constexpr size_t kMaxChecksummed = size_t{2} << 30;

// Builds may be told to have always the same id. Sections tell where code is, also without it.
bool has_other_code(const elf::Image& image, const Identity& wanted) {
  return !wanted.code.empty() && !image.sections.empty() &&
         elf::code_ranges(image) != wanted.code;
}

// Why the file is not the one that is looked for; empty if it is.
std::string difference(const elf::Image& image, const Identity& wanted) {
  if (!wanted.build_id.empty()) {
    std::string id = elf::store_id(elf::build_ids(image));
    if (id == wanted.build_id)
      // A build id may be a constant that a build file sets: then every build has it.
      return has_other_code(image, wanted) ? "its code lies elsewhere" : "";
    return fmt::format("build id is {}, not {}", id.empty() ? "none" : hex(id),
                       hex(wanted.build_id));
  }
  if (image.file.size() > kMaxChecksummed)
    return fmt::format("{} are too many to check, and there is no build id to tell it by",
                       human_size(image.file.size()));
  // Without an id the checksum of the link decides, which takes reading all of the file.
  auto crc = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(image.file.data()), image.file.size()));
  if (crc == wanted.crc)
    return {};
  return fmt::format("CRC is {:#x}, not {:#x}", crc, wanted.crc);
}

// Opens a file that was found, and fails if it is not the one that is looked for.
Result<DebugFile> open_found(const UniqueFd& found, std::string path, const Identity& wanted) {
  auto file = MappedFile::open(found);
  if (!file)
    return std::move(file).error();
  auto binary = Binary::open(*std::move(file));
  if (!binary)
    return std::move(binary).error();
  const elf::Image& image = (*binary)->image();
  // The table of sections is at the end of a file, and goes first where bytes are missing. A
  // whole file that never had one is taken: a Go program names its code without it.
  if (image.sections.empty() && image.missing_bytes() > 0)
    return Error("it is cut short");
  if (std::string differs = difference(image, wanted); !differs.empty())
    return Error(differs);
  auto owner = (*binary)->owner();
  return DebugFile{*std::move(binary), std::move(path), owner};
}

// The path as given if the file is not there.
std::string without_links(const std::string& path, const std::string& root) {
  UniqueFd found = find_file(path, root);
  std::string real = found ? real_path(found, root) : "";
  return real.empty() ? path : real;
}

// Asked only of files that are there: to follow the links of each image that has no debug file
// would be a tenth of the time to open it.
bool is_image(const std::string& real, const Identity& wanted) {
  return !wanted.image_path.empty() &&
         real == without_links(wanted.image_path, wanted.image_root);
}

// None if there is no such file, or if it is the image itself.
Result<std::optional<DebugFile>> open_candidate(const std::string& path,
                                                const std::string& root,
                                                const Identity& wanted) {
  auto error = [&](std::string_view reason) {
    return errorf("debug file '{}': {}", printable(path), reason);
  };
  UniqueFd found = find_file(path, root);
  // No such file is no error: most places have none. Anything else, such as no permission, is
  // told.
  if (!found && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG))
    return std::optional<DebugFile>();
  if (!found)
    return error(std::strerror(errno));
  std::string real = real_path(found, root);
  if (!real.empty() && is_image(real, wanted))
    return std::optional<DebugFile>();
  auto file = open_found(found, real.empty() ? path : real, wanted);
  if (!file)
    return error(file.error().message());
  return std::optional(*std::move(file));
}

// Asks the servers. None if they have no such file, or may not be asked. `path` is what
// progress names the file by.
Result<std::optional<DebugFile>> fetch(const Identity& wanted, const std::string& path,
                                       const DebugFileOptions& options) {
  if (!options.debuginfod || wanted.build_id.empty())
    return std::optional<DebugFile>();
  auto fetched = options.debuginfod->fetch(wanted.build_id, base_name(path));
  if (!fetched)
    return std::move(fetched).error();
  if (!*fetched)
    return std::optional<DebugFile>();
  // The file is checked like any other: a server may send anything. The cache is the system's,
  // whatever --symfs is.
  auto file = open_candidate(**fetched, "", wanted);
  if (!file)
    options.debuginfod->refuse(wanted.build_id);
  if (file && *file)
    (*file)->owner.reset();  // it is the server that wrote it
  return file;
}

// The first that is the one. None if there is none; the first reason why one was refused if
// that is all there is.
Result<std::optional<DebugFile>> open_here(const std::vector<std::string>& candidates,
                                           const Identity& wanted,
                                           const DebugFileOptions& options) {
  std::optional<Error> refused;
  for (const std::string& candidate : candidates) {
    auto file = open_candidate(candidate, options.symfs, wanted);
    if (file && *file)
      return file;
    if (!file && !refused)
      refused = std::move(file).error();
  }
  if (refused)
    return *std::move(refused);
  return std::optional<DebugFile>();
}

// Likewise, or else from the servers.
Result<std::optional<DebugFile>> open_first(const std::vector<std::string>& candidates,
                                            const Identity& wanted, const std::string& path,
                                            const DebugFileOptions& options) {
  auto here = open_here(candidates, wanted, options);
  if (here && *here)
    return here;
  auto fetched = fetch(wanted, path, options);
  return !fetched || *fetched ? std::move(fetched) : std::move(here);
}

void add_by_build_id(std::string_view build_id, const DebugFileOptions& options,
                     std::vector<std::string>& candidates, std::string_view ending = ".debug") {
  // store_path() makes a folder of the first byte, and a name of the others.
  if (build_id.size() < 2)
    return;
  for (const std::string& dir : options.debug_dirs)
    candidates.push_back(fmt::format("{}{}", store_path(dir, build_id), ending));
}

Identity by_id(const std::string& id) {
  return {.build_id = id, .crc = 0, .image_path = {}, .image_root = {}, .code = {}};
}

void add_by_link(std::string_view name, const std::string& image_path,
                 const DebugFileOptions& options, std::vector<std::string>& candidates) {
  std::string folder = image_path.substr(0, image_path.rfind('/') + 1);
  candidates.push_back(fmt::format("{}{}", folder, name));
  candidates.push_back(fmt::format("{}.debug/{}", folder, name));
  for (const std::string& dir : options.debug_dirs)
    candidates.push_back(fmt::format("{}/{}{}", dir, folder, name));
}

void add_by_alternate_name(std::string_view name, const std::string& debug_path,
                           const DebugFileOptions& options,
                           std::vector<std::string>& candidates) {
  std::string folder = debug_path.substr(0, debug_path.rfind('/') + 1);
  candidates.push_back(fmt::format("{}{}", name.starts_with('/') ? "" : folder, name));
  // Debian's packages refer to /usr/lib/debug/.dwz/..., which may lie below another directory
  // here.
  size_t dwz = name.rfind("/.dwz/");
  if (dwz == std::string_view::npos)
    return;
  for (const std::string& dir : options.debug_dirs)
    candidates.push_back(fmt::format("{}{}", dir, name.substr(dwz)));
}

}  // namespace

std::vector<std::string> debug_file_places(const elf::Image& image, const std::string& path,
                                           const DebugFileOptions& options) {
  std::vector<std::string> places;
  add_by_build_id(elf::build_ids(image).gnu, options, places);
  if (auto link = elf::read_debug_link(image); link && *link)
    add_by_link((*link)->name, without_links(path, options.symfs), options, places);
  return places;
}

Result<std::optional<DebugFile>> open_debug_file(const elf::Image& image,
                                                 const std::string& path,
                                                 const DebugFileOptions& options) {
  auto link = elf::read_debug_link(image);
  Identity wanted{.build_id = elf::build_ids(image).gnu,
                  .crc = 0,
                  .image_path = path,
                  .image_root = options.symfs,
                  .code = image.sections.empty() ? std::vector<elf::AddressRange>()
                                                 : elf::code_ranges(image)};
  // Without a link only places by build id are looked at, and no CRC is compared.
  if (link && *link)
    wanted.crc = (*link)->crc;
  auto file = open_first(debug_file_places(image, path, options), wanted, path, options);
  // A damaged link is the reason only if nothing was found without it.
  if (file && !*file && !link)
    return std::move(link).error();
  return file;
}

std::string store_path(std::string_view directory, std::string_view id) {
  std::string digits = hex(id);
  return fmt::format("{}/.build-id/{}/{}", directory, digits.substr(0, 2), digits.substr(2));
}

Result<std::optional<DebugFile>> open_stored_file(const std::string& id,
                                                  const DebugFileOptions& options) {
  std::vector<std::string> candidates;
  add_by_build_id(id, options, candidates, "");
  add_by_build_id(id, options, candidates);
  return open_here(candidates, by_id(id), options);
}

Result<StoredIndex> open_stored_index(const std::string& id, const DebugFileOptions& options) {
  std::vector<std::string> candidates;
  add_by_build_id(id, options, candidates, ".gsym");
  for (const std::string& candidate : candidates) {
    UniqueFd found = find_file(candidate, options.symfs);
    // The first file that is there is the one; its id is checked by who reads it.
    if (!found)
      continue;
    auto file = MappedFile::open(found);
    if (!file)
      return std::move(file).error().context(fmt::format("'{}'", printable(candidate)));
    return StoredIndex{*std::move(file), candidate};
  }
  return StoredIndex();
}

Result<std::optional<DebugFile>> fetch_debug_file(const std::string& id,
                                                  const std::string& name,
                                                  const DebugFileOptions& options) {
  return fetch(by_id(id), name, options);
}

Result<std::optional<DebugFile>> open_alternate_file(const elf::Image& debug_file,
                                                     const std::string& debug_path,
                                                     const DebugFileOptions& options) {
  auto link = elf::read_alternate_link(debug_file);
  if (!link)
    return std::move(link).error();
  if (!*link)
    return std::optional<DebugFile>();
  const elf::AlternateLink& alternate = **link;
  Identity wanted = by_id(std::string(alternate.build_id));
  std::vector<std::string> candidates;
  add_by_alternate_name(alternate.name, without_links(debug_path, options.symfs), options,
                        candidates);
  add_by_build_id(wanted.build_id, options, candidates);
  auto file = open_first(candidates, wanted, std::string(alternate.name), options);
  if (file && !*file)
    return errorf("alternate debug file '{}': not found", printable(alternate.name));
  return file;
}

std::optional<DebugFile> open_package(const elf::Image& image, const std::string& path,
                                      const std::string& debug_path,
                                      const DebugFileOptions& options) {
  std::vector<std::string> candidates;
  for (const std::string& of : {without_links(path, options.symfs), debug_path}) {
    candidates.push_back(of + ".dwp");
    for (const std::string& dir : options.debug_dirs)
      candidates.push_back(fmt::format("{}/{}.dwp", dir, of));
  }
  add_by_build_id(elf::build_ids(image).gnu, options, candidates, ".dwp");
  for (const std::string& candidate : candidates) {
    UniqueFd found = find_file(candidate, options.symfs);
    auto file = found ? MappedFile::open(found) : Error("not found");
    // A file that cannot be used, or has no index of units, is passed over.
    auto binary = file ? Binary::open(*std::move(file)) : std::move(file).error();
    if (!binary || !(*binary)->image().find_section(".debug_cu_index"))
      continue;
    std::string real = real_path(found, options.symfs);
    auto owner = (*binary)->owner();
    return DebugFile{*std::move(binary), real.empty() ? candidate : real, owner};
  }
  return std::nullopt;
}

}  // namespace gosym
