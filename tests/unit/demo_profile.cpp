#include "demo_profile.h"

namespace gosym {

namespace {

class Builder {
public:
  FunctionId function(std::string_view name, std::string_view file, uint32_t start_line) {
    StringPool& strings = profile.strings;
    StringId id = strings.intern(name);
    profile.functions.push_back({id, id, strings.intern(file), start_line});
    return static_cast<FunctionId>(profile.functions.size() - 1);
  }

  LocationId location(MappingId mapping, uint64_t address, bool is_return,
                      std::vector<Frame> frames, Unnamed unnamed = Unnamed::kNotSymbolized) {
    Location location;
    location.mapping = mapping;
    location.address = RuntimeAddress{address};
    location.is_return = is_return;
    location.first_frame = static_cast<uint32_t>(profile.frames.size());
    location.frame_count = static_cast<uint32_t>(frames.size());
    location.unnamed = unnamed;
    profile.frames.insert(profile.frames.end(), frames.begin(), frames.end());
    profile.locations.push_back(location);
    return static_cast<LocationId>(profile.locations.size() - 1);
  }

  void sample(std::vector<LocationId> stack, uint32_t pid, uint32_t tid, std::string_view comm,
              uint64_t count) {
    profile.stack_locations.insert(profile.stack_locations.end(), stack.begin(), stack.end());
    profile.stack_begin.push_back(static_cast<uint32_t>(profile.stack_locations.size()));
    auto id = static_cast<StackId>(profile.stack_begin.size() - 2);
    OwnerId owner =
        profile.owners.intern({.pid = pid, .tid = tid, .comm = profile.strings.intern(comm)});
    profile.samples.push_back({id, owner, count});
  }

  ProfileImage image(ProfileImage::Kind kind, std::string path) {
    ProfileImage image;
    image.kind = kind;
    image.file.path = std::move(path);
    return image;
  }

  Profile profile;
};

}  // namespace

Profile make_demo_profile() {
  using Kind = ProfileImage::Kind;
  Builder make;
  Profile& profile = make.profile;
  profile.info.host = "box";
  profile.info.kernel_release = "6.1.0";
  profile.info.machine = "x86_64";
  profile.info.command_line = "gosym record -a";
  profile.info.events = {{"cpu-clock", 100, 0}};
  profile.start_realtime_ns = 1'700'000'000'000'000'000;
  profile.duration_ns = 2'500'000'000;
  profile.stats.samples = 8;

  profile.images = {
      make.image(Kind::kAnonymous, ""), make.image(Kind::kKernel, "[kernel.kallsyms]"),
      make.image(Kind::kFile, "/lib/libc.so.6"), make.image(Kind::kFile, "/src/demo")};
  profile.images[2].file.gnu_build_id = "\x01\xab";
  profile.images[3].file.go_build_id = "go-id";
  profile.mappings = {{},
                      {1, 0xffff800000000000, UINT64_MAX, 0},
                      {2, 0x7f0000000000, 0x7f0000100000, 0x2000},
                      {3, 0x400000, 0x500000, 0}};
  MappingId libc{2};
  MappingId demo{3};

  FunctionId main = make.function("main.main", "/src/demo.go", 30);
  FunctionId process = make.function("main.process", "/src/demo.go", 20);
  FunctionId compute = make.function("main.compute", "/src/demo.go", 10);
  FunctionId loop = make.function("main.loop", "", 0);
  FunctionId write = make.function("write", "", 0);
  auto go = FrameSource::kPclntab;

  LocationId in_main = make.location(demo, 0x401000, true, {{main, 31, go}});
  LocationId in_compute =
      make.location(demo, 0x402000, false, {{compute, 12, go}, {process, 22, go}});
  LocationId in_process = make.location(demo, 0x402100, true, {{process, 23, go}});
  LocationId in_libc = make.location(libc, 0x7f0000001000, false, {}, Unnamed::kStripped);
  LocationId in_kernel = make.location(kKernelMapping, 0xffffffff81000000, false,
                                       {{write, 0, FrameSource::kKallsyms}});
  LocationId leaf = make.location(demo, 0x403000, false, {{loop, 0, FrameSource::kSymtab}});
  LocationId caller = make.location(demo, 0x403000, true, {{loop, 0, FrameSource::kSymtab}});
  LocationId nowhere = make.location(kNoMapping, 0x1234, true, {}, Unnamed::kUnmapped);

  make.sample({in_compute, in_main}, 42, 42, "demo", 5);
  make.sample({in_kernel, in_libc, in_process, in_main}, 42, 43, "demo", 2);
  make.sample({leaf, caller, nowhere}, 7, 7, "a; b", 1);
  return std::move(make.profile);
}

}  // namespace gosym
