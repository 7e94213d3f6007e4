#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gosym::proc {

// The number of the user with this name: from /etc/passwd, or from getent(1), which asks what
// else /etc/nsswitch.conf names (LDAP, SSSD, systemd). None if there is no such user, or no
// getent.
//
// The C library's own look-up loads a library for each of these, which a static program cannot
// do without a crash.
std::optional<uint32_t> user_named(const std::string& name);

// The number of the group with this name, from /etc/group alone.
std::optional<uint32_t> group_named(const std::string& name);

}  // namespace gosym::proc
