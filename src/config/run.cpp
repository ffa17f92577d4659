#include "config/run.hpp"

#include <algorithm>
#include <set>

#include "config/read.hpp"

namespace curtail::config {
namespace {

Training read_training(json::ObjectReader& r)
{
    Training t;
    t.batch_tokens = r.integer("batch_tokens", t.batch_tokens);
    t.device_batch_rows = r.integer("device_batch_rows", t.device_batch_rows);
    t.snapshot_every_steps = r.integer("snapshot_every_steps", t.snapshot_every_steps);
    t.steps = r.integer("steps", t.steps);
    r.require(t.batch_tokens > 0, "batch_tokens", "must be positive");
    r.require(t.device_batch_rows > 0, "device_batch_rows", "must be positive");
    r.require(t.snapshot_every_steps >= 0, "snapshot_every_steps", "must not be negative");
    r.require(t.steps >= 0, "steps", "must not be negative");
    return t;
}

Optimizer read_optimizer(json::ObjectReader& r)
{
    Optimizer o;
    o.schedule = {r.integer("schedule_tokens", o.schedule.value)};
    o.lr_scale = r.optional_number("lr_scale");
    o.weight_decay = r.number("weight_decay", o.weight_decay);
    o.warmdown = r.number("warmdown", o.warmdown);
    o.final_lr = r.number("final_lr", o.final_lr);
    o.muon_bfloat16 = r.one_of("muon_precision", {"float32", "bfloat16"}, 0) == 1;
    r.require(o.schedule.value > 0, "schedule_tokens", "must be positive");
    r.require(!o.lr_scale || *o.lr_scale > 0, "lr_scale", "must be positive");
    r.require(o.warmdown >= 0 && o.warmdown <= 1, "warmdown", "must be 0 to 1");
    r.require(o.final_lr >= 0 && o.final_lr <= 1, "final_lr", "must be 0 to 1");
    return o;
}

rounds::Outer read_outer(json::ObjectReader& r)
{
    rounds::Outer outer;
    outer.kind = static_cast<rounds::Outer::Kind>(r.one_of("kind", {"average", "nesterov"}, 0));
    outer.eta = r.number("eta", outer.eta);
    outer.mu = r.number("mu", outer.mu);
    r.require(outer.eta > 0, "eta", "must be positive");
    r.require(outer.mu >= 0 && outer.mu < 1, "mu", "must be 0 or more and less than 1");
    return outer;
}

rounds::Params read_rounds(json::ObjectReader& r)
{
    rounds::Params p;
    p.block_tokens = r.integer("block_tokens", p.block_tokens);
    p.grant_quantum = r.integer("grant_quantum_blocks", p.grant_quantum);
    p.round_time = read_seconds(r, "round_time_s", p.round_time);
    p.local_steps = r.integer("local_steps", p.local_steps);
    p.checkpoint_interval = read_seconds(r, "checkpoint_interval_s", p.checkpoint_interval);
    p.gather_time = read_seconds(r, "gather_time_s", p.gather_time);
    p.lease = read_seconds(r, "lease_s", p.lease);
    p.first_base_wait = read_seconds(r, "first_base_wait_s", p.first_base_wait);
    p.poll_run_lone = read_seconds(r, "poll_run_lone_s", p.poll_run_lone);
    p.poll_run = read_seconds(r, "poll_run_s", p.poll_run);
    p.poll_run_starved = read_seconds(r, "poll_run_starved_s", p.poll_run_starved);
    p.poll_wait = read_seconds(r, "poll_wait_s", p.poll_wait);
    p.drop_after = read_seconds(r, "drop_after_s", 3 * std::max(p.round_time, p.checkpoint_interval));
    p.skew = read_seconds(r, "skew_s", p.skew);
    p.max_undecided = r.integer("max_undecided", p.max_undecided);
    p.max_staleness = r.integer("max_staleness", p.max_staleness);
    p.max_missed = r.integer("max_missed", p.max_missed);
    p.keep_models = r.integer("keep_models", p.keep_models);
    p.milestone_every = r.integer("milestone_every", p.milestone_every);
    p.outer_min_permille = r.integer("outer_min_permille", p.outer_min_permille);
    p.staleness_discount_permille = r.integer("staleness_discount_permille", p.staleness_discount_permille);
    r.require(p.block_tokens > 0, "block_tokens", "must be positive");
    r.require(p.grant_quantum > 0, "grant_quantum_blocks", "must be positive");
    r.require(p.local_steps >= 0, "local_steps", "must not be negative");
    r.require(p.max_undecided >= 1, "max_undecided", "must be at least 1");
    r.require(p.max_staleness >= 0, "max_staleness", "must not be negative");
    r.require(p.max_missed >= 1, "max_missed", "must be at least 1");
    r.require(p.keep_models >= 1, "keep_models", "must be at least 1");
    r.require(p.milestone_every >= 0, "milestone_every", "must not be negative");
    r.require(p.outer_min_permille >= 0, "outer_min_permille", "must not be negative");
    r.require(p.staleness_discount_permille >= 0, "staleness_discount_permille", "must not be negative");
    return p;
}

/// What no single section can see.
std::optional<Error> contradiction(Run const& run)
{
    auto const bad = [&](std::string key, std::string why, std::string remedy) {
        return Error{ExitCode::config, run.file.string() + ": " + key, std::move(why), std::move(remedy)};
    };
    if (run.training.batch_tokens % run.rounds.block_tokens != 0)
        return bad("training.batch_tokens", "a step consumes whole blocks",
                   "make it a multiple of rounds.block_tokens (" + std::to_string(run.rounds.block_tokens) + ")");
    if (run.rounds.block_tokens % run.model.sequence != 0)
        return bad("rounds.block_tokens", "a block consists of whole rows",
                   "make it a multiple of the model's sequence (" + std::to_string(run.model.sequence) + ")");
    std::set<SiteId> seen;
    for (auto const& site : run.sites)
        if (!seen.insert(site.site).second)
            return bad("sites", "site " + site.site.value + " is named twice", "give each site a name of its own");
    return std::nullopt;
}

}  // namespace

Site const* Run::find_site(SiteId const& site) const
{
    auto const it = std::find_if(sites.begin(), sites.end(), [&](Site const& s) { return s.site == site; });
    return it == sites.end() ? nullptr : &*it;
}

Result<Run> read_run(std::filesystem::path const& given)
{
    auto const file = std::filesystem::absolute(given).lexically_normal();
    auto const json = config::read_file(file);
    if (!json) return tl::unexpected(json.error());
    json::ObjectReader r(*json, given.string(), ExitCode::config);
    Run run;
    run.file = file;
    run.run = {r.text("run")};
    r.require(is_plain_name(run.run.value), "run", "must have 1 to 32 letters, digits, '_' or '-'");
    run.folder = resolve(file, r.text("folder"));
    auto const store = r.text("store");
    if (store.rfind("file:", 0) == 0) run.store = "file://" + resolve(file, store.substr(store.rfind("file://", 0) == 0 ? 7 : 5)).string();
    else r.require(false, "store", "must begin with file: (a shared folder)");
    run.seed = r.integer("seed", run.seed);
    auto const model = r.text("model");
    r.object("data", [&](json::ObjectReader& o) {
        run.data.folder = resolve(file, o.text("folder"));
        run.data.epochs = o.integer("epochs", run.data.epochs);
        o.require(run.data.epochs >= 1, "epochs", "must be at least 1");
    });
    r.object(
        "training", [&](json::ObjectReader& o) { run.training = read_training(o); }, false);
    r.object(
        "optimizer", [&](json::ObjectReader& o) { run.optimizer = read_optimizer(o); }, false);
    r.object(
        "outer", [&](json::ObjectReader& o) { run.outer = read_outer(o); }, false);
    r.object(
        "rounds", [&](json::ObjectReader& o) { run.rounds = read_rounds(o); }, false);
    auto const& sites = r.list("sites");
    r.require(!sites.empty(), "sites", "must name at least one site file");
    if (auto error = r.finish()) return tl::unexpected(*error);
    auto read = read_model(resolve(file, model));
    if (!read) return tl::unexpected(read.error());
    run.model = *read;
    for (auto const& name : sites) {
        if (name.as_text() == nullptr) return fail(ExitCode::config, given.string() + ": sites", "must be a list of file names");
        auto site = read_site(resolve(file, *name.as_text()));
        if (!site) return tl::unexpected(site.error());
        run.sites.push_back(std::move(*site));
    }
    if (auto error = contradiction(run)) return tl::unexpected(*error);
    return run;
}

}  // namespace curtail::config
