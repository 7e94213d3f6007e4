#include "view/category.h"

#include <algorithm>
#include <span>
#include <string>

// The tables of names, kKernelCategories and the like, are made of view/categories.txt.
namespace gosym {

namespace {

constexpr std::string_view kOtherKernel = "kernel, other";
constexpr std::string_view kOtherRuntime = "Go runtime, other";

// The longest prefix that fits; null if none does.
template <class Fits>
const CategoryRow* longest(std::span<const CategoryRow> rows, Fits fits) {
  const CategoryRow* best = nullptr;
  for (const CategoryRow& row : rows)
    if ((!best || row.prefix.size() > best->prefix.size()) && fits(row.prefix))
      best = &row;
  return best;
}

// "runtime.(*mspan).sweep" -> "runtime.mspan.sweep"
std::string plain_receiver(std::string_view name) {
  std::string plain;
  for (char c : name)
    if (c != '(' && c != '*' && c != ')')
      plain += c;
  return plain;
}

bool is_within(std::string_view package, std::string_view path) {
  if (!package.starts_with(path))
    return false;
  return package.size() == path.size() || package[path.size()] == '/' ||
         package[path.size()] == '.';
}

}  // namespace

Category category_of(std::string_view name, std::string_view package, std::string_view module,
                     bool is_kernel) {
  auto of_row = [](const CategoryRow* row) {
    bool is_other = row->category == kOtherKernel || row->category == kOtherRuntime;
    return Category{row->category, is_other ? Category::Kind::kOther : Category::Kind::kWork};
  };
  auto begins = [](std::string_view text) {
    return [text](std::string_view prefix) { return text.starts_with(prefix); };
  };
  if (is_kernel) {
    const CategoryRow* row = longest(kKernelCategories, begins(name));
    return row ? of_row(row) : Category{kOtherKernel, Category::Kind::kOther};
  }
  // A root, such as runtime.goexit or _start, has all work of its thread below it, and so tells
  // no kind.
  auto root = std::ranges::find(kStackRootCategories, name, &CategoryRow::prefix);
  if (root != kStackRootCategories.end())
    return {root->category, Category::Kind::kOther};
  // Names of C are asked only of code without a package: a Go function may be called "free".
  if (package.empty())
    if (const CategoryRow* row = longest(kNativeCategories, begins(name)))
      return of_row(row);
  // The function tells more than its package. But the row has to be of that package: after a
  // name was shortened, a program's own "runtime" would pass for Go's.
  std::string plain = plain_receiver(name);
  const CategoryRow* function = longest(kGoFunctionCategories, begins(plain));
  if (function && (package.empty() || plain.starts_with(package)))
    return of_row(function);
  if (const CategoryRow* row = longest(
          kPackageCategories, [&](std::string_view path) { return is_within(package, path); }))
    return of_row(row);
  return {package.empty() ? module : package, Category::Kind::kPart};
}

}  // namespace gosym
