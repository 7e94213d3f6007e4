#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// Figures of a recorder in the text format of Prometheus, for the textfile collector of
// node_exporter. A process of its own puts each version in the place of the one before, as the
// recorder may name no files.
class MetricsFile {
public:
  // Starts the process. Fails if there is no such directory.
  Result<> start(const std::string& path);
  bool is_started() const { return bool{channel_}; }

  // An errno value; 0: it was written.
  int write(std::string_view text);

private:
  UniqueFd channel_;
};

// One figure: "# HELP gosym_samples_total ...", "# TYPE ...", "gosym_samples_total 17".
std::string metric_text(std::string_view name, std::string_view type, std::string_view help,
                        double value);

}  // namespace gosym
