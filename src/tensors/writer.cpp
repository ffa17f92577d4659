// SPDX-License-Identifier: Apache-2.0
#include "tensors/writer.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "tensors/create.hpp"

namespace curtail::tensors {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor files copy elements from memory");

// Tensors start at multiples of this, so that vector instructions work on a mapped or copied file.
constexpr hsize_t alignment = 64;

}  // namespace

void TensorWriter::add(std::string name, Dtype dtype, Shape shape, std::span<std::byte const> bytes)
{
    if (!is_tensor_name(name)) throw std::invalid_argument("bad tensor name \"" + name + "\"");
    if (!is_valid_shape(shape, dtype))
        throw std::invalid_argument("tensor " + name + " has a bad shape");
    TensorInfo info{std::move(name), dtype, std::move(shape)};
    if (static_cast<std::int64_t>(bytes.size()) != info.bytes())
        throw std::invalid_argument("tensor " + info.name + " has " + std::to_string(bytes.size()) +
                                    " bytes, its shape needs " + std::to_string(info.bytes()));
    auto const at = std::lower_bound(
        entries_.begin(), entries_.end(), info.name,
        [](Entry const& entry, std::string const& key) { return entry.info.name < key; });
    if (at != entries_.end() && at->info.name == info.name)
        throw std::invalid_argument("tensor " + info.name + " was already added");
    entries_.insert(at, Entry{std::move(info), bytes});
}

void TensorWriter::attribute(std::string name, json::Value value)
{
    if (!is_tensor_name(name) || name == content_attribute)
        throw std::invalid_argument("bad attribute name \"" + name + "\"");
    if (value.as_text() == nullptr && !value.as_number())
        throw std::invalid_argument("attribute " + name + " is a " + value.type_name());
    attributes_.set(std::move(name), std::move(value));
}

// Writes the contents of a TensorWriter into an open file.
struct FileWriter {
    TensorWriter const& content;
    std::string const& digest;
    hid_t file;
    DatasetMaker datasets{file};

    bool write_tensor(TensorInfo const& info, std::span<std::byte const> bytes)
    {
        auto const dataset = datasets.make(info);
        if (!dataset) return false;
        return bytes.empty() || H5Dwrite(dataset.get(), file_type(info.dtype), H5S_ALL, H5S_ALL,
                                         H5P_DEFAULT, bytes.data()) >= 0;
    }

    bool write_all()
    {
        for (auto const& entry : content.entries_)
            if (!write_tensor(entry.info, entry.bytes)) return false;
        auto members = content.attributes_.members();
        std::sort(members.begin(), members.end(),
                  [](auto const& a, auto const& b) { return a.first < b.first; });
        for (auto const& [name, value] : members)
            if (!write_attribute(file, name, value)) return false;
        return write_text_attribute(file, content_attribute, digest);
    }
};

std::string TensorWriter::digest() const
{
    Sha256 hash;
    for (auto const& entry : entries_) {
        hash.update(content_line(entry.info));
        hash.update(entry.bytes);
    }
    return hash.finish().hex();
}

std::size_t TensorWriter::file_size_estimate() const
{
    std::size_t total = std::size_t{4} << 20;
    for (auto const& entry : entries_) total += entry.bytes.size();
    return total;
}

Result<std::string> TensorWriter::encode() const
{
    auto const content_digest = digest();  // the slowest step, so outside the Session
    Session const session;
    std::string bytes;
    bytes.reserve(file_size_estimate());
    auto const access = access_properties(alignment, alignment);
    auto const name = use_memory(access, bytes);
    auto const creation = creation_properties(H5P_FILE_CREATE);
    Handle file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
    hsize_t size = 0;
    if (!file || !FileWriter{*this, content_digest, file.get()}.write_all() ||
        H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0 || H5Fget_filesize(file.get(), &size) < 0 ||
        !file.reset())
        return fail(ExitCode::software, "cannot encode tensors", take_hdf5_error());
    bytes.resize(size);
    return bytes;
}

Result<void> TensorWriter::write(std::filesystem::path const& path) const
{
    auto const content_digest = digest();
    return replace_file(path, [&](std::filesystem::path const& temporary) -> Result<void> {
        Session const session;
        auto const access = access_properties(alignment, alignment);
        auto const creation = creation_properties(H5P_FILE_CREATE);
        Handle file(H5Fcreate(temporary.c_str(), H5F_ACC_EXCL, creation.get(), access.get()),
                    H5Fclose);
        if (!file)
            return fail(ExitCode::cannot_create, "cannot write " + path.string(),
                        take_hdf5_error());
        if (!FileWriter{*this, content_digest, file.get()}.write_all() || !file.reset())
            return fail(ExitCode::io, "cannot write " + path.string(), take_hdf5_error(),
                        "check space and permissions of its folder");
        return {};
    });
}

}  // namespace curtail::tensors
