#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "confine/opener.h"

namespace gosym {

// From here on this process is a child of itself that may compute, use the descriptors it has,
// and ask openers for files: a parser. What it was is its front, which waits for it, hands
// signals on, starts its pager and ends as it ends; at once where a signal asks for that and
// the parser waits for a file system that does not answer.
//
// To be called when nothing of strangers has been read, and all that is not read has been
// started. No other thread may run. Does nothing the second time. Fails if there can be no more
// processes.
// `pager` is the command that start_pager() starts.
Result<> become_parser(const NamedFiles& files, const std::string& pager = {});

// A pager that runs: what it shows is written to `input`.
struct Pager {
  UniqueFd input;
  int process = -1;  // of the front, which waits for it, if this is -1
};

// By the front, where there is one. None if it cannot be started.
std::optional<Pager> start_pager(const std::string& command);
// Closes its input, and waits until it ends: a status as of waitpid(2).
int wait_for_pager(Pager pager);

// Has the front start an editor on the terminal, at a line of a file, and waits until it ends.
// The command is that of $VISUAL or $EDITOR, as the shell understands it, or vi. An error:
// there is no front, the editor cannot be started or says that it failed, or is_edited() is
// false.
Result<> edit(const std::string& path, uint32_t line);

// True for the path of a source file as an editor may be given it by a parser that may have
// been taken over: from the root, printable, and named as a source is, since editors take
// orders from names such as ".vimrc" or "--cmd".
bool is_edited(std::string_view path);

// The words that the editor is given behind its command, by the conventions of that command.
std::vector<std::string> editor_arguments(std::string_view command, const std::string& path,
                                          uint32_t line);

}  // namespace gosym
