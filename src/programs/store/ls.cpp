// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "operate/list.hpp"
#include "protocol/chain/chain.hpp"

namespace curtail::programs::store_program {
namespace {

// One line about a run.
struct RunLine {
    RunId run;
    std::optional<protocol::Commit> newest{};
    std::string trouble{};  // why `newest` is unknown
};

Result<std::vector<RunLine>> read_lines(NamedStore const& named)
{
    auto const runs = operate::list_runs(*named.store);
    if (!runs) return tl::unexpected(runs.error());
    std::vector<RunLine> lines;
    for (auto const& run : *runs) {
        auto newest = chain::newest_commit({*named.store, run});
        if (newest) lines.push_back({.run = run, .newest = std::move(*newest)});
        else if (protocol::is_bad_record(newest.error().code))
            lines.push_back({.run = run, .trouble = newest.error().message()});
        else return tl::unexpected(newest.error());
    }
    return lines;
}

void print(std::vector<RunLine> const& lines, Console const& console)
{
    if (console.json) {
        json::Array runs;
        for (auto const& [run, newest, trouble] : lines) {
            json::Object line{{"run", run.value}};
            if (newest)
                line.set("commits", newest->number.value)
                    .set("round", newest->round.value)
                    .set("complete", newest->complete)
                    .set("time", format_time(newest->time));
            if (!trouble.empty()) line.set("error", trouble);
            runs.push_back(std::move(line));
        }
        return console.print_json(json::Object{{"runs", std::move(runs)}});
    }
    console.print(fmt::format("{:<32} {:>8} {:>8}  newest commit\n", "run", "commits", "round"));
    for (auto const& [run, newest, trouble] : lines) {
        if (newest)
            console.print(fmt::format("{:<32} {:>8} {:>8}  {}{}\n", run.value, newest->number.value,
                                      newest->round.value, format_time(newest->time),
                                      newest->complete ? ", complete" : ""));
        else
            console.print(fmt::format("{:<32} {:>8} {:>8}  {}\n", run.value, "-", "-",
                                      trouble.empty() ? "none" : name_text(trouble)));
    }
}

void print(std::map<std::string, operate::KindCount> const& kinds, Console const& console)
{
    operate::KindCount all;
    console.print(fmt::format("{:<10} {:>8} {:>10}  {:<24}  {}\n", "kind", "objects", "size",
                              "oldest", "newest"));
    for (auto const& [kind, count] : kinds) {
        console.print(fmt::format("{:<10} {:>8} {:>10}  {:<24}  {}\n", kind, count.objects,
                                  size_text(count.size), format_time(count.oldest),
                                  format_time(count.newest)));
        all.objects += count.objects;
        all.size += count.size;
    }
    console.print(fmt::format("{:<10} {:>8} {:>10}\n", "all", all.objects, size_text(all.size)));
}

json::Object kinds_json(std::map<std::string, operate::KindCount> const& kinds)
{
    json::Object document;
    for (auto const& [kind, count] : kinds)
        document.set(kind, json::Object{{"objects", count.objects},
                                        {"bytes", count.size.value},
                                        {"oldest", format_time(count.oldest)},
                                        {"newest", format_time(count.newest)}});
    return document;
}

Result<void> list_objects(NamedStore const& named, bool each, Console const& console)
{
    json::Array objects;
    auto const kinds =
        operate::count_objects(*named.store, named.run, [&](store::ListedObject const& object) {
            if (!each) return;
            if (console.json)
                objects.push_back(json::Object{{"name", name_text(object.name)},
                                               {"bytes", object.info.size.value},
                                               {"modified", format_time(object.info.modified)}});
            else
                console.print(fmt::format("{:>12} {:<24} {}\n", object.info.size.value,
                                          format_time(object.info.modified),
                                          name_text(object.name)));
        });
    if (!kinds) return tl::unexpected(kinds.error());
    if (console.json) {
        json::Object document{{"run", named.run.value}, {"store", named.address.url}};
        document.set("kinds", kinds_json(*kinds));
        if (each) document.set("objects", std::move(objects));
        console.print_json(document);
    } else if (!each) {
        print(*kinds, console);
    }
    return {};
}

Result<void> list(Arguments const& arguments, Console const& console)
{
    auto const named = open_named(arguments.text("STORE"), arguments);
    if (!named) return tl::unexpected(named.error());
    if (!named->run.value.empty()) return list_objects(*named, arguments.flag("long"), console);
    if (arguments.flag("long"))
        return fail(ExitCode::usage, "--long", "lists the objects of one run", "add --run NAME");
    auto const lines = read_lines(*named);
    if (!lines) return tl::unexpected(lines.error());
    print(*lines, console);
    return {};
}

}  // namespace

Command ls_command()
{
    return {"ls",
            "List the runs of a store, or count the objects of one run",
            with_access_options(
                {flag_option("long", "List each object of the run: size in bytes, time, name")}),
            {store_positional()},
            list,
            true,
            "curtail-store ls s3://curtail/mine --endpoint https://s3.example.org"};
}

}  // namespace curtail::programs::store_program
