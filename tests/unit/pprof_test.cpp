#include "output/pprof.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <map>
#include <protozero/pbf_reader.hpp>

#include "demo_profile.h"
#include "output/output_file.h"
#include "output/write.h"

namespace gosym::pprof_test {

namespace {

std::vector<std::string> string_table(const std::string& data) {
  std::vector<std::string> strings;
  protozero::pbf_reader in(data);
  while (in.next(6))
    strings.push_back(in.get_string());
  return strings;
}

// The varint fields of a message, "1=3 2=0x10"; those in `texts` as text, nested ones in {}.
struct Printer {
  const std::vector<std::string>& strings;

  std::string print(protozero::pbf_reader in, std::vector<uint32_t> texts,
                    std::vector<uint32_t> nested_texts = {}) const {
    std::vector<std::string> fields;
    while (in.next()) {
      uint32_t tag = in.tag();
      bool is_text = std::ranges::find(texts, tag) != texts.end();
      if (in.wire_type() == protozero::pbf_wire_type::length_delimited)
        fields.push_back(fmt::format("{}={{{}}}", tag, print(in.get_message(), nested_texts)));
      else if (is_text)
        fields.push_back(fmt::format("{}={}", tag, strings[in.get_uint64()]));
      else
        fields.push_back(fmt::format("{}={:#x}", tag, in.get_uint64()));
    }
    return fmt::format("{}", fmt::join(fields, " "));
  }
};

std::vector<std::string> messages(const std::string& data, uint32_t field,
                                  std::vector<uint32_t> texts,
                                  std::vector<uint32_t> nested_texts = {}) {
  std::vector<std::string> strings = string_table(data);
  std::vector<std::string> result;
  protozero::pbf_reader in(data);
  while (in.next(field))
    result.push_back(Printer{strings}.print(in.get_message(), texts, nested_texts));
  return result;
}

using Messages = std::vector<std::string>;

std::vector<std::vector<int64_t>> values(const std::string& data) {
  std::vector<std::vector<int64_t>> result;
  protozero::pbf_reader in(data);
  while (in.next(2)) {
    protozero::pbf_reader sample = in.get_message();
    std::vector<int64_t>& of_sample = result.emplace_back();
    while (sample.next()) {
      if (sample.tag() != 2) {
        sample.skip();
        continue;
      }
      auto packed = sample.get_packed_int64();
      of_sample.assign(packed.begin(), packed.end());
    }
  }
  return result;
}

}  // namespace

TEST_CASE("pprof: values, period and times") {
  std::string data = written_by(encode_pprof, make_demo_profile());
  CHECK(string_table(data)[0].empty());
  CHECK(messages(data, 1, {1, 2}) == Messages{"1=samples 2=count", "1=cpu 2=nanoseconds"});
  CHECK(messages(data, 11, {1, 2}) == Messages{"1=cpu 2=nanoseconds"});

  std::map<uint32_t, int64_t> numbers;
  std::vector<std::string> comments;
  protozero::pbf_reader in(data);
  while (in.next()) {
    if (in.wire_type() != protozero::pbf_wire_type::varint)
      in.skip();
    else if (in.tag() == 13)
      comments.push_back(string_table(data)[in.get_uint64()]);
    else
      numbers[in.tag()] = in.get_int64();
  }
  CHECK(numbers[9] == 1'700'000'000'000'000'000);
  CHECK(numbers[10] == 2'500'000'000);
  CHECK(numbers[12] == 10'000'000);
  CHECK(string_table(data)[static_cast<size_t>(numbers[14])] == "cpu");
  CHECK(comments == Messages{"gosym " GOSYM_VERSION, "recorded by: gosym record -a",
                             "event: cpu-clock at 100 Hz"});
}

TEST_CASE("pprof: the program's mapping is the first; flags only where there are names") {
  std::string data = written_by(encode_pprof, make_demo_profile());
  CHECK(
      messages(data, 3, {5, 6}) ==
      Messages{"1=0x1 2=0x400000 3=0x500000 4=0x0 5=/src/demo 6=go-id 7=0x1 8=0x1 9=0x1 10=0x1",
               "1=0x2 2=0xffff800000000000 3=0xffffffffffffffff 4=0x0 5=[kernel.kallsyms] 6= "
               "7=0x1 8=0x0 9=0x0 10=0x0",
               "1=0x3 2=0x7f0000000000 3=0x7f0000100000 4=0x2000 5=/lib/libc.so.6 6=01ab "
               "7=0x0 8=0x0 9=0x0 10=0x0"});
}

TEST_CASE("pprof: lines innermost first, calls before their return address") {
  std::string data = written_by(encode_pprof, make_demo_profile());
  CHECK(messages(data, 4, {}) ==
        Messages{"1=0x1 2=0x1 3=0x400fff 4={1=0x1 2=0x1f}",
                 "1=0x2 2=0x1 3=0x402000 4={1=0x3 2=0xc} 4={1=0x2 2=0x16}",
                 "1=0x3 2=0x1 3=0x4020ff 4={1=0x2 2=0x17}",
                 "1=0x4 2=0x3 3=0x7f0000001000",  // may be named by others
                 "1=0x5 2=0x2 3=0xffffffff81000000 4={1=0x5 2=0x0}",
                 "1=0x6 2=0x1 3=0x403000 4={1=0x4 2=0x0}",
                 "1=0x7 2=0x1 3=0x402fff 4={1=0x4 2=0x0}",
                 "1=0x8 2=0x0 3=0x1233 4={1=0x6 2=0x0}"});
  CHECK(messages(data, 5, {2, 3, 4}) ==
        Messages{"1=0x1 2=main.main 3=main.main 4=/src/demo.go 5=0x1e",
                 "1=0x2 2=main.process 3=main.process 4=/src/demo.go 5=0x14",
                 "1=0x3 2=main.compute 3=main.compute 4=/src/demo.go 5=0xa",
                 "1=0x4 2=main.loop 3=main.loop 4= 5=0x0", "1=0x5 2=write 3=write 4= 5=0x0",
                 "1=0x6 2=[no mapping] 3=[no mapping] 4= 5=0x0"});
}

TEST_CASE("pprof: code without a name in a mapping with names says why") {
  Profile profile = make_demo_profile();
  profile.locations[0].frame_count = 0;
  profile.locations[0].unnamed = Unnamed::kNoSymbol;
  std::string data = written_by(encode_pprof, profile);
  CHECK(messages(data, 4, {})[0] == "1=0x1 2=0x1 3=0x400fff 4={1=0x5 2=0x0}");
  CHECK(messages(data, 5, {2, 3, 4})[4] ==
        "1=0x5 2=[no symbol demo] 3=[no symbol demo] 4= 5=0x0");
}

TEST_CASE("pprof: functions are numbered in their order, whatever they stand for") {
  Profile profile = make_demo_profile();
  profile.locations[0].frame_count = 0;
  profile.locations[0].unnamed = Unnamed::kNoSymbol;
  profile.locations[2].frame_count = 0;
  profile.locations[2].unnamed = Unnamed::kStripped;
  std::vector<std::string> functions =
      messages(written_by(encode_pprof, profile), 5, {2, 3, 4});
  REQUIRE(functions.size() == 7);  // those that the samples have
  for (size_t i = 0; i < functions.size(); i++)
    CHECK(functions[i].starts_with(fmt::format("1={:#x} ", i + 1)));
}

TEST_CASE("pprof: samples have both values and their labels") {
  std::string data = written_by(encode_pprof, make_demo_profile());
  std::vector<std::string> strings = string_table(data);
  std::vector<std::string> samples;
  protozero::pbf_reader in(data);
  while (in.next(2)) {
    protozero::pbf_reader sample = in.get_message();
    std::string text;
    while (sample.next()) {
      if (sample.tag() == 3)
        text += fmt::format(" {}", Printer{strings}.print(sample.get_message(), {1, 2}));
      else
        for (uint64_t value : sample.get_packed_uint64())
          text += fmt::format(" {}", value);
    }
    samples.push_back(text);
  }
  CHECK(samples == Messages{" 2 1 5 50000000 1=thread 2=demo 1=pid 3=0x2a 1=tid 3=0x2a",
                            " 5 4 3 1 2 20000000 1=thread 2=demo 1=pid 3=0x2a 1=tid 3=0x2b",
                            " 6 7 8 1 10000000 1=thread 2=a; b 1=pid 3=0x7 1=tid 3=0x7"});
}

TEST_CASE("pprof: text that is not UTF-8 is made so") {
  Profile profile = make_demo_profile();
  profile.functions[0].name = profile.strings.intern("\xff");
  CHECK(messages(written_by(encode_pprof, profile), 5, {2})[0].starts_with("1=0x1 2=\\xff "));
}

TEST_CASE("pprof: an empty profile is a profile") {
  Profile profile;
  CHECK(string_table(written_by(encode_pprof, profile))[0].empty());
  CHECK(messages(written_by(encode_pprof, profile), 2, {}).empty());
}

TEST_CASE("gzip: unpacks to the same, and is the same every time") {
  std::string data;
  for (int i = 0; i < 100'000; i++)
    data += fmt::format("{} ", i * 7919 % 10007);
  for (const std::string& text : {std::string(), data}) {
    std::string packed = gzip(text);
    CHECK(packed == gzip(text));
    CHECK(packed.substr(4, 4) == std::string(4, '\0'));  // the time

    std::string unpacked(data.size() + 1, '\0');
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
    stream.avail_out = static_cast<uInt>(unpacked.size());
    CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
    unpacked.resize(unpacked.size() - stream.avail_out);
    inflateEnd(&stream);
    CHECK(unpacked == text);
  }
}

TEST_CASE("pprof: events that are counted, and the container of a sample") {
  Profile profile = make_demo_profile();
  profile.info.events[0] = {"instructions", 0, 1000};
  profile.change_owner(profile.samples[0], [&](Owner& owner) {
    owner.cgroup = profile.strings.intern("/docker/" + std::string(64, 'c'));
  });
  std::string data = written_by(encode_pprof, profile);
  CHECK(messages(data, 1, {1, 2}) == Messages{"1=samples 2=count", "1=instructions 2=count"});
  std::vector<std::string> strings = string_table(data);
  CHECK(std::ranges::count(strings, "container_id") == 1);
  CHECK(std::ranges::count(strings, std::string(64, 'c')) == 1);
}

TEST_CASE("pprof: time that is not CPU time has the name of its event") {
  Profile profile = make_demo_profile();
  profile.info.events[0] = {"off-cpu", 0, 10'000'000, "nanoseconds"};
  profile.info.events.push_back({"cpu-clock", 100, 0});
  profile.samples[0].weight = 7'000'000'000;
  profile.change_owner(profile.samples[0], [&](Owner& owner) {
    owner.state = profile.strings.intern("disk sleep");
  });
  profile.change_owner(profile.samples[0], [&](Owner& owner) {
    owner.waker = profile.strings.intern("nginx (7)");
  });
  profile.change_owner(profile.samples[0],
                       [&](Owner& owner) { owner.process = profile.strings.intern("server"); });
  std::string data = written_by(encode_pprof, profile);
  CHECK(messages(data, 1, {1, 2}) ==
        Messages{"1=off-cpu 2=nanoseconds", "1=cpu 2=nanoseconds"});
  CHECK(values(data)[0] == std::vector<int64_t>{7'000'000'000, 0});
  std::vector<std::string> strings = string_table(data);
  for (const char* text : {"state", "disk sleep", "waker", "nginx (7)", "process", "server"})
    CHECK(std::ranges::count(strings, text) == 1);
}

TEST_CASE("pprof: of several events each is a sample type, 0 where a sample is of another") {
  Profile profile = make_demo_profile();
  profile.info.events.push_back({"page-faults", 99, 0});
  profile.info.events.push_back({"task-clock", 100, 0});
  profile.change_owner(profile.samples[1], [&](Owner& owner) { owner.event = 1; });
  profile.samples[1].weight = 4000;
  profile.change_owner(profile.samples[2], [&](Owner& owner) { owner.event = 2; });
  std::string data = written_by(encode_pprof, profile);
  CHECK(messages(data, 1, {1, 2}) ==
        Messages{"1=cpu 2=nanoseconds", "1=page-faults 2=count", "1=task-clock 2=nanoseconds"});
  CHECK(messages(data, 11, {1, 2}) == Messages{"1=cpu 2=nanoseconds"});
  CHECK(values(data) == std::vector<std::vector<int64_t>>{
                            {50'000'000, 0, 0}, {0, 4000, 0}, {0, 0, 10'000'000}});
}

}  // namespace gosym::pprof_test
