#pragma once

namespace gosym {

// A mapped file may be cut short by whoever else may write it, and the kernel then ends those
// who look at what is gone (SIGBUS). After this call it reads as zeros instead.
void outlive_cut_files();

// Whether that has happened: what was read may be wrong.
bool has_cut_file();

}  // namespace gosym
