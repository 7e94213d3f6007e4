#include "page/html.h"

#include "page/packing.h"
#include "page/viewer.h"

namespace gosym::page {

std::string make_html(const Page& page) {
  std::string html(kViewerBegin);
  html += packed(encode(page));
  html += kViewerEnd;
  return html;
}

}  // namespace gosym::page
