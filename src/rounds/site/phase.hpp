// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace curtail::rounds::site {

/// The phases of a Site. Each State (rounds/site.hpp) has one or more phases. The table in
/// phases.cpp has one row for each phase.
enum class Phase {
    probe_create,
    probe_again,
    run_get,
    run_commit,
    run_create,
    find_commit,
    find_parent,
    find_sent,
    find_round,
    find_headers,
    find_amendment,
    genesis_store,
    genesis_create,
    fold,
    join_headers,
    join_create,
    join_read,
    base_wait,
    base_poll,
    base_load,
    base_forward,
    run,
    run_poll,
    run_scan,
    run_amendment,
    cut,
    publish_store,
    publish_header,
    publish_read,
    lease_create,
    lease_read,
    wait,
    wait_poll,
    gather_headers,
    gather_pause,
    gather_poll,
    merge,
    lone_store,
    commit_create,
    commit_read,
    garbage,
    adopt_forward,
    adopt_apply,
    repair_forward,
    repair_restore,
    repair_request,
    repair_made,
    repair_parent,
    repair_header,
    repair_merge,
    repair_look,
    exited
};

}  // namespace curtail::rounds::site
