// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bill/account/account_of.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/small_run.hpp"

namespace curtail::account::test {

/// The small run, and what the account doubts about it.
class CheckedRun : public testing::Test {
  protected:
    /// The titles of the doubts, in order, if all lines of the trainers have monotonic times.
    std::vector<std::string> titles()
    {
        auto complete = files;
        for (auto& site : complete.sites) add_monotonic_times(site);
        account_ = account_of(complete);
        std::vector<std::string> titles;
        for (auto const& doubt : account_.doubts) titles.push_back(doubt.title);
        return titles;
    }
    [[nodiscard]] energy::Bound bound() const { return total_of(account_).bound; }
    [[nodiscard]] bool has_note(std::string const& text) const
    {
        return std::ranges::any_of(account_.notes, [&](auto const& note) {
            return note.second.find(text) != std::string::npos;
        });
    }
    /// Seconds that the site was in a state.
    [[nodiscard]] double seconds(std::size_t site, energy::PowerState state) const
    {
        return seconds_in(account_.sites[site], energy::name(state));
    }
    /// Removes the ends of a site's jobs from the poller's log.
    void forget_ends(char const* site)
    {
        std::erase_if(files.poller_events, [&](Event const& e) {
            return e.site == site && (e.type == "job-ended" || e.type == "job-failed");
        });
    }
    /// Adds an event to the poller's log, at its time.
    void poller(double hours, char const* type, char const* site, json::Object details)
    {
        auto& events = files.poller_events;
        events.insert(std::ranges::upper_bound(events, at(hours), {}, &Event::time),
                      event(hours, type, site, std::move(details)));
    }

    RunFiles files{small_run()};
    Account account_;
};

}  // namespace curtail::account::test
