// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "bill/account/account.hpp"
#include "bill/account/files.hpp"
#include "bill/account/timeline.hpp"

// The tables that a bill is computed from, for the folder for an auditor. Each function returns the
// text of a file. Times are in milliseconds since 1970, on the signal's clock unless they are named
// `real_...`.
namespace curtail::evidence {

/// Settings, clocks and judgements of a run: run.json.
[[nodiscard]] std::string run_json(account::RunFiles const& files, account::Account const& account,
                                   account::Timeline const& timeline, json::Object const& document);

/// What each site did with its devices, with the power, PUE, region and threshold that were in
/// force: states.csv. A row ends where one of these changes, and where a window opens or closes.
[[nodiscard]] std::string states_csv(account::RunFiles const& files,
                                     account::Account const& account,
                                     account::Timeline const& timeline);

/// The settings with which always-on is billed in each region, from the first sample on:
/// always_on.csv.
[[nodiscard]] std::string always_on_csv(account::RunFiles const& files,
                                        account::Account const& account,
                                        account::Timeline const& timeline);

/// When the windows of the sites were open: windows.csv.
[[nodiscard]] std::string windows_csv(account::RunFiles const& files,
                                      account::Account const& account,
                                      account::Timeline const& timeline);

/// The steps that count, at their corrected times: steps.csv.
[[nodiscard]] std::string steps_csv(account::RunFiles const& files,
                                    account::Timeline const& timeline);

/// The commits, with the tokens that each took from each site: commits.jsonl.
[[nodiscard]] std::string commits_jsonl(account::RunFiles const& files);

/// Samples: samples.csv and averages.csv. Without `with_values`, `nan` stands for each known value.
[[nodiscard]] std::string samples_csv(std::vector<RegionSeries> const& series, bool with_values);

/// The figures of a report, as lines with a path of names and a value: figures.jsonl. Without
/// `with_values`, `left out` stands for those that follow from the intensities.
[[nodiscard]] std::string figures_jsonl(json::Object const& document, bool with_values);

}  // namespace curtail::evidence
