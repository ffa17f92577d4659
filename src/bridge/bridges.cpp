// SPDX-License-Identifier: Apache-2.0
#include "bridge/bridges.hpp"

#include <algorithm>
#include <thread>

#include "bridge/meeting.hpp"
#include "core/clock.hpp"
#include "process/identity.hpp"
#include "rounds/names.hpp"

namespace curtail::bridge {
namespace {

constexpr char const* looking = "it has not met this site yet";
constexpr char const* meeting = "it is being connected";

SiteId site_of(MemberId const& member) { return rounds::member_parts(member).process.site; }

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
    };

    explicit State(Parts p) : parts(std::move(p)) {}

    void look();
    void look_for(MemberId const& own, MemberId const& other);
    [[nodiscard]] bool announce(MemberId const& own);
    [[nodiscard]] std::vector<MemberId> to_look_for();
    void begin(MemberId const& other, std::function<Result<void>()> const& meet);
    [[nodiscard]] Result<void> invite(MemberId const& own, MemberId const& other,
                                      Announcement const& theirs);
    [[nodiscard]] Result<void> follow(MemberId const& other, Invitation const& theirs);
    struct Found {  ///< how a partner was met
        std::string host;
        std::string library;
        Tokens tokens;
    };
    [[nodiscard]] Result<void> use(MemberId const& other, std::unique_ptr<End> end, Found found);
    void give_up(MemberId const& other, std::string const& why);

    [[nodiscard]] Result<std::optional<std::string>> read(std::string const& name) const;
    [[nodiscard]] Result<void> write(std::string const& name, std::string const& text) const;
    [[nodiscard]] Call call(Millis longest = Seconds{30}) const
    {
        return {stop.get_token(), monotonic_now() + longest};
    }

    Parts parts;
    std::shared_ptr<Offers> offers{std::make_shared<Offers>()};
    std::stop_source stop;
    mutable std::mutex mutex;
    std::condition_variable changed;
    MemberId own;
    std::string token{make_token()};  ///< of this member's announcement
    bool announced{false};
    bool complained{false};  ///< the log says why this site is not announced
    MonoTime complain_at{monotonic_now() + parts.limits.look};
    std::map<MemberId, Partner> partners;
    std::vector<std::shared_ptr<Connection>> retired;  ///< to end, which may take seconds
    int threads{0};
};

// ---- the store

Result<std::optional<std::string>> Bridges::State::read(std::string const& name) const
{
    return chain::RunObjects(*parts.store, parts.run, nullptr, call())
        .record(parts.folder + "/" + name);
}

Result<void> Bridges::State::write(std::string const& name, std::string const& text) const
{
    auto const object = chain::object_name(parts.run, parts.folder + "/" + name);
    if (!object) return tl::unexpected(object.error());
    auto const created = parts.store->create(*object, store::bytes_of(text), call());
    if (!created) return tl::unexpected(created.error());
    // Nobody else has a reason to create it.
    if (*created == store::CreateOutcome::exists)
        return fail(ExitCode::protocol, "cannot create " + name, "it exists already");
    return {};
}

// ---- meeting

void Bridges::State::look()
{
    while (!stop.stop_requested()) {
        MemberId self;
        std::vector<std::shared_ptr<Connection>> ended;
        {
            std::unique_lock lock(mutex);
            changed.wait_for(lock, parts.limits.pause);
            self = own;
            ended.swap(retired);
        }
        ended.clear();
        if (stop.stop_requested() || self.value.empty()) continue;
        if (!announce(self)) continue;
        for (auto const& other : to_look_for()) look_for(self, other);
    }
}

bool Bridges::State::announce(MemberId const& self)
{
    if (announced) return true;
    auto const written =
        write(announcement_name(self),
              encode(Announcement{process::host_name(), token, SystemClock{}.now()}));
    announced = written.has_value() || written.error().code == ExitCode::protocol;
    if (announced || complained) return announced;
    // A store that is away comes back, but rights do not change by themselves.
    complained = written.error().code == ExitCode::permission || monotonic_now() >= complain_at;
    if (complained)
        parts.log.warning("no MPI connections: this site cannot announce itself: " +
                          written.error().message() + "; this site uses the store");
    return false;
}

std::vector<MemberId> Bridges::State::to_look_for()
{
    std::lock_guard const lock(mutex);
    std::vector<MemberId> found;
    for (auto& [id, partner] : partners) {
        if (partner.met) continue;
        if (monotonic_now() < partner.since + parts.limits.look) found.push_back(id);
        else {
            partner.met = true;
            partner.given_up = true;
            partner.why = "it did not meet this site within " + format_duration(parts.limits.look);
            parts.log.info("no MPI connection with " + site_of(id).value + ": " + partner.why +
                           "; this site uses the store for its payloads");
        }
    }
    return found;
}

void Bridges::State::look_for(MemberId const& self, MemberId const& other)
{
    bool const newer = is_newer(other, self);
    auto const text = read(newer ? announcement_name(other) : invitation_name(other, self));
    if (!text || !*text) return;  // a store that does not answer is asked again
    if (newer) {
        auto const theirs = decode_announcement(**text);
        if (!theirs) return give_up(other, theirs.error().message());
        begin(other, [this, self, other, theirs] { return invite(self, other, *theirs); });
    } else {
        auto const theirs = decode_invitation(**text);
        if (!theirs) return give_up(other, theirs.error().message());
        begin(other, [this, other, theirs] { return follow(other, *theirs); });
    }
}

// Each pair meets in a thread of its own, so that none waits for another.
void Bridges::State::begin(MemberId const& other, std::function<Result<void>()> const& meet)
{
    std::lock_guard const lock(mutex);
    auto const found = partners.find(other);
    if (found == partners.end()) return;
    found->second.met = true;
    found->second.why = bridge::meeting;
    ++threads;
    std::thread([state = shared_from_this(), other, meet] {
        if (auto const met = meet(); !met) state->give_up(other, met.error().message());
        std::lock_guard const at_end(state->mutex);
        --state->threads;
        state->changed.notify_all();
    }).detach();
}

Result<void> Bridges::State::invite(MemberId const& self, MemberId const& other,
                                    Announcement const& theirs)
{
    auto end = parts.ends.wait_at_port(call(parts.limits.start));
    if (!end) return tl::unexpected(end.error());
    Invitation const invitation{(*end)->address(), process::host_name(), make_token(),
                                SystemClock{}.now()};
    if (auto written = write(invitation_name(self, other), encode(invitation)); !written)
        return written;
    auto library = (*end)->wait_until_connected(call(parts.limits.accept));
    if (!library) return tl::unexpected(library.error());
    return use(other, std::move(*end), {theirs.host, *library, {invitation.token, theirs.token}});
}

Result<void> Bridges::State::follow(MemberId const& other, Invitation const& theirs)
{
    if (auto good = check_address(theirs.address, parts.networks); !good) return good;
    auto const until_connected = call(parts.limits.connect);
    auto end = parts.ends.connect_to(theirs.address, until_connected);
    if (!end) return tl::unexpected(end.error());
    auto library = (*end)->wait_until_connected(until_connected);
    if (!library) return tl::unexpected(library.error());
    return use(other, std::move(*end), {theirs.host, *library, {token, theirs.token}});
}

Result<void> Bridges::State::use(MemberId const& other, std::unique_ptr<End> end, Found found)
{
    Connection::Settings settings{found.tokens, parts.limits.patience};
    settings.ended = [this, other](std::string const& why) { give_up(other, why); };
    auto const connection = std::make_shared<Connection>(std::move(end), offers, settings);
    if (!connection->wait_until_ready(monotonic_now() + parts.limits.patience))
        return fail(ExitCode::unavailable, "cannot connect with MPI", connection->why_ended());
    std::lock_guard const lock(mutex);
    auto const entry = partners.find(other);
    if (entry == partners.end() || stop.stop_requested()) return {};
    auto& partner = entry->second;
    // It may have ended meanwhile.
    if (partner.given_up) return {};
    partner.connection = connection;
    partner.why.clear();
    partner.host = found.host;
    partner.library = found.library;
    parts.log.info("exchanges payloads with " + site_of(other).value + " (" + found.host +
                   ") over MPI");
    return {};
}

void Bridges::State::give_up(MemberId const& other, std::string const& why)
{
    std::lock_guard const lock(mutex);
    auto const found = partners.find(other);
    if (found == partners.end() || stop.stop_requested()) return;
    auto& partner = found->second;
    if (partner.given_up) return;
    partner.met = true;
    partner.given_up = true;
    partner.why = why;
    if (why == Connection::has_left)
        return parts.log.info("the MPI connection with " + site_of(other).value +
                              " has ended: " + why);
    parts.log.warning("no MPI connection with " + site_of(other).value + ": " + why +
                      "; this site uses the store for its payloads, and curtail-train --mpi-check "
                      "tries the connection");
}

// ---- Bridges

Bridges::Bridges(Parts parts) : state_(std::make_shared<State>(std::move(parts)))
{
    std::lock_guard const lock(state_->mutex);
    ++state_->threads;
    std::thread([state = state_] {
        state->look();
        std::lock_guard const at_end(state->mutex);
        --state->threads;
        state->changed.notify_all();
    }).detach();
}

Bridges::~Bridges()
{
    state_->stop.request_stop();
    state_->changed.notify_all();
    std::map<MemberId, State::Partner> partners;
    {
        std::lock_guard const lock(state_->mutex);
        partners.swap(state_->partners);
    }
    for (auto const& [id, partner] : partners)
        if (partner.connection) partner.connection->leave(Millis{200});
    partners.clear();
    constexpr Millis longest{1500};
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, longest, [&] { return state_->threads == 0; });
}

void Bridges::set_members(MemberId const& own, std::vector<MemberId> const& members)
{
    std::lock_guard const lock(state_->mutex);
    bool changed = state_->own != own;
    state_->own = own;
    for (auto const& member : members) {
        if (site_of(member) == site_of(own) || state_->partners.contains(member)) continue;
        state_->partners[member].since = monotonic_now();
        changed = true;
    }
    std::erase_if(state_->partners, [&](auto const& entry) {
        auto const& [id, partner] = entry;
        if (std::ranges::find(members, id) != members.end()) return false;
        if (partner.connection) state_->retired.push_back(partner.connection);
        changed = true;
        return true;
    });
    if (changed) state_->changed.notify_all();
}

Offers& Bridges::offers() { return *state_->offers; }

tl::expected<void, std::string> Bridges::fetch(MemberId const& owner, Digest const& digest,
                                               std::int64_t bytes, Connection::Sink const& sink,
                                               MonoTime until)
{
    std::shared_ptr<Connection> connection;
    {
        std::lock_guard const lock(state_->mutex);
        auto const found = state_->partners.find(owner);
        if (found == state_->partners.end())
            return tl::unexpected(std::string("its owner is no member any more"));
        if (!found->second.connection) return tl::unexpected(found->second.why);
        connection = found->second.connection;
    }
    return connection->fetch(digest, bytes, sink, until);
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
