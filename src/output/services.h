#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace gosym {

// A service as stores of profiles tell it from others. Text may be empty: not known.
struct Service {
  // A container, by the first twelve digits of its id; else a unit of systemd without
  // ".service"; else the process's name.
  std::string name;
  std::string host;
  std::string machine;    // uname -m
  std::string container;  // its id
  std::string pod;        // its uid

  auto operator<=>(const Service&) const = default;
};

// The samples of each, as indices into those of the profile. The order is that of the texts, so
// that equal profiles give equal answers. Any process may call itself anything, so that only
// the 100 with the most samples are told: the others are one, "other".
std::map<Service, std::vector<size_t>> samples_by_service(const Profile& profile);

// The name of a label of a goroutine for a store: a program may not say by its labels whose a
// sample is, so that "service.name" and the like become "label.service.name".
std::string label_for_store(std::string_view key);
// The name of an event: stores refuse "page-faults", and take "page_faults".
std::string event_for_store(std::string_view name);

// 16 bytes by which a store knows that it has a profile already: of this service, in this time.
// `what` is the event, or empty for all.
std::string profile_id(const Profile& profile, const Service& service, std::string_view what);

}  // namespace gosym
