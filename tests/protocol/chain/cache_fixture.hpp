// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/counting_store.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::chain {

namespace fs = std::filesystem;

inline store::Address const address{.url = "s3://bucket/prefix"};

/// A chain of forty commits in a store in memory, and a cache in a folder.
class Cache : public testing::Test {
  protected:
    Cache() { run.make_lone(40); }

    [[nodiscard]] CacheSettings settings()
    {
        return {folder / "cache",
                Log([this](Level, std::string_view text) { warnings.emplace_back(text); })};
    }
    // Reads the chain in a new cache object, as a new process does.
    std::vector<protocol::Commit> read(store::ObjectStore& from)
    {
        RecordCache cache(settings(), address, run.spec().run);
        auto chain = read_chain({from, run.spec().run, &cache}, Check::rules);
        if (!chain) throw std::runtime_error(chain.error().message());
        return std::move(*chain);
    }
    std::vector<protocol::Commit> read() { return read(counted); }
    [[nodiscard]] fs::path file() const
    {
        for (auto const& entry : fs::directory_iterator(folder / "cache/records"))
            return entry.path();
        throw std::runtime_error("there is no file");
    }
    store::ObjectName object(std::int64_t number) const
    {
        return *object_name(run.spec().run, protocol::commit_name({number}));
    }

    curtail::test::TemporaryFolder folder;
    store::MemoryStore objects;
    test::SmallRun run{objects, {"small"}, 200};
    curtail::test::CountingStore counted{objects};
    std::vector<std::string> warnings;
};

}  // namespace curtail::chain
