#include "shapes.h"

static int larger(int a, int b) {
  return a < b ? b : a;
}

int largest(const char* text) {
  int result = 0;
  for (; *text != '\0'; text++)
    result = larger(result, area(Box{*text, 2}));
  return result;
}
