// SPDX-License-Identifier: Apache-2.0
// Merges of three contributions with an outer Nesterov step through the round executor, on a store
// in a folder. As at a site, the first merge gets its memory from the kernel, and the later ones
// use it again. The process makes the payloads with little memory, so its peak is that of a merge.
// Prints one line of JSON: `first_s`, and the median `merge_s` of the later merges.
//
//     bench_executor_merge [--parameters N] [--folder DIR] [--repeats M]
//
// N is the number of parameters, by default 92274688. The store is a new folder in DIR, by default
// the current folder, and the program deletes it. It needs 28 bytes of disk for each parameter. M
// is the number of later merges, by default 3.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "options.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/merge.hpp"
#include "storage/store/posix_store.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/rounds/round_executor.hpp"

namespace curtail {
namespace {

constexpr std::size_t period = std::size_t{1} << 20;

// Values that repeat after `period`, so that a payload of any size needs little memory.
struct Periodic {
    std::vector<float> values;
    std::size_t count;

    [[nodiscard]] Pieces pieces(payload::Layout const& layout, std::string const& part,
                                std::string& head) const
    {
        head = payload::head_of(layout, part);
        Pieces pieces{std::string_view(head)};
        for (std::size_t left = count; left > 0; left -= std::min(left, period))
            pieces.add(std::as_bytes(std::span(values).first(std::min(left, period))));
        return pieces;
    }
    [[nodiscard]] double sumsq() const
    {
        double sum = 0;
        for (std::size_t left = count; left > 0; left -= std::min(left, period))
            for (double const value : std::span(values).first(std::min(left, period)))
                sum += value * value;
        return sum;
    }
};

Periodic periodic(float start, std::size_t count)
{
    Periodic made{std::vector<float>(period), count};
    for (std::size_t i = 0; i < period; ++i)
        made.values[i] = start + static_cast<float>(i % 1009) * 1e-3F;
    return made;
}

std::int64_t peak_bytes()
{
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * std::int64_t{1024};
}

class Bench {
  public:
    Bench(std::filesystem::path const& folder, std::size_t parameters)
        : folder_(folder), layout_{{"bench"}, {{"w", {static_cast<std::int64_t>(parameters)}}}}
    {
        for (float const start : {0.1F, 0.2F, 0.3F, 0.4F, 0.5F})
            inputs_.push_back(periodic(start, parameters));
    }

    protocol::Merge store_inputs()
    {
        protocol::Merge merge;
        merge.op = 1;
        merge.model = {{1}, put("w0", "models/1/A.00000011.0-1/w0.h5", inputs_[0])};
        merge.outer = protocol::OuterRef{protocol::Outer::Type::nesterov,
                                         put("m0", "models/1/A.00000011.0-1/m0.h5", inputs_[1])};
        for (std::size_t i = 0; i < scales.size(); ++i) {
            auto const& delta = inputs_[2 + i];
            MemberId const member{"S" + std::to_string(i) + ".00000012.1"};
            auto const ref = put("d0", protocol::delta_name({1}, member, {1}), delta);
            merge.include.push_back({member, {1}, scales[i], {ref, delta.sumsq()}});
        }
        merge.outer_step = true;
        merge.eta = eta;
        merge.mu = mu;
        merge.weights = {"w0", "models/2/A.00000011.2-1/w0.h5"};
        merge.momentum = protocol::PayloadPlace{"m0", "models/2/A.00000011.2-1/m0.h5"};
        return merge;
    }

    // Returns the answer to the merge and how long it took, in seconds.
    std::pair<protocol::Merged, double> run(protocol::Merge const& merge)
    {
        ended_ = false;
        auto const began = std::chrono::steady_clock::now();
        executor_.carry_out(merge);
        ended_.wait(false);
        std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - began;
        auto merged = std::get<protocol::Merged>(executor_.take_answers().at(0));
        // The site has adopted the new model.
        executor_.carry_out(protocol::Keep{});
        return {std::move(merged), taken.count()};
    }

    // Whether the merge gave the values that the arithmetic of protocol/rules/merge.hpp gives.
    [[nodiscard]] bool is_right(protocol::Merged const& merged) const
    {
        std::vector<std::span<float const>> deltas;
        for (std::size_t i = 0; i < scales.size(); ++i) deltas.emplace_back(inputs_[2 + i].values);
        Periodic model{std::vector<float>(period), inputs_[0].count};
        Periodic momentum = model;
        protocol::nesterov_step({inputs_[0].values, inputs_[1].values, eta, mu}, {deltas, scales},
                                model.values, momentum.values);
        std::string head;
        return merged.refused.empty() &&
               merged.weights->sha256 == sha256_of(model.pieces(layout_, "w0", head)) &&
               merged.momentum->sha256 == sha256_of(momentum.pieces(layout_, "m0", head));
    }

  private:
    static constexpr std::array<float, 3> scales{0.5F, 0.3F, 0.2F};
    static constexpr float eta = 0.7F;
    static constexpr float mu = 0.9F;

    protocol::PartRef put(std::string const& part, std::string const& name, Periodic const& values)
    {
        std::string head;
        auto const bytes = values.pieces(layout_, part, head);
        auto const object = store::ObjectName::parse("runs/bench/" + name);
        if (!object) throw std::logic_error(name + " is no name of an object");
        if (auto done = store_->put(*object, bytes, {}); !done)
            throw std::runtime_error(done.error().message());
        return {part, name, static_cast<std::int64_t>(bytes.size()), sha256_of(bytes)};
    }

    static std::shared_ptr<store::ObjectStore> open(std::filesystem::path const& folder)
    {
        auto opened = store::PosixStore::open(folder, store::IfMissing::make);
        if (!opened) throw std::runtime_error(opened.error().message());
        return std::move(*opened);
    }
    [[nodiscard]] trainer::RoundExecutor::Parts parts()
    {
        return {store_, layout_, {}, [](trainer::Order const&) {}, recorder_, log_};
    }
    void notify()
    {
        ended_ = true;
        ended_.notify_all();
    }

    std::filesystem::path folder_;
    payload::Layout layout_;
    std::shared_ptr<store::ObjectStore> store_{open(folder_ / "store")};
    std::vector<Periodic> inputs_;  // the model, the momentum and the deltas
    std::atomic<bool> ended_{false};
    Log log_{[](Level, std::string_view text) { fmt::print(stderr, "{}\n", text); }};
    trainer::Recorder recorder_{folder_, "A", "", {}};
    trainer::RoundExecutor executor_{parts(), [this] { notify(); }};
};

int measure(bench::Options const& options)
{
    auto const parameters = static_cast<std::size_t>(options.number("--parameters", 92'274'688));
    test::TemporaryFolder const folder(options.folder());
    auto const repeats = options.number("--repeats", 3);
    Bench bench(folder.path(), parameters);
    auto const merge = bench.store_inputs();
    auto const peak_before = peak_bytes();
    auto const [merged, first] = bench.run(merge);
    if (!bench.is_right(merged)) throw std::runtime_error("the merge gave wrong values");
    std::vector<double> later;
    for (std::int64_t i = 0; i < repeats; ++i) later.push_back(bench.run(merge).second);
    std::sort(later.begin(), later.end());
    fmt::print(
        "{{\"merge_s\": {:.3f}, \"first_s\": {:.3f}, \"peak_bytes\": {}, "
        "\"peak_before_bytes\": {}, \"parameters\": {}}}\n",
        later.empty() ? first : later[later.size() / 2], first, peak_bytes(), peak_before,
        parameters);
    return 0;
}

}  // namespace
}  // namespace curtail

int main(int argc, char** argv)
{
    return curtail::bench::run("bench_executor_merge", argc, argv,
                               {"--parameters", "--folder", "--repeats"}, curtail::measure);
}
