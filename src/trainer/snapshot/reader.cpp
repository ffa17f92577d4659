// SPDX-License-Identifier: Apache-2.0
#include "trainer/snapshot/reader.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/core/files.hpp"
#include "storage/tensors/reader.hpp"

namespace curtail::snapshot {
namespace {

namespace fs = std::filesystem;

Result<std::optional<RankHeader>> header_of(fs::path const& path)
{
    auto const file = tensors::TensorReader::open(path);
    if (!file) return tl::unexpected(file.error());
    auto const bytes = file->read<std::uint8_t>(header_tensor);
    if (!bytes) return tl::unexpected(bytes.error());
    auto header = decode({reinterpret_cast<char const*>(bytes->data()), bytes->size()});
    if (!header) return tl::unexpected(header.error().with_context(path.string()));
    if (*header && file_name((*header)->place) != path.filename())
        return fail(ExitCode::data, path.string(), "its header belongs to another file");
    return header;
}

// Copies those elements of a stored range that belong to a wanted one.
std::int64_t copy_common(ElementRange const& stored, std::span<float const> values,
                         ElementRange const& wanted, std::span<float> into)
{
    auto const begin = std::max(stored.first, wanted.first);
    auto const end = std::min(stored.first + stored.count, wanted.first + wanted.count);
    if (begin >= end) return 0;
    auto const from = values.subspan(static_cast<std::size_t>(begin - stored.first),
                                     static_cast<std::size_t>(end - begin));
    std::copy(from.begin(), from.end(), into.begin() + (begin - wanted.first));
    return end - begin;
}

class RangeReader {
  public:
    RangeReader(std::span<ElementRange const> ranges, std::span<std::span<float> const> into)
        : ranges_(ranges), into_(into), found_(ranges.size())
    {
        for (std::size_t i = 0; i < ranges.size(); ++i) by_name_.emplace(ranges[i].name, i);
    }

    Result<void> read_file(fs::path const& path, RankHeader const& header)
    {
        std::optional<tensors::TensorReader> file;
        for (auto const& stored : header.ranges) {
            auto const [begin, end] = by_name_.equal_range(stored.range.name);
            for (auto it = begin; it != end; ++it)
                if (auto read = read_common(path, file, stored, it->second); !read) return read;
        }
        return {};
    }
    [[nodiscard]] Result<void> check_all_found() const
    {
        for (std::size_t i = 0; i < ranges_.size(); ++i)
            if (found_[i] != ranges_[i].count)
                return fail(ExitCode::data, "snapshot", "it lacks elements of " + ranges_[i].name);
        return {};
    }

  private:
    // Opens the file when it is needed.
    Result<void> read_common(fs::path const& path, std::optional<tensors::TensorReader>& file,
                             StoredRange const& stored, std::size_t wanted)
    {
        auto const& range = ranges_[wanted];
        if (stored.range.shape != range.shape)
            return fail(ExitCode::data, path.string(),
                        "the shape of " + range.name + " differs from this model's");
        bool const apart = stored.range.first >= range.first + range.count ||
                           range.first >= stored.range.first + stored.range.count;
        if (apart) return {};
        if (!file) {
            auto opened = tensors::TensorReader::open(path);
            if (!opened) return tl::unexpected(opened.error());
            file.emplace(std::move(*opened));
        }
        bool const same = stored.range == range;
        std::vector<float> whole(same ? 0 : static_cast<std::size_t>(stored.range.count));
        auto const target = same ? into_[wanted] : std::span(whole);
        auto const bytes = std::as_writable_bytes(target);
        if (auto read = file->read_into(range.name, tensors::Dtype::float32, bytes); !read)
            return read;
        if (sha256(bytes) != stored.sha256)
            return fail(ExitCode::data, path.string(), "the digest of " + range.name + " differs");
        found_[wanted] +=
            same ? range.count : copy_common(stored.range, whole, range, into_[wanted]);
        return {};
    }
    std::span<ElementRange const> ranges_;
    std::span<std::span<float> const> into_;
    std::vector<std::int64_t> found_;
    std::multimap<std::string, std::size_t, std::less<>> by_name_;
};

// The files of one slot and one number of ranks.
using Group = std::map<int, RankHeader>;

std::optional<Snapshot> whole_snapshot(Group group)
{
    auto const first = group.begin()->second;
    if (static_cast<int>(group.size()) != first.place.ranks) return std::nullopt;
    Snapshot snapshot{first.metadata, first.place.serial, {}};
    for (auto& [rank, header] : group) {
        if (header.metadata != first.metadata || header.place.serial != first.place.serial)
            return std::nullopt;
        snapshot.headers.push_back(std::move(header));
    }
    return snapshot;
}

}  // namespace

Result<Snapshots> find_snapshots(fs::path const& folder)
{
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    if (error == std::errc::no_such_file_or_directory) return Snapshots{};
    Snapshots snapshots;
    std::map<std::pair<bool, int>, Group> groups;
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        auto const path = entries->path();
        if (!is_file_name(path.filename().string())) continue;
        auto header = header_of(path);
        if (!header) snapshots.damaged.push_back(header.error().message());
        else if (*header) {
            auto const place = (*header)->place;
            groups[{place.serial % 2 == 1, place.ranks}].emplace(place.rank, std::move(**header));
        }
    }
    if (error)
        return fail(ExitCode::io, "cannot read " + folder.string(), errno_text(error.value()));
    for (auto& [key, group] : groups)
        if (auto whole = whole_snapshot(std::move(group)))
            snapshots.whole.push_back(std::move(*whole));
    std::ranges::sort(snapshots.whole, std::greater{}, &Snapshot::serial);
    return snapshots;
}

Result<void> read(fs::path const& folder, Snapshot const& snapshot,
                  std::span<ElementRange const> ranges, std::span<std::span<float> const> into)
{
    RangeReader reader(ranges, into);
    for (auto const& header : snapshot.headers)
        if (auto read = reader.read_file(folder / file_name(header.place), header); !read)
            return read;
    return reader.check_all_found();
}

void remove_other_ranks(fs::path const& folder, Place const& place)
{
    auto const slot = file_name(place).substr(0, std::string("snapshot-a.").size());
    auto const ending = "of" + std::to_string(place.ranks) + ".h5";
    std::error_code ignored;
    for (auto const& entry : fs::directory_iterator(folder, ignored)) {
        auto const name = entry.path().filename().string();
        if (is_file_name(name) && name.starts_with(slot) && !name.ends_with(ending))
            fs::remove(entry.path(), ignored);
    }
}

}  // namespace curtail::snapshot
