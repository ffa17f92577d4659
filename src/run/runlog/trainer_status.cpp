// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/trainer_status.hpp"

#include "base/core/json.hpp"
#include "base/core/text.hpp"

namespace curtail::runlog {

std::optional<TrainerStatus> read_trainer_status(std::filesystem::path const& path)
{
    auto const file = json::parse_file_if_exists(path);
    if (!file || !*file) return std::nullopt;
    auto const* status = (*file)->as_object();
    auto const time = status != nullptr ? status->time_at("time") : std::nullopt;
    if (!time) return std::nullopt;
    return TrainerStatus{*time, printable(status->text_at("job"))};
}

}  // namespace curtail::runlog
