// SPDX-License-Identifier: Apache-2.0
// Checks every #include of the libraries and programs against the dependencies that CMake declares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "support/paths.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;

// A library or a program, and the libraries that it may include.
struct Component {
    std::string folder;  // `src/base/http`
    std::set<std::string> dependencies;
};
using Components = std::map<std::string, Component>;  // by name: `http`, `curtail-poll`

Components declared_components()
{
    char const* path = std::getenv("CURTAIL_TEST_DEPENDENCIES");
    Components components;
    auto const content = read_file(path == nullptr ? "dependencies.txt" : path).value();
    for (auto line : split(content, '\n')) {
        auto const space = line.find(' ');
        auto const colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        auto& component = components[std::string(line.substr(space + 1, colon - space - 1))];
        component.folder = line.substr(0, space);
        for (auto target : split(trim(line.substr(colon + 1)), ' '))
            if (!target.empty()) component.dependencies.insert(std::string(target));
    }
    // Dependencies are transitive.
    for (bool grown = true; grown;) {
        grown = false;
        for (auto& [name, component] : components)
            for (auto const& target : std::set(component.dependencies))
                for (auto const& further : components.at(target).dependencies)
                    grown |= component.dependencies.insert(further).second;
    }
    return components;
}

// Names in angle brackets or quotes of every #include line of a file.
std::vector<std::string> includes_of(fs::path const& file)
{
    std::vector<std::string> found;
    auto const content = read_file(file).value();
    for (auto line : split(content, '\n')) {
        line = trim(line);
        if (line.rfind("#include", 0) != 0) continue;
        auto const open = line.find_first_of("<\"");
        auto const close = line.find_last_of(">\"");
        if (open != std::string_view::npos && close > open)
            found.emplace_back(line.substr(open + 1, close - open - 1));
    }
    return found;
}

template <class Visit>
void each_source(Visit visit)
{
    // Some libraries with a program of their own lie in tests/, beside their tests.
    for (auto const* const name : {"src", "tests/gpu", "tests/simulator"}) {
        auto const folder = test::source_folder() / name;
        for (auto const& entry : fs::recursive_directory_iterator(folder)) {
            if (entry.path().parent_path() == folder / "tests") continue;
            auto const extension = entry.path().extension();
            for (auto const* const ours : {".hpp", ".cpp", ".cuh", ".cu"})
                if (extension == ours) visit(entry.path());
        }
    }
}

// The name of the innermost component that a file lies in, empty if it lies in none.
std::string component_of(fs::path const& file, Components const& components)
{
    auto const path = file.lexically_relative(test::source_folder()).generic_string();
    std::string found;
    std::size_t longest = 0;
    for (auto const& [name, component] : components) {
        auto const& folder = component.folder;
        if (folder.size() <= longest || !path.starts_with(folder + "/")) continue;
        longest = folder.size();
        found = name;
    }
    return found;
}

// The file of ours that `file` includes as `name`, empty if there is none.
fs::path included_file(fs::path const& file, std::string const& name)
{
    for (auto const& folder :
         {test::source_folder() / "src", test::source_folder() / "tests", file.parent_path()})
        if (fs::exists(folder / name)) return (folder / name).lexically_normal();
    return {};
}

// Every header that a file gets, by itself or through headers of ours, and the file that names it.
std::map<std::string, fs::path> reached_from(fs::path const& file)
{
    std::map<std::string, fs::path> reached;
    std::vector<fs::path> open{file};
    while (!open.empty()) {
        auto const at = open.back();
        open.pop_back();
        for (auto const& name : includes_of(at)) {
            if (!reached.emplace(name, at).second) continue;
            auto const ours = included_file(at, name);
            if (!ours.empty()) open.push_back(ours);
        }
    }
    return reached;
}

TEST(Dependencies, EveryIncludeIsDeclared)
{
    auto const components = declared_components();
    ASSERT_TRUE(components.count("core"));
    ASSERT_TRUE(components.count("curtail-poll"));
    std::set<std::string> seen;
    each_source([&](fs::path const& file) {
        auto const component = component_of(file, components);
        ASSERT_NE(component, "") << file << " is in no folder with curtail_library()";
        seen.insert(component);
        for (auto const& name : includes_of(file)) {
            auto const target = component_of(included_file(file, name), components);
            if (target.empty() || target == component) continue;
            EXPECT_TRUE(components.at(component).dependencies.count(target))
                << file << " includes " << name << ", but " << component << " does not declare "
                << target;
        }
    });
    for (auto const& [name, component] : components)
        EXPECT_TRUE(seen.count(name)) << name << " is declared, but has no source";
}

TEST(Dependencies, AreFreeOfCycles)
{
    for (auto const& [name, component] : declared_components())
        EXPECT_FALSE(component.dependencies.count(name)) << name << " is part of a cycle";
}

// The folders of src/. Each may include only from itself and from those above it.
std::vector<std::string> const groups{"base",    "storage", "protocol", "run",     "poller",
                                      "trainer", "bill",    "operate",  "programs"};

// The place of a component's group in this list; the number of groups for what lies in tests/.
std::ptrdiff_t group_of(Component const& component)
{
    auto const parts = split(component.folder, '/');
    if (parts.front() != "src") return std::ssize(groups);
    return std::ranges::find(groups, parts[1]) - groups.begin();
}

TEST(Dependencies, PointToTheSameGroupOrToGroupsAbove)
{
    auto const components = declared_components();
    for (auto const& [name, component] : components)
        for (auto const& target : component.dependencies)
            EXPECT_LE(group_of(components.at(target)), group_of(component))
                << name << " depends on " << target;
}

TEST(Dependencies, EveryFolderIsAGroup)
{
    std::vector<std::string> folders;
    for (auto const& entry : fs::directory_iterator(test::source_folder() / "src"))
        if (entry.is_directory()) folders.push_back(entry.path().filename());
    EXPECT_THAT(folders, testing::UnorderedElementsAreArray(groups));
}

// Headers, by prefix, that some libraries must not reach, not even through another library.
struct Ban {
    std::string why;
    std::vector<std::string> headers;
    std::set<std::string> banned_in;
    std::set<std::string> allowed_in;  // if not empty, the headers are banned everywhere else
    [[nodiscard]] bool applies_to(std::string const& library) const
    {
        return allowed_in.empty() ? banned_in.count(library) > 0 : allowed_in.count(library) == 0;
    }
};

std::vector<Ban> const bans{
    {"decisions are pure",
     {"base/core/files.hpp", "base/core/log.hpp", "base/core/clock.hpp", "thread", "mutex",
      "condition_variable", "fstream", "iostream", "unistd.h", "fcntl.h", "signal.h", "sys/",
      "random", "cstdlib", "ctime"},
     {"windows", "plan", "records", "rules", "site", "upkeep", "energy"},
     {}},
    {"these build without an accelerator and start at once",
     {"mpi.h", "nccl.h", "cuda", "ATen", "torch/", "c10/", "hdf5.h", "H5"},
     {"core",         "http",           "permission",    "windows", "plan",   "records",
      "rules",        "site",           "upkeep",        "energy",  "config", "signals",
      "samples",      "launch",         "poll",          "store",   "chain",  "runlog",
      "status",       "account",        "report",        "journal", "frame",  "simulator",
      "curtail-poll", "curtail-status", "curtail-report"},
     {}},
    {"only http and bridge use sockets",
     {"curl/", "sys/socket.h", "netdb.h", "netinet/", "arpa/"},
     {},
     {"http", "bridge"}},
};

void expect_no_banned_header(fs::path const& file, std::string const& library)
{
    for (auto const& [name, by] : reached_from(file)) {
        EXPECT_NE(name, "torch/torch.h") << by;
        for (auto const& ban : bans)
            for (auto const& banned : ban.headers)
                EXPECT_FALSE(ban.applies_to(library) && name.rfind(banned, 0) == 0)
                    << file << " reaches " << name << " through " << by << ": " << ban.why;
    }
}

TEST(Dependencies, BannedHeadersAreNotReached)
{
    auto const components = declared_components();
    for (auto const& ban : bans) {
        auto named = ban.banned_in;
        named.insert(ban.allowed_in.begin(), ban.allowed_in.end());
        for (auto const& name : named) EXPECT_TRUE(components.count(name)) << "no " << name;
    }
    each_source([&](fs::path const& file) {
        expect_no_banned_header(file, component_of(file, components));
    });
}

}  // namespace
}  // namespace curtail
