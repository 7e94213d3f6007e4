#include "go/pc_value.h"

#include <doctest/doctest.h>

#include "bytes.h"

namespace gosym::pc_value_test {

TEST_CASE("pc values: deltas add up and ranges join") {
  auto table = bytes(/*+11*/ 22, 4, /*-3*/ 5, 2, /*end*/ 0, 1);
  CHECK(go::value_at({table, 1}, 0) == 10);
  CHECK(go::value_at({table, 1}, 3) == 10);
  CHECK(go::value_at({table, 1}, 4) == 7);
  CHECK_FALSE(go::value_at({table, 1}, 6));
}

TEST_CASE("pc values: the quantum scales pc deltas") {
  auto table = bytes(22, 4, 0);
  CHECK(go::value_at({table, 4}, 15) == 10);
  CHECK_FALSE(go::value_at({table, 4}, 16));
}

TEST_CASE("pc values: a first delta of zero is a row, not the end") {
  auto table = bytes(0, 8, /*+1*/ 2, 4, 0);
  CHECK(go::value_at({table, 1}, 0) == -1);
  CHECK(go::value_at({table, 1}, 8) == 0);
}

TEST_CASE("pc values: every prefix of a table ends without a made-up row") {
  auto table = bytes(0x96, 0x01, 0x80, 0x02, 2, 4, 0);
  for (size_t size = 0; size <= table.size(); size++) {
    CAPTURE(size);
    go::PcValueRows rows(Bytes(table).first(size), 1);
    int count = 0;
    while (rows.next())
      count++;
    CHECK(count == (size < 4 ? 0 : size < 6 ? 1 : 2));
  }
}

TEST_CASE("pc values: an empty row counts, many of them end the table") {
  auto table = bytes(2, 4, 2, 0, 2, 4, 0);
  go::PcValueRows rows(table, 1);
  CHECK(rows.next().value().end == 4);
  CHECK(rows.next().value().end == 4);
  CHECK(rows.next().value().value == 2);
  CHECK_FALSE(rows.next());
  CHECK(go::value_at({table, 1}, 4) == 2);

  std::string endless;
  for (int i = 0; i < 1000; i++)
    endless += std::string("\x02\x00", 2);
  go::PcValueRows many(as_bytes(endless), 1);
  int count = 0;
  while (many.next())
    count++;
  CHECK(count == 64);
}

TEST_CASE("pc values: what runs past 2^32 ends the table") {
  auto table = bytes(2, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 1, 0);
  go::PcValueRows rows(table, 1);
  CHECK(rows.next().value().end == UINT32_MAX);
  CHECK_FALSE(rows.next());
  auto endless = bytes(0x80, 0x80, 0x80, 0x80, 0x80, 0x80);
  CHECK_FALSE(go::PcValueRows(endless, 1).next());
}

TEST_CASE("pc values: a varint without an end, or of more than 32 bits, ends the table") {
  auto endless = bytes(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80);
  CHECK_FALSE(go::PcValueRows(endless, 1).next());
  auto endless_pc = bytes(2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80);
  CHECK_FALSE(go::PcValueRows(endless_pc, 1).next());
  auto too_large = bytes(0xff, 0xff, 0xff, 0xff, 0x1f, 1, 0);
  CHECK_FALSE(go::PcValueRows(too_large, 1).next());
  auto largest = bytes(0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0);
  CHECK(go::PcValueRows(largest, 1).next().value().value == INT32_MAX);
}

TEST_CASE("pc values: a value that runs past 2^31 wraps") {
  auto table = bytes(/*+2^31-1*/ 0xfe, 0xff, 0xff, 0xff, 0x0f, 1, /*+2*/ 4, 1, 0);
  go::PcValueRows rows(table, 1);
  CHECK(rows.next().value().value == INT32_MAX - 1);
  CHECK(rows.next().value().value == INT32_MIN);
}

TEST_CASE("pc values: a table without an end ends with the bytes") {
  std::string endless;
  for (int i = 0; i < 10000; i++)
    endless += "\x02\x01";
  go::PcValueRows rows(as_bytes(endless), 4);
  uint32_t count = 0;
  uint32_t end = 0;
  while (auto row = rows.next()) {
    count++;
    CHECK(row->begin == end);
    end = row->end;
  }
  CHECK(count == 10000);
  CHECK(end == 40000);
}

}  // namespace gosym::pc_value_test
