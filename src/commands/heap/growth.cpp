#include "commands/heap/growth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/clock.h"
#include "base/text.h"
#include "symbolize/names.h"
#include "view/significance.h"

namespace gosym {

namespace {

constexpr double kBytesOfMiB = 1 << 20;
constexpr double kSecondsShown = 60;  // a minute

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// "+25.10 ± 1.20".
std::string slope_text(const Slope& slope) {
  auto a_minute = [](double bytes) { return bytes * kSecondsShown / kBytesOfMiB; };
  return std::isfinite(slope.error)
             ? fmt::format("{:+.2f} ± {:.2f}", a_minute(slope.per_second),
                           a_minute(slope.error))
             : fmt::format("{:+.2f}", a_minute(slope.per_second));
}

// The function that allocated, and who called it: that tells one map from another.
std::string place_text(const std::vector<std::string>& stack) {
  constexpr size_t kMostCallers = 4;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(stack.size(), kMostCallers + 1); i++)
    names.push_back(printable(display_name(stack[i], FrameSource::kPclntab, NameForm::kShort)));
  return joined(names, " < ") + (stack.size() > names.size() ? " < ..." : "");
}

}  // namespace

Slope slope_of(const std::vector<double>& times, const std::vector<double>& amounts) {
  // Means are taken off first: the sums stay small, and so does the error of rounding.
  double time = mean_of(times);
  double amount = mean_of(amounts);
  double spread = 0;
  double product = 0;
  for (size_t i = 0; i < times.size(); i++) {
    spread += (times[i] - time) * (times[i] - time);
    product += (times[i] - time) * (amounts[i] - amount);
  }
  // Least squares, and the error of the slope by what is left over.
  Slope slope = {.per_second = spread > 0 ? product / spread : 0,
                 .error = std::numeric_limits<double>::infinity()};
  if (times.size() < kLeastHeapLooks || spread <= 0)
    return slope;
  double rest = 0;
  for (size_t i = 0; i < times.size(); i++) {
    double off = amounts[i] - amount - slope.per_second * (times[i] - time);
    rest += off * off;
  }
  constexpr double kChance = 0.05;
  // Two of the looks are used up by the two numbers of a line.
  auto freedom = static_cast<double>(times.size() - 2);
  double error = std::sqrt(rest / freedom / spread);
  slope.error = student_limit(kChance, freedom) * error;
  // The error may be 0: then all looks lie on a line, which no chance does.
  if (slope.per_second != 0)
    slope.chance = error > 0 ? student_chance(std::abs(slope.per_second) / error, freedom) : 0;
  return slope;
}

void HeapGrowth::add_look(const Profile& profile, uint64_t time, uint64_t collections) {
  if (times_.empty())
    begin_ = time;
  times_.push_back(to_seconds(time - begin_));
  collections_.push_back(collections);
  totals_.push_back(0);
  // Only the first value: the bytes in use, of which some samples have none. A stack may have
  // several samples, one for each size of object.
  for (const SampleCount& sample : profile.samples) {
    if (sample.weight == 0)
      continue;
    // Stacks are kept by name: the numbers of a profile hold for one look.
    Stack stack;
    for (LocationId location : profile.stack(sample.stack))
      for (const Frame& frame : profile.frames_of(profile.locations[to_index(location)]))
        stack.emplace_back(profile.strings[profile.functions[to_index(frame.function)].name]);
    std::vector<double>& bytes = bytes_[std::move(stack)];
    // Looks at which the stack was not there count 0.
    bytes.resize(times_.size());
    bytes.back() += static_cast<double>(sample.weight);
    totals_.back() += static_cast<double>(sample.weight);
  }
  // Stacks that this look did not have.
  for (auto& [stack, bytes] : bytes_)
    bytes.resize(times_.size());
}

// Stacks that grow by more than chance, and by a hundredth or more of all that is in use. Of
// a thousand stacks some look as if they grew where none does: what they are allowed of chance
// is divided among them, by their bytes.
std::vector<HeapGrowth::Row> HeapGrowth::rows() const {
  constexpr double kLeastShare = 0.01;
  constexpr double kChance = 0.05;
  std::vector<Row> all;
  std::vector<double> chances;
  std::vector<double> weights;
  for (const auto& [stack, bytes] : bytes_) {
    all.push_back({&stack, slope_of(times_, bytes), bytes.back()});
    chances.push_back(all.back().slope.chance);
    // The 1 keeps a stack whose memory is all gone from a weight of 0: chances are divided by
    // it.
    weights.push_back(1 + bytes.back());
  }
  std::vector<double> corrected = holm_corrected(chances, weights);
  std::vector<Row> rows;
  for (size_t i = 0; i < all.size(); i++)
    if (corrected[i] < kChance &&
        // The growth over all looks, against what was in use at the last.
        all[i].slope.per_second * times_.back() >= kLeastShare * totals_.back())
      rows.push_back(all[i]);
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [](const Row& row) { return row.slope.per_second; });
  return rows;
}

// There are looks: look_for_growth() fails if there are fewer than kLeastHeapLooks.
std::string HeapGrowth::text(const Screen& screen) const {
  std::string text = fmt::format(
      "{} looks in {:.0f} s, {} between them; in use {} at the first, {} at the last\n"
      "total      {} MiB a minute (95 %)\n",
      looks(), times_.back(),
      count_text(collections_.back() - collections_.front(), "collection"),
      human_size(static_cast<uint64_t>(totals_.front())),
      human_size(static_cast<uint64_t>(totals_.back())), slope_text(slope_of(times_, totals_)));
  // Memory in use is told as the last collection left it: without a new one all looks are the
  // same.
  if (collections_.back() == collections_.front())
    return text + "no collection ended meanwhile: look for longer (--interval)\n";
  std::vector<Row> found = rows();
  if (found.empty())
    return text + "no stack's memory grows by more than chance\n";
  constexpr size_t kMostRows = 20;
  text +=
      fmt::format("\n{:>18} {:>10}  {}\n", "MiB/min", "MiB now", "allocated by < called by");
  for (const Row& row : std::span(found).first(std::min(found.size(), kMostRows))) {
    std::string line = fmt::format("{:>18} {:>10.2f}  {}", slope_text(row.slope),
                                   row.last / kBytesOfMiB, place_text(*row.stack));
    text += (screen.has_width() ? cut_at_end(line, screen.width) : line) + '\n';
  }
  if (found.size() > kMostRows)
    text += fmt::format("{:>18} more\n", with_commas(found.size() - kMostRows));
  return text;
}

void HeapGrowth::write(JsonWriter& json) const {
  json.field("seconds", times_.back());
  json.field("collections", collections_.back() - collections_.front());
  json.key("in_use");
  json.begin_array();
  for (double total : totals_)
    json.value(static_cast<uint64_t>(total));
  json.end_array();
  auto write_slope = [&](const Slope& slope) {
    json.field("bytes_per_second", slope.per_second);
    json.field("error", slope.error);
  };
  json.key("total");
  json.begin_object();
  write_slope(slope_of(times_, totals_));
  json.end_object();
  json.key("growing");
  json.begin_array();
  for (const Row& row : rows()) {
    json.begin_object();
    write_slope(row.slope);
    json.field("in_use", static_cast<uint64_t>(row.last));
    json.key("stack");
    json.begin_array();
    for (const std::string& function : *row.stack)
      json.value(function);
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

}  // namespace gosym
