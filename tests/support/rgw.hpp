// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "support/child_process.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::test {

/// An S3 server, the Ceph RADOS Gateway, that runs until the object is destroyed (scripts/rgw.sh).
/// Its user `owner` owns all buckets.
class Rgw {
  public:
    Rgw()
    {
        run({"up", "--while", std::to_string(getpid())});
        endpoint_ = std::string(trim(*read_file(path() / "endpoint")));
    }
    ~Rgw() { (void)run_program({script(), "down", path().string()}); }
    Rgw(Rgw const&) = delete;
    Rgw& operator=(Rgw const&) = delete;

    [[nodiscard]] std::string const& endpoint() const { return endpoint_; }
    /// The file with the key of a user.
    [[nodiscard]] std::filesystem::path credentials(std::string const& user = "owner") const
    {
        return path() / (user + ".credentials");
    }
    void add_user(std::string const& user) { run({"user", user}); }
    /// Creates a bucket that `owner` can write.
    void make_bucket(std::string const& bucket) { run({"bucket", bucket}); }
    void kill_gateway() { run({"gateway", "kill"}); }
    void start_gateway() { run({"gateway", "start"}); }

  private:
    [[nodiscard]] std::filesystem::path path() const { return folder_ / "rgw"; }
    static std::string script() { return source_path("scripts/rgw.sh"); }
    void run(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), script());
        arguments.push_back(path().string());
        auto const done = run_program(std::move(arguments), std::chrono::seconds{60});
        if (done.code != 0) throw std::runtime_error("rgw.sh failed: " + done.output);
    }

    TemporaryFolder folder_;
    std::string endpoint_;
};

}  // namespace curtail::test
