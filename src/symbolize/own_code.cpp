#include "symbolize/own_code.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text.h"
#include "go/build_info.h"

namespace gosym {

namespace {

// Code of a workspace has no version, or none but "(devel)", and a folder in the place of a
// module none at all.
bool is_of_folder(const go::BuildModule& module) {
  const go::ModuleVersion& code = module.replacement.value_or(module.required);
  return code.version.empty() || code.version == "(devel)";
}

std::vector<std::string> own_modules(const elf::Image& image) {
  auto info = go::read_build_info(image);
  if (!info)
    return {};
  std::vector<std::string> modules;
  std::string main(info->main.required.path);
  // A command of Go itself has no module, nor has what was built below GOPATH, as Debian does.
  if (main.empty())
    main = info->path.find('.') == info->path.npos ? std::string(info->path)
                                                   : repository_of(info->path);
  // The go command calls a package so that was named by its files, and not by a path.
  if (!main.empty() && main != "command-line-arguments")
    modules.push_back(std::move(main));
  for (const go::BuildModule& module : info->dependencies)
    if (is_of_folder(module) && !module.required.path.empty() &&
        modules.size() < OwnCode::kMaxModules)
      modules.emplace_back(module.required.path);
  return modules;
}

}  // namespace

std::string repository_of(std::string_view package) {
  constexpr std::string_view kHosts[] = {"github.com", "gitlab.com", "bitbucket.org"};
  // On these hosts a repository is host/owner/name; on others nothing tells where its name
  // ends.
  size_t owner = package.find('/');
  size_t name = owner == package.npos ? owner : package.find('/', owner + 1);
  if (name == package.npos ||
      std::ranges::find(kHosts, package.substr(0, owner)) == std::end(kHosts))
    return {};
  return std::string(package.substr(0, package.find('/', name + 1)));
}

OwnCode own_code_of(const ImageSymbols& symbols, std::string_view path) {
  const elf::Image& image = symbols.image();
  // The C library has an interpreter as well.
  bool is_library = base_name(path).find(".so") != path.npos;
  // A position-independent executable is ET_DYN, like a library: it is told by the interpreter
  // that it asks for.
  bool has_interpreter = std::ranges::find(image.segments, uint32_t{PT_INTERP},
                                           &elf::Segment::type) != image.segments.end();
  bool is_go = symbols.go_module().has_value();
  return {.modules = is_go ? own_modules(image) : std::vector<std::string>(),
          .is_executable = image.type == ET_EXEC || (has_interpreter && !is_library),
          .has_sources = is_go || symbols.has_debug_info()};
}

}  // namespace gosym
