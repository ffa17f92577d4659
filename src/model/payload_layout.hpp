// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/model.hpp"
#include "payload/payload.hpp"

namespace curtail::model {

/// The layout of a run's payloads: the model's parameters in the order of model::Parameters.
[[nodiscard]] payload::Layout payload_layout(RunId const& run, config::Model const& shape);

}  // namespace curtail::model
