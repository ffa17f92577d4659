// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/site.hpp"

#include "protocol/site/steps.hpp"

namespace curtail::protocol {

Site::Site(SiteConfig config) : parts_(std::make_unique<site::Parts>(std::move(config))) {}
Site::Site(Site const& other) : parts_(std::make_unique<site::Parts>(*other.parts_)) {}
Site::Site(Site&& other) noexcept = default;
Site& Site::operator=(Site const& other) { return *this = Site(other); }
Site& Site::operator=(Site&& other) noexcept = default;
Site::~Site() = default;

std::vector<Output> Site::on(MonoTime now, Input const& input)
{
    return site::on(*parts_, now, input);
}
std::optional<MonoTime> Site::wake() const { return parts_->machine.wake(); }
Status Site::status() const { return site::status(*parts_); }
Rate Site::rate() const { return site::rate(*parts_); }
bool Site::exited() const { return parts_->machine.exited(); }
std::optional<Commit> const& Site::tip() const { return parts_->chain.tip(); }

char const* to_text(ProtocolState state)
{
    static constexpr char const* words[] = {
        "probe", "find", "genesis", "fold",  "join", "base",   "run",   "cut",    "publish",
        "lease", "wait", "gather",  "merge", "lone", "commit", "adopt", "repair", "exited"};
    return words[static_cast<int>(state)];
}

}  // namespace curtail::protocol
