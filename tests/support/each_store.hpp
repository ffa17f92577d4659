// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "storage/store/posix_store.hpp"
#include "support/memory_store.hpp"
#include "support/rgw.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::test {

/// A test that runs with each type of store. Makes any number of empty stores of that type.
class EachStore : public testing::TestWithParam<char const*> {
  protected:
    static void TearDownTestSuite() { rgw.reset(); }

    /// The address of a new store. In-memory stores have none.
    store::Address new_address()
    {
        if (is("s3")) return new_prefix();
        auto const path = folder_ / std::to_string(++stores_);
        std::filesystem::create_directory(path);
        return store::Address::of_folder(path);
    }
    std::unique_ptr<store::ObjectStore> new_store()
    {
        if (is("memory")) return std::make_unique<store::MemoryStore>();
        return store::open_store(new_address()).value();
    }
    [[nodiscard]] static bool is(std::string_view type) { return type == GetParam(); }

  private:
    static store::Address new_prefix()
    {
        if (!rgw) {
            rgw = std::make_unique<Rgw>();
            bucket = rgw->make_bucket("stores");
        }
        return {
            .url = "s3://" + bucket + "/test-" + std::to_string(++prefixes),
            .access = {.endpoint = rgw->endpoint(), .credentials = {.file = rgw->credentials()}}};
    }

    static inline std::unique_ptr<Rgw> rgw;
    static inline std::string bucket;
    static inline int prefixes = 0;
    TemporaryFolder folder_;
    int stores_{0};
};

inline auto const every_store = testing::Values("memory", "folder", "s3");
inline std::string name_of_store(testing::TestParamInfo<char const*> const& info)
{
    return info.param;
}

}  // namespace curtail::test
