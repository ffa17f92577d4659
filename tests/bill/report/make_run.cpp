// SPDX-License-Identifier: Apache-2.0
// make_run KIND FOLDER: writes a synthetic run for the test of the page.
#include <cstdio>
#include <exception>
#include <map>

#include "bill/account/synthetic_run.hpp"

int main(int argc, char** argv)
{
    using curtail::Millis;
    using curtail::account::test::Synthetic;
    std::map<std::string, Synthetic> const kinds{
        {"demo", {}},
        {"empty", {.empty = true}},
        {"open", {.stop_at = 20'000, .evaluated = false}},
        {"gaps", {.gaps = true}},
        {"long", {.chatter = 40'000}},
        // 1.1 million steps in 900 rounds, to measure how long a report takes.
        {"huge", {.factor = 3, .round_s = 20, .step = Millis{24}}},
        {"refused", {.refuses = true}},
        {"hostile", {.region_suffix = "</script><script>alert(1)</script>&<b>\"'"}},
    };
    if (argc != 3 || kinds.count(argv[1]) == 0) {
        std::fprintf(stderr,
                     "usage: make_run demo|empty|open|gaps|refused|hostile|huge|long FOLDER\n");
        return 64;
    }
    try {
        curtail::account::test::write_synthetic_run(argv[2], kinds.at(argv[1]));
    } catch (std::exception const& error) {
        std::fprintf(stderr, "make_run: %s\n", error.what());
        return 70;
    }
    return 0;
}
