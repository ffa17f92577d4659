#include "train/snapshot_owner.hpp"

#include "rounds/names.hpp"
#include "rounds/record.hpp"
#include "train/run_spec.hpp"

namespace curtail::train {

Result<std::optional<std::string>> owner_in_store(store::ObjectStore& store, RunId const& run)
{
    auto const name = store::ObjectName::parse("runs/" + run.value + "/" + rounds::commit_name({1}));
    if (!name) return tl::unexpected(name.error());
    auto const first = store.get(*name, Bytes{rounds::record_bytes_limit});
    if (!first) return tl::unexpected(first.error());
    if (!*first) return std::optional<std::string>{};
    return std::optional("run " + sha256(store::text_of(**first)).hex());
}

std::string owner_alone(config::Run const& run, Digest const& manifest)
{
    auto const spec = make_run_spec(run, manifest, 0, {});
    return "alone " + sha256(json::canonical(json::Object{{"manifest", manifest.hex()},
                                                          {"seed", spec.seed},
                                                          {"model", spec.model},
                                                          {"optimizer", spec.optimizer},
                                                          {"block_tokens", spec.params.block_tokens}}))
                          .hex();
}

bool is_alone(std::string const& owner) { return owner.rfind("alone ", 0) == 0; }

}  // namespace curtail::train
