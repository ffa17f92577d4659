// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/output_folder.hpp"

#include <regex>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "trainer/data/manifest.hpp"

namespace curtail::data {
namespace {

namespace fs = std::filesystem;

// True for the names that prepare writes, including those of half-written files.
bool is_own_name(std::string const& name)
{
    static std::regex const known(
        R"((\.?)(manifest\.json|tokenizer\.tiktoken|(train|heldout)-[0-9]{5,}\.h5))"
        R"((\.[0-9]+\.[0-9]+\.tmp)?)");
    std::smatch parts;
    return std::regex_match(name, parts, known) &&
           (parts[1].length() > 0) == (parts[4].length() > 0);
}

// Names an entry of `folder` that prepare did not write; empty if there is none.
std::string foreign_entry(fs::path const& folder)
{
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        auto const name = at->path().filename().string();
        if (!is_own_name(name) || at->symlink_status(error).type() != fs::file_type::regular)
            return "it also holds \"" + printable(name) + "\"";
    }
    return error ? errno_text(error.value()) : "";
}

}  // namespace

OutputPaths output_paths(fs::path const& out)
{
    auto const normal = fs::absolute(out).lexically_normal();
    auto const clean = normal.has_filename() ? normal : normal.parent_path();
    auto const sibling = [&](char const* suffix) {
        return clean.parent_path() / ("." + clean.filename().string() + suffix);
    };
    return {clean, sibling(".part"), sibling(".old"), sibling(".lock")};
}

std::string foreign_content(fs::path const& folder)
{
    auto const manifest = json::parse_file(folder / manifest_file, json::Dialect::strict);
    if (!manifest)
        return manifest.error().code == ExitCode::no_input ? "it has no manifest.json"
                                                           : "its manifest.json is unreadable";
    auto const* object = manifest->as_object();
    auto const* format = object == nullptr ? nullptr : object->find("format");
    if (format == nullptr || *format != json::Value(manifest_format))
        return "its manifest.json is not one of prepared text";
    return foreign_entry(folder);
}

Result<void> remove_leftovers(fs::path const& path)
{
    std::error_code error;
    auto const type = fs::symlink_status(path, error).type();
    if (type == fs::file_type::not_found) return {};
    auto const why = type == fs::file_type::directory ? foreign_entry(path) : "it is not a folder";
    if (!why.empty())
        return fail(ExitCode::cannot_create,
                    "cannot use " + path.string() + " for work in progress", why, "move it away");
    fs::remove_all(path, error);
    if (error)
        return fail(ExitCode::cannot_create, "cannot remove " + path.string(),
                    errno_text(error.value()));
    return {};
}

Result<void> put_in_place(fs::path const& partial, fs::path const& out, fs::path const& old)
{
    std::error_code error;
    fs::remove_all(old, error);
    bool const replaces = !error && fs::exists(out, error);
    if (!error && replaces) fs::rename(out, old, error);
    bool const moved = !error && replaces;
    if (!error) fs::rename(partial, out, error);
    if (error) {
        std::error_code ignored;
        if (moved) fs::rename(old, out, ignored);
        return fail(ExitCode::cannot_create, "cannot put " + out.string() + " in place",
                    errno_text(error.value()));
    }
    fs::remove_all(old, error);
    return sync_folder(out.parent_path());
}

}  // namespace curtail::data
