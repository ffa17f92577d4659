// SPDX-License-Identifier: Apache-2.0
#include "operate/fork.hpp"

#include <fmt/format.h>

#include "operate/copy_list.hpp"
#include "operate/destination.hpp"
#include "operate/store_time.hpp"
#include "operate/stored_commits.hpp"
#include "protocol/chain/newest.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/fork.hpp"

namespace curtail::operate {
namespace {

using Cause = store::ReadFailure::Cause;

std::string what_of(chain::RunObjects const& from) { return "cannot fork run " + from.run().value; }

std::string text_of(CommitNumber number) { return fmt::format("commit {}", number.value); }

// What a fork needs of its source.
struct Source {
    protocol::RunSpec run;
    chain::LinkedCommit origin;
    std::optional<Error> fault{};  // of the chain
};

tl::unexpected<Error> no_such_commit(chain::RunObjects const& from, CommitNumber newest,
                                     CommitNumber number)
{
    return fail(ExitCode::no_input, what_of(from),
                fmt::format("it has commits 1 to {}, and no commit {}", newest.value, number.value),
                "pass the number of one of them with --commit");
}

// The error of a fork from a chain that is not sound. It says which commits are left.
Result<Error> with_numbers(chain::RunObjects const& from, chain::StoredRun const& run, Error fault)
{
    auto const stored = read_stored_commits(from, run);
    if (!stored) return tl::unexpected(stored.error());
    CommitNumber newest;
    for (auto const& [number, object] : stored->objects)
        if (object.is_commit()) newest = number;
    auto const sound = stored->sound;
    fault = fault.with_context(what_of(from));
    fault.remedy = "repair the source with `curtail-store repair`";
    if (sound.value > 0)
        fault.remedy +=
            fmt::format(", or add --commit {}, the last one of the sound chain", sound.value);
    if (newest > sound)
        fault.remedy +=
            fmt::format(", or --commit {}, the newest one that is undamaged", newest.value);
    return fault;
}

// Reads the commit `number` alone: the chain of the source has a fault.
Result<chain::LinkedCommit> read_alone(chain::RunObjects const& from, CommitNumber number,
                                       Error const& fault)
{
    auto stored = chain::read_commit(from, number);
    if (stored && *stored && (*stored)->commit.run == from.run())
        return chain::LinkedCommit{std::move((*stored)->commit), sha256((*stored)->bytes)};
    if (!stored && !protocol::is_bad_record(stored.error().code))
        return tl::unexpected(stored.error());
    if (stored && !*stored)
        return fail(ExitCode::no_input, what_of(from),
                    fmt::format("it has no commit {}; {}", number.value, fault.why),
                    "pass the number of another commit with --commit");
    return fail(ExitCode::protocol, what_of(from),
                stored ? text_of(number) + " belongs to another run" : stored.error().message(),
                "pass the number of another commit with --commit");
}

Result<Source> read_source(chain::RunObjects const& from, ForkOptions const& options)
{
    auto checked = read_checked(from, "fork");
    if (checked) {
        auto const newest = checked->chain.back().commit.number;
        auto const number = options.number.value_or(newest);
        if (number.value < 1 || number > newest) return no_such_commit(from, newest, number);
        return Source{std::move(checked->run),
                      std::move(checked->chain[static_cast<std::size_t>(number.value) - 1])};
    }
    // `permission`: a symbolic link is in the place of a commit.
    auto const code = checked.error().code;
    if (!protocol::is_bad_record(code) && code != ExitCode::permission)
        return tl::unexpected(checked.error());
    auto run = chain::read_run(from.source());
    if (!run) return tl::unexpected(run.error());
    if (!options.number)
        return with_numbers(from, *run, checked.error())
            .and_then(
                [](Error error) -> Result<Source> { return tl::unexpected(std::move(error)); });
    auto origin = read_alone(from, *options.number, checked.error());
    if (!origin) return tl::unexpected(origin.error());
    return Source{std::move(run->run), std::move(*origin), checked.error()};
}

tl::unexpected<Error> unfit(chain::RunObjects const& from, std::string why, std::string remedy)
{
    return fail(ExitCode::config, what_of(from), std::move(why), std::move(remedy));
}

// What a fork must not change.
Result<void> check_fixed(chain::RunObjects const& from, protocol::RunSpec const& source,
                         protocol::RunSpec const& wanted, ForkOptions const& options)
{
    if (json::canonical(source.model) != json::canonical(wanted.model))
        return unfit(from, "the run file of the fork has a model of another shape",
                     "use the model file of the source");
    if (source.params.block_tokens != wanted.params.block_tokens)
        return unfit(
            from,
            fmt::format("rounds.block_tokens is {} in the source and {} in the run file "
                        "of the fork",
                        source.params.block_tokens.value, wanted.params.block_tokens.value),
            "use the value of the source");
    if (options.manifest && *options.manifest != source.manifest)
        return unfit(from,
                     "the run file of the fork names other data (the digest of manifest.json "
                     "differs)",
                     "use the data of the source");
    return {};
}

// The new stream must contain what the model includes, and something more.
Result<void> check_stream(chain::RunObjects const& from, protocol::RunSpec const& fork,
                          protocol::Commit const& origin)
{
    auto const blocks = fork.stream_blocks();
    if (blocks > fork.data_blocks())
        return unfit(from,
                     fmt::format("the fork's budget is {} tokens, but its epochs have {}",
                                 fork.budget.value_or(Tokens{}).value,
                                 (fork.data_blocks() * fork.params.block_tokens).value),
                     "raise data.epochs, or lower the budget");
    auto const stream = protocol::Ranges::between(0, blocks);
    auto const used = origin.done + origin.aside;
    if (stream.contains(used) && used != stream) return {};
    return unfit(from,
                 fmt::format("{} has used {} blocks, and the fork would have {}",
                             text_of(origin.number), used.count(), blocks),
                 "raise training.tokens or data.epochs in the run file of the fork");
}

Result<protocol::RunSpec> spec_of_fork(chain::RunObjects const& from,
                                       protocol::RunSpec const& source, protocol::RunSpec wanted,
                                       chain::LinkedCommit const& origin,
                                       ForkOptions const& options)
{
    if (auto good = check_fixed(from, source, wanted, options); !good)
        return tl::unexpected(good.error());
    wanted.manifest = source.manifest;
    wanted.blocks_per_epoch = source.blocks_per_epoch;
    wanted.tensors = source.tensors;
    wanted.fork = {source.run, origin.commit.number, origin.sha256};
    if (auto good = check_stream(from, wanted, origin.commit); !good)
        return tl::unexpected(good.error());
    return wanted;
}

tl::unexpected<Error> source_error(chain::RunObjects const& from, protocol::Commit const& origin,
                                   protocol::PartRef const& part, store::ReadFailure const& failure)
{
    if (failure.cause == Cause::unavailable)
        return tl::unexpected(failure.error.with_context(what_of(from)));
    if (failure.cause == Cause::corrupt)
        return fail(ExitCode::protocol, what_of(from), failure.error.message(),
                    "choose another commit with --commit, or verify the source with "
                    "`curtail-store verify`");
    bool const momentum = part.part.starts_with('m');
    return fail(ExitCode::no_input, what_of(from),
                fmt::format("the store no longer has the {} of {} ({})",
                            momentum ? "momentum" : "model", text_of(origin.number), part.name),
                momentum ? "add --reset-momentum, or choose a newer commit with --commit"
                         : "choose a newer commit, or a milestone, with --commit");
}

// Writes the objects of a fork.
class Forker {
  public:
    Forker(chain::RunObjects const& from, store::ObjectStore& to, protocol::RunSpec const& spec,
           protocol::Commit const& origin)
        : from_(from),
          to_(to, spec.run, "fork"),
          spec_(spec),
          origin_(origin),
          run_(protocol::encode(spec))
    {
    }

    // False: the store has the whole fork. Otherwise sets commit 1, that of an interrupted fork if
    // there is one.
    Result<bool> begin()
    {
        auto const run = to_.objects().record(protocol::run_name);
        if (!run) return tl::unexpected(run.error());
        if (*run && **run != run_.bytes) return another_run(protocol::run_name);
        auto const there = to_.objects().commit({1});
        if (!there) return tl::unexpected(there.error());
        if (*there) {
            first_ = expected((*there)->by, (*there)->time);
            if (first_ != **there) return another_run(protocol::commit_name({1}));
        } else if (*run) {
            return fail(ExitCode::protocol, what_of(from_),
                        "the store has run.json of run " + spec_.run.value + ", but no commit 1",
                        "restore the object, or choose another name or store");
        }
        return !*run;
    }

    Result<void> payloads(std::function<void(CopyProgress const&)> const& progress)
    {
        // Momentum is deleted first, so a missing one shows before anything is written.
        std::vector<protocol::PartRef> parts;
        if (origin_.outer) parts.push_back(origin_.outer->momentum);
        parts.push_back(origin_.model.weights);
        CopyProgress now{"payloads", "bytes", 0, 0};
        for (auto const& part : parts) now.total += part.bytes;
        for (auto const& part : parts) {
            if (progress) progress(now);
            if (auto copied = payload(part); !copied) return copied;
            now.done += part.bytes;
        }
        return {};
    }

    Result<void> records()
    {
        if (first_.number.value == 0) {
            auto const time = read_store_time(to_.objects().store(), spec_.run);
            if (!time) return tl::unexpected(time.error());
            first_ = expected({protocol::member_id({{probe_site}, 0}, {0}), 1}, time->time);
        }
        return to_.record(protocol::commit_name({1}), protocol::encode(first_).bytes).and_then([&] {
            return to_.record(protocol::run_name, run_.bytes);
        });
    }

    [[nodiscard]] ForkSummary summary() const
    {
        auto const counts = to_.counts();
        return {*spec_.fork, first_, false, counts.written, counts.bytes, counts.found};
    }

  private:
    [[nodiscard]] protocol::Commit expected(protocol::CommitWriter const& by, Time time) const
    {
        return protocol::first_of_fork(spec_, run_.sha256, origin_, by, time);
    }

    [[nodiscard]] tl::unexpected<Error> another_run(std::string const& name) const
    {
        return fail(ExitCode::protocol, what_of(from_),
                    fmt::format("the store has another run {}: its {} is not that of this fork",
                                spec_.run.value, name),
                    "choose another `run` or `store` in the run file; to resume an interrupted "
                    "fork, use the same run file and commit");
    }

    Result<void> payload(protocol::PartRef const& part)
    {
        auto const there = to_.has(part);
        if (!there) return tl::unexpected(there.error());
        if (*there) return {};
        auto const content = from_.payload(part);
        if (!content) return source_error(from_, origin_, part, content.error());
        return to_.put(part, *content);
    }

    chain::RunObjects const& from_;
    Destination to_;
    protocol::RunSpec const& spec_;
    protocol::Commit const& origin_;
    protocol::EncodedRecord run_;
    protocol::Commit first_;  // number 0: not yet known
};

}  // namespace

Result<ForkSummary> fork_run(chain::RunObjects const& from, store::ObjectStore& to,
                             protocol::RunSpec wanted, ForkOptions const& options,
                             std::function<void(CopyProgress const&)> const& progress)
{
    auto source = read_source(from, options);
    if (!source) return tl::unexpected(source.error());
    auto& origin = source->origin;
    if (options.reset_momentum) origin.commit.outer.reset();
    auto const spec = spec_of_fork(from, source->run, std::move(wanted), origin, options);
    if (!spec) return tl::unexpected(spec.error());
    Forker forker(from, to, *spec, origin.commit);
    auto const missing = forker.begin();
    if (!missing) return tl::unexpected(missing.error());
    if (*missing) {
        if (auto copied = forker.payloads(progress); !copied) return tl::unexpected(copied.error());
        if (auto written = forker.records(); !written) return tl::unexpected(written.error());
    }
    auto summary = forker.summary();
    summary.existed = !*missing;
    summary.fault = source->fault;
    return summary;
}

}  // namespace curtail::operate
