#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gosym {

// One of several things that were chosen, and how many of all it stands for, itself included.
struct Chosen {
  uint64_t index = 0;
  double stands_for = 1;
};

// Chooses `wanted` of `size`, each from an equal part of them; `random` out of [0, 1) tells
// which of its part. All if there are no more.
std::vector<Chosen> choose_evenly(uint64_t size, uint64_t wanted, double random);

// Chooses as many of `some` as there are numbers in `random`, out of [0, 1). The chance of each
// is in proportion to what it stands for; the chosen then stand for equal parts of what all
// stand for. All as they are if that is enough.
std::vector<Chosen> choose_by_weight(std::span<const Chosen> some,
                                     std::span<const double> random);

// Remembers, look after look, which goroutines of a list have moved of late, so that a profiler
// may look at these always and at those that rest rarely. A list is long and its goroutines
// rest, as a rule: what serves requests is a few of them, or others all the time in the same
// few places, as the runtime uses the place of one that has ended again.
//
// Nothing of a goroutine that waits or has ended changes until it runs. Its mark is made of
// what changes then.
class MovingGoroutines {
public:
  // The places of a list of that length that a look is to check, at most so many: of those that
  // move and of those that rest, which come first. All of a part stand for all of that part, so
  // that whatever is remembered, right or wrong, no goroutine is more likely to be looked at
  // than it stands for.
  std::vector<Chosen> choose(uint64_t length, uint64_t most, double random);

  // Takes what was found at a place, and tells whether what is there moves.
  bool note(uint64_t place, uint32_t mark, bool may_rest);

  void forget() { *this = MovingGoroutines(); }

private:
  struct Place {
    uint32_t mark = 0;      // 0: it was not looked at
    uint32_t moved_at = 0;  // the number of the look that last found that it had moved
    uint32_t rank = 0;      // in `by_rank_`
  };

  void grow_to(uint64_t length);
  void give_rank(uint32_t place, uint32_t rank);
  void set_moving(uint32_t place);
  void set_resting(uint32_t place);
  bool is_moving(uint32_t place) const { return places_[place].rank < moving_; }

  std::vector<Place> places_;
  std::vector<uint32_t> by_rank_;  // places: first those that move, then those that rest
  uint32_t moving_ = 0;
  uint32_t looks_ = 0;
  bool has_given_up_ = false;  // nothing is remembered: the list is too long, or shrinks
};

}  // namespace gosym
