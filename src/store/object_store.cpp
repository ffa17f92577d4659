// SPDX-License-Identifier: Apache-2.0
#include "store/object_store.hpp"

#include <filesystem>

#include "core/text.hpp"
#include "store/posix_store.hpp"

namespace curtail::store {

Result<std::optional<Content>> ObjectStore::get(ObjectName const& name, Bytes limit)
{
    Content content;
    auto const found = read(name, limit, [&](std::span<std::byte const> piece, Bytes whole) {
        content.reserve(static_cast<std::size_t>(whole.value));
        content.insert(content.end(), piece.begin(), piece.end());
    });
    if (!found) return tl::unexpected(found.error());
    if (!*found) return std::optional<Content>{};
    return std::optional(std::move(content));
}

Result<std::unique_ptr<ObjectStore>> open_store(std::string_view url, IfMissing if_missing)
{
    constexpr std::string_view scheme = "file://";
    if (url.substr(0, scheme.size()) != scheme || url.size() <= scheme.size() + 1 ||
        url[scheme.size()] != '/' || url.find('\0') != url.npos)
        return fail(ExitCode::config, "store " + printable(url),
                    "not the address of a shared folder", "write file:///absolute/folder");
    auto opened = PosixStore::open(std::filesystem::path(url.substr(scheme.size())), if_missing);
    if (!opened) return tl::unexpected(opened.error());
    return std::unique_ptr<ObjectStore>(std::move(*opened));
}

}  // namespace curtail::store
