// SPDX-License-Identifier: Apache-2.0
#include "tensors/preallocated.hpp"

#include <fcntl.h>

#include <cerrno>

#include "core/files.hpp"
#include "core/text.hpp"
#include "tensors/head.hpp"

namespace curtail::tensors {

Result<void> create_preallocated(std::filesystem::path const& path,
                                 std::span<TensorInfo const> tensors,
                                 json::Object const& attributes)
{
    auto const head = encode_head(tensors, attributes, block_bytes);
    auto const refuse = [&](ExitCode code, int error) {
        std::string remedy;
        if (error == EFBIG) remedy = "raise the limit (ulimit -f)";
        if (error == ENOSPC || error == EDQUOT)
            remedy = "free some space in " + (path.parent_path() / "").string();
        return fail(code, "cannot create " + path.string(), errno_text(error), remedy);
    };
    return replace_file(path, [&](std::filesystem::path const& temporary) -> Result<void> {
        Fd const file(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             mode_t{0644}));
        if (!file) return refuse(ExitCode::cannot_create, errno);
        // First, so that no space is used if there is too little.
        int error = posix_fallocate(file.get(), 0, in_whole_blocks(head.file_bytes));
        if (error == 0) error = write_all(file.get(), head.bytes);
        if (error != 0) return refuse(ExitCode::io, error);
        return {};
    });
}

}  // namespace curtail::tensors
