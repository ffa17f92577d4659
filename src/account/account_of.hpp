// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/timeline.hpp"

/// The account of a run from its files. Pure.
namespace curtail::account {

[[nodiscard]] Account account_of(RunFiles const& files);

/// Its parts, in the order in which they need each other. Each fills its own fields of `account`.
void fill_basics(RunFiles const& files, RunStory const& story,
                 Account& account);  ///< name, clock, sites, signals, windows' times, events
void fill_rounds(RunFiles const& files, RunStory const& story,
                 Account& account);  ///< commits, tokens, rounds
void fill_energy(RunFiles const& files, RunStory const& story,
                 Account& account);  ///< ledgers, cumulative series, tallies of windows and rounds
void fill_unknown(RunFiles const& files,
                  Account& account);  ///< why carbon is not known, where it is not
void fill_loss(RunFiles const& files, RunStory const& story,
               Account& account);  ///< curves, held-out loss
void fill_always_on(RunFiles const& files, RunStory const& story,
                    Account& account);  ///< lone rate, counterfactual
void fill_words(RunFiles const& files, RunStory const& story,
                Account& account);  ///< provenance, facts, notes, what is missing

/// Tokens per real second of all steps that ran while no other site held devices; nothing if there
/// was no such step.
[[nodiscard]] std::optional<double> lone_rate(RunFiles const& files, RunStory const& story);

}  // namespace curtail::account
