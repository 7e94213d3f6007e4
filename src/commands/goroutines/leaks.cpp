#include "commands/goroutines/leaks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

namespace gosym {

namespace {

// One that runs is where it is by chance, and its stack is not known.
bool is_waiting(const Goroutine& goroutine) {
  using enum go::GoroutineStatus;
  bool is_at_rest = goroutine.status == kWaiting || goroutine.status == kSyscall ||
                    goroutine.status == kLeaked;
  return is_at_rest && goroutine.stack_state != GoroutineStack::kRunning &&
         goroutine.stack_state != GoroutineStack::kMoving;
}

// "+3 +3 +4": what came from one look to the next.
std::string steps_text(const PlaceHistory& history) {
  std::vector<std::string> steps;
  for (size_t i = 1; i < history.counts.size(); i++)
    steps.push_back(fmt::format("{:+}", static_cast<int64_t>(history.counts[i]) -
                                            static_cast<int64_t>(history.counts[i - 1])));
  return joined(steps, " ");
}

std::string_view word_of(Growth growth) {
  return growth == Growth::kLeaks ? "leaks" : "grows";
}

}  // namespace

uint32_t LeakFinder::place_of(const NamedGoroutines& named, const Goroutine& goroutine,
                              bool has_system) {
  // The number of a stack is of one look only; its addresses stay, as long as the program
  // runs.
  std::span<const uint64_t> stack = named.goroutines.stacks[goroutine.stack];
  auto [entry, is_new] = place_numbers_.try_emplace(
      PlaceKey(named.state(goroutine), std::vector(stack.begin(), stack.end()),
               goroutine.created_at),
      static_cast<uint32_t>(places_.size()));
  // Texts are made at the first sight of a place: the goroutines of this look are gone by the
  // next.
  if (is_new) {
    Place place = {.state = named.state(goroutine),
                   .stack = stack_text_of(named, goroutine, has_system)};
    for (const Call& call : named.stack(goroutine, has_system))
      place.functions.emplace_back(call.function);
    place.creator = std::string(named.creator(goroutine, has_system).function);
    places_.push_back(std::move(place));
  }
  return entry->second;
}

void LeakFinder::add_look(const NamedGoroutines& named, const GoroutineView& view) {
  totals_.push_back(view.shown.size());
  std::vector<SeenGoroutine> seen;
  std::vector<SeenGoroutine> born;
  // Waiting times are of the last look.
  for (Place& place : places_)
    place.minutes = 0;
  // Many have the same stack, whose place is looked up once.
  std::map<std::tuple<std::string, uint32_t, uint64_t>, uint32_t> known;
  for (const Goroutine* goroutine : view.shown) {
    // A goroutine is followed twice: by where it waits, and by where it was made, for a leak
    // may wait at changing places.
    auto [birth, is_new_birth] = birth_numbers_.try_emplace(
        {goroutine->created_at, goroutine->start}, static_cast<uint32_t>(births_.size()));
    if (is_new_birth)
      births_.emplace_back();
    born.push_back({goroutine->number, birth->second});
    if (!is_waiting(*goroutine)) {
      seen.push_back({goroutine->number, std::nullopt});
      continue;
    }
    auto [place, is_new] = known.try_emplace(
        {named.state(*goroutine), goroutine->stack, goroutine->created_at}, 0);
    if (is_new)
      place->second = place_of(named, *goroutine, view.has_system);
    Place& there = places_[place->second];
    there.birth = birth->second;
    there.minutes = std::max(there.minutes, named.minutes(*goroutine));
    births_[birth->second] = place->second;
    seen.push_back({goroutine->number, place->second});
  }
  by_place_.add_look(seen);
  by_birth_.add_look(born);
}

std::vector<LeakFinder::Found> LeakFinder::find() const {
  std::vector<Found> found;
  std::set<uint64_t> told;  // births, of which a place is told
  for (size_t i = 0; i < places_.size(); i++) {
    // Each place, and each birth below, was seen in a look, and so has a history. A place
    // without any name, of a call or of who created it, would tell a reader nothing.
    const PlaceHistory& history = by_place_.places()[i];
    Growth growth = growth_of(history);
    if (growth == Growth::kNone || places_[i].stack.empty())
      continue;
    if (growth == Growth::kLeaks)
      told.insert(places_[i].birth);
    found.push_back({growth, &history, &places_[i]});
  }
  // Goroutines of one birth leak as well if they are never seen at one place for long. A birth
  // without a place has only run; and growth that is no leak is told by place.
  for (size_t i = 0; i < births_.size(); i++) {
    const PlaceHistory& history = by_birth_.places()[i];
    if (births_[i] && !told.contains(i) && !places_[*births_[i]].stack.empty() &&
        growth_of(history) == Growth::kLeaks)
      found.push_back({Growth::kLeaks, &history, &places_[*births_[i]]});
  }
  // A place that grows or leaks has more at the last look than at the first: nothing wraps.
  auto growth = [](const Found& one) {
    return one.history->counts.back() - one.history->counts.front();
  };
  std::ranges::stable_sort(found, [&](const Found& one, const Found& other) {
    return std::tuple(one.growth, growth(one)) > std::tuple(other.growth, growth(other));
  });
  return found;
}

bool LeakFinder::has_leaks(const std::vector<Found>& found) {
  return !found.empty() && found.front().growth == Growth::kLeaks;
}

// There is a look at least: look_for_leaks() fails without kLeastLooks of them.
std::string LeakFinder::text(double seconds) const {
  std::string text =
      fmt::format("{} looks in {:.0f} s: {} goroutines at the first, {} at the last\n", looks(),
                  seconds, with_commas(totals_.front()), with_commas(totals_.back()));
  std::vector<Found> found = find();
  for (const Found& one : found) {
    const PlaceHistory& history = *one.history;
    text += fmt::format("\n{}: {}; {} there now", word_of(one.growth), steps_text(history),
                        with_commas(history.counts.back()));
    text += history.left == 0 ? ", and none has left"
                              : fmt::format(", {} have left", with_commas(history.left));
    if (one.place->minutes > 0)
      text += fmt::format("; waiting for {} at most", count_text(one.place->minutes, "minute"));
    text += fmt::format("\n[{}]\n{}", printable(one.place->state), one.place->stack);
  }
  if (!has_leaks(found))
    text += fmt::format(
        "{}no leak seen: nowhere did goroutines come from each look to the next "
        "and none leave\n",
        found.empty() ? "" : "\n");
  return text;
}

void LeakFinder::write(JsonWriter& json) const {
  json.values("goroutines", totals_);
  json.array("places", find(), [&](const Found& one) {
    json.object([&] {
      json.field("verdict", word_of(one.growth));
      json.field("state", one.place->state);
      json.values("counts", one.history->counts);
      json.values("arrived", one.history->arrived);
      json.field("left", one.history->left);
      json.field("minutes", one.place->minutes);
      json.values("functions", one.place->functions);
      json.field("created_by", one.place->creator);
    });
  });
}

}  // namespace gosym
