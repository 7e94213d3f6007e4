// Calls that the linker makes stubs for: one by its address too, which is another kind of slot.
int first(void);
int second(int);
int third(void);

int (*pointer)(void);

int run(void) {
  pointer = third;
  return first() + second(third());
}
