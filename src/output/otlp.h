#pragma once

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// Writes an ExportProfilesServiceRequest of OpenTelemetry, as a collector takes it by HTTP:
// opentelemetry/proto/profiles/v1development of opentelemetry-proto 1.10. That is a message
// ProfilesData as well. Equal profiles give equal bytes.
//
//   resources   one for each service (services.h): service.name, host.name, host.arch, os.type,
//               and container.id and k8s.pod.uid where the samples' cgroups tell them
//   profiles    one for each event of a resource. CPU time is samples/count with the period
//               cpu/nanoseconds; other time is its event/nanoseconds, without a period, each
//               sample being as long as it says; other events are counts
//   samples     of a stack, with the attributes process.pid, process.executable.name,
//               thread.name, the labels of goroutines by their keys, and thread.state of waits
//   locations   as in a pprof (pprof.h): the address is the call's, and where code has no name,
//               a function tells why. profile.frame.type is go, native or kernel
//   mappings    with the build ids process.executable.build_id.gnu and .go
//
// profile_id follows from host, time, service and event: a request that is sent twice has the
// same ones.
void write_otlp(const Profile& profile, const Write& write);

}  // namespace gosym
