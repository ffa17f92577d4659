// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "protocol/chain/run_objects.hpp"
#include "protocol/rules/next.hpp"
#include "run/config/run_spec.hpp"
#include "storage/payload/payload.hpp"
#include "support/memory_store.hpp"
#include "trainer/data/prepare.hpp"
#include "trainer/model/initialize.hpp"
#include "trainer/model/payload_layout.hpp"

namespace curtail::test {

inline config::Model small_shape() { return {"small", 2, 32, 2, 2, 16, 320}; }

/// A run of one commit and of site `A`, in memory.
struct GenesisRun {
    /// `manifest` is the digest of the data's manifest.
    explicit GenesisRun(Digest const& manifest = sha256("manifest"),
                        protocol::Params const& params = {})
    {
        run.rounds = params;
        run.run = {"small"};
        run.store.url = "memory";
        run.model = small_shape();
        run.sites.emplace_back().site = {"A"};
        auto const places = model::parameter_places(run.model);
        std::vector<std::string> names;
        names.reserve(places.size());
        for (auto const& place : places) names.push_back(place.name);
        spec = config::make_run_spec(run, manifest, 100, names);
        auto const encoded_run = protocol::encode(spec);
        put(protocol::run_name, std::string_view(encoded_run.bytes));
        MemberId const writer{"A.00000001.0"};
        payload = protocol::model_name({1}, writer, 1, "w0");
        auto const encoded = payload::encode(model::payload_layout(run.run, run.model), "w0",
                                             std::as_const(weights).values());
        auto const bytes = encoded.pieces();
        put(payload, bytes);
        genesis = protocol::genesis(
            spec, encoded_run.sha256, {writer, 1}, from_unix_ms(1'795'270'000'000),
            {"w0", payload, static_cast<std::int64_t>(bytes.size()), sha256_of(bytes)});
        put(protocol::commit_name({1}), std::string_view(protocol::encode(genesis).bytes));
    }
    void put(std::string const& name, Pieces const& bytes)
    {
        EXPECT_TRUE(objects.put(*chain::object_name(run.run, name), bytes));
    }

    store::MemoryStore objects;
    config::Run run;
    protocol::RunSpec spec;
    model::Parameters weights{model::initial_parameters(small_shape(), 5)};
    std::string payload;
    protocol::Commit genesis;
};

/// Writes text whose words repeat, and prepares it as a run's data in the folder `data` of
/// `folder`.
inline void prepare_text(std::filesystem::path const& folder)
{
    std::filesystem::create_directory(folder / "text");
    for (int i = 0; i < 40; ++i) {
        std::ofstream out(folder / "text" / (std::to_string(i) + ".txt"));
        for (int n = 0; n < 30; ++n)
            out << "the wind blows over plain number " << (i * n) % 17 << " and the sun shines\n";
    }
    data::PrepareOptions options;
    options.text = {folder / "text"};
    options.out = folder / "data";
    options.vocabulary_size = 300;
    options.held_out_share = 0.2;
    auto const prepared = data::prepare(options);
    EXPECT_TRUE(prepared) << prepared.error().message();
}

}  // namespace curtail::test
