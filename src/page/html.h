#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "page/message.h"

namespace gosym::page {

// A file for a browser, which needs nothing else: the viewer of viewer/, and the page for it in
// an element with the id "profile", packed. A policy forbids the browser to load anything, and
// to run any other script.
std::string make_html(const Page& page);

// True if a file begins as a page for a browser does.
bool is_html(std::string_view begin);

// The page in such a file, whoever has saved it since. `max_size` is how many bytes it may have
// unpacked. An error: none, or what page.proto does not allow.
Result<Page> read_html(std::string_view html, uint64_t max_size);

}  // namespace gosym::page
