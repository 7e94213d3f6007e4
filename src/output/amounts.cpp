#include "output/amounts.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/percent.h"
#include "base/text.h"

namespace gosym {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

}  // namespace

Amounts::Amounts(const Profile& profile, uint64_t amount, uint64_t total)
    : period_(profile.period()), total_(total) {
  if (profile.measures_time())
    unit_ = amount * period_ < kSecond ? "ms" : "s";
}

std::string Amounts::text(uint64_t amount) const {
  if (is_exact_)
    return std::to_string(amount * period_);
  auto value = static_cast<double>(amount * period_);
  if (unit_ == "s")
    return fmt::format("{:.2f}", value / 1e9);
  if (unit_ == "ms")
    return fmt::format("{:.1f}", value / 1e6);
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
  if (profile.measures_time())
    amounts.unit_ = "ns";
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
