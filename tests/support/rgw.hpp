// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "support/child_process.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::test {

/// An S3 server, the Ceph RADOS Gateway (scripts/rgw.sh). Its user `owner` owns all buckets. This
/// is the server that ctest has started for several tests (tests/system/shared.py). Without ctest,
/// the object starts a server of its own and stops it at its end.
class Rgw {
  public:
    Rgw()
    {
        if (char const* shared = std::getenv("CURTAIL_TEST_SHARED"))
            path_ = read_file(std::filesystem::path(shared) / std::to_string(getppid()) / "storage")
                        .value();
        if (path_.empty()) {
            path_ = folder_ / "rgw";
            run({"up", "--while", std::to_string(getpid())});
        }
        endpoint_ = std::string(trim(*read_file(path_ / "endpoint")));
    }
    ~Rgw()
    {
        if (path_ == folder_ / "rgw") (void)run_program({script(), "down", path_.string()});
    }
    Rgw(Rgw const&) = delete;
    Rgw& operator=(Rgw const&) = delete;

    [[nodiscard]] std::string const& endpoint() const { return endpoint_; }
    /// The file with the key of a user.
    [[nodiscard]] std::filesystem::path credentials(std::string const& user = "owner") const
    {
        return path_ / (user + ".credentials");
    }
    /// Adds a user whose name begins with `name`, and returns its name.
    [[nodiscard]] std::string add_user(std::string const& name)
    {
        run({"user", name + unique_});
        return name + unique_;
    }
    /// Creates a bucket that `owner` can write, and returns its name. It begins with `name`.
    [[nodiscard]] std::string make_bucket(std::string const& name)
    {
        run({"bucket", name + unique_});
        return name + unique_;
    }

  private:
    static std::string script() { return source_path("scripts/rgw.sh"); }
    void run(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), script());
        arguments.push_back(path_.string());
        auto const done = run_program(std::move(arguments), std::chrono::seconds{60});
        if (done.code != 0) throw std::runtime_error("rgw.sh failed: " + done.output);
    }

    TemporaryFolder folder_;
    std::filesystem::path path_;
    std::string endpoint_;
    // Other tests use the same server.
    std::string unique_{"-" + std::to_string(getpid()) + "-" +
                        std::to_string(SystemClock{}.now().time_since_epoch().count())};
};

}  // namespace curtail::test
