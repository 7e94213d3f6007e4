#pragma once

#include <string>

#include "page/message.h"

namespace gosym::page {

// A file for a browser, which needs nothing else: the viewer of viewer/, and the page for it in
// an element with the id "profile", packed. A policy forbids the browser to load anything, and
// to run any other script.
std::string make_html(const Page& page);

}  // namespace gosym::page
