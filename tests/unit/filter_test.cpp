#include "profile/filter.h"
#include "model/container.h"

#include <doctest/doctest.h>

namespace gosym::filter_test {

namespace {

RecordedSample sample_of(uint32_t pid, uint32_t tid, uint64_t time = 0) {
  RecordedSample sample;
  sample.pid = pid;
  sample.tid = tid;
  sample.time = time;
  return sample;
}

}  // namespace

TEST_CASE("time range: either side may be left out") {
  CHECK(*parse_time_range("1.5,3") == TimeRange{1'500'000'000, 3'000'000'000});
  CHECK(*parse_time_range(",3") == TimeRange{0, 3'000'000'000});
  CHECK(*parse_time_range("2,") == TimeRange{2'000'000'000, UINT64_MAX});
  CHECK(*parse_time_range("200ms,1m") == TimeRange{200'000'000, 60'000'000'000});
  CHECK(*parse_time_range(",") == TimeRange{});
}

TEST_CASE("time range: anything else is told") {
  for (const char* bad : {"", "1", "1,2,3", "a,2", "1,b", "-1,2", "1 ,2"}) {
    CAPTURE(bad);
    auto range = parse_time_range(bad);
    REQUIRE_FALSE(range);
    CHECK(range.error().message() ==
          fmt::format("'{}' is not a time range such as 1.5,3", bad));
  }
  CHECK(parse_time_range("3,1").error().message() == "'3,1' ends before it begins");
  CHECK(parse_time_range("1,1").error().message() == "'1,1' ends before it begins");
}

TEST_CASE("filter: an empty one keeps everything and is not told") {
  CHECK(Filter().keeps(sample_of(1, 2, 3), {"", "", ""}, 0));
  CHECK(Filter().to_string().empty());
}

TEST_CASE("filter: all kinds must match, one value of each is enough") {
  Filter filter = {{1, 2}, {11}, {"worker", "main"}, {}};
  CHECK(filter.keeps(sample_of(1, 11), {"main", "", ""}, 0));
  CHECK(filter.keeps(sample_of(2, 11), {"worker", "", ""}, 0));
  CHECK_FALSE(filter.keeps(sample_of(3, 11), {"main", "", ""}, 0));
  CHECK_FALSE(filter.keeps(sample_of(1, 12), {"main", "", ""}, 0));
  CHECK_FALSE(filter.keeps(sample_of(1, 11), {"mai", "", ""}, 0));
  CHECK(filter.to_string() == "--pid 1,2 --tid 11 --comm worker,main");
}

TEST_CASE("filter: a name is that of a thread, or of a process with all its threads") {
  Filter filter = {{}, {}, {"server"}, {}};
  CHECK(filter.keeps(sample_of(1, 2), {"worker-7", "server", ""}, 0));
  CHECK(filter.keeps(sample_of(1, 2), {"server", "java", ""}, 0));
  CHECK_FALSE(filter.keeps(sample_of(1, 2), {"worker-7", "java", ""}, 0));
}

TEST_CASE("filter: a name longer than the kernel keeps matches what it keeps") {
  Filter filter = {{}, {}, {"prometheus-server"}, {}};
  CHECK(filter.keeps(sample_of(1, 1), {"prometheus-serv", "", ""}, 0));
  CHECK_FALSE(filter.keeps(sample_of(1, 1), {"prometheus", "", ""}, 0));
}

TEST_CASE("filter: a long name matches the whole one that another tool kept") {
  Filter filter = {{}, {}, {"a-very-long-thread-name"}, {}};
  CHECK(filter.keeps(sample_of(1, 2), {"a-very-long-thread-name", "", ""}, 0));
  CHECK(filter.keeps(sample_of(1, 2), {"", "a-very-long-thread-name", ""}, 0));
  CHECK_FALSE(filter.keeps(sample_of(1, 2), {"a-very-long-thread-number", "", ""}, 0));
}

TEST_CASE("filter: the time is that since the start, its end left out") {
  Filter filter = {{}, {}, {}, {10, 20}};
  CHECK_FALSE(filter.keeps(sample_of(1, 1, 109), {"", "", ""}, 100));
  CHECK(filter.keeps(sample_of(1, 1, 110), {"", "", ""}, 100));
  CHECK(filter.keeps(sample_of(1, 1, 119), {"", "", ""}, 100));
  CHECK_FALSE(filter.keeps(sample_of(1, 1, 120), {"", "", ""}, 100));

  filter.time = {0, 20};
  CHECK(filter.keeps(sample_of(1, 1, 99), {"", "", ""}, 100));
  filter.time = *parse_time_range(",1.5");
  CHECK(filter.to_string() == "--time ,1.5");
}

TEST_CASE("filter: of each key of labels one value must match") {
  const std::vector<Label> labels = {{"a=b", "c"}, {"empty", ""}, {"name", "x"}};
  RecordedSample sample = sample_of(1, 1);
  auto keeps = [&](std::vector<std::string> wanted) {
    Filter filter;
    filter.labels = std::move(wanted);
    return filter.keeps(sample, {"", "", ""}, 0);
  };
  CHECK_FALSE(keeps({"name=x"}));
  sample.labels = labels;
  CHECK(keeps({"name=x"}));
  CHECK(keeps({"name=y", "name=x"}));
  CHECK(keeps({"empty="}));
  CHECK(keeps({"a=b=c"}));
  CHECK(keeps({"name=x", "empty="}));
  CHECK_FALSE(keeps({"name=y"}));
  CHECK_FALSE(keeps({"name="}));
  CHECK_FALSE(keeps({"name=xx"}));
  CHECK_FALSE(keeps({"name=x", "empty=x"}));
  CHECK_FALSE(keeps({"other="}));

  Filter filter;
  filter.labels = {"name=x", "a=b"};
  CHECK(filter.to_string() == "--label name=x --label a=b");
}

TEST_CASE("filter: a cgroup with all below it, or a container by the beginning of its id") {
  const std::string id(64, 'a');
  auto keeps = [&](std::string wanted, std::string_view cgroup) {
    Filter filter;
    filter.cgroups = {"/none", std::move(wanted)};
    return filter.keeps(sample_of(1, 1), {"", "", cgroup}, 0);
  };
  CHECK(keeps("/a", "/a"));
  CHECK(keeps("a/", "/a/b"));
  CHECK_FALSE(keeps("/a", "/ab"));
  CHECK_FALSE(keeps("/a/b", "/a"));
  CHECK(keeps("/", ""));
  CHECK(keeps("aaaa", "/docker/" + id));
  CHECK(keeps(id, "/system.slice/docker-" + id + ".scope/init"));
  CHECK_FALSE(keeps("ab", "/docker/" + id));
  Filter filter;
  filter.cgroups = {"a", "b"};
  CHECK(filter.to_string() == "--cgroup a,b");
}

TEST_CASE("container: the innermost id of a path") {
  const std::string a(64, 'a');
  const std::string b = "0123456789abcdef" + std::string(48, '0');
  CHECK(container_id("/system.slice/docker-" + a + ".scope") == a);
  CHECK(container_id("/kubepods/besteffort/pod1234/" + b) == b);
  CHECK(container_id("/docker/" + a + "/docker/" + b + "/init.scope") == b);
  for (const std::string& none :
       {std::string(), std::string("/"), "/" + a + "0", "/" + a.substr(1), "/x" + a.substr(1)})
    CHECK(container_id(none).empty());
}

}  // namespace gosym::filter_test
