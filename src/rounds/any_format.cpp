// SPDX-License-Identifier: Apache-2.0
#include "rounds/any_format.hpp"

#include "rounds/record_format1.hpp"
#include "rounds/terms.hpp"

namespace curtail::rounds {
namespace {

template <class Record>
bool has_other_format(Result<Record> const& record)
{
    return !record && record.error().code == ExitCode::data;
}

}  // namespace

Result<RunSpec> decode_any_run(std::string_view bytes)
{
    auto run = decode_run(bytes);
    return has_other_format(run) ? format1::decode_run(bytes) : run;
}

Result<Commit> decode_any_commit(std::string_view bytes, std::string const& name)
{
    auto commit = decode_commit(bytes, name);
    return has_other_format(commit) ? format1::decode_commit(bytes, name) : commit;
}

Result<Header> decode_any_header(std::string_view bytes, std::string const& name)
{
    auto header = decode_header(bytes, name);
    return has_other_format(header) ? format1::decode_header(bytes, name) : header;
}

void state_terms(RunSpec const& run, Commit& commit)
{
    if (commit.format == first_format) commit.terms = terms_of(run);
}

std::optional<Error> cannot_write(RunSpec const& run, std::string what)
{
    if (run.format == record_format) return std::nullopt;
    return Error{ExitCode::data, std::move(what),
                 "its records have format " + std::to_string(run.format) +
                     ", which this version of Curtail only reads",
                 "continue its model in a new run with `curtail-store fork`"};
}

}  // namespace curtail::rounds
