#include <doctest/doctest.h>
#include <sys/utsname.h>

#include "base/exit_status.h"
#include "record/rights.h"

namespace gosym::rights_test {

TEST_CASE("rights: a refusal by the verifier is ours, and has its reason") {
  utsname system{};
  uname(&system);
  auto message = [&](std::string_view reason) {
    return fmt::format("the verifier of Linux {} refuses the BPF program: {}", system.release,
                       reason);
  };
  Error error = refused_by_verifier(
      "0: (bf) r6 = r1\n"
      "R2 unbounded memory access\n"
      "verification time 1023 usec\n"
      "stack depth 512+24\n"
      "processed 97 insns (limit 1000000) max_states_per_insn 0 total_states 9\n\n");
  CHECK(error.message() == message("R2 unbounded memory access"));
  CHECK(error.exit_status() == kFailure);
  CHECK(refused_by_verifier("invalid argument").message() == message("invalid argument"));
  CHECK(refused_by_verifier("a\x1b[2J\n").message() == message("a\\x1b[2J"));
  CHECK(refused_by_verifier("processed 0 insns").message() == message(""));
}

}  // namespace gosym::rights_test
