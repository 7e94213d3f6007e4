#include "profile/rewrite_stacks.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <set>

namespace gosym::go_stacks_test {

namespace {

using enum FunctionKind;
using Names = std::vector<std::pair<std::string_view, FunctionKind>>;

// A profile that is built location by location, all of them return addresses but the first.
struct StackBuilder {
  Profile profile;

  LocationId add(const Names& frames) {
    Location location;
    location.address = RuntimeAddress{0x1000 + profile.locations.size()};
    location.is_return = !profile.locations.empty();
    location.first_frame = static_cast<uint32_t>(profile.frames.size());
    location.frame_count = static_cast<uint32_t>(frames.size());
    for (const auto& [name, kind] : frames) {
      Function function;
      function.name = profile.strings.intern(name);
      profile.functions.push_back(function);
      profile.frames.push_back({static_cast<FunctionId>(profile.functions.size() - 1), 0,
                                FrameSource::kPclntab, kind});
    }
    profile.locations.push_back(location);
    return static_cast<LocationId>(profile.locations.size() - 1);
  }

  void sample(const std::vector<LocationId>& stack, uint64_t count = 1, uint32_t tid = 1) {
    profile.stack_locations.insert(profile.stack_locations.end(), stack.begin(), stack.end());
    profile.stack_begin.push_back(static_cast<uint32_t>(profile.stack_locations.size()));
    auto id = static_cast<StackId>(profile.stack_begin.size() - 2);
    profile.samples.push_back({id, profile.owners.intern({.pid = 1, .tid = tid}), count});
  }
};

// Innermost first, inlined calls in parentheses with what holds them: "f (g h) ".
std::string stack_text(const Profile& profile, const SampleCount& sample) {
  std::string text;
  for (LocationId id : profile.stack(sample.stack)) {
    std::string names;
    for (const Frame& frame : profile.frames_of(profile.locations[to_index(id)]))
      names.append(names.empty() ? "" : " ")
          .append(profile.strings[profile.functions[to_index(frame.function)].name]);
    text += (names.find(' ') == std::string::npos ? names : "(" + names + ")") + " ";
  }
  return text;
}

std::string shown(const std::vector<Names>& stack) {
  StackBuilder make;
  std::vector<LocationId> ids;
  for (const Names& frames : stack)
    ids.push_back(make.add(frames));
  make.sample(ids);
  hide_wrappers(make.profile);
  REQUIRE(make.profile.samples.size() == 1);
  return stack_text(make.profile, make.profile.samples[0]);
}

const Names kF = {{"f", kNormal}};
const Names kG = {{"g", kNormal}};
const Names kW = {{"w", kWrapper}};
const Names kPanics = {{"panic", kPanic}};

}  // namespace

TEST_CASE("go stacks: wrappers are left out as leaf, as root and between") {
  CHECK(shown({kF, kG}) == "f g ");
  CHECK(shown({kW, kF, kG}) == "f g ");
  CHECK(shown({kF, kW, kG}) == "f g ");
  CHECK(shown({kF, kG, kW}) == "f g ");
  CHECK(shown({kW, kF, kW, kW, kG}) == "f g ");
}

TEST_CASE("go stacks: a wrapper that calls a panic is shown") {
  CHECK(shown({kPanics, kW, kF}) == "panic w f ");
  CHECK(shown({{{"sigpanic", kSigpanic}}, kW, kF}) == "sigpanic w f ");
  CHECK(shown({{{"preempt", kInjected}}, kW, kF}) == "preempt f ");
  CHECK(shown({kPanics, kW, kW, kF}) == "panic w f ");
  CHECK(shown({kPanics, kF, kW}) == "panic f ");
}

TEST_CASE("go stacks: inlined wrappers are left out of their location") {
  CHECK(shown({{{"f", kNormal}, {"w", kWrapper}, {"g", kNormal}}}) == "(f g) ");
  CHECK(shown({{{"w", kWrapper}, {"g", kNormal}}, kF}) == "g f ");
  CHECK(shown({{{"f", kNormal}, {"w", kWrapper}}, kG}) == "f g ");
  CHECK(shown({{{"v", kWrapper}, {"w", kWrapper}}, kG}) == "g ");
  CHECK(shown({{{"panic", kPanic}, {"w", kWrapper}}, kG}) == "(panic w) g ");
  CHECK(shown({kPanics, {{"w", kWrapper}, {"g", kNormal}}}) == "panic (w g) ");
  // The function that was called is the outermost one of the location before.
  CHECK(shown({{{"panic", kPanic}, {"f", kNormal}}, kW, kG}) == "(panic f) g ");
}

TEST_CASE("go stacks: a stack of wrappers only stays") {
  CHECK(shown({kW}) == "w ");
  CHECK(shown({kW, {{"v", kWrapper}}}) == "w v ");
}

TEST_CASE("go stacks: a location is shown after a panic and hidden elsewhere") {
  StackBuilder make;
  LocationId panics = make.add(kPanics);
  LocationId f = make.add(kF);
  LocationId w = make.add(kW);
  LocationId g = make.add(kG);
  make.sample({panics, w, g});
  make.sample({f, w, g});
  make.sample({w, g});
  hide_wrappers(make.profile);
  REQUIRE(make.profile.samples.size() == 3);
  CHECK(stack_text(make.profile, make.profile.samples[0]) == "panic w g ");
  CHECK(stack_text(make.profile, make.profile.samples[1]) == "f g ");
  CHECK(stack_text(make.profile, make.profile.samples[2]) == "g ");
}

TEST_CASE("go stacks: stacks that become equal become one, of one thread") {
  StackBuilder make;
  LocationId f = make.add(kF);
  LocationId w = make.add(kW);
  LocationId g = make.add(kG);
  make.sample({f, g}, 1);
  make.sample({f, w, g}, 2);
  make.sample({f, w, w, g}, 4);
  make.sample({f, w, g}, 8, /*tid=*/2);
  hide_wrappers(make.profile);
  const Profile& profile = make.profile;
  REQUIRE(profile.samples.size() == 2);
  CHECK(profile.samples[0].count == 7);
  CHECK(profile.samples[1].count == 8);
  CHECK(profile.samples[0].stack == profile.samples[1].stack);
  CHECK(profile.stack_begin.size() == 2);
  CHECK(profile.total_count() == 15);
}

TEST_CASE("go stacks: locations that no stack has any more are gone") {
  StackBuilder make;
  LocationId f = make.add(kF);
  LocationId w = make.add(kW);
  LocationId g = make.add(kG);
  make.sample({f, w, g});
  hide_wrappers(make.profile);
  REQUIRE(make.profile.locations.size() == 2);
  CHECK(make.profile.locations[0].address == RuntimeAddress{0x1000});
  CHECK(make.profile.locations[1].address == RuntimeAddress{0x1002});
}

TEST_CASE(
    "stacks: of threads that waited the scheduler is left out, and what is inside of it") {
  using List = std::vector<std::string_view>;
  auto shown_of = [](const List& kernel, const List& user, std::string_view state) {
    StackBuilder make;
    make.profile.images.resize(2);
    make.profile.mappings.resize(2);
    std::vector<LocationId> ids;
    for (const List* part : {&kernel, &user})
      for (std::string_view name : *part) {
        ids.push_back(make.add({{name, kNormal}}));
        if (part == &kernel)
          make.profile.locations.back().mapping = kKernelMapping;
      }
    make.sample(ids);
    make.profile.change_owner(make.profile.samples[0], [&](Owner& owner) {
      owner.state = make.profile.strings.intern(state);
    });
    hide_scheduler(make.profile);
    return stack_text(make.profile, make.profile.samples[0]);
  };
  const List waited = {"bpf_prog_1",       "trace", "__schedule", "schedule",
                       "schedule_timeout", "poll"};
  CHECK(shown_of(waited, {"main"}, "sleeping") == "poll main ");
  CHECK(shown_of(waited, {"main"}, "") ==
        "bpf_prog_1 trace __schedule schedule schedule_timeout poll main ");
  CHECK(shown_of({"__schedule", "f", "__schedule"}, {}, "idle") == "f __schedule ");
  CHECK(shown_of({"f", "g"}, {"__schedule", "main"}, "sleeping") == "f g __schedule main ");
  CHECK(shown_of({"__schedule"}, {}, "sleeping") == "__schedule ");
  CHECK(shown_of({}, {"main"}, "sleeping") == "main ");
  // Functions of Go's runtime that let a goroutine wait.
  const List parked = {"runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.f"};
  CHECK(shown_of({}, parked, "chan receive") == "main.f ");
  CHECK(shown_of({}, parked, "") ==
        "runtime.gopark runtime.chanrecv runtime.chanrecv1 main.f ");
  CHECK(shown_of({}, {"runtime.notetsleepg", "os/signal.signal_recv", "runtime.goexit"},
                 "syscall") == "os/signal.signal_recv runtime.goexit ");
  CHECK(shown_of({}, {"runtime.gopark", "runtime.GC", "main.f"}, "wait for GC cycle") ==
        "runtime.GC main.f ");
  CHECK(shown_of({}, {"runtime.newobject", "main.f"}, "runnable") ==
        "runtime.newobject main.f ");
  CHECK(shown_of({}, {"runtime.gopark", "runtime.bgsweep"}, "GC sweep wait") ==
        "runtime.gopark runtime.bgsweep ");
}

TEST_CASE("stacks: waits of threads that Go's runtime keeps idle are told apart") {
  using List = std::vector<std::string_view>;
  auto make_wait = [](const List& user, std::string_view state, StackBuilder& make) {
    make.profile.info.events = {{"off-cpu", 0, 10'000'000, "nanoseconds"}};
    std::vector<LocationId> ids;
    for (std::string_view name : user)
      ids.push_back(make.add({{name, kNormal}}));
    make.sample(ids);
    make.profile.change_owner(make.profile.samples.back(), [&](Owner& owner) {
      owner.state = make.profile.strings.intern(state);
    });
    make.profile.samples.back().weight = 1000;
  };
  auto state_of = [&](const List& user, std::string_view state) {
    StackBuilder make;
    make_wait(user, state, make);
    label_idle_threads(make.profile);
    return std::string(make.profile.strings[make.profile.owner(make.profile.samples[0]).state]);
  };
  const List stopped = {"runtime.futex", "runtime.mPark", "runtime.stopm", "runtime.schedule"};
  CHECK(state_of(stopped, "sleeping") == kIdleThread);
  CHECK(state_of(stopped, "waiting for a CPU") == "waiting for a CPU");
  CHECK(state_of({"runtime.usleep", "runtime.sysmon", "runtime.mstart"}, "sleeping") ==
        kIdleThread);
  CHECK(state_of({"futex_wait", "main.f", "runtime.stopm"}, "sleeping") == "sleeping");
  CHECK(state_of({"runtime.futex", "main.f"}, "sleeping") == "sleeping");
  CHECK(state_of({}, "sleeping") == "sleeping");

  StackBuilder make;
  make_wait(stopped, "sleeping", make);
  label_idle_threads(make.profile);
  leave_out_idle_threads(make.profile);
  CHECK(make.profile.samples.size() == 1);  // there is nothing else
  CHECK(make.profile.idle_ns == 0);
  make_wait({"main.f"}, "sleeping", make);
  label_idle_threads(make.profile);
  leave_out_idle_threads(make.profile);
  REQUIRE(make.profile.samples.size() == 1);
  CHECK(stack_text(make.profile, make.profile.samples[0]) == "main.f ");
  CHECK(make.profile.idle_ns == 1000);
}

namespace {

// By name, each a location; the same name is the same location.
class NamedStacks {
public:
  void sample(std::initializer_list<std::string_view> names, uint64_t count, uint32_t pid = 1) {
    std::vector<LocationId> stack;
    for (std::string_view name : names) {
      auto [known, is_new] = known_.try_emplace(name);
      if (is_new)
        known->second = make.add({{name, kNormal}});
      stack.push_back(known->second);
    }
    make.sample(stack, count);
    make.profile.change_owner(make.profile.samples.back(),
                              [&](Owner& owner) { owner.pid = pid; });
  }

  // "f main 3".
  std::set<std::string> texts() const {
    std::set<std::string> all;
    for (const SampleCount& sample : make.profile.samples)
      all.insert(fmt::format("{}{}", stack_text(make.profile, sample), sample.count));
    return all;
  }

  StackBuilder make;

private:
  std::map<std::string_view, LocationId> known_;  // of literals
};

}  // namespace

TEST_CASE("stacks: the collector is charged to those who allocate, by their time there") {
  NamedStacks stacks;
  stacks.make.profile.info.events.resize(1);
  stacks.make.profile.info.events[0].period = 1;
  stacks.sample({"runtime.nextFreeFast", "runtime.mallocgc", "main.much"}, 2);
  stacks.sample({"runtime.mallocgcSmallNoScanSC2", "main.much"}, 4);
  stacks.sample({"runtime.gcAssistAlloc", "runtime.mallocgc", "main.little"}, 3);
  stacks.sample({"main.much"}, 5);
  stacks.sample({"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker.func2",
                 "runtime.gcBgMarkWorker"},
                10);
  stacks.sample({"runtime.sweepone", "runtime.bgsweep"}, 1);
  // A process that does not allocate, and a function that only sounds like the collector's.
  stacks.sample({"runtime.gcBgMarkWorker"}, 7, 2);
  stacks.sample({"runtime.bgsweeper"}, 1);
  CHECK(estimate_of(stacks.make.profile).empty());
  charge_collector(stacks.make.profile);
  CHECK(stacks.texts() ==
        std::set<std::string>{
            "(runtime.gc (estimated share)) runtime.mallocgc main.much 2",
            "(runtime.gc (estimated share)) runtime.mallocgcSmallNoScanSC2 main.much 5",
            "(runtime.gc (estimated share)) runtime.mallocgc main.little 4",
            "runtime.nextFreeFast runtime.mallocgc main.much 2",
            "runtime.mallocgcSmallNoScanSC2 main.much 4",
            "runtime.gcAssistAlloc runtime.mallocgc main.little 3", "main.much 5",
            "runtime.gcBgMarkWorker 7", "runtime.bgsweeper 1"});
  CHECK(!estimate_of(stacks.make.profile).empty());
}

TEST_CASE("stacks: what is inlined into an allocation did not call the collector") {
  StackBuilder make;
  make.profile.info.events.resize(1);
  make.profile.info.events[0].period = 1;
  make.sample({make.add({{"runtime.nextFreeFast", kNormal}, {"runtime.mallocgc", kNormal}}),
               make.add({{"main.f", kNormal}})});
  make.sample({make.add({{"runtime.bgsweep", kNormal}})});
  charge_collector(make.profile);
  REQUIRE(make.profile.samples.size() == 2);
  CHECK(stack_text(make.profile, make.profile.samples[0]) ==
        "(runtime.nextFreeFast runtime.mallocgc) main.f ");
  CHECK(stack_text(make.profile, make.profile.samples[1]) ==
        "(runtime.gc (estimated share)) runtime.mallocgc main.f ");
}

TEST_CASE("stacks: of goroutines the creator becomes the root") {
  NamedStacks stacks;
  stacks.sample({"main.work", "runtime.goexit", "main.start"}, 1);
  stacks.sample({"main.start", "main.main", "runtime.main", "runtime.goexit"}, 2);
  stacks.sample({"main.turn", "main.work", "runtime.goexit", "main.start"}, 3);
  CHECK(name_creators(stacks.make.profile));
  CHECK(stacks.texts() ==
        std::set<std::string>{"main.work (created by main.start) 1",
                              "main.start main.main runtime.main runtime.goexit 2",
                              "main.turn main.work (created by main.start) 3"});
  CHECK(!name_creators(stacks.make.profile));
}

TEST_CASE("stacks: creators that are in stacks are taken out") {
  NamedStacks stacks;
  stacks.sample({"main.work", "runtime.goexit", "main.start"}, 1);
  stacks.sample({"main.work", "runtime.goexit.abi0", "main.start"}, 2);
  stacks.sample({"main.work", "runtime.goexit"}, 3);
  stacks.sample({"main.start", "main.main", "runtime.goexit"}, 4);
  // C code whose callback a goroutine ran.
  stacks.sample({"main.work", "runtime.goexit", "crosscall2", "main"}, 5);
  stacks.sample({"main.work", "runtime.goexit", "main"}, 6);
  stacks.sample({"runtime.goexit"}, 7);
  drop_creators(stacks.make.profile);
  CHECK(stacks.texts() ==
        std::set<std::string>{"main.work runtime.goexit 4", "main.work runtime.goexit.abi0 2",
                              "main.start main.main runtime.goexit 4",
                              "main.work runtime.goexit crosscall2 main 5",
                              "main.work runtime.goexit main 6", "runtime.goexit 7"});
}

TEST_CASE("stacks: a marked creator needs no named root, and a name of its own") {
  StackBuilder make;
  LocationId work = make.add({{"main.work", kNormal}});
  LocationId root = make.add({});
  LocationId known = make.add({{"main.start", kNormal}});
  LocationId unknown = make.add({});
  for (LocationId id : {known, unknown})
    make.profile.locations[to_index(id)].is_creator = true;
  make.sample({work, root, known});
  make.sample({work, root, unknown});
  CHECK(name_creators(make.profile));
  CHECK(stack_text(make.profile, make.profile.samples[0]) ==
        "main.work  (created by main.start) ");
  CHECK(stack_text(make.profile, make.profile.samples[1]) == "main.work  ");
}

}  // namespace gosym::go_stacks_test
