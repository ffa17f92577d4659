// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/payload_layout.hpp"

#include "trainer/model/parameters.hpp"

namespace curtail::model {

payload::Layout payload_layout(RunId const& run, config::Model const& shape)
{
    payload::Layout layout{run, {}};
    for (auto& place : model::parameter_places(shape))
        layout.parameters.push_back({std::move(place.name), std::move(place.shape)});
    return layout;
}

}  // namespace curtail::model
