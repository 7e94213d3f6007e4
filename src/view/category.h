#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gosym {

// The kind of work that a function does, judged by its name alone: "garbage collection",
// "allocation", "locks", "kernel: network".
struct Category {
  enum class Kind : uint8_t {
    kWork,   // a kind of work
    kOther,  // of the kernel or Go's runtime, where a small function may serve any kind of work
    kPart,   // nothing is known but the package, or the module, that it is part of
  };
  std::string_view text;  // constant, or a view into an argument of category_of()
  Kind kind = Kind::kWork;
};

// `name` is for people, `package` may be empty.
Category category_of(std::string_view name, std::string_view package, std::string_view module,
                     bool is_kernel);

// Names and the kinds of work that they begin, as view/categories.txt has them.
struct CategoryRow {
  std::string_view prefix;
  std::string_view category;
};
extern const std::span<const CategoryRow> kGoFunctionCategories;  // without "(*" and ")"
extern const std::span<const CategoryRow> kPackageCategories;     // and paths above them
extern const std::span<const CategoryRow> kNativeCategories;      // of C and C++
extern const std::span<const CategoryRow> kKernelCategories;
extern const std::span<const CategoryRow> kStackRootCategories;  // whole names

}  // namespace gosym
