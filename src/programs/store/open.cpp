// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/core/text.hpp"
#include "commands.hpp"
#include "operate/contents.hpp"
#include "run/config/run.hpp"

namespace curtail::programs::store_program {
namespace {

bool is_address(std::string const& text) { return text.find("://") != text.npos; }

// Fails with `usage` if there is a run file and also an option for addresses.
Result<void> check_run_file(Arguments const& arguments)
{
    for (auto const& option : access_options())
        if (arguments.has(option.name))
            return fail(ExitCode::usage, "--" + option.name,
                        "goes with the address of a store, not with a run file",
                        "state it in the run file");
    return {};
}

store::Address address_of(std::string const& url, Arguments const& arguments)
{
    store::Address address{.url = url};
    address.access.endpoint = arguments.text("endpoint");
    address.access.credentials.file = arguments.text("credentials");
    address.access.credentials.profile = arguments.text("profile");
    address.access.connection.ca_file = arguments.text("ca-file");
    address.region = arguments.text("region");
    address.allow_http = arguments.flag("allow-http");
    return address;
}

// The store's address and, perhaps, the run.
Result<NamedStore> parse(std::string const& text, Arguments const& arguments)
{
    if (is_address(text)) {
        auto const run = arguments.text("run");
        if (!run.empty() && !is_plain_name(run))
            return fail(ExitCode::usage, "--run " + printable(run), "not the name of a run",
                        "a name has 1 to 32 letters, digits, '_' and '-'");
        return NamedStore{address_of(text, arguments), {run}, nullptr};
    }
    if (auto good = check_run_file(arguments); !good) return tl::unexpected(good.error());
    auto const run = config::read_run(text);
    if (!run && run.error().code == ExitCode::no_input)
        return tl::unexpected(Error{run.error().code, run.error().what, run.error().why,
                                    "name a run file, file:///FOLDER or s3://BUCKET/PREFIX"});
    if (!run) return tl::unexpected(run.error());
    return NamedStore{run->store, run->run, nullptr};
}

std::string list_text(std::vector<RunId> const& runs)
{
    std::string text;
    for (auto const& run : runs) text += (text.empty() ? "" : ", ") + run.value;
    return text;
}

}  // namespace

Positional store_positional()
{
    return {"STORE",
            "Run file, such as inputs/runs/demo.json; or an address: file:///FOLDER or "
            "s3://BUCKET/PREFIX"};
}

std::vector<Option> access_options()
{
    return {{"run", OptionType::text, "NAME", "",
             "Name of the run, if STORE is an address. Default: the only run in the store"},
            {"endpoint", OptionType::text, "URL", "",
             "S3 server, if STORE is an address. Default: Amazon S3"},
            {"region", OptionType::text, "NAME", "", "Region of the bucket"},
            {"credentials", OptionType::text, "FILE", "",
             "Private file with the S3 key, as ~/.aws/credentials"},
            {"profile", OptionType::text, "NAME", "", "Profile in that file"},
            {"ca-file", OptionType::text, "FILE", "",
             "PEM file of the certificate authorities to trust"},
            {"allow-http", OptionType::flag, "", "",
             "Accept an endpoint with plain http on another machine"}};
}

std::vector<Option> with_access_options(std::vector<Option> more)
{
    for (auto& option : access_options()) more.push_back(std::move(option));
    return more;
}

Result<NamedStore> open_named(std::string const& text, Arguments const& arguments)
{
    auto named = parse(text, arguments);
    if (!named) return named;
    auto opened = store::open_store(named->address);
    if (!opened) return tl::unexpected(opened.error());
    named->store = std::move(*opened);
    return named;
}

Result<NamedStore> open_run(std::string const& text, Arguments const& arguments)
{
    auto named = open_named(text, arguments);
    if (!named || !named->run.value.empty()) return named;
    auto runs = operate::list_runs(*named->store);
    if (!runs) return tl::unexpected(runs.error());
    if (runs->empty())
        return fail(ExitCode::no_input, "cannot find a run in " + text, "the store is empty",
                    "check the address");
    if (runs->size() > 1)
        return fail(ExitCode::usage, "cannot choose a run in " + text,
                    fmt::format("it has {}: {}", runs->size(), list_text(*runs)),
                    "name one with --run");
    named->run = std::move(runs->front());
    return named;
}

bool same_place(store::Address const& a, store::Address const& b)
{
    return a.url == b.url && a.access.endpoint == b.access.endpoint;
}

chain::CacheSettings cache_settings(Arguments const& arguments, Console const& console,
                                    Stages& stages)
{
    return {cache_folder(arguments), console.log, [&stages](std::int64_t done, std::int64_t total) {
                stages.update("reading", "commits", done, total);
            }};
}

std::string size_text(Bytes size)
{
    auto value = static_cast<double>(size);
    for (char const* unit : {"B", "kB", "MB", "GB"}) {
        if (value < 1000)
            return *unit == 'B' ? fmt::format("{:.0f} B", value)
                                : fmt::format("{:.1f} {}", value, unit);
        value /= 1000;
    }
    return fmt::format("{:.1f} TB", value);
}

std::string name_text(std::string_view name) { return printable(name); }

}  // namespace curtail::programs::store_program
