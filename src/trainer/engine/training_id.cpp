// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/training_id.hpp"

#include <thread>

#include "protocol/chain/run_objects.hpp"
#include "protocol/records/names.hpp"

namespace curtail::trainer {

namespace {

Result<std::optional<std::string>> training_id_now(chain::RunObjects const& objects)
{
    auto const name = protocol::commit_name({1});
    auto const first = objects.record(name);
    if (!first) return tl::unexpected(first.error());
    if (!*first) return std::optional<std::string>{};
    if (auto commit = protocol::decode_commit(**first, name); !commit)
        return tl::unexpected(commit.error());
    return std::optional("run " + sha256(**first).hex());
}

}  // namespace

Result<std::optional<std::string>> training_id_in_store(store::ObjectStore& store, RunId const& run,
                                                        CallLimits const& call)
{
    chain::RunObjects const objects(store, run, nullptr, call);
    constexpr int reads = 6;
    for (int read = 1;; ++read) {
        auto training_id = training_id_now(objects);
        bool const found = training_id && *training_id;
        if (found || read == reads || call.is_over()) return training_id;
        std::this_thread::sleep_for(Millis{25} * (1 << read));
    }
}

std::string training_id_alone(protocol::RunSpec const& spec)
{
    auto optimizer = spec.optimizer;
    optimizer.schedule = spec.schedule();
    return "alone " +
           sha256(json::canonical(json::Object{{"manifest", spec.manifest.hex()},
                                               {"seed", spec.seed},
                                               {"model", spec.model},
                                               {"optimizer", protocol::to_json(optimizer)},
                                               {"block_tokens", spec.params.block_tokens.value}}))
               .hex();
}

bool is_alone(std::string const& training_id) { return training_id.rfind("alone ", 0) == 0; }

}  // namespace curtail::trainer
