// SPDX-License-Identifier: Apache-2.0
#include "storage/store/address.hpp"

namespace curtail::store {

Address Address::with(S3Access const& site_access) const
{
    auto address = *this;
    auto const replace = [](auto& value, auto const& other) {
        if (!other.empty()) value = other;
    };
    replace(address.access.endpoint, site_access.endpoint);
    replace(address.access.credentials.file, site_access.credentials.file);
    replace(address.access.credentials.profile, site_access.credentials.profile);
    replace(address.access.credentials.instance_role, site_access.credentials.instance_role);
    replace(address.access.connection.ca_file, site_access.connection.ca_file);
    replace(address.access.connection.proxy, site_access.connection.proxy);
    return address;
}

}  // namespace curtail::store
