// SPDX-License-Identifier: Apache-2.0
#include "run/config/named_site.hpp"

#include "base/core/text.hpp"

namespace curtail::config {

Result<Site const*> named_site(Run const& run, std::string_view name)
{
    auto const id = parse_site_id(name);
    if (!id) return tl::unexpected(id.error().with_context("--site"));
    if (auto const* site = run.find_site(*id)) return site;
    return fail(ExitCode::config, "--site " + id->value, run.file.string() + " has no such site",
                suggest_name(id->value, run.site_names()));
}

}  // namespace curtail::config
