// SPDX-License-Identifier: Apache-2.0
// Checks every #include of the libraries and programs against the dependencies that CMake declares.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "core/files.hpp"
#include "core/text.hpp"
#include "support/paths.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;
using Dependencies = std::map<std::string, std::set<std::string>>;

fs::path const source_folder = test::source_folder() / "src";
// Some libraries with a program of their own lie in tests/, beside their tests.
fs::path const tests_folder = test::source_folder() / "tests";
constexpr char const* libraries_in_tests[] = {"gpu", "simulator"};

Dependencies declared_dependencies()
{
    char const* path = std::getenv("CURTAIL_TEST_DEPENDENCIES");
    Dependencies dependencies;
    auto const content = read_file(path == nullptr ? "dependencies.txt" : path).value();
    for (auto line : split(content, '\n')) {
        auto const colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        auto& targets = dependencies[std::string(line.substr(0, colon))];
        for (auto target : split(trim(line.substr(colon + 1)), ' '))
            if (!target.empty()) targets.insert(std::string(target));
    }
    // Dependencies are transitive.
    for (bool grown = true; grown;) {
        grown = false;
        for (auto& [library, targets] : dependencies)
            for (auto const& target : std::set(targets))
                for (auto const& further : dependencies[target])
                    grown |= targets.insert(further).second;
    }
    return dependencies;
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
    std::vector<fs::path> folders{source_folder};
    for (auto const* library : libraries_in_tests) folders.push_back(tests_folder / library);
    for (auto const& folder : folders)
        for (auto const& entry : fs::recursive_directory_iterator(folder)) {
            if (entry.path().parent_path() == folder / "tests") continue;
            auto const extension = entry.path().extension();
            for (auto const* const ours : {".hpp", ".cpp", ".cuh", ".cu"})
                if (extension == ours) visit(entry.path());
        }
}

// The folder of src/ or tests/ that a file lies in. Each program is a library of its own,
// `apps/poll`; what the programs in apps share is `apps`.
std::string library_of(fs::path const& file, Dependencies const& dependencies)
{
    auto inside = file.lexically_relative(source_folder);
    if (*inside.begin() == "..") inside = file.lexically_relative(tests_folder);
    auto const library = inside.begin()->string();
    auto const program = library + "/" + std::next(inside.begin())->stem().string();
    return dependencies.count(program) ? program : library;
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
            for (auto const& ours :
                 {source_folder / name, tests_folder / name, at.parent_path() / name})
                if (fs::exists(ours)) open.push_back(ours);
        }
    }
    return reached;
}

TEST(Dependencies, EveryIncludeIsDeclared)
{
    auto const dependencies = declared_dependencies();
    ASSERT_TRUE(dependencies.count("core"));
    ASSERT_TRUE(dependencies.count("apps/poll"));
    std::set<std::string> seen;
    each_source([&](fs::path const& file) {
        auto const library = library_of(file, dependencies);
        seen.insert(library);
        ASSERT_TRUE(dependencies.count(library))
            << library << " is a folder of src/ without curtail_library(" << library << " ...)";
        for (auto const& name : includes_of(file)) {
            auto const target = name.substr(0, name.find('/'));
            if (target == library || !dependencies.count(target)) continue;
            EXPECT_TRUE(dependencies.at(library).count(target))
                << file << " includes " << name << ", but " << library << " does not declare "
                << target;
        }
    });
    for (auto const& [library, targets] : dependencies)
        EXPECT_TRUE(seen.count(library)) << library << " is declared, but has no source";
}

TEST(Dependencies, AreFreeOfCycles)
{
    for (auto const& [library, targets] : declared_dependencies())
        EXPECT_FALSE(targets.count(library)) << library << " is part of a cycle";
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
     {"core/files.hpp", "core/log.hpp", "core/clock.hpp", "thread", "mutex", "condition_variable",
      "fstream", "iostream", "unistd.h", "fcntl.h", "signal.h", "sys/", "random", "cstdlib",
      "ctime"},
     {"windows", "plan", "rounds", "upkeep", "energy"},
     {}},
    {"these build without an accelerator and start at once",
     {"mpi.h", "nccl.h", "cuda", "ATen", "torch/", "c10/", "hdf5.h", "H5"},
     {"core",   "http",      "permission", "windows",     "plan",       "rounds",
      "energy", "config",    "signals",    "launch",      "poll",       "store",
      "chain",  "runlog",    "status",     "account",     "report",     "journal",
      "apps",   "simulator", "apps/poll",  "apps/status", "apps/report"},
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
    auto const dependencies = declared_dependencies();
    for (auto const& ban : bans) {
        auto named = ban.banned_in;
        named.insert(ban.allowed_in.begin(), ban.allowed_in.end());
        for (auto const& library : named)
            EXPECT_TRUE(dependencies.count(library)) << "no library " << library;
    }
    each_source([&](fs::path const& file) {
        expect_no_banned_header(file, library_of(file, dependencies));
    });
}

}  // namespace
}  // namespace curtail
