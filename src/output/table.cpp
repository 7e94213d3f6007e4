#include "output/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace gosym {

namespace {

// A longer name pushes the rest of its own row, not that of all rows, where a line may have any
// length.
constexpr size_t kMaxNameWidth = 56;
// The least width that a column is cut to on a narrow screen.
constexpr size_t kLeastName = 12;
constexpr size_t kLeastPath = 8;

constexpr std::string_view kSeparator = "  ";

bool is_name(Table::Kind kind) {
  return kind == Table::Kind::kName || kind == Table::Kind::kFunction;
}

// Numbers and short texts come here with the width that they have, and stay whole.
std::string cut(std::string_view text, Table::Kind kind, size_t width) {
  if (kind == Table::Kind::kFunction)
    return cut_function(text, width);
  return kind == Table::Kind::kPath ? cut_path(text, width) : cut_name(text, width);
}

std::vector<size_t> natural_widths(const Table& table) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < table.columns.size(); i++) {
    size_t width = display_width(table.columns[i].title);
    for (const Table::Row& row : table.rows)
      width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  return widths;
}

// The width that columns of one kind are cut to, so that together they take `room`: narrow ones
// stay whole, and what they leave is for the others in equal parts.
size_t widest_of(std::vector<size_t> widths, size_t room) {
  std::ranges::sort(widths);
  for (size_t i = 0; i < widths.size(); i++) {
    size_t part = room / (widths.size() - i);
    if (widths[i] > part)
      return part;
    room -= widths[i];
  }
  return SIZE_MAX;
}

// Paths shrink to what two fifths of the room for text hold, names to the rest.
void fit(const Table& table, size_t screen_width, std::vector<size_t>& widths) {
  size_t used = 0;
  size_t names = 0;
  size_t paths = 0;
  for (size_t i = 0; i < widths.size(); i++) {
    Table::Kind kind = table.columns[i].kind;
    used += i == 0 ? 0 : kSeparator.size();
    // Three sums: columns of names, columns of paths, and all that is never cut.
    (is_name(kind) ? names : kind == Table::Kind::kPath ? paths : used) += widths[i];
  }
  size_t room = screen_width > used ? screen_width - used : 0;
  if (names + paths <= room)
    return;
  // Paths get what names leave, if that is more: names tell more of what they are.
  size_t for_paths =
      std::min(paths, std::max({kLeastPath, room * 2 / 5, room > names ? room - names : 0}));
  size_t for_names = std::max(kLeastName, room > for_paths ? room - for_paths : 0);
  std::vector<size_t> names_each;
  std::vector<size_t> paths_each;
  for (size_t i = 0; i < widths.size(); i++) {
    if (is_name(table.columns[i].kind))
      names_each.push_back(widths[i]);
    if (table.columns[i].kind == Table::Kind::kPath)
      paths_each.push_back(widths[i]);
  }
  size_t name = std::max(kLeastName, widest_of(std::move(names_each), for_names));
  size_t path = std::max(kLeastPath, widest_of(std::move(paths_each), for_paths));
  for (size_t i = 0; i < widths.size(); i++) {
    if (is_name(table.columns[i].kind))
      widths[i] = std::min(widths[i], name);
    if (table.columns[i].kind == Table::Kind::kPath)
      widths[i] = std::min(widths[i], path);
  }
}

std::vector<size_t> widths_of(const Table& table, const Screen& screen) {
  // Into a pipe or file nothing is cut: a name that is too long just moves the rest of its
  // row.
  std::vector<size_t> widths = natural_widths(table);
  if (screen.has_width())
    fit(table, screen.width, widths);
  else
    for (size_t i = 0; i < widths.size(); i++)
      if (is_name(table.columns[i].kind))
        widths[i] = std::min(widths[i], kMaxNameWidth);
  return widths;
}

// A spreadsheet computes what begins like a formula, and some of them can start programs: names
// that do are text after a single quote.
std::string quoted_for_csv(std::string_view text, Table::Kind kind) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  bool is_formula =
      kind != Table::Kind::kNumber && !text.empty() && kFormula.find(text[0]) != kFormula.npos;
  if (!is_formula && text.find_first_of(",\"\r\n") == text.npos)
    return std::string(text);
  std::string quoted = is_formula ? "\"'" : "\"";
  for (char c : text)
    quoted += c == '"' ? std::string(2, c) : std::string(1, c);
  return quoted + '"';
}

// Names have characters that Markdown takes for markup: "*", "_", "<", "[".
std::string quoted_for_markdown(std::string_view text, Table::Kind kind) {
  std::string quoted;
  for (char c : text)
    // "|" would end the cell even within backquotes, and a backquote the quotation: it becomes
    // an apostrophe.
    quoted += c == '|' ? std::string("\\|") : std::string(1, c == '`' ? '\'' : c);
  return kind == Table::Kind::kNumber || text.empty() ? quoted : '`' + quoted + '`';
}

}  // namespace

std::string text_of(const Table& table, const Screen& screen) {
  std::vector<size_t> widths = widths_of(table, screen);
  std::string text;
  auto append_row = [&](const Table::Row& row) {
    std::string line;
    // Spaces behind a cell are written only before the next one, so that no line ends in
    // spaces. Those before a number are written at once, which aligns it at the right.
    size_t padding = 0;
    for (size_t i = 0; i < row.size(); i++) {
      Table::Kind kind = table.columns[i].kind;
      std::string cell = screen.has_width() ? cut(row[i].text, kind, widths[i]) : row[i].text;
      // A name beyond kMaxNameWidth takes no padding.
      size_t width = std::min(display_width(cell), widths[i]);
      line.append(padding, ' ');
      line += i == 0 ? "" : kSeparator;
      padding = widths[i] - width;
      if (kind == Table::Kind::kNumber)
        line.append(std::exchange(padding, 0), ' ');
      line += styled(cell, row[i].style, screen);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };

  Table::Row titles;
  for (const Table::Column& column : table.columns)
    titles.push_back({column.title, Style::kTitle});
  append_row(titles);
  for (const Table::Row& row : table.rows)
    append_row(row);
  return text;
}

// Titles are quoted as names are: the key of a label may have a comma.
std::string csv_of(const Table& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); i++)
    text += (i == 0 ? "" : ",") + quoted_for_csv(table.columns[i].title, Table::Kind::kName);
  text += '\n';
  for (const Table::Row& row : table.rows) {
    for (size_t i = 0; i < row.size(); i++)
      text += (i == 0 ? "" : ",") + quoted_for_csv(row[i].text, table.columns[i].kind);
    text += '\n';
  }
  return text;
}

std::string markdown_of(const Table& table) {
  std::string titles = "|";
  std::string rules = "|";
  // Titles are written without backquotes, as numbers are. "--:" aligns a column at the right.
  for (const Table::Column& column : table.columns) {
    titles += ' ' + quoted_for_markdown(column.title, Table::Kind::kNumber) + " |";
    rules += column.kind == Table::Kind::kNumber ? "--:|" : "---|";
  }
  std::string text = titles + '\n' + rules + '\n';
  for (const Table::Row& row : table.rows) {
    text += '|';
    for (size_t i = 0; i < row.size(); i++)
      text += ' ' + quoted_for_markdown(row[i].text, table.columns[i].kind) + " |";
    text += '\n';
  }
  return text;
}

namespace {

// Uses the 16 colours only that each terminal has, and that its user chose to be readable.
std::string_view code_of(Style style) {
  switch (style) {
    case Style::kPlain:
      break;
    case Style::kTitle:
      return "1";
    case Style::kHot:
      return "31";
    case Style::kWarm:
      return "32";
    case Style::kKernel:
      return "35";
    case Style::kFaint:
      return "2";
  }
  return {};
}

}  // namespace

std::string_view bar_of(double share) {
  // Any share above nothing has the lowest bar, which is why it is rounded up.
  constexpr std::string_view kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kBars[static_cast<size_t>(std::ceil(8 * std::clamp(share, 0.0, 1.0)))];
}

Style heat_of(double percent) {
  if (percent >= 5)
    return Style::kHot;
  return percent >= 0.5 ? Style::kWarm : Style::kPlain;
}

std::string on_screen(std::string_view lines, const Screen& screen) {
  return screen.is_ascii ? in_ascii(lines) : std::string(lines);
}

std::string styled(std::string_view text, Style style, const Screen& screen) {
  std::string_view code = code_of(style);
  if (!screen.has_colour || code.empty() || text.empty())
    return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace gosym
