// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/fitting_rows.hpp"

#include "base/core/build_info.hpp"
#include "base/core/files.hpp"
#include "trainer/engine/engine.hpp"

namespace curtail::trainer {
namespace {

constexpr std::int64_t format = 1;

// Another program may need another amount of memory, so its commit is one of the facts.
json::Object to_json(config::Run const& run, RowFacts const& facts)
{
    auto const& m = run.model;
    return {{"device", facts.device},
            {"ranks", facts.ranks},
            {"precision", facts.type == at::kBFloat16 ? "bf16" : "fp32"},
            {"muon_precision", run.optimizer.muon_bfloat16 ? "bfloat16" : "float32"},
            {"checkpoint_activations", run.training.checkpoint_activations},
            {"device_batch_rows", run.training.device_batch_rows},
            {"batch_tokens", run.training.batch_tokens.value},
            {"layers", m.layers},
            {"width", m.width},
            {"heads", m.heads},
            {"kv_heads", m.kv_heads},
            {"sequence", m.sequence},
            {"vocabulary", m.vocabulary},
            {"commit", build_info().commit}};
}

std::string counted(std::int64_t rows)
{
    return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

}  // namespace

FittingRows::FittingRows(std::filesystem::path const& folder, config::Run const& run,
                         RowFacts const& facts)
    : file_(folder / "device-rows.json"),
      facts_(to_json(run, facts)),
      configured_(run.training.device_batch_rows),
      rows_(configured_)
{
}

Result<std::optional<std::int64_t>> FittingRows::kept() const
{
    auto const file = json::parse_file_if_exists(file_);
    if (!file) return tl::unexpected(file.error());
    auto const* const object = *file ? (*file)->as_object() : nullptr;
    if (object == nullptr || object->integer_at("format") != format) return std::nullopt;
    auto const* const facts = object->find("facts");
    auto const rows = object->integer_at("rows").value_or(0);
    bool const same = facts != nullptr && json::to_string(*facts) == json::to_string(facts_);
    return same && rows >= 1 && rows <= configured_ ? std::optional(rows) : std::nullopt;
}

std::int64_t FittingRows::at_start(comm::Collectives& ranks, Log const& log)
{
    if (ranks.rank() == 0) {
        auto const found = kept();
        if (!found) log.warning(found.error().message());
        else if (*found) {
            rows_ = **found;
            log.info("each rank computes at most " + counted(rows_) +
                     " at once, because more did not fit into memory before (to try " +
                     std::to_string(configured_) + " again, delete " + file_.string() + ")");
        }
    }
    ranks.broadcast(std::as_writable_bytes(std::span(&rows_, 1)), 0);
    return rows_;
}

void FittingRows::note(StepOutcome const& outcome, Log const& log)
{
    if (outcome.device_rows == rows_) return;
    rows_ = outcome.device_rows;
    log.warning("a rank ran out of memory: each rank now computes at most " + counted(rows_) +
                " at once; the steps stay the same, and the next start begins with this number");
    auto const kept = write_file(
        file_,
        json::to_pretty(json::Object{{"format", format}, {"rows", rows_}, {"facts", facts_}}),
        0600);
    if (!kept) log.warning(kept.error().message());
}

}  // namespace curtail::trainer
