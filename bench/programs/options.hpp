// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// What the benchmarks on files share.
namespace curtail::bench {

/// The options of a benchmark, each with a value.
class Options {
  public:
    /// Throws std::invalid_argument for an option that is not in `known`, or has no value.
    Options(int argc, char** argv, std::vector<std::string> const& known)
    {
        for (int i = 1; i < argc; i += 2) {
            std::string const name = argv[i];
            if (std::find(known.begin(), known.end(), name) == known.end() || i + 1 == argc)
                throw std::invalid_argument(name + ": unknown option, or without a value");
            values_[name] = argv[i + 1];
        }
    }
    [[nodiscard]] std::int64_t number(std::string const& name, std::int64_t by_default) const
    {
        auto const found = values_.find(name);
        return found == values_.end() ? by_default : std::stoll(found->second);
    }
    [[nodiscard]] std::filesystem::path folder() const
    {
        auto const found = values_.find("--folder");
        return found == values_.end() ? "." : found->second;
    }

  private:
    std::map<std::string, std::string> values_;
};

/// Runs a benchmark, and returns its exit code. Prints why it failed.
template <class Measure>
int run(char const* program, int argc, char** argv, std::vector<std::string> const& known,
        Measure const& measure)
{
    try {
        return measure(Options(argc, argv, known));
    } catch (std::invalid_argument const& wrong) {
        fmt::print(stderr, "{}: {}\n", program, wrong.what());
        return 64;
    } catch (std::exception const& failed) {
        fmt::print(stderr, "{}: {}\n", program, failed.what());
        return 74;
    }
}

}  // namespace curtail::bench
