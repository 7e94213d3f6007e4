#include "commands/name_option.h"

namespace gosym {

void add_name_option(CLI::App& app, std::optional<NameForm>& form) {
  static const std::map<std::string, NameForm> kForms = {
      {"short", NameForm::kShort}, {"full", NameForm::kFull}, {"none", NameForm::kNone}};
  app.add_option_function<std::string>(
         "--demangle", [&form](const std::string& name) { form = kForms.at(name); },
         "Names as people read them, without type arguments (short) or with (full), or as the "
         "linker has them (none)")
      ->check(CLI::IsMember({"short", "full", "none"}))
      ->type_name("FORM");
}

}  // namespace gosym
