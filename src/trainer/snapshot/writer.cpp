// SPDX-License-Identifier: Apache-2.0
#include "trainer/snapshot/writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "base/core/direct_io.hpp"
#include "storage/tensors/preallocated.hpp"

namespace curtail::snapshot {
namespace {

std::size_t bytes_of(ElementRange const& range)
{
    return static_cast<std::size_t>(range.count) * sizeof(float);
}

std::vector<tensors::TensorInfo> contents(std::vector<ElementRange> const& ranges)
{
    std::vector<tensors::TensorInfo> infos{
        {header_tensor, tensors::Dtype::uint8, {header_bytes(ranges)}}};
    for (auto const& range : ranges) {
        infos.push_back({range.name, tensors::Dtype::float32, range.shape});
        // A whole tensor keeps its shape, a part of one becomes a vector.
        if (infos.back().elements() != range.count) infos.back().shape = {range.count};
    }
    return infos;
}

bool all_finite(std::span<std::byte const> bytes)
{
    std::span<float const> const values(reinterpret_cast<float const*>(bytes.data()),
                                        bytes.size() / sizeof(float));
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// The digest of the values; empty if one is not finite. Reads the values from memory once.
std::optional<Digest> digest_if_finite(std::vector<std::span<std::byte>> const& values)
{
    constexpr std::size_t in_cache = std::size_t{1} << 18;
    Sha256 hash;
    for (std::span<std::byte const> left : values)
        while (!left.empty()) {
            auto const part = left.first(std::min(in_cache, left.size()));
            if (!all_finite(part)) return std::nullopt;
            hash.update(part);
            left = left.subspan(part.size());
        }
    return hash.finish();
}

}  // namespace

Writer::Writer(std::filesystem::path folder, std::vector<ElementRange> ranges, BlockSource blocks)
    : folder_(std::move(folder)), ranges_(std::move(ranges)), blocks_(std::move(blocks))
{
    for (auto const& range : ranges_)
        places_.push_back(places_.back() + in_whole_blocks(bytes_of(range)));
    made_ = std::async(std::launch::async, [this] { return CopyBuffer(places_.back(), blocks_); });
}

Writer::~Writer()
{
    if (made_.valid()) made_.wait();
    if (done_.valid()) done_.wait();
}

Result<void> Writer::begin(Metadata const& metadata, Place const& place, CopyRange const& copy)
{
    if (is_writing()) throw std::logic_error("a snapshot is being written");
    auto file = open(place);
    if (!file) return tl::unexpected(file.error());
    copied_ = 0;
    abandoned_.reset();
    done_ = std::async(std::launch::async,
                       [this, file = std::move(*file),
                        header = RankHeader{metadata, place, {}}]() -> Result<void> {
                           try {
                               return write_all(file, header);
                           } catch (std::exception const& broken) {
                               return fail(ExitCode::unavailable, "cannot save a snapshot",
                                           broken.what());
                           }
                       });
    try {
        copy_all(copy);
    } catch (std::exception const& broken) {
        note_copied(copied_, broken.what());
        throw;
    }
    return {};
}

std::optional<Result<void>> Writer::take_result(std::chrono::milliseconds limit)
{
    if (done_.wait_for(limit) != std::future_status::ready) return std::nullopt;
    return done_.get();
}

Result<Writer::File> Writer::open(Place const& place)
{
    auto const path = folder_ / file_name(place);
    auto const head = tensors::encode_head(
        contents(ranges_), {{"format", format}, {"rank", place.rank}, {"ranks", place.ranks}},
        direct_block_bytes);
    if (auto made = tensors::preallocate(path, head); !made)
        return tl::unexpected(made.error().with_context("cannot prepare the snapshot"));
    take_buffer();
    offsets_ = head.offsets;
    Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd)
        return fail(ExitCode::cannot_create, "cannot open " + path.string(), errno_text(errno));
    (void)set_direct(fd.get(), true);  // if the file system allows it
    return File{std::move(fd), path};
}

Result<void> Writer::File::result_of(int error) const
{
    if (error == 0) return {};
    return fail(ExitCode::io, "cannot write " + path.string(), errno_text(error));
}

// The thread may have failed while other work needed the memory.
void Writer::take_buffer()
{
    if (made_.valid()) {
        try {
            copy_ = made_.get();
        } catch (std::exception const&) {
            copy_ = {};
        }
    }
    if (copy_.empty()) copy_ = CopyBuffer(places_.back(), blocks_);
}

std::vector<std::span<std::byte>> Writer::values(std::size_t range) const
{
    return copy_.bytes(places_[range], bytes_of(ranges_[range]));
}

// Hashing and writing begin with the first range that is copied.
void Writer::copy_all(CopyRange const& copy)
{
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
        std::size_t first = 0;
        for (auto const part : values(i)) {
            auto const count = part.size() / sizeof(float);
            copy(i, first, {reinterpret_cast<float*>(part.data()), count});
            first += count;
        }
        // The rest of their last block in the file.
        auto const end = places_[i] + bytes_of(ranges_[i]);
        for (auto const part : copy_.bytes(end, places_[i + 1] - end))
            std::ranges::fill(part, std::byte{0});
        note_copied(i + 1, std::nullopt);
    }
}

void Writer::note_copied(std::size_t ranges, std::optional<std::string> abandoned)
{
    std::lock_guard const lock(mutex_);
    copied_ = ranges;
    abandoned_ = std::move(abandoned);
    copied_more_.notify_all();
}

Result<void> Writer::wait_for_copy(std::size_t range)
{
    std::unique_lock lock(mutex_);
    copied_more_.wait(lock, [&] { return copied_ > range || abandoned_; });
    if (copied_ > range) return {};
    return fail(ExitCode::software, "cannot save a snapshot",
                "its values could not be copied: " + *abandoned_);
}

Result<void> Writer::write_ranges(File const& file)
{
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
        if (auto copied = wait_for_copy(i); !copied) return copied;
        auto offset = offsets_[i + 1];
        for (auto const part : copy_.bytes(places_[i], places_[i + 1] - places_[i])) {
            if (int const error = write_at(file.fd.get(), part, offset))
                return file.result_of(error);
            offset += std::ssize(part);
        }
    }
    return {};
}

// One thread begins while the caller copies, and others help it later: on few cores, they would
// delay the copy, for which training waits.
//
// A range that fails ends the work. Every range before it has been taken, so which failure the
// caller reports does not depend on timing.
std::vector<std::optional<Digest>> Writer::digests()
{
    std::vector<std::optional<Digest>> found(ranges_.size());
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    auto const hash = [&] {
        while (!failed) {
            auto const i = next++;
            if (i >= found.size()) return;
            if (wait_for_copy(i)) found[i] = digest_if_finite(values(i));
            if (!found[i]) failed = true;
        }
    };
    auto const help = [&] {
        if (wait_for_copy(found.size() - 1)) hash();
    };
    // One thread hashes 2 GB/s, and a disk may write more.
    auto const threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 4);
    std::vector<std::future<void>> helpers(std::min(threads - 1, found.size()));
    for (auto& helper : helpers) helper = std::async(std::launch::async, help);
    hash();
    for (auto& helper : helpers) helper.get();
    return found;
}

Result<std::vector<StoredRange>> Writer::hash_ranges()
{
    auto const found = digests();
    std::vector<StoredRange> stored;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
        if (auto copied = wait_for_copy(i); !copied) return tl::unexpected(copied.error());
        if (!found[i])
            return fail(ExitCode::data, "cannot save a snapshot",
                        ranges_[i].name + " has values that are not finite");
        stored.push_back({ranges_[i], *found[i]});
    }
    return stored;
}

// The header comes last. If the system stops before everything is on the disk, a digest differs.
Result<void> Writer::write_all(File const& file, RankHeader header)
{
    auto hashed = std::async(std::launch::async, [this] { return hash_ranges(); });
    auto written = write_ranges(file);
    auto stored = hashed.get();
    if (!written) return written;
    if (!stored) return tl::unexpected(stored.error());
    header.ranges = std::move(*stored);
    auto const text = encode(header);
    auto const space = AlignedMemory::zeros(static_cast<std::size_t>(header_bytes(ranges_)));
    if (text.size() > space.bytes().size()) throw std::logic_error("the header needs more space");
    std::memcpy(space.bytes().data(), text.data(), text.size());
    int error = write_at(file.fd.get(), space.bytes(), offsets_.front());
    if (error == 0 && fdatasync(file.fd.get()) != 0) error = errno;
    return file.result_of(error);
}

}  // namespace curtail::snapshot
