#pragma once

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// Bodies of requests that take profiles as series: those of each service (output/otlp.h) as a
// pprof of its own, compressed, with the labels __name__ ("process_cpu"), service_name, host,
// and container_id and pod_uid where the samples' cgroups tell them.

// A PushRequest of Pyroscope as protobuf, api/push/v1/push.proto of grafana/pyroscope, for
// POST /push.v1.PusherService/Push. The ID of a profile is the same whenever it is made.
void write_pyroscope(const Profile& profile, const Write& write);

// A WriteRawRequest of Parca as JSON, proto/parca/profilestore/v1alpha1/profilestore.proto of
// parca-dev/parca, for POST /api/profiles/writeraw.
void write_parca(const Profile& profile, const Write& write);

}  // namespace gosym
