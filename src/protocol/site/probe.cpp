// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "protocol/site/steps.hpp"

// PROBE: the store, and the run's record.
namespace curtail::protocol::site {

void act_probe_create(Parts& p)
{
    p.machine.create(probe_name(p.config.process, ++p.attempt), "{}", true);
}

void act_probe_again(Parts& p) { p.machine.create(probe_name(p.config.process, p.attempt), "{}"); }

void answered_probe(Parts& p, Input const& input)
{
    auto const* created = std::get_if<Created>(&input);
    if (p.machine.phase() == Phase::probe_create) {
        if (created == nullptr) return p.machine.retry(Phase::probe_create);
        if (!created->stored_at)
            throw std::logic_error("answer to a create lacks the requested time");
        return p.machine.go(Phase::probe_again);
    }
    if (created != nullptr)
        return finish(
            p,
            Error{ExitCode::protocol, "cannot use this store",
                  "it created the existing object " + probe_name(p.config.process, p.attempt) +
                      " a second time",
                  "use a store that creates only if absent (no versioned bucket, no old server)"});
    if (std::holds_alternative<Exists>(input)) p.machine.go(Phase::run_get);
    else p.machine.retry(Phase::probe_again);
}

void act_run_get(Parts& p) { p.machine.get(run_name); }

// An absent run.json means a new run, unless there is a commit. Then a copy into this store was
// interrupted, or run.json is lost.
void act_list(Parts& p) { p.machine.send(List{p.machine.ask(Question::list), {}}); }

void answered_run_list(Parts& p, Input const& input)
{
    auto const* listed = std::get_if<Listed>(&input);
    if (listed == nullptr) return p.machine.retry(Phase::run_list);
    if (listed->numbers.empty()) return p.machine.retry(Phase::run_create);
    // Another site may just have started the run, and "missing" may have been an old answer.
    CommitNumber const first{listed->numbers.list().front().begin};
    if (awaits(p, std::string(run_name), commit_name(first) + " exists"))
        return p.machine.retry(Phase::run_get);
    finish(p,
           Error{ExitCode::protocol, "cannot start run " + p.config.run.run.value,
                 std::string(run_name) + " is missing, but " + commit_name(first) + " exists",
                 "if a copy or fork into this store was interrupted, repeat `curtail-store copy` "
                 "or `curtail-store fork`; otherwise store run.json again with `curtail-store "
                 "repair` at a site that has trained"});
}

void act_run_create(Parts& p)
{
    auto encoded = encode_if_valid(p.config.run);
    if (encoded) return p.machine.create(run_name, std::move(encoded->bytes));
    auto& error = encoded.error();
    error.code = ExitCode::config;
    finish(p, error.with_context("cannot create the run of this configuration"));
}

void answered_run(Parts& p, Input const& input)
{
    if (p.machine.phase() == Phase::run_create) return p.machine.switch_to(Phase::run_get);
    if (std::holds_alternative<Missing>(input)) return p.machine.switch_to(Phase::run_list);
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return p.machine.retry(Phase::run_get);
    auto run = decode_run(got->bytes);
    if (!run) return handle_invalid_record(p, run.error());
    if (auto error = difference(*run, p.config.run)) return finish(p, *error);
    run->limits = p.config.run.limits;
    p.chain.set_run(std::move(*run), sha256(got->bytes));
    p.failures.bad_reads = 0;
    p.failures.misses = 0;
    p.machine.go(Phase::find_commit);
}

}  // namespace curtail::protocol::site
