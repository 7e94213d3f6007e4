// Small, and has of each thing that debugging information describes: units, namespaces,
// classes, templates, closures, inlined calls in blocks, code split off, and functions that the
// linker discards.
#include <cstdio>
#include <cstdlib>

#include "shapes.h"

namespace app {

namespace {

template <class T, int kSize>
struct Table {
  T cells[kSize] = {};

  void fill(T first) {
    for (int i = 0; i < kSize; i++)
      cells[i] = first + static_cast<T>(i) * 3;
  }
  template <class Visitor>
  void visit(Visitor visitor) const {
    for (const T& cell : cells)
      if (cell > T{})
        visitor(cell);
  }
};

inline int mix(int a, int b) {
  int result = a * 31 ^ b;
  if (result < 0) {
    int folded = -result % 1000;
    result = twice(folded) + area(Box{folded, b});
  }
  return result;
}

}  // namespace

int sum(int first) {
  Table<int, 40> table;
  table.fill(first);
  int total = 0;
  table.visit([&](int cell) { total = mix(total, cell); });
  if (total == 12345) {
    std::fputs("unlikely\n", stderr);
    std::abort();
  }
  return total;
}

int never_called(int a) {
  return mix(a, sum(a));
}

}  // namespace app

int main(int argc, char** argv) {
  app::Table<long, 20> table;
  table.fill(argc);
  long total = 0;
  table.visit([&](long cell) { total += cell ^ total << 3; });
  std::printf("%d %ld %d\n", app::sum(argc), total, largest(argv[0]));
  return 0;
}
