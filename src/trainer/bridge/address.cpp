// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/address.hpp"

#include "base/core/text.hpp"

namespace curtail::bridge {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::size_t longest_text = 256;

bool is_number(std::string_view text)
{
    return !text.empty() && text.size() <= 10 && text.find_first_not_of(digits) == text.npos;
}

tl::unexpected<Error> refuse(std::string why, std::string remedy = {})
{
    return fail(ExitCode::permission, "cannot connect with MPI", std::move(why), std::move(remedy));
}

// The text after `N.N;tcp://`; empty if the URI does not begin so.
std::string_view after_scheme(std::string_view uri)
{
    constexpr std::string_view scheme = ";tcp://";
    auto const end = uri.find(scheme);
    if (end == uri.npos) return {};
    auto const job = split(uri.substr(0, end), '.');
    bool const numbers = job.size() == 2 && is_number(job[0]) && is_number(job[1]);
    return numbers ? uri.substr(end + scheme.size()) : std::string_view{};
}

}  // namespace

Result<void> check_address(ListenAddress const& address, std::vector<Network> const& networks)
{
    auto const no_uri = [&] {
        return refuse("the address of its server is \"" +
                      printable(address.server.substr(0, longest_text)) +
                      "\", and not N.N;tcp://IP:PORT");
    };
    if (address.server.size() > longest_text) return no_uri();
    auto const place = after_scheme(address.server);
    auto const colon = place.rfind(':');
    if (colon == place.npos || !parse_port(place.substr(colon + 1))) return no_uri();
    for (auto const text : split(place.substr(0, colon), ',')) {
        auto const ip = Ipv4::parse(text);
        if (!ip) return no_uri();
        if (!contain(networks, *ip))
            return refuse("its address " + ip->text() + " is in no network of mpi.peers",
                          "if it is right, add its network to mpi.peers in this site's file");
    }
    if (address.port.empty() || address.port.size() > longest_text ||
        address.port.find_first_not_of("0123456789.:") != address.port.npos)
        return refuse("its MPI port has the name \"" +
                      printable(address.port.substr(0, longest_text)) +
                      "\", which is none of Open MPI 4");
    return {};
}

}  // namespace curtail::bridge
