// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "storage/store/object_store.hpp"

// What a store holds, as listings show it.
namespace curtail::operate {

/// Returns the runs in a store: the plain names of folders below `runs/` that have an object. Sends
/// one request per run, or reads one folder.
[[nodiscard]] Result<std::vector<RunId>> list_runs(store::ObjectStore& store);

/// The objects of one kind.
struct KindCount {
    std::int64_t objects{};
    Bytes size;
    Time oldest;
    Time newest;
};

/// The kind of what has no name that Curtail gives.
inline constexpr char const* foreign_kind = "foreign";

/// Lists all objects of a run, and counts them by kind: `commits`, `contrib`, `models` and so on,
/// `run.json`, or foreign_kind. Passes each object to `visit` too, unless it is null.
[[nodiscard]] Result<std::map<std::string, KindCount>> count_objects(
    store::ObjectStore& store, RunId const& run,
    std::function<void(store::ListedObject const&)> const& visit = {});

}  // namespace curtail::operate
