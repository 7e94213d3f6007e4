#include "output/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/text.h"
#include "output/notes.h"
#include "profile/own_code.h"
#include "view/call_tree.h"
#include "view/category.h"

// The tree is laid out first, so that the number of rows, and with it the height, is known;
// then lines of text, the boxes, the legend and notes are written. Boxes hold their node's
// number, x and width; the row follows from the depth.
namespace gosym {

namespace {

// In pixels.
constexpr double kPictureWidth = 1200;
constexpr double kMargin = 10;
constexpr double kRowHeight = 17;
constexpr double kLeastWidth = 0.3;
constexpr double kLineHeight = 16;
// For a monospaced font of 12 pixels: DejaVu Sans Mono and Menlo have 0.602 of their size,
// Consolas less.
constexpr double kCharacterWidth = 7.23;
// A picture of more rows is no longer one that is looked at.
constexpr uint32_t kMaxRows = 256;

// Text in an element or an attribute. Of what printable() leaves, XML allows all but two.
std::string escaped(std::string_view text) {
  std::string result;
  std::string room;
  for (char c : printable(text, room)) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  for (std::string_view none : {"\xef\xbf\xbe", "\xef\xbf\xbf"})  // U+FFFE and U+FFFF
    for (size_t at = result.find(none); at != result.npos; at = result.find(none, at))
      result.replace(at, none.size(), "\xef\xbf\xbd");
  return result;
}

// The colours of a flame graph: by what kind of code a frame is.
struct Palette {
  std::string_view title;
  int hue;
  int saturation;
};
constexpr Palette kPalettes[] = {{"programs", 45, 85},
                                 {"Go runtime", 190, 50},
                                 {"a known kind of work", 90, 45},
                                 {"kernel", 15, 75},
                                 {"no name", 0, 0}};
enum class BoxKind : uint8_t { kProgram, kRuntime, kWork, kKernel, kUnnamed };

std::string colour_of(BoxKind kind, size_t shade) {
  const Palette& palette = kPalettes[static_cast<size_t>(kind)];
  constexpr size_t kShades = 4;
  // The hue tells the kind; the lightness, in four steps, only tells neighbours apart.
  return fmt::format("hsl({},{}%,{}%)", palette.hue, palette.saturation,
                     66 + 4 * (shade % kShades));
}

// Equal names have the same shade in all pictures.
size_t shade_of(std::string_view name) {
  uint32_t sum = 2166136261;  // FNV-1a
  for (char c : name)
    sum = (sum ^ static_cast<uint8_t>(c)) * 16777619;
  return sum >> 16;
}

class SvgWriter {
public:
  explicit SvgWriter(const Profile& profile)
      : profile_(profile),
        amounts_(profile),
        tree_(call_tree(profile, profile.samples,
                        FrameKeys(profile, Dimension::Kind::kFunction), TreeShape())) {}

  std::string make() {
    find_boxes();
    About about = make_about(profile_, amounts_, {.max_processes = kMaxProcessesShown});
    std::vector<std::string> above = {about.headline};
    for (const Note& fact : std::span(about.facts).first(std::min(kFacts, about.facts.size())))
      above.push_back(line_of(fact));
    std::vector<std::string> below;
    for (const Note& note : about.notes)
      below.push_back(line_of(note));
    if (left_out_ > 0)
      below.push_back(fmt::format("{} calls are too narrow, or too deep, to be seen here",
                                  with_commas(left_out_)));
    top_ = kMargin + kLineHeight * static_cast<double>(above.size()) + kMargin;
    // The height has to be known before the first element is written: boxes grow from the
    // bottom up.
    double bottom = top_ + kRowHeight * static_cast<double>(rows_);
    double height = bottom + kLineHeight * static_cast<double>(below.size() + 1) + 2 * kMargin;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, "
        "monospace\" font-size=\"12\" fill=\"#111\">\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"#fff\"/>\n",
        kPictureWidth, height);
    write_lines(above, kMargin + kLineHeight);
    for (const Box& box : boxes_)
      write_box(box);
    write_legend(bottom + kMargin + kLineHeight);
    write_lines(below, bottom + kMargin + 2 * kLineHeight);
    return svg_ + "</svg>\n";
  }

private:
  // The first of About::facts tell where the samples are from, and of which processes.
  static constexpr size_t kFacts = 2;

  struct Box {
    size_t node;
    double x;
    double width;
  };

  // Nodes come after their parents, and behind the siblings that are left of them.
  void find_boxes() {
    const std::vector<CallNode>& nodes = tree_.nodes;
    std::vector<double> next_x;  // by depth: where the next node begins
    double scale = nodes[0].total == 0
                       ? 0
                       : (kPictureWidth - 2 * kMargin) / static_cast<double>(nodes[0].total);
    for (size_t i = 0; i < nodes.size();) {
      const CallNode& node = nodes[i];
      double width = scale * static_cast<double>(node.total);
      // A subtree that is too narrow, or too deep, is left out whole: its nodes are no wider.
      if ((i > 0 && width < kLeastWidth) || node.depth >= kMaxRows) {
        left_out_ += node.size;
        i += node.size;
        continue;
      }
      // Deeper entries are those of another parent's children: they go, and are set anew
      // below.
      next_x.resize(node.depth + 2, kMargin);
      double x = next_x[node.depth];
      next_x[node.depth] = x + width;
      // Children begin where their parent does, and are laid side by side.
      next_x[node.depth + 1] = x;
      boxes_.push_back({i, x, width});
      rows_ = std::max(rows_, node.depth + 1);
      i++;
    }
  }

  BoxKind kind_of(const ViewKey& key) const {
    if (key.is_kernel)
      return BoxKind::kKernel;
    if (!key.is_named || key.function == ViewKey::kNoFunction)
      return BoxKind::kUnnamed;
    const Function& function = profile_.functions[to_index(key.function)];
    std::string_view package = profile_.strings[function.package];
    // Helpers such as the copying of memory (kOther) are drawn like the runtime: they tell
    // nothing of the program's work.
    Category category = category_of(profile_.strings[function.name], package,
                                    profile_.images[key.image].file.path, key.is_kernel);
    if (is_runtime_package(package) || category.kind == Category::Kind::kOther)
      return BoxKind::kRuntime;
    return category.kind == Category::Kind::kWork ? BoxKind::kWork : BoxKind::kProgram;
  }

  // "s of CPU time", "page-faults".
  std::string unit() const {
    std::string what = amount_text(profile_.event());
    return amounts_.unit().empty() ? what : fmt::format("{} of {}", amounts_.unit(), what);
  }

  void write_box(const Box& box) {
    const CallNode& node = tree_.nodes[box.node];
    bool is_root = box.node == 0;
    std::string name = is_root ? "all" : tree_.key_of(node).text;
    // The root, of depth 0, has the lowest row.
    double y = top_ + kRowHeight * (rows_ - 1 - node.depth);
    std::string colour =
        is_root ? "#ddd" : colour_of(kind_of(tree_.key_of(node)), shade_of(name));
    // A gap between neighbours; a box is never narrower than can be drawn.
    svg_ += fmt::format(
        "<g><title>{}: {} {}, {} %</title><rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
        "height=\"{:.0f}\" fill=\"{}\"/>",
        escaped(name), amounts_.text(node.total), escaped(unit()),
        amounts_.percent_text(node.total), box.x, y, std::max(box.width - 0.3, 0.2),
        kRowHeight - 1, colour);
    // Text stands on its base line, 5 pixels above the lower edge of the row.
    constexpr double kPadding = 3;
    auto room = static_cast<size_t>(std::max(box.width - 2 * kPadding, 0.0) / kCharacterWidth);
    // Two letters of a name say nothing.
    if (room >= 3)
      svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", box.x + kPadding,
                          y + kRowHeight - 5, escaped(cut_name(name, room)));
    svg_ += "</g>\n";
  }

  void write_lines(const std::vector<std::string>& lines, double y) {
    // Text in a picture does not wrap: a line that is too long would leave it.
    constexpr auto kRoom = static_cast<size_t>((kPictureWidth - 2 * kMargin) / kCharacterWidth);
    for (const std::string& line : lines) {
      svg_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" xml:space=\"preserve\">{}</text>\n",
                          kMargin, y, escaped(cut_at_end(line, kRoom)));
      y += kLineHeight;
    }
  }

  void write_legend(double y) {
    double x = kMargin;
    for (size_t i = 0; i < std::size(kPalettes); i++) {
      svg_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
          "<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n",
          x, y - 10, colour_of(static_cast<BoxKind>(i), 0), x + 16, y, kPalettes[i].title);
      x += 16 + kCharacterWidth * static_cast<double>(kPalettes[i].title.size() + 3);
    }
  }

  const Profile& profile_;
  Amounts amounts_;
  CallTree tree_;
  std::vector<Box> boxes_;
  uint32_t rows_ = 0;
  uint64_t left_out_ = 0;  // nodes
  double top_ = 0;         // of the uppermost row
  std::string svg_;
};

}  // namespace

std::string make_svg(const Profile& profile) {
  return SvgWriter(profile).make();
}

}  // namespace gosym
