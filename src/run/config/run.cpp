// SPDX-License-Identifier: Apache-2.0
#include "run/config/run.hpp"

#include <fmt/format.h>
#include <grp.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/core/text.hpp"
#include "base/core/trust.hpp"
#include "base/core/users.hpp"
#include "run/config/read.hpp"
#include "run/config/store.hpp"

namespace curtail::config {
namespace {

using protocol::max_count;
using protocol::max_integer;

constexpr double max_pace_s = 3600;
constexpr double min_rank_timeout_s = 3;
constexpr double max_rank_timeout_s = 86'400;

void read_budget(json::ObjectReader& r, TrainingSettings& t)
{
    if (r.any("tokens") != nullptr) t.budget = Tokens{read_integer(r, "tokens", std::nullopt, 1)};
    if (r.any("tokens_per_parameter") != nullptr)
        t.tokens_per_parameter = r.number("tokens_per_parameter");
    r.require(!t.budget || !t.tokens_per_parameter, "tokens_per_parameter",
              "must be absent if training.tokens is given");
    r.require(t.tokens_per_parameter.value_or(1) > 0, "tokens_per_parameter",
              "must be more than 0");
}

TrainingSettings read_training(json::ObjectReader& r)
{
    TrainingSettings t;
    t.batch_tokens = {
        read_integer(r, "batch_tokens", t.batch_tokens.value, 1, protocol::max_batch_tokens)};
    t.device_batch_rows = read_integer(r, "device_batch_rows", t.device_batch_rows, 1, max_count);
    if (r.any("precision") != nullptr)
        t.precision = static_cast<Precision>(r.one_of("precision", {"fp32", "bf16"}));
    t.checkpoint_activations = r.boolean("checkpoint_activations", t.checkpoint_activations);
    t.snapshot_every_steps = read_integer(r, "snapshot_every_steps", t.snapshot_every_steps, 0);
    t.rank_timeout = std::chrono::round<Millis>(FractionalSeconds{
        read_number(r, "rank_timeout_s", FractionalSeconds(t.rank_timeout).count(),
                    min_rank_timeout_s, max_rank_timeout_s)});
    t.step_at_least = FractionalSeconds{
        read_number(r, "step_at_least_s", t.step_at_least.count(), 0, max_pace_s)};
    t.steps_without_store = read_integer(r, "steps", t.steps_without_store, 0);
    read_budget(r, t);
    return t;
}

// Negative zero becomes 0, as records have it.
double read_real(json::ObjectReader& r, std::string const& key, double fallback,
                 protocol::Range const& range)
{
    double const value = r.number(key, fallback) + 0.0;
    r.require(range.contains(value), key, range.rule);
    return value;
}

OptimizerSettings read_optimizer(json::ObjectReader& r)
{
    OptimizerSettings o;
    if (auto const schedule = r.optional_integer("schedule_tokens")) {
        o.schedule = Tokens{*schedule};
        r.require(*schedule >= 1 && *schedule <= max_integer, "schedule_tokens",
                  fmt::format("must be 1 to {}", max_integer));
    }
    o.lr_scale = r.optional_number("lr_scale");
    r.require(!o.lr_scale || protocol::lr_scale_range.contains(*o.lr_scale), "lr_scale",
              protocol::lr_scale_range.rule);
    o.weight_decay = read_real(r, "weight_decay", o.weight_decay, protocol::weight_decay_range);
    o.warmdown = read_real(r, "warmdown", o.warmdown, protocol::share_range);
    o.final_lr = read_real(r, "final_lr", o.final_lr, protocol::share_range);
    o.muon_bfloat16 = r.one_of("muon_precision", {"float32", "bfloat16"}, 0) == 1;
    return o;
}

protocol::Outer read_outer(json::ObjectReader& r)
{
    protocol::Outer outer;
    outer.type = static_cast<protocol::Outer::Type>(r.one_of("kind", {"average", "nesterov"}, 0));
    outer.eta = read_real(r, "eta", outer.eta, protocol::eta_range);
    outer.mu = read_real(r, "mu", outer.mu, protocol::mu_range);
    return outer;
}

void check_drop_after(json::ObjectReader& r, protocol::Params const& p)
{
    if (p.drop_after >= protocol::shortest_drop_after(p)) return;
    auto const seconds = [](Millis time) { return FractionalSeconds(time).count(); };
    r.reject(
        {ExitCode::config, r.place("drop_after_s"),
         fmt::format("{:g} s is too short: round_time_s is {:g} s, and checkpoint_interval_s "
                     "is {:g} s",
                     seconds(p.drop_after), seconds(p.round_time), seconds(p.checkpoint_interval)),
         "make it at least twice the longer of the two"});
}

void read_param(json::ObjectReader& r, protocol::ParamKey const& key, Millis& time)
{
    time = read_seconds(r, key.file, time);
}

void read_param(json::ObjectReader& r, protocol::ParamKey const& key, std::int64_t& count)
{
    if (key.zero_is_absent && r.any(key.file) == nullptr) return;
    count = read_integer(r, key.file, count, key.least_in_file(), key.most);
}

void read_rounds(json::ObjectReader& r, Run& run)
{
    auto& p = run.rounds;
    p.block_tokens = {
        read_integer(r, "block_tokens", p.block_tokens.value, 1, protocol::max_block_tokens)};
    protocol::each_param(
        p, [&](protocol::ParamKey const& key, auto& field) { read_param(r, key, field); });
    run.states_drop_after = r.any("drop_after_s") != nullptr;
    if (!run.states_drop_after) p.drop_after = protocol::default_drop_after(p);
    check_drop_after(r, p);
}

// The run's folder. It may be missing, but neither it nor its nearest existing parent may be a
// file.
std::filesystem::path read_folder(json::ObjectReader& r, std::filesystem::path const& file)
{
    auto folder = read_path(r, file, "folder");
    std::error_code error;
    auto existing = folder;
    while (!std::filesystem::exists(existing, error) && existing.has_relative_path())
        existing = existing.parent_path();
    if (!error && !std::filesystem::is_directory(existing, error))
        r.reject({ExitCode::config, r.place("folder"), existing.string() + " is not a folder",
                  "name another folder"});
    return folder;
}

// The group of whom a run is; the user must be one of its members.
std::optional<gid_t> read_group(json::ObjectReader& r)
{
    std::string const key = "shared_with_group";
    auto const name = r.optional_text(key);
    if (!name) return std::nullopt;
    auto const* const group = getgrnam(name->c_str());
    r.require(group != nullptr, key, "must be the name of a group of this machine");
    if (group == nullptr) return std::nullopt;
    gid_t const id = group->gr_gid;
    r.require(is_member_of(id), key, "must be a group of which you are a member");
    return id;
}

std::vector<std::filesystem::path> read_hold_folders(json::ObjectReader& r,
                                                     std::filesystem::path const& file)
{
    std::vector<std::filesystem::path> folders;
    for (auto const& value : r.list("hold_folders", false)) {
        auto const* name = value.as_text();
        bool const good = name != nullptr && !name->empty();
        r.require(good, "hold_folders", "must be a list of folders");
        if (good) folders.push_back(resolve(file, *name));
    }
    return folders;
}

// The files that a run file names.
struct NamedFiles {
    std::filesystem::path model;
    std::vector<std::filesystem::path> sites;
};

NamedFiles read_names(json::ObjectReader& r, std::filesystem::path const& file)
{
    NamedFiles named{read_path(r, file, "model"), {}};
    auto const& sites = r.list("sites");
    r.require(!sites.empty() && sites.size() <= protocol::sites_limit, "sites",
              fmt::format("must name 1 to {} site files", protocol::sites_limit));
    for (auto const& site : sites) {
        auto const* name = site.as_text();
        bool const good = name != nullptr && !name->empty();
        r.require(good, "sites", "must be a list of file names");
        if (good) named.sites.push_back(resolve(file, *name));
    }
    return named;
}

void read_sections(json::ObjectReader& r, Run& run)
{
    using Reader = json::ObjectReader;
    r.object("data", [&](Reader& o) {
        run.data.folder = read_path(o, run.file, "folder");
        run.data.epochs = read_integer(o, "epochs", run.data.epochs, 1, protocol::max_epochs);
    });
    r.object(
        "training", [&](Reader& o) { run.training = read_training(o); }, false);
    r.object(
        "optimizer", [&](Reader& o) { run.optimizer = read_optimizer(o); }, false);
    r.object(
        "outer", [&](Reader& o) { run.outer = read_outer(o); }, false);
    r.object(
        "rounds", [&](Reader& o) { read_rounds(o, run); }, false);
    auto const read_held_out = [&bounds = run.held_out](Reader& o) {
        bounds.rise_nats = read_number(o, "warn_rise_nats", bounds.rise_nats, 0, 1e6);
        bounds.behind_models =
            read_integer(o, "warn_behind_models", bounds.behind_models, 0, max_count);
    };
    r.object("held_out", read_held_out, false);
}

Result<void> read_named(NamedFiles const& named, Run& run)
{
    auto const model = read_model(named.model, run.files);
    if (!model) return tl::unexpected(model.error());
    run.model = *model;
    for (auto const& file : named.sites) {
        auto site = read_site(file, run.files);
        if (!site) return tl::unexpected(site.error());
        run.sites.push_back(std::move(*site));
    }
    return {};
}

// Computes a token budget that depends on the model's size.
Result<void> derive_budget(Run& run)
{
    auto& training = run.training;
    if (!training.tokens_per_parameter) return {};
    double const tokens =
        std::ceil(*training.tokens_per_parameter * static_cast<double>(run.model.parameters()));
    if (tokens > static_cast<double>(max_integer))
        return fail(ExitCode::config, run.file.string() + ": training.tokens_per_parameter",
                    "must give less than 2^53 tokens", "choose a smaller number");
    training.budget = Tokens{static_cast<std::int64_t>(tokens)};
    return {};
}

std::optional<SiteId> repeated_site(std::vector<Site> const& sites)
{
    std::set<SiteId> seen;
    for (auto const& site : sites)
        if (!seen.insert(site.site).second) return site.site;
    return std::nullopt;
}

// The error of a reference site that the run does not have.
std::optional<Error> unknown_reference(Run const& run)
{
    auto const& named = run.reference_site;
    if (named.value.empty() || run.find_site(named) != nullptr) return std::nullopt;
    return Error{ExitCode::config, run.file.string() + ": reference_site",
                 "the run has no site \"" + printable(named.value) + "\"",
                 suggest_name(named.value, run.site_names())};
}

// Contradictions between sections or files.
std::optional<Error> contradiction(Run const& run)
{
    auto const bad = [&](std::string const& key, std::string why, std::string remedy) {
        return Error{ExitCode::config, run.file.string() + ": " + key, std::move(why),
                     std::move(remedy)};
    };
    if (run.training.batch_tokens % run.rounds.block_tokens != Tokens{})
        return bad("training.batch_tokens", "a step consumes whole blocks",
                   "make it a multiple of rounds.block_tokens (" +
                       std::to_string(run.rounds.block_tokens.value) + ")");
    if (run.rounds.block_tokens % Tokens{run.model.sequence} != Tokens{})
        return bad("rounds.block_tokens", "a block consists of whole rows",
                   "make it a multiple of the model's sequence (" +
                       std::to_string(run.model.sequence) + ")");
    if (auto const site = repeated_site(run.sites))
        return bad("sites", "two site files have the name " + site->value,
                   "give each site its own name");
    return unknown_reference(run);
}

}  // namespace

Site const* Run::find_site(SiteId const& site) const
{
    auto const it = std::ranges::find(sites, site, &Site::site);
    return it == sites.end() ? nullptr : &*it;
}

std::vector<std::string> Run::site_names() const
{
    std::vector<std::string> names;
    for (auto const& site : sites) names.push_back(site.site.value);
    return names;
}

std::filesystem::path Run::job_logs(SiteId const& site) const
{
    if (shared_group)
        return state_folder() / "curtail/job-logs" / folder.relative_path() / site.value;
    return site_folder(site) / "job-logs";
}

Site const& Run::reference() const
{
    auto const* named = find_site(reference_site);
    return named != nullptr ? *named : sites.front();
}

Result<Run> read_run(std::filesystem::path const& file)
{
    Run run;
    run.file = std::filesystem::absolute(file).lexically_normal();
    auto const json = read_settings(run.file, run.files);
    if (!json) return tl::unexpected(json.error());
    json::ObjectReader r(*json, file.string(), ExitCode::config);
    run.run = {r.text("run")};
    r.require(is_plain_name(run.run.value), "run", plain_name_rule);
    run.folder = read_folder(r, run.file);
    run.store = read_store(r, run.file);
    run.shared_group = read_group(r);
    run.hold_folders = read_hold_folders(r, run.file);
    run.seed = read_integer(r, "seed", run.seed, 0);
    run.reference_site = {r.text("reference_site", "")};
    read_sections(r, run);
    auto const named = read_names(r, run.file);
    if (auto error = r.finish()) return tl::unexpected(*error);
    if (auto read = read_named(named, run); !read) return tl::unexpected(read.error());
    if (auto derived = derive_budget(run); !derived) return tl::unexpected(derived.error());
    if (auto error = contradiction(run)) return tl::unexpected(*error);
    return run;
}

std::optional<std::string> zero_rate_warning(Run const& run, std::optional<Tokens> end)
{
    auto const& o = run.optimizer;
    bool const falls_to_zero = o.final_lr == 0 && o.warmdown > 0;
    if (!o.schedule || !end || *o.schedule >= *end || !falls_to_zero) return std::nullopt;
    return fmt::format(
        "optimizer.schedule_tokens is {}, but the run ends after {} tokens: the last {} tokens "
        "train at a learning rate of 0 and change nothing; leave schedule_tokens out, or set "
        "optimizer.final_lr",
        o.schedule->value, end->value, (*end - *o.schedule).value);
}

}  // namespace curtail::config
