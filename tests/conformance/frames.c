/* Functions whose frames are of different kinds. Nothing here is run. */

int use(int* values, int count);
_Noreturn void stop(int status);

int leaf(int n) {
  return 3 * n + 1;
}

int fixed(int n) {
  int values[100];
  return use(values, n) + values[n];
}

int ends_early(int n) {
  if (n > 3)
    return fixed(n) + leaf(n);
  if (n < 0)
    stop(n);
  int values[1000];
  return use(values, n) + n;
}

int of_any_size(int n) {
  int values[n];
  return use(values, n) + values[n / 2];
}

int aligned_anew(int n) {
  _Alignas(64) int values[16];
  int more[n];
  return use(values, n) + use(more, n);
}

int with_many_arguments(int a, int b, int c, int d, int e, int f, int g, int h) {
  int values[] = {a, b, c, d, e, f, g, h};
  return use(values, 8) + with_many_arguments(h, g, f, e, d, c, b, a) + values[a];
}
