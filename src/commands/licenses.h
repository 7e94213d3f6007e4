#pragma once

#include <string_view>

namespace gosym {

// Made by embed_licenses.py, compressed by gzip: 60 KB in place of 300 where the libraries are
// inside.
extern const std::string_view kLicenses;

}  // namespace gosym
