#include "page/short_columns.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/sequence_pool.h"

namespace gosym::page {

namespace {

// Modulo 2^32, so that any two numbers have one: 0, -1, 1, -2, … are 0, 1, 2, 3, …
uint32_t zigzag(uint32_t difference) {
  return difference << 1 ^ (difference >> 31 ? UINT32_MAX : 0);
}

uint32_t from_zigzag(uint32_t coded) {
  return coded >> 1 ^ (coded & 1 ? UINT32_MAX : 0);
}

// Predictors of the value in a row of a column. Each has likely(row), and learns the value.

// A number that has not been there: numbers are given in the order of their first time.
class NextNew {
public:
  uint32_t likely(size_t) const { return next_; }
  void learn(size_t, uint32_t value) { next_ = std::max(next_, value + 1); }

private:
  uint32_t next_ = 0;
};

class AsBefore {
public:
  uint32_t likely(size_t) const { return before_; }
  void learn(size_t, uint32_t value) { before_ = value; }

private:
  uint32_t before_ = 0;
};

// Predicts the value of the last row that has the same in column `by`. The first time it
// predicts that of the row before, or that of `first`, which has a row for each number of `by`
// from 1 on.
class AsLastOf {
public:
  explicit AsLastOf(const Column& by, const Column* first = nullptr) : by_(by), first_(first) {}

  uint32_t likely(size_t row) const {
    uint32_t key = by_[row];
    if (auto last = last_.find(key); last != last_.end())
      return last->second;
    return first_ && key > 0 && key <= first_->size() ? (*first_)[key - 1] : before_;
  }

  void learn(size_t row, uint32_t value) {
    last_.insert_or_assign(by_[row], value);
    before_ = value;
  }

private:
  const Column& by_;
  const Column* first_;
  tsl::robin_map<uint32_t, uint32_t, BytesHash> last_;
  uint32_t before_ = 0;
};

template <class Predictor>
void to_differences(Column& column, Predictor predictor) {
  for (size_t row = 0; row < column.size(); row++) {
    uint32_t value = column[row];
    column[row] = zigzag(value - predictor.likely(row));
    predictor.learn(row, value);
  }
}

template <class Predictor>
void from_differences(Column& column, Predictor predictor) {
  for (size_t row = 0; row < column.size(); row++) {
    column[row] = from_zigzag(column[row]) + predictor.likely(row);
    predictor.learn(row, column[row]);
  }
}

template <class T>
void drop_zeros(std::vector<T>& column) {
  if (std::ranges::all_of(column, [](T value) { return value == 0; }))
    column.clear();
}

// The columns of frames that most frames of a function have alike.
auto common_columns(Frames& frames) {
  return std::array{&frames.module,        &frames.source, &frames.kind,     &frames.is_inlined,
                    &frames.unnamed,       &frames.text,   &frames.left_out, &frames.category,
                    &frames.category_kind, &frames.is_own};
}

template <class T>
Result<> fill(std::string_view table, std::vector<T>& column, size_t rows) {
  if (column.empty())
    column.resize(rows);
  if (column.size() != rows)
    return errorf("{}: columns of different lengths", table);
  return Ok{};
}

// All columns of a table are as long as the first.
template <class... Columns>
Result<> fill_table(std::string_view table, const Column& first, Columns&... columns) {
  Result<> result = Ok{};
  ((result = result ? fill(table, columns, first.size()) : std::move(result)), ...);
  return result;
}

}  // namespace

void shorten(Page& page) {
  Frames& frames = page.frames;
  Functions& functions = page.functions;
  for (Column* column : common_columns(frames)) {
    to_differences(*column, AsLastOf(frames.function));
    drop_zeros(*column);
  }
  to_differences(frames.line, AsLastOf(frames.function, &functions.start_line));
  to_differences(frames.function, NextNew());
  for (Column* column : {&functions.package, &functions.declared})
    to_differences(*column, AsLastOf(functions.file));
  to_differences(functions.file, AsBefore());
  for (Column* column : {&functions.system_name, &functions.file, &functions.start_line,
                         &functions.package, &functions.declared, &frames.line})
    drop_zeros(*column);
  to_differences(page.tree.first, NextNew());

  Samples& samples = page.samples;
  to_differences(samples.step, AsLastOf(samples.owner));
  to_differences(samples.owner, AsBefore());
  for (Column* column : {&samples.step, &samples.count})
    drop_zeros(*column);
  drop_zeros(samples.weight);
  drop_zeros(samples.skipped);

  Owners& owners = page.owners;
  for (Column* column :
       {&owners.pid, &owners.tid, &owners.comm, &owners.cgroup, &owners.label_set,
        &owners.recording, &owners.state, &owners.waker, &owners.process})
    drop_zeros(*column);
}

Result<> restore(Page& page) {
  Functions& functions = page.functions;
  Frames& frames = page.frames;
  Samples& samples = page.samples;
  Result<> filled = fill_table("functions", functions.name, functions.file, functions.package,
                               functions.start_line, functions.declared);
  if (filled)
    filled = fill_table("frames", frames.function, frames.line);
  for (Column* column : common_columns(frames))
    if (filled)
      filled = fill_table("frames", frames.function, *column);
  if (filled)
    filled = fill_table("samples", samples.owner, samples.step);
  if (!filled)
    return filled;

  from_differences(functions.file, AsBefore());
  for (Column* column : {&functions.package, &functions.declared})
    from_differences(*column, AsLastOf(functions.file));
  from_differences(frames.function, NextNew());
  from_differences(frames.line, AsLastOf(frames.function, &functions.start_line));
  for (Column* column : common_columns(frames))
    from_differences(*column, AsLastOf(frames.function));
  from_differences(page.tree.first, NextNew());
  from_differences(samples.owner, AsBefore());
  from_differences(samples.step, AsLastOf(samples.owner));
  return Ok{};
}

}  // namespace gosym::page
