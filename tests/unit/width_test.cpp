#include "base/text.h"

#include <doctest/doctest.h>

#include "output/table.h"

namespace gosym::width_test {

TEST_CASE("width: wide characters take two columns, those that combine none") {
  CHECK(display_width("main.main") == 9);
  CHECK(display_width("日本") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("…") == 1);
  CHECK(display_width("\xff\xff") == 2);  // no UTF-8: a column a byte
  CHECK(display_width("") == 0);
}

TEST_CASE("width: what is cut fits, whatever the width is") {
  for (std::string_view text : {"main.main", "日本語のなまえ", "e\u0301e\u0301e\u0301e\u0301",
                                "github.com/prometheus/prometheus/promql.(*evaluator).eval"})
    for (size_t width = 0; width < 60; width++) {
      CAPTURE(width);
      CHECK(display_width(cut_in_middle(text, width)) <= width);
      CHECK(display_width(cut_at_end(text, width)) <= width);
      CHECK(display_width(cut_name(text, width)) <= width);
      CHECK(display_width(cut_path(text, width)) <= width);
      if (display_width(text) <= width)
        CHECK(cut_in_middle(text, width) == text);
    }
}

TEST_CASE("width: of a name the directories of the package go first, then its middle") {
  std::string_view name = "github.com/prometheus/prometheus/promql.(*evaluator).eval";
  CHECK(cut_name(name, 57) == name);
  CHECK(cut_name(name, 56) == "promql.(*evaluator).eval");
  CHECK(cut_name(name, 13) == "prom…or).eval");
  CHECK(cut_name("slices.Sort[github.com/a/b.T]", 20) == "slices…ub.com/a/b.T]");
  CHECK(cut_name("[stripped a/b]", 10) == "[st…d a/b]");
}

TEST_CASE("width: a function's name is cut between its parts before a word is") {
  std::string_view name = "github.com/prometheus/prometheus/promql.(*evaluator).eval";
  CHECK(cut_function(name, 100) == name);
  CHECK(cut_function(name, 24) == "promql.(*evaluator).eval");
  CHECK(cut_function(name, 23) == "(*evaluator).eval");
  CHECK(cut_function("encoding/json.Marshal", 7) == "Marshal");
  CHECK(cut_function("  encoding/json.Marshal", 9) == "  Marshal");
  CHECK(cut_function("std::sort(int*, int*)", 12) == "std::sort");
  CHECK(cut_function("main.main (link)", 12) == "main (link)");
  CHECK(cut_function("[stripped libc.so.6]", 12) == "[st…bc.so.6]");
  CHECK(cut_function("", 0).empty());
  CHECK(cut_function("main.run", 0).empty());
}

TEST_CASE("width: of a path the outer directories go first") {
  CHECK(cut_path("/home/me/src/server/main.go:12", 30) == "/home/me/src/server/main.go:12");
  CHECK(cut_path("/home/me/src/server/main.go:12", 29) == "me/src/server/main.go:12");
  CHECK(cut_path("/home/me/src/server/main.go:12", 12) == "main.go:12");
  CHECK(cut_path("runtime/asm_amd64.s:1594", 18) == "asm_amd64.s:1594");
  CHECK(cut_path("/", 0) == "");
}

TEST_CASE("width: a line is broken at spaces, and what follows is aligned") {
  CHECK(wrapped("lost       2 of 10 samples", 80, 11) == "lost       2 of 10 samples");
  CHECK(wrapped("lost       2 of 10 samples", 20, 11) ==
        "lost       2 of 10\n           samples");
  CHECK(wrapped("", 10, 2) == "");
  CHECK(wrapped("abcdefghijkl mnop", 4, 2) == "abcdefghijkl\n  mnop");
}

namespace {

Table made_table() {
  return {
      .columns = {{"self %"},
                  {"function", Table::Kind::kName},
                  {"hottest line", Table::Kind::kPath}},
      .rows = {{{"9.5"}, {"net/http.(*conn).serve"}, {"/usr/lib/go/src/net/http/server.go:1"}},
               {{"10.0"}, {"a|b`c,\"d\""}, {""}}}};
}

}  // namespace

TEST_CASE("table: columns are aligned, and no line is wider than the screen") {
  CHECK(text_of(made_table(), {}) ==
        "self %  function                hottest line\n"
        "   9.5  net/http.(*conn).serve  /usr/lib/go/src/net/http/server.go:1\n"
        "  10.0  a|b`c,\"d\"\n");
  CHECK(text_of(made_table(), {.width = 50}) ==
        "self %  function                hottest line\n"
        "   9.5  net/http.(*conn).serve  http/server.go:1\n"
        "  10.0  a|b`c,\"d\"\n");
  for (size_t width = 44; width < 100; width++) {
    std::string text = text_of(made_table(), {.width = width});
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      CHECK(display_width(
                std::string_view(text).substr(begin, text.find('\n', begin) - begin)) <= width);
  }
}

TEST_CASE("table: a longer name pushes its own row only, where lines may have any length") {
  Table table = made_table();
  table.rows[0][1].text = std::string(100, 'x');
  std::string text = text_of(table, {});
  CHECK(text.find(std::string(100, 'x') + "  /usr/lib/go") != text.npos);
  CHECK(text.starts_with("self %  function" + std::string(50, ' ') + "hottest line\n"));
}

TEST_CASE("table: colours change no column") {
  Table table = made_table();
  table.rows[0][0].style = Style::kHot;
  CHECK(text_of(table, {.has_colour = true}).find("   \x1b[31m9.5\x1b[0m  net/http") !=
        std::string::npos);
  CHECK(text_of(table, {}).find('\x1b') == std::string::npos);
}

TEST_CASE("table: csv and Markdown quote what is theirs") {
  CHECK(csv_of(made_table()) ==
        "self %,function,hottest line\n"
        "9.5,net/http.(*conn).serve,/usr/lib/go/src/net/http/server.go:1\n"
        "10.0,\"a|b`c,\"\"d\"\"\",\n");
  CHECK(markdown_of(made_table()) ==
        "| self % | function | hottest line |\n"
        "|--:|---|---|\n"
        "| 9.5 | `net/http.(*conn).serve` | `/usr/lib/go/src/net/http/server.go:1` |\n"
        "| 10.0 | `a\\|b'c,\"d\"` |  |\n");
}

TEST_CASE("table: csv has no formulas") {
  Table table = made_table();
  table.columns = {{"self"}, {"function", Table::Kind::kName}, {"=path", Table::Kind::kPath}};
  table.rows = {{{"-9.5"}, {"=1+1"}, {"+/usr"}},
                {{"+1"}, {"-x,\"y\""}, {"@SUM(A1)"}},
                {{"=1"}, {"\t=1"}, {"\r=1"}},
                {{"1"}, {"a=1"}, {"'=1"}},
                {{""}, {""}, {"-"}}};
  CHECK(csv_of(table) ==
        "self,function,\"'=path\"\n"
        "-9.5,\"'=1+1\",\"'+/usr\"\n"
        "+1,\"'-x,\"\"y\"\"\",\"'@SUM(A1)\"\n"
        "=1,\"'\t=1\",\"'\r=1\"\n"
        "1,a=1,'=1\n"
        ",,\"'-\"\n");
}

}  // namespace gosym::width_test
