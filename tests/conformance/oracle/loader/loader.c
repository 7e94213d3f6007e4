// Loads the oracle as a library and has it tell of its code.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  (void)argc;
  void* library = dlopen(argv[1], RTLD_NOW);
  void (*tell)(void) = library ? (void (*)(void))dlsym(library, "tellFrames") : NULL;
  if (!tell) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  tell();
  return 0;
}
