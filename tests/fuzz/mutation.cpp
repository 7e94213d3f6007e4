#include "mutation.h"

#include <fmt/format.h>

#include <algorithm>

namespace gosym {

namespace {

// SplitMix64: good enough to scatter damage, and the same on every machine.
class Random {
public:
  Random(uint64_t seed, uint64_t number) : state_(seed) { state_ = next() ^ number; }

  uint64_t next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  uint64_t below(uint64_t limit) { return next() % limit; }
  bool one_in(uint64_t count) { return below(count) == 0; }

  template <class Choices>
  const auto& one_of(const Choices& choices) {
    return *(std::begin(choices) + below(std::size(choices)));
  }

private:
  uint64_t state_;
};

// A place in the file and how far its extent goes on.
struct Place {
  std::string_view target;
  uint64_t offset = 0;
  uint64_t size = 0;
};

class Mutation {
public:
  Mutation(const Original& original, uint64_t seed, uint64_t number)
      : original_(original), random_(seed, number) {}

  Mutant make();

private:
  void edit();
  void cut();
  Place pick_place();
  void flip_bit(const Place& place);
  void set_field(const Place& place);
  void fill(const Place& place);
  void copy(const Place& place);
  uint64_t interesting(uint64_t old, unsigned width);
  uint64_t load(uint64_t offset, unsigned width) const;
  void store(uint64_t offset, unsigned width, uint64_t value);

  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    std::string& text = mutant_.description;
    text += text.empty() ? "" : "; ";
    text += fmt::format(format, std::forward<Args>(args)...);
  }

  const Original& original_;
  Random random_;
  Mutant mutant_;
};

Mutant Mutation::make() {
  mutant_.file.assign(original_.file.begin(), original_.file.end());
  // One at a time finds what is not checked; several, what is checked in the wrong order.
  uint64_t edits = random_.one_in(3) ? 2 + random_.below(7) : 1;
  for (uint64_t i = 0; i < edits; i++)
    edit();
  if (random_.one_in(20))
    cut();
  return std::move(mutant_);
}

void Mutation::edit() {
  Place place = pick_place();
  switch (random_.below(8)) {
    case 0:
    case 1:
      return flip_bit(place);
    case 2:
      return fill(place);
    case 3:
      return copy(place);
    default:
      return set_field(place);
  }
}

// Each target as often as any other, however small it is.
Place Mutation::pick_place() {
  if (random_.one_in(32)) {
    uint64_t offset = random_.below(mutant_.file.size());
    return {"anywhere", offset, mutant_.file.size() - offset};
  }
  const Target& target = random_.one_of(original_.targets);
  const elf::FileExtent& extent = random_.one_of(target.extents);
  uint64_t start = random_.below(extent.size);
  if (!target.is_packed && !random_.one_in(4))
    start -= start % 4;
  return {target.name, extent.offset + start, extent.size - start};
}

void Mutation::flip_bit(const Place& place) {
  uint64_t bit = random_.below(8);
  mutant_.file[place.offset] ^= std::byte{1} << bit;
  tell("{} at {:#x}: bit {} flipped", place.target, place.offset, bit);
}

void Mutation::set_field(const Place& place) {
  constexpr unsigned kWidths[] = {1, 2, 4, 4, 4, 8, 8};
  unsigned width = random_.one_of(kWidths);
  if (width > mutant_.file.size() - place.offset)
    return;
  uint64_t old = load(place.offset, width);
  store(place.offset, width, interesting(old, width));
  tell("{} at {:#x}: {} bytes {:#x} -> {:#x}", place.target, place.offset, width, old,
       load(place.offset, width));
}

uint64_t Mutation::interesting(uint64_t old, unsigned width) {
  const uint64_t extremes[] = {0,
                               1,
                               UINT64_MAX,
                               INT64_MAX,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0x100000000,
                               1ull << 63,
                               0x7fff,
                               1ull << (8 * width - 1)};
  const uint64_t neighbours[] = {old + 1, old - 1, old + 4, old - 8, old * 2, old / 2, ~old};
  switch (random_.below(4)) {
    case 0:
      return random_.one_of(neighbours);
    case 1:
      return random_.one_of(original_.borders) + random_.below(3) - 1;
    case 2:
      return random_.next() >> random_.below(64);
    default:
      return random_.one_of(extremes);
  }
}

// Runs of one byte: endless numbers, texts without an end, tables of zeros.
void Mutation::fill(const Place& place) {
  constexpr uint8_t kFillings[] = {0, 1, 2, 0x7f, 0x80, 0xff};
  uint8_t filling = random_.one_of(kFillings);
  uint64_t limit = random_.one_in(8) ? 65536 : 64;
  uint64_t size = std::min(1 + random_.below(limit), mutant_.file.size() - place.offset);
  std::fill_n(mutant_.file.begin() + static_cast<ptrdiff_t>(place.offset), size,
              std::byte{filling});
  tell("{} at {:#x}: {:#x} bytes of {:#x}", place.target, place.offset, size, filling);
}

// Copies what is right elsewhere: entries out of order, tables in the place of others, loops.
void Mutation::copy(const Place& place) {
  Place source = pick_place();
  uint64_t limit = mutant_.file.size() - std::max(place.offset, source.offset);
  uint64_t size = std::min(random_.one_in(2) ? uint64_t{4} : 1 + random_.below(64), limit);
  std::memmove(&mutant_.file[place.offset], &mutant_.file[source.offset], size);
  tell("{} at {:#x}: {:#x} bytes from {} at {:#x}", place.target, place.offset, size,
       source.target, source.offset);
}

void Mutation::cut() {
  uint64_t size = random_.one_in(2) ? random_.below(mutant_.file.size())
                                    : pick_place().offset + random_.below(3) - 1;
  mutant_.file.resize(std::min<uint64_t>(size, mutant_.file.size()));
  mutant_.file.shrink_to_fit();
  tell("cut to {:#x}", mutant_.file.size());
}

uint64_t Mutation::load(uint64_t offset, unsigned width) const {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; i++) {
    unsigned byte = original_.order == ByteOrder::kBig ? i : width - 1 - i;
    value = value << 8 | std::to_integer<uint64_t>(mutant_.file[offset + byte]);
  }
  return value;
}

void Mutation::store(uint64_t offset, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++, value >>= 8) {
    unsigned byte = original_.order == ByteOrder::kLittle ? i : width - 1 - i;
    mutant_.file[offset + byte] = static_cast<std::byte>(value);
  }
}

}  // namespace

Mutant make_mutant(const Original& original, uint64_t seed, uint64_t number) {
  return Mutation(original, seed, number).make();
}

}  // namespace gosym
