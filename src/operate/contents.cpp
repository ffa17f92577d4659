// SPDX-License-Identifier: Apache-2.0
#include "operate/contents.hpp"

namespace curtail::operate {
namespace {

constexpr std::string_view runs = "runs/";

// The first segment after `runs/`.
std::string_view run_in(std::string_view name)
{
    auto const rest = name.substr(std::min(runs.size(), name.size()));
    return rest.substr(0, rest.find('/'));
}

std::string kind_of(store::ListedObject const& object, std::size_t prefix)
{
    if (!store::ObjectName::parse(object.name)) return foreign_kind;
    auto const rest = std::string_view(object.name).substr(prefix);
    return std::string(rest.substr(0, rest.find('/')));
}

void count(KindCount& kind, store::ObjectInfo const& info)
{
    kind.oldest = kind.objects == 0 ? info.modified : std::min(kind.oldest, info.modified);
    kind.newest = kind.objects == 0 ? info.modified : std::max(kind.newest, info.modified);
    kind.size += info.size;
    ++kind.objects;
}

}  // namespace

Result<std::vector<RunId>> list_runs(store::ObjectStore& store)
{
    auto const folder = store::ObjectFolder::parse("runs");
    if (!folder) return tl::unexpected(folder.error());
    std::vector<RunId> found;
    std::string after;
    for (;;) {
        std::string next;
        auto const listed = store.list(*folder, after, [&](store::ListedObject const& object) {
            next = object.name;
            return false;
        });
        if (!listed) return tl::unexpected(listed.error());
        if (next.empty()) return found;
        auto const run = std::string(run_in(next));
        bool const is_folder = next.size() > runs.size() + run.size();
        if (is_folder && is_plain_name(run)) found.push_back({run});
        // '0' follows '/', so this is greater than every name in the folder of the run.
        after = is_folder ? std::string(runs) + run + "0" : next;
    }
}

Result<std::map<std::string, KindCount>> count_objects(
    store::ObjectStore& store, RunId const& run,
    std::function<void(store::ListedObject const&)> const& visit)
{
    auto const folder = store::ObjectFolder::parse("runs/" + run.value);
    if (!folder) return tl::unexpected(folder.error());
    std::map<std::string, KindCount> kinds;
    auto const listed = store.list(*folder, "", [&](store::ListedObject const& object) {
        count(kinds[kind_of(object, folder->text().size() + 1)], object.info);
        if (visit) visit(object);
        return true;
    });
    if (!listed) return tl::unexpected(listed.error());
    return kinds;
}

}  // namespace curtail::operate
