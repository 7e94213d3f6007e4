#include "profile/told_code.h"

#include <doctest/doctest.h>

namespace gosym::told_code_test {

namespace {

RecordedPerfMap map_of(std::string text, std::vector<PerfMapMark> marks) {
  return {.path = {}, .text = std::move(text), .problem = {}, .marks = std::move(marks)};
}

ToldCode told_by(const RecordedPerfMap& map) {
  size_t left = 1'000'000;
  return {map, left};
}

}  // namespace

TEST_CASE("told code: only where code took the place of other code does the time matter") {
  std::string text = "1000 10 a\n2000 10 b\n1008 10 c\n3000 8 d\n1000 4 e\n";
  ToldCode told = told_by(map_of(text, {{10, 10}, {20, 20}, {30, 30}, {40, 39}, {50, 48}}));
  CHECK(told.version_at(0) == 0);
  CHECK(told.version_at(29) == 0);
  CHECK(told.version_at(30) == 1);
  CHECK(told.version_at(49) == 1);
  CHECK(told.version_at(50) == 2);
  for (uint64_t address : {0xfffu, 0x1004u, 0x1007u, 0x1010u, 0x2000u, 0x3000u})
    CHECK(told.size_of(1, address) == ToldCode::kAll);
  for (uint64_t address : {0x1000u, 0x1003u, 0x1008u, 0x100fu}) {
    CHECK(told.size_of(0, address) == 0);
    CHECK(told.size_of(1, address) == 30);
    CHECK(told.size_of(2, address) == 48);
  }
}

TEST_CASE("told code: nothing is known without marks, and marks that fall count for nothing") {
  std::string text = "1000 10 a\n1000 10 b\n";
  CHECK(told_by(map_of(text, {})).size_of(0, 0x1000) == ToldCode::kAll);
  ToldCode told = told_by(map_of(text, {{10, 10}, {5, 12}, {20, 9}, {30, 20}}));
  CHECK(told.version_at(29) == 0);
  CHECK(told.version_at(30) == 1);
  CHECK(told.size_of(1, 0x1000) == 20);
}

TEST_CASE("told code: lines that span all and lie in one another are taken once each") {
  std::string text;
  for (int i = 0; i < 20000; i++)
    text += "0 ffffffffffffffff all\n" + std::to_string(i) + "0 8 a\n";
  ToldCode told = told_by(map_of(text, {{10, text.size()}}));
  CHECK(told.size_of(1, 0x1000) == text.size());
  CHECK(told.size_of(1, UINT64_MAX) == ToldCode::kAll);
}

TEST_CASE("told code: of many pieces the first ones are told apart, whatever map they are of") {
  std::string text = "1000 10 a\n1000 10 b\n3000 10 c\n3000 10 d\n5000 10 e\n5000 10 f\n";
  size_t left = 3;
  ToldCode first(map_of(text, {{10, text.size()}}), left);
  CHECK(first.size_of(1, 0x1000) == text.size());
  CHECK(first.size_of(1, 0x5000) == ToldCode::kAll);
  CHECK(left == 2);
  left = 0;
  ToldCode next(map_of(text, {{10, text.size()}}), left);
  CHECK(next.size_of(1, 0x1000) == ToldCode::kAll);
}

}  // namespace gosym::told_code_test
