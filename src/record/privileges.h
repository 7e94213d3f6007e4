#pragma once

namespace gosym {

// Gives up, for good, the capabilities that a recording has no use for once it is set up. It
// keeps those to look at processes and their files, to signal a command that changed its user,
// and to sample CPUs that come later (CAP_PERFMON; CAP_BPF for their rings, which Linux before
// 5.19 also wants for each use of a map).
void drop_privileges();

}  // namespace gosym
