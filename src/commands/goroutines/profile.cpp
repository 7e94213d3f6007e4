#include "commands/goroutines/profile.h"

#include <sys/utsname.h>

#include <map>
#include <tuple>

#include "base/text.h"
#include "profile/called_functions.h"

namespace gosym {

namespace {

class GoroutineProfileBuilder {
public:
  GoroutineProfileBuilder(const NamedGoroutines& named, const GoroutineSource& source)
      : named_(named), pid_(source.pid) {
    profile_.start_realtime_ns = source.realtime_ns;
    utsname system{};
    if (!source.is_core && uname(&system) == 0) {
      profile_.info.host = system.nodename;
      profile_.info.kernel_release = system.release;
      profile_.info.machine = system.machine;
    }
    profile_.info.events = {{std::string(kGoroutineEvent), 0, 1}};
    profile_.info.command_line = fmt::format("gosym goroutines {}", pid_);
    profile_.images.resize(2);
    profile_.images[0].kind = ProfileImage::Kind::kAnonymous;
    profile_.images[1].kind = ProfileImage::Kind::kKernel;
    profile_.mappings.resize(2);
    comm_ = profile_.strings.intern(base_name(named.program));
  }

  void add(const Goroutine& goroutine, bool has_system) {
    std::vector<LocationId> stack;
    for (const Call& call : named_.stack(goroutine, has_system))
      stack.push_back(location(call));
    SampleCount sample;
    sample.stack = StackId{static_cast<uint32_t>(profile_.stack_count())};
    profile_.add_stack(stack);
    sample.pid = pid_;
    sample.tid = goroutine.thread;
    sample.comm = comm_;
    sample.count = 1;
    sample.goid = goroutine.number;
    sample.label_set = label_set(goroutine);
    sample.state = profile_.strings.intern(named_.state(goroutine));
    profile_.samples.push_back(sample);
  }

  Profile finish() && { return std::move(profile_); }

private:
  // A call that is shown has a location of its own: those that were inlined into one that is
  // not shown are so kept.
  LocationId location(const Call& call) {
    FunctionId id = functions_.add(call);
    auto next = LocationId{static_cast<uint32_t>(profile_.locations.size())};
    auto [known, is_new] = locations_.try_emplace({to_index(id), call.line}, next);
    if (is_new) {
      Location location;
      location.first_frame = static_cast<uint32_t>(profile_.frames.size());
      location.frame_count = 1;
      profile_.frames.push_back({id, call.line, FrameSource::kPclntab, call.kind});
      profile_.locations.push_back(location);
    }
    return known->second;
  }

  uint32_t label_set(const Goroutine& goroutine) {
    const std::vector<GoroutineLabel>& labels = named_.labels_of(goroutine);
    auto next = static_cast<uint32_t>(profile_.label_sets.size());
    auto [known, is_new] = label_sets_.try_emplace(labels, next);
    if (is_new) {
      profile_.label_sets.emplace_back();
      for (const GoroutineLabel& label : labels)
        profile_.label_sets.back().push_back(
            {profile_.strings.intern(label.key), profile_.strings.intern(label.value)});
    }
    return known->second;
  }

  const NamedGoroutines& named_;
  uint32_t pid_;
  Profile profile_;
  StringId comm_{};
  CalledFunctions functions_{profile_};
  std::map<std::pair<size_t, uint32_t>, LocationId> locations_;  // by function and line
  std::map<std::vector<GoroutineLabel>, uint32_t> label_sets_ = {{{}, 0}};
};

}  // namespace

Profile profile_of(const NamedGoroutines& named, const GoroutineView& view,
                   const GoroutineSource& source) {
  GoroutineProfileBuilder builder(named, source);
  for (const Goroutine* goroutine : view.shown)
    builder.add(*goroutine, view.has_system);
  return std::move(builder).finish();
}

}  // namespace gosym
