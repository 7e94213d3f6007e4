#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/recording.h"
#include "model/unwind_rule.h"
#include "record/sampler.h"
#include "record/stacks/code_rules.h"

namespace gosym {

struct CodeRange {
  uint64_t begin;
  uint64_t end;
};

// Code of a process, as the side-band told of it: enough to see which words of a stack may be
// return addresses. A range stays when it is unmapped, by an exec too: samples from before may
// still come. In order, apart from one another.
using CodeRanges = std::vector<CodeRange>;

void add(CodeRanges& ranges, CodeRange range);
bool contains(const CodeRanges& ranges, uint64_t address);
bool contains(const CodeRanges& ranges, CodeRange range);  // all of it

// The code of a sampled process: what a walk asks of it (unwind/stack_walk.h), by runtime
// addresses.
class SampledCode {
public:
  virtual ~SampledCode() = default;
  virtual std::optional<UnwindRule> rule(uint64_t address) = 0;
  virtual std::optional<CallerFrame> evaluate(uint64_t address, MachineState& state) = 0;
  virtual CallerRegister caller_register(uint64_t address, uint64_t number, uint64_t cfa,
                                         MachineState& state) = 0;
};

// The code of one process. Borrows both references.
class ProcessCode : public SampledCode {
public:
  ProcessCode(CodeRules& rules, const CodeRules::Places& places)
      : rules_(rules), places_(places) {}

  std::optional<UnwindRule> rule(uint64_t address) override {
    return rules_.rule(places_, address);
  }
  std::optional<CallerFrame> evaluate(uint64_t address, MachineState& state) override {
    return rules_.evaluate(places_, address, state);
  }
  CallerRegister caller_register(uint64_t address, uint64_t number, uint64_t cfa,
                                 MachineState& state) override {
    return rules_.caller_register(places_, address, number, cfa, state);
  }

private:
  CodeRules& rules_;
  const CodeRules::Places& places_;
};

// Gives the rule for the function at an address; none where it is not known yet.
using RuleOf = std::function<std::optional<UnwindRule>(uint64_t address)>;

// Puts into `needed`, by offset, what of the top of a sample's stack report will look at to
// find callers: it walks up the stack as report does (unwind/stack_walk.h), and from the first
// function on that it has no rule for takes whatever may be of use, return addresses and
// frame pointers. `code` is where the process has code.
//
// Most samples need no word, for the leaf is Go code that has a frame. What else lies in its
// stack differs from sample to sample where stacks do not: with all that may be of use a
// recording of prometheus at 999 Hz takes 39 bytes a sample, and with this 23.
void select_stack_slots(const RecordedSample& sample, const StackTop& top,
                        const CodeRanges& code, const RuleOf& rule_of,
                        std::vector<StackWord>& needed);

// Appends what of the registers of a sample the rules of its functions ask for: of native code,
// whose words are all kept. And where its stack ends by the first function of a fiber, the 0
// that this would return to.
void find_needed_registers(const RecordedSample& sample, const StackTop& top,
                           const CodeRanges& ranges, SampledCode& code,
                           std::vector<StackWord>& needed);

// Appends all registers of a sample of whose functions the rules are not known yet.
void take_registers(const RecordedSample& sample, const StackTop& top, const CodeRanges& ranges,
                    std::vector<StackWord>& needed);

}  // namespace gosym
