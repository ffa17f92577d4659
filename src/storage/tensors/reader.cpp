// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/reader.hpp"

#include <algorithm>

#include "base/core/digest.hpp"
#include "base/core/text.hpp"
#include "storage/tensors/scan.hpp"

namespace curtail::tensors {

struct TensorReader::Impl {
    std::string source;
    std::string memory{};                // the file, if the reader owns its bytes
    std::span<std::byte const> bytes{};  // the file, if it is in memory
    Handle file{};
    FileContent content{};

    explicit Impl(std::string source_name) : source(std::move(source_name)) {}
    ~Impl()
    {
        LibraryLock const lock;
        file.reset();
    }
    Impl(Impl const&) = delete;
    Impl& operator=(Impl const&) = delete;

    [[nodiscard]] tl::unexpected<Error> bad(std::string why) const
    {
        return fail(ExitCode::data, "cannot read tensor file " + source, std::move(why),
                    "it is damaged or not a tensor file");
    }
    // Opens `path` with `access` and checks its contents. Call inside a LibraryLock.
    [[nodiscard]] Result<void> load(std::string const& path, Handle const& access,
                                    std::int64_t file_bytes, FileLimits const& limits);
    // Call inside a LibraryLock.
    [[nodiscard]] Result<void> read_tensor(TensorInfo const& info, std::span<std::byte> out) const;
    // Uses a LibraryLock per tensor, so that other threads can use HDF5 while this one hashes.
    [[nodiscard]] Result<void> check_digest() const;
};

Result<void> TensorReader::Impl::load(std::string const& path, Handle const& access,
                                      std::int64_t file_bytes, FileLimits const& limits)
{
    file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!file) return bad(take_hdf5_error());
    auto scanned = scan_file(file.get(), file_bytes, limits);
    if (!scanned) return bad(std::move(scanned.error()));
    content = std::move(*scanned);
    return {};
}

Result<void> TensorReader::Impl::read_tensor(TensorInfo const& info, std::span<std::byte> out) const
{
    if (out.empty()) return {};
    Handle const dataset(H5Dopen2(file.get(), info.name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset || H5Dread(dataset.get(), file_type(info.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                            out.data()) < 0)
        return bad(info.name + ": " + take_hdf5_error());
    return {};
}

Result<void> TensorReader::Impl::check_digest() const
{
    if (content.digest.empty()) return {};
    Sha256 hash;
    std::vector<std::byte> buffer;
    for (auto const& info : content.tensors) {
        buffer.resize(static_cast<std::size_t>(info.bytes()));
        auto read = [&] {
            LibraryLock const lock;
            return read_tensor(info, buffer);
        }();
        if (!read) return read;
        hash.update(content_line(info));
        hash.update(buffer);
    }
    auto const found = hash.finish().hex();
    if (found == content.digest) return {};
    return bad("content digest differs (expected " + printable(content.digest) + ", found " +
               found + ")");
}

TensorReader::TensorReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TensorReader::~TensorReader() = default;
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;

std::vector<TensorInfo> const& TensorReader::list() const { return impl_->content.tensors; }
json::Object const& TensorReader::attributes() const { return impl_->content.attributes; }

TensorInfo const* TensorReader::find(std::string_view name) const
{
    auto const at = std::lower_bound(
        impl_->content.tensors.begin(), impl_->content.tensors.end(), name,
        [](TensorInfo const& info, std::string_view key) { return info.name < key; });
    return at != impl_->content.tensors.end() && at->name == name ? &*at : nullptr;
}

std::optional<std::int64_t> TensorReader::offset(std::string_view name) const
{
    if (find(name) == nullptr) return std::nullopt;
    LibraryLock const lock;
    Handle const dataset(H5Dopen2(impl_->file.get(), std::string(name).c_str(), H5P_DEFAULT),
                         H5Dclose);
    auto const at = dataset ? H5Dget_offset(dataset.get()) : HADDR_UNDEF;
    return at == HADDR_UNDEF ? std::nullopt : std::optional(static_cast<std::int64_t>(at));
}

Result<TensorInfo> TensorReader::info(std::string_view name) const
{
    if (auto const* found = find(name)) return *found;
    std::vector<std::string> names;
    for (auto const& tensor : impl_->content.tensors) names.push_back(tensor.name);
    auto const nearest = nearest_name(name, names);
    return fail(ExitCode::data, "cannot read tensor file " + impl_->source,
                "it has no tensor " + printable(name),
                nearest ? "did you mean \"" + *nearest + "\"?"
                        : "it is another type of file than expected");
}

Result<void> TensorReader::expect_dtype(TensorInfo const& info, Dtype expected) const
{
    if (info.dtype == expected) return {};
    return fail(ExitCode::data, "cannot read tensor file " + impl_->source,
                info.name + " holds " + name_of(info.dtype) + ", expected " + name_of(expected));
}

Result<void> TensorReader::read_into(std::string_view name, Dtype dtype,
                                     std::span<std::byte> out) const
{
    auto const found = info(name);
    if (!found) return tl::unexpected(found.error());
    if (auto good = expect_dtype(*found, dtype); !good) return good;
    if (static_cast<std::int64_t>(out.size()) != found->bytes())
        return fail(ExitCode::data, "cannot read tensor file " + impl_->source,
                    found->name + " has " + std::to_string(found->bytes()) + " bytes, expected " +
                        std::to_string(out.size()));
    LibraryLock const lock;
    return impl_->read_tensor(*found, out);
}

Result<TensorReader> TensorReader::open(std::filesystem::path const& path, FileLimits const& limits)
{
    std::error_code error;
    auto const size = std::filesystem::file_size(path, error);
    if (error)
        return fail(ExitCode::no_input, "cannot read tensor file " + path.string(),
                    errno_text(error.value()));
    auto impl = std::make_unique<Impl>(path.string());
    auto const loaded = [&]() -> Result<void> {
        LibraryLock const lock;
        Handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
        H5Pset_file_locking(access.get(), false, true);
        return impl->load(path.string(), access, static_cast<std::int64_t>(size), limits);
    }();
    if (!loaded) return tl::unexpected(loaded.error());
    if (auto good = impl->check_digest(); !good) return tl::unexpected(good.error());
    return TensorReader(std::move(impl));
}

Result<TensorReader> TensorReader::from_bytes(std::string bytes, std::string const& source,
                                              FileLimits const& limits)
{
    auto impl = std::make_unique<Impl>(source);
    impl->memory = std::move(bytes);
    impl->bytes = std::as_bytes(std::span(impl->memory));
    return load_bytes(std::move(impl), limits);
}

Result<TensorReader> TensorReader::from_view(std::span<std::byte const> bytes,
                                             std::string const& source, FileLimits const& limits)
{
    auto impl = std::make_unique<Impl>(source);
    impl->bytes = bytes;
    return load_bytes(std::move(impl), limits);
}

Result<TensorReader> TensorReader::load_bytes(std::unique_ptr<Impl> impl, FileLimits const& limits)
{
    auto const bytes = impl->bytes.size();
    if (bytes == 0) return impl->bad("it is empty");
    auto const loaded = [&]() -> Result<void> {
        LibraryLock const lock;
        Handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
        auto const name = use_memory(access, impl->bytes);
        return impl->load(name, access, static_cast<std::int64_t>(bytes), limits);
    }();
    if (!loaded) return tl::unexpected(loaded.error());
    return TensorReader(std::move(impl));
}

}  // namespace curtail::tensors
