#pragma once

namespace gosym {

// Lets this process have as many files open as the administrator allows, where the limit it has
// from its shell is 1024 as a rule. What it has started keeps its own.
void raise_file_limit();

}  // namespace gosym
