// SPDX-License-Identifier: Apache-2.0
#include "train/snapshot_owner.hpp"

#include <thread>

#include "rounds/names.hpp"
#include "rounds/record.hpp"
#include "train/run_spec.hpp"

namespace curtail::train {

namespace {

Result<std::optional<std::string>> owner_now(store::ObjectStore& store,
                                             store::ObjectName const& name)
{
    auto const first = store.get(name, Bytes{rounds::record_bytes_limit});
    if (!first) return tl::unexpected(first.error());
    if (!*first) return std::optional<std::string>{};
    auto const text = store::text_of(**first);
    if (auto commit = rounds::decode_commit(text, rounds::commit_name({1})); !commit)
        return tl::unexpected(commit.error());
    return std::optional("run " + sha256(text).hex());
}

}  // namespace

Result<std::optional<std::string>> owner_in_store(store::ObjectStore& store, RunId const& run)
{
    auto const name =
        store::ObjectName::parse("runs/" + run.value + "/" + rounds::commit_name({1}));
    if (!name) return tl::unexpected(name.error());
    constexpr int reads = 6;
    for (int read = 1;; ++read) {
        auto owner = owner_now(store, *name);
        if (read == reads || (owner && *owner)) return owner;
        std::this_thread::sleep_for(Millis{25} * (1 << read));
    }
}

std::string owner_alone(config::Run const& run, Digest const& manifest)
{
    auto const spec = make_run_spec(run, manifest, 0, {});
    return "alone " +
           sha256(json::canonical(json::Object{{"manifest", manifest.hex()},
                                               {"seed", spec.seed},
                                               {"model", spec.model},
                                               {"optimizer", spec.optimizer},
                                               {"block_tokens", spec.params.block_tokens}}))
               .hex();
}

bool is_alone(std::string const& owner) { return owner.rfind("alone ", 0) == 0; }

}  // namespace curtail::train
