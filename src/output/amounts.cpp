#include "output/amounts.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/percent.h"
#include "base/text.h"

namespace gosym {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Units of bytes, the largest first.
constexpr std::pair<std::string_view, uint64_t> kByteUnits[] = {
    {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};

bool measures_bytes(const Profile& profile) {
  return profile.event().unit == "bytes";
}

// One that the amount is some of.
std::string_view byte_unit_of(uint64_t amount) {
  for (auto [unit, size] : kByteUnits)
    if (amount >= size)
      return unit;
  return "B";
}

}  // namespace

Amounts::Amounts(const Profile& profile, uint64_t amount, uint64_t total)
    : period_(profile.period()), total_(total) {
  if (profile.measures_time())
    unit_ = amount * period_ < kSecond ? "ms" : "s";
  else if (measures_bytes(profile))
    unit_ = byte_unit_of(amount);
}

std::string Amounts::text(uint64_t amount) const {
  if (is_exact_)
    return std::to_string(amount * period_);
  auto value = static_cast<double>(amount * period_);
  if (unit_ == "s")
    return fmt::format("{:.2f}", value / 1e9);
  if (unit_ == "ms")
    return fmt::format("{:.1f}", value / 1e6);
  for (auto [unit, size] : kByteUnits)
    if (unit_ == unit && size > 1)
      return fmt::format("{:.2f}", value / static_cast<double>(size));
  return with_commas(amount * period_);
}

double Amounts::percent(uint64_t amount) const {
  return gosym::percent(amount, total_);
}

uint64_t Amounts::least(double percent) const {
  return std::max<uint64_t>(1,
                            static_cast<uint64_t>(percent / 100 * static_cast<double>(total_)));
}

Amounts Amounts::exact(const Profile& profile) {
  Amounts amounts(profile);
  amounts.is_exact_ = true;
  if (!amounts.unit_.empty())
    amounts.unit_ = measures_bytes(profile) ? "B" : "ns";
  return amounts;
}

std::string Amounts::percent_text(uint64_t amount) const {
  return fmt::format("{:.{}f}", percent(amount), is_exact_ ? 4 : 2);
}

std::string title_of(std::string_view what, const Amounts& amounts) {
  return amounts.unit().empty() ? std::string(what)
                                : fmt::format("{} {}", what, amounts.unit());
}

}  // namespace gosym
