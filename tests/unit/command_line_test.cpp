#include "commands/command_line.h"

#include <doctest/doctest.h>

#include "base/exit_status.h"
#include "base/text.h"

namespace gosym {

namespace {

struct Given {
  bool is_loud = false;
  std::string one = "default";
  std::vector<std::string> each;
  std::vector<uint32_t> numbers;
  std::optional<std::string> maybe;
  std::string file;
  std::vector<std::string> rest;
  std::vector<std::string> words;
};

Result<uint32_t> parse_number(const std::string& text) {
  auto number = parse_decimal(text);
  if (!number)
    return errorf("'{}' is no number", text);
  return static_cast<uint32_t>(*number);
}

Program make_program(Given& given) {
  Command work = {
      .name = "work",
      .summary = "Do it",
      .groups = {{"Options",
                  {{.names = "-l,--loud", .take = into(given.is_loud), .excludes = {"--one"}},
                   {.names = "--one", .value = "X", .take = one_of(given.one, {"a", "b"})},
                   {.names = "--each",
                    .value = "X",
                    .take = into(given.each),
                    .values = Values::kEach},
                   {.names = "-n,--number",
                    .value = "N",
                    .take = into(given.numbers, parse_number),
                    .needs = "--each",
                    .values = Values::kCommaList},
                   {.names = "--maybe",
                    .value = "X",
                    .take = into(given.maybe),
                    .values = Values::kOptional},
                   {.names = "-i,--input,FILE", .value = "FILE", .take = into(given.file)},
                   {.names = "REST", .take = into(given.rest), .values = Values::kWords}}}},
  };
  Command run = {.name = "run",
                 .summary = "Run a command",
                 .groups = {{"Options", {{.names = "-l,--loud", .take = into(given.is_loud)}}}},
                 .words = &given.words};
  return {
      .name = "tool", .version = "1", .summary = "", .examples = "", .commands = {work, run}};
}

CommandLine parse(const Program& program, std::vector<std::string> line) {
  std::vector<char*> arguments = {const_cast<char*>("tool")};
  for (std::string& word : line)
    arguments.push_back(word.data());
  return parse_command_line(program, static_cast<int>(arguments.size()), arguments.data());
}

bool is_refused(const std::vector<std::string>& line) {
  Given given;
  Program program = make_program(given);
  CommandLine parsed = parse(program, line);
  return !parsed.command && parsed.status == kUsage;
}

}  // namespace

TEST_CASE("a command line: values reach what they are for") {
  Given given;
  Program program = make_program(given);
  CommandLine parsed =
      parse(program, {"work", "--one", "a", "--one=b", "--each", "x", "--each", "-y", "-n",
                      "1,2", "--number=3", "file", "rest", "more"});
  REQUIRE(parsed.command);
  CHECK(parsed.command->name == "work");
  CHECK(given.one == "b");
  CHECK(given.each == std::vector<std::string>{"x", "-y"});
  CHECK(given.numbers == std::vector<uint32_t>{1, 2, 3});
  CHECK(given.file == "file");
  CHECK(given.rest == std::vector<std::string>{"rest", "more"});
  CHECK_FALSE(given.is_loud);
  CHECK_FALSE(given.maybe);
}

TEST_CASE("a command line: a value that does not count is taken all the same") {
  CHECK(is_refused({"work", "--one", "c", "--one", "a"}));
  CHECK(is_refused({"work", "--one", "a", "--one", "c"}));
  CHECK(is_refused({"work", "--each", "x", "-n", "1,two,3"}));
  // The library takes that for an empty list.
  Given given;
  Program program = make_program(given);
  REQUIRE(parse(program, {"work", "--each", "{}"}).command);
  CHECK(given.each == std::vector<std::string>{"{}"});
}

TEST_CASE("a command line: an optional value is not the next word") {
  Given given;
  Program program = make_program(given);
  REQUIRE(parse(program, {"work", "--maybe", "file"}).command);
  CHECK(given.maybe == "");
  CHECK(given.file == "file");
  REQUIRE(parse(program, {"work", "--maybe=value"}).command);
  CHECK(given.maybe == "value");
}

TEST_CASE("a command line: words of another command are left alone") {
  Given given;
  Program program = make_program(given);
  REQUIRE(parse(program, {"run", "-l", "ls", "-x", "[a,b]", "--", "-y"}).command);
  CHECK(given.is_loud);
  REQUIRE(parse(program, {"run", "--", "ls", "--loud", "[a,b]"}).command);
  CHECK(given.words == std::vector<std::string>{"ls", "--loud", "[a,b]"});
}

TEST_CASE("a command line: help is a command") {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"help"}, {"help", "work"}, {"help", "run", "more"}}) {
    Given given;
    Program program = make_program(given);
    CommandLine parsed = parse(program, line);
    CHECK_FALSE(parsed.command);
    CHECK(parsed.status == kSuccess);
  }
  CHECK(is_refused({"help", "play"}));
}

TEST_CASE("a command line: what is wrong is refused") {
  CHECK(is_refused({"run", "--lout", "ls"}));
  CHECK(is_refused({"play", "work"}));
  CHECK(is_refused({}));
  CHECK(is_refused({"play"}));
  CHECK(is_refused({"--loud"}));
  CHECK(is_refused({"work", "--unknown"}));
  CHECK(is_refused({"work", "--one"}));
  CHECK(is_refused({"work", "--one", "c"}));
  CHECK(is_refused({"work", "--loud=1"}));
  CHECK(is_refused({"work", "--each", "x", "-n", "1,x"}));
  CHECK(is_refused({"work", "-n", "1"}));  // without --each
  CHECK(is_refused({"work", "--loud", "--one", "a"}));
}

}  // namespace gosym
