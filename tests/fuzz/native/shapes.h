#pragma once

struct Box {
  int width;
  int height;
};

inline int twice(int a) {
  return a + a;
}

// A unit of its own has both: the linker keeps one.
inline __attribute__((noinline)) int area(const Box& box) {
  return twice(box.width) * box.height / 2;
}

int largest(const char* text);
