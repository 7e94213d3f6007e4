#include "commands/name_option.h"

namespace gosym {

Option name_option(std::optional<NameForm>& form) {
  auto set = [&form](const std::string& name) {
    form = name == "short"  ? NameForm::kShort
           : name == "full" ? NameForm::kFull
                            : NameForm::kNone;
  };
  return {.names = "--demangle",
          .value = "FORM",
          .help =
              "Print names demangled without type arguments (short) or with them (full), or as "
              "the linker has them (none)",
          .set = set,
          .choices = {"short", "full", "none"}};
}

}  // namespace gosym
