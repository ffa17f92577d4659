// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "bill/status/overview.hpp"

// The state of a run for Prometheus. The textfile collector of node_exporter reads the file
// (https://github.com/prometheus/node_exporter#textfile-collector).
namespace curtail::status {

/// Returns the state of a run in Prometheus' text format. docs/status.md lists the metrics. A
/// metric whose value is unknown is left out.
[[nodiscard]] std::string prometheus_text(Overview const& overview);

}  // namespace curtail::status
