// SPDX-License-Identifier: Apache-2.0
// Writes a payload durably into a store in a folder, and computes its digest, as a site does with
// each delta and model. Prints one line of JSON.
//
//     bench_payload_write [--folder DIR] [--bytes N]
//
// N is the size of the values, by default 2 GiB. The store is a new folder in DIR, by default the
// current folder, and the program deletes it.
#include <fmt/core.h>

#include <chrono>

#include "options.hpp"
#include "storage/store/posix_store.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/rounds/payload_transport.hpp"

namespace curtail {
namespace {

int measure(bench::Options const& options)
{
    auto const count =
        options.number("--bytes", std::int64_t{2} << 30) / static_cast<std::int64_t>(sizeof(float));
    test::TemporaryFolder const folder(options.folder());
    auto opened = store::PosixStore::open(folder.path() / "store", store::IfMissing::make);
    if (!opened) throw std::runtime_error(opened.error().message());
    trainer::PayloadTransport const transport(std::move(*opened), {{"bench"}, {{"w", {count}}}});
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(i % 1009) * 1e-3F;
    auto const values = std::make_shared<std::vector<float> const>(std::move(numbers));
    auto const began = std::chrono::steady_clock::now();
    auto const stored = transport.put({"w0", "models/1/A.00000011.0-1/w0.h5"}, values, {});
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - began;
    if (!stored) throw std::runtime_error(stored.error().message());
    fmt::print("{{\"write_s\": {:.3f}, \"digest\": \"{}\", \"bytes\": {}}}\n", taken.count(),
               stored->sha256.hex(), stored->bytes);
    return 0;
}

}  // namespace
}  // namespace curtail

int main(int argc, char** argv)
{
    return curtail::bench::run("bench_payload_write", argc, argv, {"--folder", "--bytes"},
                               curtail::measure);
}
