#pragma once

#include "base/result.h"
#include "page/message.h"

namespace gosym::page {

// Makes the columns of a page those of page.proto: many of them as differences from what is
// likely, of which most are 0.
void shorten(Page& page);

// The other way. An error: columns of a table that differ in length.
Result<> restore(Page& page);

}  // namespace gosym::page
