// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "commands.hpp"
#include "operate/list.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs::store_program {
namespace {

// The store's address and, perhaps, the run.
Result<NamedStore> parse(std::string const& text, Arguments const& arguments)
{
    if (text.find("://") != text.npos) {
        auto const run = arguments.text("run");
        if (!run.empty() && !is_plain_name(run))
            return fail(ExitCode::usage, "--run " + printable(run), "not the name of a run",
                        "a name has 1 to 32 letters, digits, '_' and '-'");
        store::S3Access const access{.endpoint = arguments.text("endpoint"),
                                     .credentials = {.file = arguments.text("credentials"),
                                                     .profile = arguments.text("profile")},
                                     .connection = {.ca_file = arguments.text("ca-file")}};
        return NamedStore{{.url = text,
                           .access = access,
                           .region = arguments.text("region"),
                           .allow_http = arguments.flag("allow-http")},
                          {run},
                          nullptr,
                          {},
                          {}};
    }
    for (auto const& option : access_options())
        if (arguments.has(option.name))
            return fail(ExitCode::usage, "--" + option.name,
                        "goes with the address of a store, not with a run file",
                        "state it in the run file");
    auto const run = config::read_run(text);
    if (!run && run.error().code == ExitCode::no_input)
        return tl::unexpected(Error{run.error().code, run.error().what, run.error().why,
                                    "name a run file, file:///FOLDER or s3://BUCKET/PREFIX"});
    if (!run) return tl::unexpected(run.error());
    auto const access = config::check_access(*run);
    return NamedStore{run->store, run->run, nullptr, run->folder,
                      access ? std::nullopt : std::optional(access.error())};
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
    return {
        text_option("run", "NAME",
                    "Name of the run, if STORE is an address. Default: the only run in the store"),
        text_option("endpoint", "URL", "S3 server, if STORE is an address. Default: Amazon S3"),
        text_option("region", "NAME", "Region of the bucket"),
        text_option("credentials", "FILE", "Private file with the S3 key, as ~/.aws/credentials"),
        text_option("profile", "NAME", "Profile in that file"),
        text_option("ca-file", "FILE", "PEM file of the certificate authorities to trust"),
        flag_option("allow-http", "Accept an endpoint with plain http on another machine")};
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

CachedRun::CachedRun(NamedStore const& named, Arguments const& arguments, Console const& console)
    : cache({cache_folder(arguments), console.log,
             [this](std::int64_t done, std::int64_t total) {
                 stages.update("reading", "commits", done, total);
             }},
            named.address, named.run),
      objects(*named.store, named.run, &cache)
{
}

std::optional<Digest> manifest_of(config::Run const& run)
{
    auto const bytes = read_file(run.data.folder / "manifest.json", 64 << 20);
    return bytes ? std::optional(sha256(*bytes)) : std::nullopt;
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
