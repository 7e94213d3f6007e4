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
              "Names as people read them, without type arguments (short) or with (full), or "
              "as the linker has them (none)",
          .set = set,
          .choices = {"short", "full", "none"}};
}

}  // namespace gosym
