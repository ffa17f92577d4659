// SPDX-License-Identifier: Apache-2.0
// Where credentials come from, and when they are read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <future>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "storage/s3/credential_process.hpp"
#include "storage/s3/credential_source.hpp"
#include "storage/s3/instance_role.hpp"
#include "storage/s3/shared_file.hpp"
#include "support/eventually.hpp"
#include "support/s3_server.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::s3 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Time const now = *parse_time("2026-11-24T12:00:00Z");

class Sources : public testing::Test {
  protected:
    std::filesystem::path write(std::string const& name, std::string const& text,
                                unsigned mode = 0600)
    {
        auto file = folder_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
        chmod(file.c_str(), mode);
        return file;
    }
    [[nodiscard]] std::string home() const { return folder_.path().string(); }
    static std::string key_of(std::string const& id)
    {
        return "aws_access_key_id = " + id + "\naws_secret_access_key = secret-of-" + id + "\n";
    }
    static std::string id_from(CredentialOptions options, Environment environment)
    {
        CredentialSource source(std::move(options), std::move(environment));
        auto const found = source.get(now);
        return found ? (*found)->key_id : found.error().message();
    }

    test::TemporaryFolder folder_;
};

TEST_F(Sources, TheConfiguredFileIsTheOnlyOne)
{
    auto const file = write("keys", "[default]\n" + key_of("configured"));
    EXPECT_EQ(id_from({.file = file},
                      {{"AWS_ACCESS_KEY_ID", "environment"}, {"AWS_SECRET_ACCESS_KEY", "x"}}),
              "configured");
    EXPECT_THAT(id_from({.file = folder_ / "none"},
                        {{"AWS_ACCESS_KEY_ID", "environment"}, {"AWS_SECRET_ACCESS_KEY", "x"}}),
                HasSubstr("there is no such file"));
}

TEST_F(Sources, TheEnvironmentComesBeforeTheFilesOfTheUser)
{
    write(".aws/credentials", "[default]\n" + key_of("shared"));
    write(".aws/config", "[default]\nregion = x\ncredential_process = false\n", 0644);
    EXPECT_EQ(id_from({}, {{"HOME", home()},
                           {"AWS_ACCESS_KEY_ID", "environment"},
                           {"AWS_SECRET_ACCESS_KEY", "x"}}),
              "environment");
    EXPECT_EQ(id_from({}, {{"HOME", home()}}), "shared");
}

TEST_F(Sources, AProfileIsChosenByOptionOrVariable)
{
    auto const file = write("keys", "# two users\n[default]\n" + key_of("first") + "[ second ]\n" +
                                        key_of("other") + "; end\n");
    EXPECT_EQ(id_from({}, {{"AWS_SHARED_CREDENTIALS_FILE", file}, {"AWS_PROFILE", "second"}}),
              "other");
    EXPECT_EQ(id_from({.profile = "second"}, {{"AWS_SHARED_CREDENTIALS_FILE", file}}), "other");
    EXPECT_THAT(id_from({.file = file, .profile = "third"}, {}), HasSubstr("[third]"));
}

TEST_F(Sources, AFileThatOthersCanReadIsRefused)
{
    auto const file = write("keys", "[default]\n" + key_of("open"), 0644);
    CredentialSource source({.file = file}, {});
    auto const refused = source.get(now);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::permission);
    EXPECT_THAT(refused.error().message(), HasSubstr("chmod"));
}

TEST_F(Sources, AFileWithoutAKeyIsAConfigurationError)
{
    auto const file = write("keys", "[default]\naws_access_key_id = x\n");
    CredentialSource source({.file = file}, {});
    EXPECT_EQ(source.get(now).error().code, ExitCode::config);
}

TEST_F(Sources, WithoutAnySourceTheMessageSaysWhatToDo)
{
    CredentialSource source({}, {{"HOME", home()}});
    auto const none = source.get(now);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ExitCode::permission);
    EXPECT_THAT(none.error().message(), HasSubstr("s3.credentials"));
}

TEST_F(Sources, AProgramPrintsCredentials)
{
    auto const answer = write("answer", R"({"Version": 1, "AccessKeyId": "made",
        "SecretAccessKey": "s", "SessionToken": "t", "Expiration": "2026-11-24T13:00:00Z"})");
    write(".aws/config", "[profile trainer]\ncredential_process = cat '" + answer.string() + "'\n",
          0644);
    CredentialSource source({.profile = "trainer"}, {{"HOME", home()}});
    auto const found = source.get(now);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ((*found)->key_id, "made");
    EXPECT_STREQ((*found)->token.reveal(), "t");
    EXPECT_EQ((*found)->expiration, parse_time("2026-11-24T13:00:00Z").value());
}

TEST_F(Sources, AProgramThatOthersChooseOrCanChangeDoesNotRun)
{
    auto const ran = folder_ / "ran";
    auto const program = write("program", "#!/bin/sh\ntouch " + ran.string() + "\n", 0757);
    auto const command = "[default]\ncredential_process = ";
    auto const config = write(".aws/config", command + program.string() + "\n");
    EXPECT_THAT(id_from({}, {{"HOME", home()}}), HasSubstr("chmod go-w " + program.string()));
    write(".aws/config", command + ("touch " + ran.string()) + "\n", 0646);
    EXPECT_THAT(id_from({}, {{"HOME", home()}}), HasSubstr("chmod go-w " + config.string()));
    EXPECT_FALSE(std::filesystem::exists(ran));
}

TEST_F(Sources, AFailedProgramIsReportedWithoutItsOutput)
{
    auto const failed = run_credential_process("sh -c 'echo s3cret; echo no role >&2; exit 3'",
                                               "credential_process");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ExitCode::unavailable);
    EXPECT_THAT(failed.error().message(), HasSubstr("exit code 3: no role"));
    EXPECT_THAT(failed.error().message(), Not(HasSubstr("s3cret")));
    auto const garbage = run_credential_process("echo s3cret", "credential_process");
    ASSERT_FALSE(garbage);
    EXPECT_EQ(garbage.error().code, ExitCode::data);
    EXPECT_THAT(garbage.error().message(), Not(HasSubstr("s3cret")));
}

TEST_F(Sources, CredentialsAreReadAgainBeforeTheyExpire)
{
    auto const answer = [&](std::string const& id, std::string const& end) {
        return write("answer", R"({"AccessKeyId": ")" + id +
                                   R"(", "SecretAccessKey": "s", "Expiration": ")" + end + "\"}");
    };
    auto const file = answer("first", "2026-11-24T13:00:00Z");
    auto const keys = write("keys", "[default]\ncredential_process = cat " + file.string() + "\n");
    CredentialSource source({.file = keys}, {});
    EXPECT_EQ((*source.get(now))->key_id, "first");
    answer("second", "2026-11-24T14:00:00Z");
    EXPECT_EQ((*source.get(now + Seconds{54 * 60}))->key_id, "first");
    EXPECT_EQ((*source.get(now + Seconds{56 * 60}))->key_id, "second");
    std::filesystem::remove(file);
    EXPECT_EQ((*source.get(now + Seconds{118 * 60}))->key_id, "second") << "still valid";
    EXPECT_FALSE(source.get(now + Seconds{121 * 60}));
}

// A source whose program waits, once the file `stay` exists, until the file `go` exists.
class SlowSource : public Sources {
  protected:
    SlowSource()
    {
        auto const program = write("program",
                                   "#!/bin/sh\ncd $(dirname $0)\necho x >> runs\n"
                                   "while [ -e stay ] && [ ! -e go ]; do sleep 0.01; done\n"
                                   "cat answer\n",
                                   0700);
        keys_ = write("keys", "[default]\ncredential_process = " + program.string() + "\n");
        print("first", "2026-11-24T13:00:00Z");
    }
    void TearDown() override { write("go", ""); }
    void print(std::string const& id, std::string const& end)
    {
        write("answer", R"({"AccessKeyId": ")" + id +
                            R"(", "SecretAccessKey": "s", "Expiration": ")" + end + "\"}");
    }
    [[nodiscard]] std::size_t runs() const
    {
        auto const text = read_file(folder_ / "runs").value_or("");
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
    static std::string id(Result<std::shared_ptr<Credentials const>> const& found)
    {
        return found ? (*found)->key_id : found.error().message();
    }

    std::filesystem::path keys_;
    Time const soon_{now + Seconds{56 * 60}};  // the first ones expire in four minutes
    Time const late_{now + Seconds{61 * 60}};  // they have expired
};

TEST_F(SlowSource, OneCallerRenewsAndTheOthersUseTheOldCredentials)
{
    CredentialSource source({.file = keys_}, {});
    EXPECT_EQ(id(source.get(now)), "first");
    print("second", "2026-11-24T15:00:00Z");
    write("stay", "");
    auto renewing = std::async(std::launch::async, [&] { return source.get(soon_); });
    EXPECT_TRUE(test::eventually([&] { return runs() == 2; }));
    auto other = std::async(std::launch::async, [&] { return source.get(soon_); });
    EXPECT_EQ(other.wait_for(Seconds{5}), std::future_status::ready);
    write("go", "");
    EXPECT_EQ(id(other.get()), "first");
    EXPECT_EQ(id(renewing.get()), "second");
    EXPECT_EQ(runs(), 2U);
}

TEST_F(SlowSource, AnEarlyRenewalThatFailsPausesBeforeTheNext)
{
    CredentialSource source({.file = keys_}, {});
    EXPECT_EQ(id(source.get(now)), "first");
    std::filesystem::remove(folder_ / "answer");
    for (int i = 0; i < 30; ++i) EXPECT_EQ(id(source.get(soon_ + Seconds{i})), "first");
    EXPECT_EQ(runs(), 2U);
    EXPECT_EQ(id(source.get(soon_ + Seconds{31})), "first");
    EXPECT_EQ(runs(), 3U);
}

TEST_F(SlowSource, CredentialsThatAreStillTheOldOnesAreNotReadWithEveryRequest)
{
    CredentialSource source({.file = keys_}, {});
    EXPECT_EQ(id(source.get(now)), "first");
    for (int i = 0; i < 30; ++i) EXPECT_EQ(id(source.get(soon_ + Seconds{i})), "first");
    EXPECT_EQ(runs(), 2U);
}

TEST_F(SlowSource, AReaderAndThoseWhoWaitKeepWithinTheirCalls)
{
    CredentialSource source({.file = keys_}, {});
    EXPECT_EQ(id(source.get(now)), "first");
    print("second", "2026-11-24T15:00:00Z");
    write("stay", "");
    std::stop_source stop;
    auto reading = std::async(std::launch::async,
                              [&] { return source.get(late_, {.cancel = stop.get_token()}); });
    EXPECT_TRUE(test::eventually([&] { return runs() == 2; }));
    auto const waited = source.get(late_, {.until = monotonic_now() + Millis{50}});
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ExitCode::temporary);
    stop.request_stop();
    auto const cancelled = reading.get();
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ExitCode::temporary);
    write("go", "");
    EXPECT_EQ(id(source.get(late_)), "second") << "the cancelled reading has no consequence";
}

TEST_F(SlowSource, ThoseWhoWaitGetTheResultOfTheReader)
{
    CredentialSource source({.file = keys_}, {});
    print("second", "2026-11-24T15:00:00Z");
    write("stay", "");
    std::vector<std::future<Result<std::shared_ptr<Credentials const>>>> callers(4);
    for (auto& caller : callers)
        caller = std::async(std::launch::async, [&] { return source.get(now); });
    EXPECT_TRUE(test::eventually([&] { return runs() == 1; }));
    write("go", "");
    for (auto& caller : callers) EXPECT_EQ(id(caller.get()), "second");
    EXPECT_EQ(runs(), 1U);
}

TEST_F(Sources, RefusedCredentialsAreReadAgainButNotAtOnce)
{
    auto const file = write("keys", "[default]\n" + key_of("old"));
    CredentialSource source({.file = file}, {});
    auto const old = *source.get(now);
    write("keys", "[default]\n" + key_of("new"));
    EXPECT_FALSE(source.renew(old, now + Seconds{3}));
    EXPECT_TRUE(source.renew(old, now + Seconds{11}));
    EXPECT_EQ((*source.get(now + Seconds{11}))->key_id, "new");
    EXPECT_TRUE(source.renew(old, now + Seconds{12})) << "another thread has renewed them";
}

TEST_F(Sources, TheServicesOfAMachineAndOfAContainer)
{
    test::S3Server server;
    CredentialSource machine({.instance_role = server.url()}, {});
    auto const role = machine.get(SystemClock{}.now());
    ASSERT_TRUE(role) << role.error().message();
    EXPECT_STREQ((*role)->token.reveal(), "role-token");
    CredentialSource container({},
                               {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/container"},
                                {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token"}});
    EXPECT_TRUE(container.get(SystemClock{}.now()));
    CredentialSource stranger(
        {}, {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/container"}});
    EXPECT_EQ(stranger.get(SystemClock{}.now()).error().code, ExitCode::permission);
}

// Sets an environment variable for the lifetime of the object.
class Variable {
  public:
    Variable(char const* name, std::string const& value) : name_(name)
    {
        setenv(name, value.c_str(), 1);
    }
    ~Variable() { unsetenv(name_); }
    Variable(Variable const&) = delete;
    Variable& operator=(Variable const&) = delete;

  private:
    char const* name_;
};

TEST_F(Sources, TheServiceOfAMachineIsNotAskedThroughAProxy)
{
    test::S3Server proxy;
    Variable const variable("http_proxy", proxy.url());
    // No machine has this address (RFC 5737).
    CredentialSource machine({.instance_role = "http://192.0.2.1"}, {});
    EXPECT_FALSE(machine.get(SystemClock{}.now(), {.until = monotonic_now() + Millis{200}}));
}

TEST_F(Sources, AContainersPlainHttpServiceIsOnThisMachineOrOneOfAws)
{
    for (auto const* url : {"http://192.0.2.1/x", "http://169.254.169.254.example.org/x",
                            "http://169.254.170.2.example.org/x", "http://user@169.254.170.2/x"}) {
        CredentialSource source({}, {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}});
        EXPECT_EQ(source.get(now).error().code, ExitCode::config) << url;
    }
    for (auto const* url :
         {"http://127.0.0.1:1/x", "http://169.254.170.2/x", "http://169.254.170.23/x",
          "http://[fd00:ec2::23]/x", "https://example.org/x"})
        EXPECT_TRUE(check_container_url(url)) << url;
}

TEST(SharedFile, MessagesShowNoContent)
{
    auto const bad = find_profile("[default]\ns3cret\n", "default", "keys");
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.error().message(), HasSubstr("line 2"));
    EXPECT_THAT(bad.error().message(), Not(HasSubstr("s3cret")));
}

TEST(SharedFile, SkipsNestedValuesAndReadsWindowsLineEnds)
{
    auto const profile = find_profile(
        "[default]\r\ns3 =\r\n  part = 5\r\nAws_Access_Key_Id=a=b\r\n", "default", "f");
    ASSERT_TRUE(profile && *profile);
    EXPECT_EQ((*profile)->at("aws_access_key_id"), "a=b");
    EXPECT_FALSE((*profile)->contains("part"));
}

TEST(SharedFile, ReadsAProfileThatIsIndentedAsAWhole)
{
    auto const profile = find_profile(
        "  [default]\n  # comment\n  aws_access_key_id = a\n\n"
        "  s3 =\n    part = 5\n  aws_secret_access_key = b\n \t\n",
        "default", "f");
    ASSERT_TRUE(profile) << profile.error().message();
    ASSERT_TRUE(*profile);
    EXPECT_EQ((*profile)->at("aws_access_key_id"), "a");
    EXPECT_EQ((*profile)->at("aws_secret_access_key"), "b");
    EXPECT_FALSE((*profile)->contains("part"));
    EXPECT_THAT(
        find_profile("[default]\raws_access_key_id = a\r", "default", "f").error().message(),
        HasSubstr("its lines end with carriage returns only"));
}

TEST(CommandLine, IsSplitAtSpacesOutsideQuotes)
{
    EXPECT_THAT(*split_command(R"(a  "b c"  'd "e' f\ g "h\"i" x''y)"),
                ElementsAre("a", "b c", "d \"e", "f g", "h\"i", "xy"));
    EXPECT_THAT(*split_command("$HOME `id` ;x"), ElementsAre("$HOME", "`id`", ";x"));
    EXPECT_FALSE(split_command("a 'b"));
    EXPECT_FALSE(split_command("  "));
}

}  // namespace
}  // namespace curtail::s3
