// SPDX-License-Identifier: Apache-2.0
#include "bill/account/tail.hpp"

#include <algorithm>

namespace curtail::account {
namespace {

// What a site draws, and at which intensity, while both are constant.
struct Drawn {
    energy::PowerState state;
    std::optional<Watts> power;
    std::optional<GramsPerKwh> intensity;
    GramsPerKwh threshold;
    friend bool operator==(Drawn const&, Drawn const&) = default;

    [[nodiscard]] WattHours energy(FractionalSeconds time) const
    {
        return power.value_or(Watts{}) * time;
    }
    [[nodiscard]] Grams carbon(FractionalSeconds time) const
    {
        return std::max(Grams{}, energy(time) * intensity.value_or(GramsPerKwh{0}));
    }
};
struct DrawnPiece {
    energy::Interval when;
    Drawn drawn;
};

std::vector<DrawnPiece> pieces_of(SiteTimeline const& site, energy::Billings const& billings)
{
    auto const billed = billed_of(site);
    std::vector<DrawnPiece> out;
    for (auto const& b : billings)
        for (auto const& s : energy::clip(billed, b.when))
            for (auto const& piece : b.intensity.pieces(s.when))
                out.push_back(
                    {piece.when,
                     {s.state, b.power ? std::optional(b.power->of(s.state)) : std::nullopt,
                      piece.intensity, b.threshold}});
    std::ranges::stable_sort(out, {}, [](DrawnPiece const& piece) { return piece.when.from; });
    return out;
}

// Looks up what is drawn at times that only grow.
class Cursor {
  public:
    explicit Cursor(std::vector<DrawnPiece> const& pieces) : pieces_(pieces) {}
    std::optional<Drawn> at(Time time)
    {
        while (next_ < pieces_.size() && pieces_[next_].when.to <= time) ++next_;
        bool const is_inside = next_ < pieces_.size() && pieces_[next_].when.from <= time;
        return is_inside ? std::optional(pieces_[next_].drawn) : std::nullopt;
    }

  private:
    std::vector<DrawnPiece> const& pieces_;
    std::size_t next_{0};
};

// Adds up the time in which two bills of a site differ. The greater amount counts.
Tail difference(std::vector<DrawnPiece> const& a, std::vector<DrawnPiece> const& b)
{
    std::vector<Time> times;
    for (auto const* pieces : {&a, &b})
        for (auto const& piece : *pieces) {
            times.push_back(piece.when.from);
            times.push_back(piece.when.to);
        }
    std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
    Cursor in_a(a), in_b(b);
    Tail tail;
    for (std::size_t i = 1; i < times.size(); ++i) {
        FractionalSeconds const time = times[i] - times[i - 1];
        auto const x = in_a.at(times[i - 1]);
        auto const y = in_b.at(times[i - 1]);
        if (x == y) continue;
        auto const most = [&](auto amount) {
            using Amount = decltype(amount(*x));
            return std::max(x ? amount(*x) : Amount{}, y ? amount(*y) : Amount{});
        };
        tail.seconds += time.count();
        for (auto const& drawn : {x, y})
            if (drawn && !drawn->power) tail.unpowered = true;
        tail.energy += most([&](Drawn const& d) { return d.energy(time); });
        tail.carbon += most([&](Drawn const& d) { return d.carbon(time); });
    }
    return tail;
}

}  // namespace

std::vector<Tail> tails_of(RunFiles const& files, Timeline const& timeline, RunFiles const& fixed)
{
    auto const fixed_timeline = timeline_of(fixed);
    std::vector<Tail> tails;
    for (std::size_t s = 0; s < timeline.sites.size(); ++s)
        tails.push_back(difference(
            pieces_of(timeline.sites[s], billings_of(timeline, s, files.trace)),
            pieces_of(fixed_timeline.sites[s], billings_of(fixed_timeline, s, fixed.trace))));
    return tails;
}

}  // namespace curtail::account
