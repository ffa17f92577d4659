// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/bridges.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/core/abandonable.hpp"
#include "protocol/records/names.hpp"

namespace curtail::bridge {
namespace {

constexpr char const* looking = "it has not met this site yet";
constexpr char const* meeting = "it is being connected";
constexpr Millis last_words{200};  // to say that this site leaves
constexpr int most_meetings = 8;   // at a time; each has processes, and others wait

using Connections = std::vector<std::shared_ptr<Connection>>;

// Tells the other ends that this site leaves, and ends the connections.
void leave(Connections& connections)
{
    for (auto const& connection : connections) connection->say_leave();
    auto const until = monotonic_now() + last_words;
    for (auto const& connection : connections) connection->leave(until);
    connections.clear();
}

SiteId site_of(MemberId const& member) { return protocol::member_parts(member).process.site; }

}  // namespace

// Shared with the threads, which may outlive the object.
struct Bridges::State : std::enable_shared_from_this<State> {
    struct Partner {
        MonoTime since{};  ///< when it was first seen
        std::string why{looking};
        bool met{false};       ///< nobody need look for it any more
        bool given_up{false};  ///< it will not be connected any more
        std::string host;
        std::string library;
        std::shared_ptr<Connection> connection;
        int number{};  ///< of this entry: a member may leave and return while a thread meets it
    };
    struct PartnerKey {
        MemberId member;
        int number{};
    };

    State(MeetingPlace::Parts p, Log l, BridgeLimits t)
        : place(std::move(p)), log(std::move(l)), limits(t)
    {
    }

    void look()
    {
        while (!stop.stop_requested()) look_once();
    }

    void look_once()
    {
        MemberId self;
        Connections ended;
        {
            std::unique_lock lock(mutex);
            changed.wait_for(lock, limits.pause);
            self = own;
            ended.swap(retired);
        }
        // What they wait for may hang.
        if (!ended.empty())
            (void)start([last = std::move(ended)]() mutable { leave(last); },
                        [](std::string const&) {});
        if (stop.stop_requested() || self.value.empty()) return;
        announce(self);
        for (auto const& other : to_look_for(self)) {
            auto const record = place.record_of(other.member, self, stop.get_token());
            // A store that does not answer is asked again.
            if (record && *record) begin(self, other, **record);
        }
    }

    void announce(MemberId const& self)
    {
        // Nobody else changes these values.
        if (announced == self || is_forbidden()) return;
        auto const written = place.announce(self, stop.get_token());
        std::lock_guard const lock(mutex);
        if (stop.stop_requested()) return;
        not_announced.reset();
        if (written || written.error().code == ExitCode::protocol) {
            announced = self;
            return;
        }
        not_announced = written.error();
        bool const complain = is_forbidden() || monotonic_now() >= complain_at;
        if (complain && !std::exchange(complained, true))
            log.warning("no MPI connections: " + why_not_announced() +
                        "; this site uses the store");
    }

    /// Returns whether the store refuses this site's announcement. A store that is away comes back,
    /// but rights do not change by themselves.
    [[nodiscard]] bool is_forbidden() const
    {
        return not_announced && not_announced->code == ExitCode::permission;
    }
    [[nodiscard]] std::string why_not_announced() const
    {
        return "this site cannot announce itself: " + not_announced->message();
    }
    [[nodiscard]] std::vector<PartnerKey> to_look_for(MemberId const& self)
    {
        std::lock_guard const lock(mutex);
        std::vector<PartnerKey> found;
        if (own != self) return found;  // it has just become another member
        for (auto& [id, partner] : partners) {
            if (partner.met) continue;
            if (is_forbidden()) {
                partner.met = partner.given_up = true;
                partner.why = why_not_announced();
            } else if (monotonic_now() < partner.since + limits.look) {
                found.push_back({id, partner.number});
            } else {
                partner.met = true;
                partner.given_up = true;
                partner.why = "it did not meet this site within " + format_duration(limits.look);
                log.info("no MPI connection with " + site_of(id).value + ": " + partner.why +
                         "; this site uses the store for its payloads");
            }
        }
        return found;
    }

    /// Connects with a member whose record for `self` has the text `record`, in a thread of its
    /// own, so that no member waits for another.
    void begin(MemberId const& self, PartnerKey const& other, std::string const& record)
    {
        {
            std::lock_guard const lock(mutex);
            auto* const partner = find(other);
            if (partner == nullptr || meetings >= most_meetings) return;
            ++meetings;
            partner->met = true;
            partner->why = bridge::meeting;
        }
        auto const failed = [this, other](std::string const& why) { give_up(other, why); };
        auto const body = [state = shared_from_this(), self, other, record, failed] {
            auto met = state->place.meet(other.member, self, record, state->stop.get_token());
            auto const used =
                met ? state->use(other, std::move(*met)) : tl::unexpected(met.error());
            if (!used) failed(used.error().message());
            state->end_meeting();
        };
        auto const not_begun = [this, failed](std::string const& why) {
            failed(why);
            end_meeting();
        };
        if (!start(body, not_begun)) not_begun("this process cannot start a thread");
    }

    void end_meeting()
    {
        std::lock_guard const lock(mutex);
        --meetings;
    }

    [[nodiscard]] Result<void> use(PartnerKey const& other, MeetingPlace::UnverifiedConnection met)
    {
        Connection::Settings settings{met.tokens, limits.patience};
        settings.ended = [this, other](std::string const& why) { give_up(other, why); };
        auto const connection = std::make_shared<Connection>(std::move(met.end), offers, settings);
        // The connection itself ends after its patience, and says why.
        if (!connection->wait_until_ready(monotonic_now() + limits.patience + Seconds{1}))
            return fail(ExitCode::unavailable, "cannot connect with MPI", connection->why_ended());
        std::lock_guard const lock(mutex);
        auto* const partner = find(other);
        // It may have left, and the connection may have ended meanwhile.
        if (partner == nullptr || partner->given_up || stop.stop_requested()) return {};
        partner->connection = connection;
        partner->why.clear();
        partner->host = met.host;
        partner->library = met.library;
        log.info("exchanges payloads with " + site_of(other.member).value + " (" + met.host +
                 ") over MPI");
        return {};
    }

    void give_up(PartnerKey const& other, std::string const& why)
    {
        std::lock_guard const lock(mutex);
        auto* const partner = find(other);
        if (partner == nullptr || partner->given_up || stop.stop_requested()) return;
        partner->met = true;
        partner->given_up = true;
        partner->why = why;
        // It has processes and threads, which nobody needs any more.
        if (partner->connection) retired.push_back(std::move(partner->connection));
        changed.notify_all();
        auto const site = site_of(other.member).value;
        if (why == Connection::has_left)
            return log.info("the MPI connection with " + site + " has ended: " + why);
        log.warning("no MPI connection with " + site + ": " + why +
                    "; this site uses the store for its payloads, and curtail-train --mpi-check "
                    "tries the connection");
    }

    /// Returns the connection, or why there is none.
    [[nodiscard]] tl::expected<std::shared_ptr<Connection>, std::string> connection_with(
        MemberId const& member) const
    {
        std::lock_guard const lock(mutex);
        auto const found = partners.find(member);
        if (found == partners.end())
            return tl::unexpected(std::string("its owner is no member any more"));
        if (!found->second.connection) return tl::unexpected(found->second.why);
        return found->second.connection;
    }

    /// Returns the entry, or null if it is not there any more. The caller holds the mutex.
    [[nodiscard]] Partner* find(PartnerKey const& key)
    {
        auto const found = partners.find(key.member);
        return found != partners.end() && found->second.number == key.number ? &found->second
                                                                             : nullptr;
    }

    /// Runs `body` in a thread of its own, for which the destructor of Bridges waits a little.
    /// Returns false if none can start. `failed` receives what `body` throws.
    [[nodiscard]] bool start(std::function<void()> body,
                             std::function<void(std::string const&)> failed)
    {
        return threads.start(
            [state = shared_from_this(), body = std::move(body), failed = std::move(failed)] {
                try {
                    body();
                } catch (std::exception const& error) {
                    failed(error.what());
                }
            });
    }

    MeetingPlace const place;
    Log const log;
    BridgeLimits const limits;
    std::shared_ptr<Offers> offers{std::make_shared<Offers>()};
    std::stop_source stop;
    mutable std::mutex mutex;
    std::condition_variable changed;
    MemberId own;
    MemberId announced;                  ///< the own member that has been announced
    std::optional<Error> not_announced;  ///< why the last attempt has failed
    bool complained{false};              ///< the log says why this site is not announced
    MonoTime complain_at{};              ///< from then on, it says so
    std::map<MemberId, Partner> partners;
    Connections retired;  ///< to end, which may take seconds
    int entries{0};
    int meetings{0};  ///< that are under way
    AbandonableThreads threads;
};

// ---- Bridges

Bridges::Bridges(MeetingPlace::Parts place, Log log, BridgeLimits limits)
    : state_(std::make_shared<State>(std::move(place), std::move(log), limits))
{
    auto const failed = [state = state_](std::string const& why) {
        state->log.warning("no more MPI connections: " + why + "; this site uses the store");
    };
    if (!state_->start([state = state_] { state->look(); }, failed))
        failed("this process cannot start a thread");
}

Bridges::~Bridges()
{
    state_->stop.request_stop();
    Connections connections;
    {
        std::lock_guard const lock(state_->mutex);
        connections.swap(state_->retired);
        for (auto const& [id, partner] : state_->partners)
            if (partner.connection) connections.push_back(partner.connection);
        state_->partners.clear();
    }
    state_->changed.notify_all();
    // What they wait for may hang.
    (void)state_->start([last = std::move(connections)]() mutable { leave(last); },
                        [](std::string const&) {});
    constexpr Millis longest{1500};
    (void)state_->threads.wait(monotonic_now() + longest);
}

void Bridges::set_members(MemberId const& own, std::vector<MemberId> const& members)
{
    auto& state = *state_;
    std::lock_guard const lock(state.mutex);
    // If the run has removed this process, it joins again with another id. Then the other members
    // have ended their connections with the old id, and it has to connect with all of them again.
    bool const is_another = state.own != own;
    state.own = own;
    if (is_another) state.complain_at = monotonic_now() + state.limits.look;
    auto const removed = std::erase_if(state.partners, [&](auto const& entry) {
        auto const& [id, partner] = entry;
        if (!is_another && std::ranges::find(members, id) != members.end()) return false;
        if (partner.connection) state.retired.push_back(partner.connection);
        return true;
    });
    bool changed = is_another || removed > 0;
    for (auto const& member : members) {
        if (site_of(member) == site_of(own) || state.partners.contains(member)) continue;
        auto& partner = state.partners[member];
        partner.since = monotonic_now();
        partner.number = ++state.entries;
        changed = true;
    }
    if (changed) state.changed.notify_all();
}

std::optional<Error> Bridges::why_not_announced() const
{
    std::lock_guard const lock(state_->mutex);
    return state_->not_announced;
}

std::optional<std::string> Bridges::why_not_connected(MemberId const& member) const
{
    auto const connection = state_->connection_with(member);
    return connection ? std::nullopt : std::optional(connection.error());
}

Offers& Bridges::offers() { return *state_->offers; }

tl::expected<void, std::string> Bridges::fetch(MemberId const& owner, Digest const& digest,
                                               std::int64_t bytes, Connection::Sink const& sink,
                                               CallLimits const& call)
{
    auto const connection = state_->connection_with(owner);
    if (!connection) return tl::unexpected(connection.error());
    return (*connection)->fetch(digest, bytes, sink, call);
}

std::map<MemberId, Bridges::PartnerState> Bridges::states() const
{
    std::lock_guard const lock(state_->mutex);
    std::map<MemberId, PartnerState> states;
    for (auto const& [id, partner] : state_->partners)
        states[id] = {partner.connection != nullptr && !partner.given_up, partner.given_up,
                      partner.why, partner.host, partner.library};
    return states;
}

}  // namespace curtail::bridge
