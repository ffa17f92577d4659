// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/check.hpp"

#include <atomic>
#include <mutex>
#include <thread>

#include "base/core/clock.hpp"
#include "protocol/chain/run_objects.hpp"
#include "protocol/records/names.hpp"

namespace curtail::bridge {
namespace {

constexpr std::size_t most = 8;  // members to connect with
// Announcements of checks that were killed are not met.
constexpr std::chrono::minutes longest_check{15};

tl::unexpected<Error> no_connection(std::string why)
{
    return fail(ExitCode::unavailable, "no MPI connection", std::move(why));
}

// A check that begins later is a newer member.
MemberId member_of(SiteId const& site)
{
    auto const now = std::chrono::floor<std::chrono::minutes>(SystemClock{}.now());
    auto const nonce = std::stoul(make_token().substr(0, 8), nullptr, 16);
    return protocol::member_id({site, static_cast<std::uint32_t>(nonce)},
                               {now.time_since_epoch().count()});
}

// The bytes that this site sends. Threads of its connections may outlive the check.
class SentBytes {
  public:
    SentBytes()
    {
        for (std::size_t i = 0; i < bytes_.size(); ++i)
            bytes_[i] = static_cast<std::byte>(i * 31 >> 5);
    }
    [[nodiscard]] Digest digest() const { return sha256(bytes_); }
    bool read(std::size_t offset, std::span<std::byte> place)
    {
        std::lock_guard const lock(mutex_);
        if (offset == 0) first_read_ = monotonic_now();
        last_read_ = monotonic_now();
        return Pieces(bytes_).copy(offset, place) == place.size();
    }
    [[nodiscard]] FractionalSeconds time() const
    {
        std::lock_guard const lock(mutex_);
        return last_read_ - first_read_;
    }

  private:
    std::vector<std::byte> bytes_ = std::vector<std::byte>(check_bytes);
    mutable std::mutex mutex_;
    MonoTime first_read_{};
    MonoTime last_read_{};
};

double mb_per_s(FractionalSeconds time)
{
    constexpr FractionalSeconds shortest{1e-3};  // the clock counts milliseconds
    return check_bytes * 1e-6 / std::max(time, shortest).count();
}

tl::unexpected<Error> was_stopped()
{
    return fail(ExitCode::interrupted, "no MPI check", "it was stopped");
}

std::string received_text(MemberId const& member) { return member.value + " has received all"; }

// What one side of the check does.
class Check {
  public:
    Check(MeetingPlace::Parts parts, SiteId const& site, std::vector<SiteId> others,
          CheckLimits limits)
        : store_(parts.store),
          run_(parts.run),
          self_(member_of(site)),
          others_(std::move(others)),
          limits_(std::move(limits)),
          bridges_(std::in_place, std::move(parts), Log(), limits_.bridges)  // the result says all
    {
        bridges_->offers().add(digest_, {check_bytes, [sent = sent_](auto offset, auto place) {
                                             return sent->read(offset, place);
                                         }});
    }
    ~Check()
    {
        bridges_.reset();  // it may still write
        remove_records();
    }
    Check(Check const&) = delete;
    Check& operator=(Check const&) = delete;

    // Waits until another site is connected, and returns it.
    [[nodiscard]] Result<MemberId> meet()
    {
        auto const until = monotonic_now() + limits_.meet;
        for (;;) {
            bool const late = monotonic_now() >= until;
            auto const found = announced();
            if (found) add_members(*found);
            for (auto const& [member, state] : bridges_->states())
                if (state.connected) return member;
            if (auto const why = why_to_end(found, late); !why.empty()) return no_connection(why);
            if (auto waited = wait(); !waited) return tl::unexpected(waited.error());
        }
    }

    // Waits until the check of another site has seen this one, so that it ends, too.
    void stay_seen() const
    {
        for (int looks = 0; looks < 3; ++looks)
            if (!wait()) return;
    }

    // Transfers in both directions. The older site receives first.
    [[nodiscard]] Result<CheckedConnection> exchange(MemberId const& other)
    {
        auto const until = monotonic_now() + limits_.exchange;
        bool const receives_first = is_newer(other, self_);
        auto const state = bridges_->states()[other];
        for (bool const receives : {receives_first, !receives_first}) {
            auto const done = receives ? receive(other, until) : wait_for(other, until);
            if (!done) return tl::unexpected(done.error());
            if (receives) say_received();
        }
        // What the other end has asked for goes out before the message that this side leaves.
        while (!*told_ && monotonic_now() < until)
            if (auto waited = wait(); !waited) return tl::unexpected(waited.error());
        return CheckedConnection{protocol::member_parts(other).process.site, state.host,
                                 state.library, received_mb_per_s_, mb_per_s(sent_->time())};
    }

  private:
    // Returns the members whose announcements are in the store, except this one.
    [[nodiscard]] Result<std::vector<MemberId>> announced() const
    {
        auto const listed = list();
        if (!listed) return tl::unexpected(listed.error());
        auto const oldest = protocol::member_parts(self_).admitted.value - longest_check.count();
        std::vector<MemberId> found;
        for (auto const& object : *listed) {
            constexpr std::string_view ending = ".json";
            auto name = std::string_view(object.name);
            if (!name.ends_with(ending)) continue;
            name = name.substr(folder_.size(), name.size() - folder_.size() - ending.size());
            auto const parts = protocol::parse_member_id(name);
            if (!parts || parts->admitted.value < oldest) continue;
            if (std::ranges::find(others_, parts->process.site) != others_.end())
                found.push_back({std::string(name)});
        }
        return found;
    }

    void add_members(std::vector<MemberId> const& announced)
    {
        // Each costs processes, and anybody who may write to the store can add some.
        for (auto const& member : announced)
            if (std::ranges::find(members_, member) == members_.end() && members_.size() <= most)
                members_.push_back(member);
        bridges_->set_members(self_, members_);
    }

    // Returns why no connection is possible with any member that has been seen; empty if one is
    // possible, or if none has been seen.
    [[nodiscard]] std::string why_hopeless(std::vector<MemberId> const& announced) const
    {
        std::string why;
        for (auto const& [member, state] : bridges_->states()) {
            bool const there = std::ranges::find(announced, member) != announced.end();
            if (there && !state.given_up) return {};
            auto const site = protocol::member_parts(member).process.site.value;
            if (state.given_up) why = state.why;
            else if (why.empty())
                why = "the check of " + site + " has ended without a connection, and says why";
        }
        return why;
    }

    // Returns why nobody need wait for a connection any more; empty if it may still be made.
    [[nodiscard]] std::string why_to_end(Result<std::vector<MemberId>> const& announced,
                                         bool late) const
    {
        // A store that is away comes back, but rights do not change by themselves.
        auto const lasts = [&](Error const& error) {
            return late || error.code == ExitCode::permission;
        };
        if (!announced) return lasts(announced.error()) ? announced.error().message() : "";
        if (auto why = why_hopeless(*announced); !why.empty()) return why;
        if (auto const unknown = bridges_->why_not_announced(); unknown && lasts(*unknown))
            return "this site cannot announce itself: " + unknown->message();
        if (!late) return {};
        return "no other site has begun its check within " + format_duration(limits_.meet);
    }

    // Waits a little.
    [[nodiscard]] Result<void> wait() const
    {
        std::this_thread::sleep_for(limits_.pause);
        if (limits_.stopped()) return was_stopped();
        return {};
    }

    [[nodiscard]] Result<void> receive(MemberId const& other, MonoTime until)
    {
        auto const began = monotonic_now();
        std::stop_source stop;
        auto const sink = [&](std::span<std::byte const>) {
            if (limits_.stopped()) stop.request_stop();
        };
        auto const got =
            bridges_->fetch(other, digest_, check_bytes, sink, {stop.get_token(), until});
        if (stop.stop_requested()) return was_stopped();
        if (!got) return no_connection(got.error());
        received_mb_per_s_ = mb_per_s(monotonic_now() - began);
        return {};
    }

    // Waits until the other site has received all, and says so.
    [[nodiscard]] Result<void> wait_for(MemberId const& other, MonoTime until)
    {
        auto const text = received_text(other);
        for (;;) {
            auto const got = bridges_->fetch(other, sha256(text), std::ssize(text),
                                             [](std::span<std::byte const>) {}, {{}, until});
            if (got) return {};
            if (!bridges_->states()[other].connected) return no_connection(got.error());
            if (monotonic_now() >= until) return no_connection("it does not receive");
            if (auto waited = wait(); !waited) return waited;
        }
    }

    void say_received()
    {
        auto const text = received_text(self_);
        bridges_->offers().add(sha256(text),
                               {std::ssize(text), [told = told_, text](auto offset, auto place) {
                                    *told = true;
                                    return Pieces(std::string_view(text)).copy(offset, place) ==
                                           place.size();
                                }});
    }

    [[nodiscard]] Result<std::vector<store::ListedObject>> list() const
    {
        auto const folder =
            store::ObjectFolder::parse(std::string_view(folder_).substr(0, folder_.size() - 1));
        if (!folder) return tl::unexpected(folder.error());
        return store_->list_all(*folder, {{}, monotonic_now() + Seconds{30}});
    }

    // Removes what this side has stored.
    void remove_records()
    {
        auto const listed = list();
        if (!listed) return;
        for (auto const& object : *listed)
            if (object.name.starts_with(folder_ + self_.value))
                if (auto const name = store::ObjectName::parse(object.name))
                    (void)store_->remove(*name, {{}, monotonic_now() + Seconds{30}});
    }

    std::shared_ptr<store::ObjectStore> store_;
    RunId run_;
    MemberId self_;
    std::vector<SiteId> others_;
    std::string folder_{"runs/" + run_.value + "/" + check_folder + "/"};
    std::shared_ptr<SentBytes> sent_{std::make_shared<SentBytes>()};
    Digest digest_{sent_->digest()};
    std::vector<MemberId> members_{self_};  // that have been seen
    double received_mb_per_s_{0};
    std::shared_ptr<std::atomic<bool>> told_{std::make_shared<std::atomic<bool>>(false)};
    CheckLimits limits_;
    std::optional<Bridges> bridges_;
};

}  // namespace

Result<CheckedConnection> check_connection(MeetingPlace::Parts place, SiteId const& site,
                                           std::vector<SiteId> others, CheckLimits const& limits)
{
    place.folder = check_folder;
    Check check(std::move(place), site, std::move(others), limits);
    auto const other = check.meet();
    if (other) return check.exchange(*other);
    check.stay_seen();
    return tl::unexpected(other.error());
}

}  // namespace curtail::bridge
