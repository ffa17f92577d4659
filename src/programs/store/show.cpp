// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/core/text.hpp"
#include "commands.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/records/names.hpp"

namespace curtail::programs::store_program {
namespace {

// The name of the object that the user means: a commit's number, `run`, or a name.
std::string name_of(std::string const& what)
{
    if (what == "run") return protocol::run_name;
    auto const number = leading_integer(what);
    if (number && std::to_string(*number) == what) return protocol::commit_name({*number});
    return what;
}

Result<std::string> newest_name(chain::RunObjects const& objects)
{
    auto const newest = chain::newest_commit(objects);
    if (!newest) return tl::unexpected(newest.error());
    if (!*newest)
        return fail(ExitCode::no_input, "cannot show run " + objects.run().value,
                    "the store has no commit of it", "check the name of the run and the store");
    return protocol::commit_name((*newest)->number);
}

tl::unexpected<Error> missing(std::string const& name)
{
    return fail(ExitCode::no_input, "cannot show " + printable(name), "there is no such object",
                "list the objects with `curtail-store ls --long`");
}

// Decodes what it can, so that a damaged record is reported and still shown.
std::optional<Error> problem_of(std::string const& bytes, std::string const& name)
{
    auto const error_of = [](auto const& decoded) {
        return decoded ? std::optional<Error>() : std::optional(decoded.error());
    };
    if (name == protocol::run_name) return error_of(protocol::decode_run(bytes));
    if (name.starts_with("commits/")) return error_of(protocol::decode_commit(bytes, name));
    if (name.starts_with("contrib/")) return error_of(protocol::decode_header(bytes, name));
    if (name.starts_with("amendments/")) return error_of(protocol::decode_amendment(bytes, name));
    if (name.starts_with("merge/")) return error_of(protocol::decode_lease(bytes, name));
    return std::nullopt;
}

Result<void> show_record(chain::RunObjects const& objects, std::string const& name,
                         Console const& console)
{
    auto const bytes = objects.record(name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (!*bytes) return missing(name);
    auto const parsed = json::parse(**bytes, name);
    if (console.json && parsed) console.print_json(*parsed);
    else if (parsed) console.print(json::to_pretty(*parsed) + "\n");
    else console.print(printable(**bytes) + "\n");
    if (auto const problem = problem_of(**bytes, name)) return tl::unexpected(*problem);
    return {};
}

Result<void> show_payload(chain::RunObjects const& objects, std::string const& name,
                          Console const& console)
{
    auto const facts = objects.payload_facts(name);
    if (!facts) return tl::unexpected(facts.error());
    if (!*facts) return missing(name);
    auto const digest = (*facts)->sha256.hex();
    if (console.json)
        console.print_json(
            json::Object{{"name", name}, {"bytes", (*facts)->bytes}, {"sha256", digest}});
    else
        console.print(fmt::format("name    {}\nbytes   {}\nsha256  {}\n", name_text(name),
                                  (*facts)->bytes, digest));
    return {};
}

Result<void> show(Arguments const& arguments, Console const& console)
{
    auto const named = open_run(arguments.text("STORE"), arguments);
    if (!named) return tl::unexpected(named.error());
    CachedRun const run(*named, arguments, console);
    auto const name = arguments.has("OBJECT")
                          ? Result<std::string>(name_of(arguments.text("OBJECT")))
                          : newest_name(run.objects);
    if (!name) return tl::unexpected(name.error());
    if (auto const valid = chain::object_name(named->run, *name); !valid)
        return fail(
            ExitCode::usage, "OBJECT \"" + printable(*name) + "\"",
            "not the name of an object of a run",
            "pass the number of a commit, `run`, or a name that `ls --long` prints, without "
            "runs/" +
                named->run.value + "/");
    return name->ends_with(".h5") ? show_payload(run.objects, *name, console)
                                  : show_record(run.objects, *name, console);
}

}  // namespace

Command show_command()
{
    return {
        "show",
        "Print one record, or the size and digest of one payload",
        with_access_options({cache_option()}),
        {store_positional(),
         {"OBJECT",
          "Number of a commit; `run` for run.json; or a name, such as contrib/A.5c01d9aa.7/3.json. "
          "Default: the newest commit",
          false}},
        show,
        true,
        "curtail-store show inputs/runs/demo.json 7"};
}

}  // namespace curtail::programs::store_program
