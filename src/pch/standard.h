// Compiled once and taken by all of the library: what most of its files include, and what takes
// longest to read. A file includes what it uses all the same; this changes nothing but time.
#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
