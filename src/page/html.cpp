#include "page/html.h"

#include <algorithm>

#include "page/message.h"
#include "page/viewer.h"

namespace gosym::page {

namespace {

// The text of the element with this id; empty if there is none. A browser that saves a page may
// write the attributes of an element in another order, but always in double quotes.
std::string_view element_with(std::string_view id, std::string_view html) {
  // The first one is meant: nothing else of index.html, nor of the scripts, has this text.
  size_t found = html.find(id);
  if (found == html.npos)
    return {};
  size_t begin = html.find('>', found);
  // No digit of the profile is "<", so that the first end tag is that of the element.
  size_t end = html.find("</script", found);
  return begin < end && end != html.npos ? html.substr(begin + 1, end - begin - 1)
                                         : std::string_view();
}

bool is_same_letter(char a, char b) {
  // Good enough for tags: letters differ by this bit alone between cases.
  return (a | 0x20) == (b | 0x20);
}

}  // namespace

std::string make_html(const Page& page) {
  std::string html(kViewerBegin);
  html += packed(encode(page));
  html += kViewerEnd;
  return html;
}

bool is_html(std::string_view begin) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (begin.starts_with(kByteOrderMark))
    begin.remove_prefix(kByteOrderMark.size());
  begin.remove_prefix(std::min(begin.find_first_not_of(" \t\r\n"), begin.size()));
  auto begins_with = [&](std::string_view tag) {
    return begin.size() >= tag.size() &&
           std::ranges::equal(begin.substr(0, tag.size()), tag, is_same_letter);
  };
  return begins_with("<!doctype html") || begins_with("<html");
}

Result<Page> read_html(std::string_view html, uint64_t max_size) {
  std::string_view text = element_with("id=\"profile\"", html);
  if (text.empty())
    return Error("there is no profile in it, or it is cut short")
        .with_hint("gosym reads the pages that gosym report --html writes");
  auto message = unpacked(text, max_size);
  if (!message)
    return std::move(message).error();
  return decode(as_bytes(*message));
}

}  // namespace gosym::page
