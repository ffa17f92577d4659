// SPDX-License-Identifier: Apache-2.0
// Times a snapshot of 2 GB in a folder, of 64 tensors, after one that creates the file. Prints one
// line of JSON: seconds until it is on the disk, and how long the caller waits for its copy.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <numeric>

#include "trainer/snapshot/writer.hpp"

using namespace curtail;

namespace {

constexpr std::int64_t tensor_count = 64;
constexpr std::int64_t elements = std::int64_t{1} << 23;

double since(std::chrono::steady_clock::time_point begin)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::fputs("usage: bench_snapshot FOLDER\n", stderr);
        return 64;
    }
    std::vector<float> values(static_cast<std::size_t>(elements));
    std::iota(values.begin(), values.end(), 0.0F);
    std::vector<snapshot::ElementRange> ranges;
    for (std::int64_t i = 0; i < tensor_count; ++i)
        ranges.push_back({"tensor." + std::to_string(i), {elements}, 0, elements});
    auto const copy = [&](std::size_t, std::size_t first, std::span<float> to) {
        std::memcpy(to.data(), &values[first], to.size_bytes());
    };
    snapshot::Writer writer(argv[1], ranges);
    double copy_s = 0;
    double total_s = 0;
    for (std::int64_t serial : {1, 3}) {
        auto const begin = std::chrono::steady_clock::now();
        auto const begun =
            writer.begin({RunId{"bench"}, "none", {}, 0, 0, 0}, {serial, 0, 1}, copy);
        copy_s = since(begin);
        auto const done = begun ? writer.take_result(std::chrono::hours(1)).value() : begun;
        total_s = since(begin);
        if (!done) {
            fmt::print(stderr, "bench_snapshot: {}\n", done.error().message());
            return 74;
        }
    }
    fmt::print("{{\"seconds\": {:.6f}, \"copy_s\": {:.6f}}}\n", total_s, copy_s);
    return 0;
}
