// SPDX-License-Identifier: Apache-2.0
// Times the transfer of one large object through store::ObjectStore, as the trainer transfers a
// payload: stores it from memory in signed parts, or reads it into memory and checks its digest.
// Reads twice and times the second read, because a trainer reads each round into the same memory.
// Prints one line of JSON: seconds, and processor seconds of this process, of the transfer alone.
//
//     bench_s3_transfer up|down ENDPOINT CREDENTIALS URL BYTES      URL: s3://BUCKET/PREFIX, or
//     file:///FOLDER, for which ENDPOINT and CREDENTIALS are empty
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "base/core/clock.hpp"
#include "base/core/large_memory.hpp"
#include "storage/store/verified.hpp"

using namespace curtail;

namespace {

double processor_seconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The object's bytes: the same for each process, and different in each part.
store::Content content_of(std::size_t size)
{
    auto content = large_vector<std::byte>(size);
    std::mt19937_64 random(1);
    for (std::size_t at = 0; at < size; at += 4096) {
        auto const value = random();
        std::memcpy(content.data() + at, &value, std::min(sizeof(value), size - at));
    }
    return content;
}

// Prints how long `transfer` takes.
template <class Transfer>
Result<void> time(Transfer const& transfer)
{
    auto const began = monotonic_now();
    auto const used = processor_seconds();
    auto done = transfer();
    if (!done) return done;
    fmt::print("{{\"seconds\": {}, \"cpu_s\": {}}}\n",
               static_cast<double>((monotonic_now() - began).count()) / 1000,
               processor_seconds() - used);
    return {};
}

Result<void> read(store::ObjectStore& store, store::ObjectName const& name, Digest const& digest,
                  store::Content& values)
{
    Bytes const size{static_cast<std::int64_t>(values.size())};
    std::size_t at = 0;
    auto const done = store::read_verified(
        store, name, size, digest, [&] { at = 0; },
        [&](std::span<std::byte const> piece) {
            std::memcpy(values.data() + at, piece.data(), piece.size());
            at += piece.size();
        });
    if (!done) return tl::unexpected(done.error().error);
    return {};
}

Result<void> run(std::string_view direction, store::Address const& address, std::size_t size)
{
    auto const store = store::open_store(address);
    if (!store) return tl::unexpected(store.error());
    auto const name = store::ObjectName::parse("runs/bench/models/1/own.00000000.1-1/w0.h5");
    if (!name) return tl::unexpected(name.error());
    auto content = content_of(size);
    if (direction == "up") return time([&] { return (*store)->put(*name, content); });
    auto const digest = sha256(content);
    auto const read_once = [&] { return read(**store, *name, digest, content); };
    if (auto first = read_once(); !first) return first;
    return time(read_once);
}

bool is_direction(std::string_view text) { return text == "up" || text == "down"; }

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 6 || !is_direction(argv[1])) {
        std::fputs("usage: bench_s3_transfer up|down ENDPOINT CREDENTIALS URL BYTES\n", stderr);
        return 64;
    }
    store::Address address{.url = argv[4]};
    address.access.endpoint = argv[2];
    address.access.credentials.file = argv[3];
    auto const done = run(argv[1], address, std::stoul(argv[5]));
    if (done) return 0;
    fmt::print(stderr, "bench_s3_transfer: {}\n", done.error().message());
    return static_cast<int>(done.error().code);
}
