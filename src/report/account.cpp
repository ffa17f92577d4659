#include "report/account.hpp"

#include <algorithm>

namespace curtail::report {

energy::Tally Account::total() const
{
    energy::Tally sum;
    for (auto const& site : sites) sum += site.ledger.total;
    return sum;
}

WattHours Account::inside_windows() const
{
    WattHours sum;
    for (auto const& site : sites) sum += site.ledger.inside_windows;
    return sum;
}

bool Account::comparable() const
{
    auto const sum = total();
    return sum.unknown.value <= most_unknown * sum.energy.value;
}

std::optional<double> Account::ratio_to(energy::Tally const& other, Grams of) const
{
    if (other.carbon.value <= 0 || !comparable()) return std::nullopt;
    return ratio(of, other.carbon);
}

double Account::training_s() const
{
    double sum = 0;
    for (auto const& site : sites) sum += seconds_in(site, "training");
    return sum;
}

double Account::allocated_s() const
{
    double sum = 0;
    for (auto const& site : sites) sum += seconds_in(site);
    return sum;
}

double seconds_in(SiteAccount const& site, std::string const& kind)
{
    double sum = 0;
    for (auto const& state : site.states)
        if (kind.empty() || state.kind == kind) sum += state.when.to_s - state.when.from_s;
    return sum;
}

std::optional<Spread> spread_of(std::vector<double> values)
{
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    auto const n = values.size();
    return Spread{n, values.front(), (values[(n - 1) / 2] + values[n / 2]) / 2, values.back()};
}

}  // namespace curtail::report
