// SPDX-License-Identifier: Apache-2.0
#include "operate/list.hpp"

namespace curtail::operate {
namespace {

constexpr std::string_view runs = "runs/";

std::string kind_of(store::ListedObject const& object, std::size_t prefix)
{
    if (!store::ObjectName::parse(object.name)) return foreign_kind;
    auto const rest = std::string_view(object.name).substr(prefix);
    return std::string(rest.substr(0, rest.find('/')));
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
        // The first segment after `runs/`.
        auto const rest = next.substr(std::min(runs.size(), next.size()));
        auto const run = rest.substr(0, rest.find('/'));
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
        auto const& [size, modified] = object.info;
        auto& kind = kinds[kind_of(object, folder->text().size() + 1)];
        kind.oldest = kind.objects == 0 ? modified : std::min(kind.oldest, modified);
        kind.newest = kind.objects == 0 ? modified : std::max(kind.newest, modified);
        kind.size += size;
        ++kind.objects;
        if (visit) visit(object);
        return true;
    });
    if (!listed) return tl::unexpected(listed.error());
    return kinds;
}

}  // namespace curtail::operate
