// SPDX-License-Identifier: Apache-2.0
#include "trainer/snapshot/header.hpp"

#include <charconv>

#include "base/core/direct_io.hpp"
#include "base/core/json.hpp"

namespace curtail::snapshot {
namespace {

constexpr std::string_view prefix = "snapshot-";
constexpr std::string_view suffix = ".h5";
constexpr int most_ranks = 1 << 20;

Result<StoredRange> stored_in(json::Value const& value, std::string const& where)
{
    json::ObjectReader r(value, where);
    StoredRange stored{{r.text("name"), {}, r.integer("first"), r.integer("count")}, {}};
    for (auto const& length : r.list("shape"))
        stored.range.shape.push_back(length.as_integer() == nullptr ? -1 : *length.as_integer());
    auto const digest = Digest::from_hex(r.text("sha256"));
    if (auto error = r.finish()) return tl::unexpected(*error);
    auto const& range = stored.range;
    tensors::TensorInfo const whole{range.name, tensors::Dtype::float32, range.shape};
    if (!digest || !tensors::is_valid_shape(whole.shape, whole.dtype) || range.first < 0 ||
        range.count < 1 || range.count > whole.elements() - range.first)
        return fail(ExitCode::data, where, "the entry of " + range.name + " is invalid");
    stored.sha256 = *digest;
    return stored;
}

Result<RankHeader> header_in(std::string_view text)
{
    std::string const where = "the header";
    auto const document = json::parse(text, where);
    if (!document) return tl::unexpected(document.error());
    json::ObjectReader r(*document, where);
    RankHeader header;
    header.metadata = {RunId{r.text("run")}, r.text("owner"),   Tokens{r.integer("tokens")},
                       r.integer("steps"),   r.integer("rate"), r.integer("optimizer_steps")};
    auto const rank = r.integer("rank");
    auto const ranks = r.integer("ranks");
    auto const serial = r.integer("serial");
    auto const& list = r.list("tensors");
    if (auto error = r.finish()) return tl::unexpected(*error);
    if (rank < 0 || rank >= ranks || ranks > most_ranks)
        return fail(ExitCode::data, where, "it has no valid rank");
    header.place = {serial, static_cast<int>(rank), static_cast<int>(ranks)};
    for (auto const& value : list) {
        auto stored = stored_in(value, where);
        if (!stored) return tl::unexpected(stored.error());
        header.ranges.push_back(std::move(*stored));
    }
    return header;
}

}  // namespace

std::string file_name(Place const& place)
{
    return std::string(prefix) + (place.serial % 2 == 1 ? "a." : "b.") +
           std::to_string(place.rank) + "of" + std::to_string(place.ranks) + std::string(suffix);
}

bool is_file_name(std::string_view name)
{
    if (!name.starts_with(prefix)) return false;
    auto const rest = name.substr(prefix.size());
    if (!rest.starts_with("a.") && !rest.starts_with("b.")) return false;
    int rank = -1;
    auto const* const end = rest.data() + rest.size();
    auto const number = std::from_chars(rest.data() + 2, end, rank);
    std::string_view const tail(number.ptr, static_cast<std::size_t>(end - number.ptr));
    if (number.ec != std::errc() || !tail.starts_with("of")) return false;
    int ranks = 0;
    std::from_chars(tail.data() + 2, end, ranks);
    return name == file_name({rest.front() == 'a' ? 1 : 2, rank, ranks});
}

std::string encode(RankHeader const& header)
{
    json::Array ranges;
    for (auto const& [range, digest] : header.ranges)
        ranges.push_back(
            json::Object{{"name", range.name},
                         {"shape", json::Array(range.shape.begin(), range.shape.end())},
                         {"first", range.first},
                         {"count", range.count},
                         {"sha256", digest.hex()}});
    auto const& [metadata, place, unused] = header;
    auto const text = json::to_string(json::Object{{"run", metadata.run.value},
                                                   {"owner", metadata.training_id},
                                                   {"tokens", metadata.tokens.value},
                                                   {"steps", metadata.steps},
                                                   {"rate", metadata.rate},
                                                   {"optimizer_steps", metadata.optimizer_steps},
                                                   {"serial", place.serial},
                                                   {"rank", place.rank},
                                                   {"ranks", place.ranks},
                                                   {"tensors", std::move(ranges)}});
    return sha256(text).hex() + "\n" + text;
}

Result<std::optional<RankHeader>> decode(std::string_view bytes)
{
    bytes = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
    if (bytes.empty()) return std::optional<RankHeader>{};
    auto const line = bytes.find('\n');
    auto const text = line == bytes.npos ? std::string_view() : bytes.substr(line + 1);
    if (line == bytes.npos || bytes.substr(0, line) != sha256(text).hex())
        return fail(ExitCode::data, "the header", "its digest differs");
    auto header = header_in(text);
    if (!header) return tl::unexpected(header.error());
    return std::optional(std::move(*header));
}

std::int64_t header_bytes(std::vector<ElementRange> const& ranges)
{
    constexpr std::int64_t fixed = 2'048;
    constexpr std::int64_t per_range = 300;  // without the name
    std::int64_t bytes = fixed;
    for (auto const& range : ranges) bytes += per_range + std::ssize(range.name);
    return in_whole_blocks(bytes);
}

}  // namespace curtail::snapshot
