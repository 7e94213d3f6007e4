// C code between the Go code: functions, inlined ones, and calls back into Go.
#include "native.h"

#include <stdlib.h>

extern int compareInGo(int a, int b);

static inline unsigned rotate(unsigned value, int bits) {
  return value << bits | value >> (32 - bits);
}

static inline unsigned mix(unsigned sum, unsigned value) {
  return rotate(sum ^ value * 0x9e3779b1u, 13) * 5;
}

__attribute__((noinline)) static unsigned mix_all(const int* numbers, int count) {
  unsigned sum = 1;
  for (int i = 0; i < count; i++)
    sum = mix(sum, (unsigned)numbers[i]);
  return sum;
}

unsigned checksum(const int* numbers, int count) {
  return mix_all(numbers, count) | 1;
}

static int compare(const void* a, const void* b) {
  return compareInGo(*(const int*)a, *(const int*)b);
}

void sort_numbers(int* numbers, int count) {
  qsort(numbers, (size_t)count, sizeof(*numbers), compare);
}
