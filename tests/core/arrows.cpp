// SPDX-License-Identifier: Apache-2.0
// The rooms of the house may include only what lies below them: every #include of src/ against the
// arrows that CMake states.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;
using Arrows = std::map<std::string, std::set<std::string>>;

fs::path const source_folder = fs::path(CURTAIL_SOURCE_DIR) / "src";

Arrows stated_arrows()
{
    char const* path = std::getenv("CURTAIL_ARROWS");
    Arrows arrows;
    auto const content = read_file(path == nullptr ? "arrows.txt" : path).value();
    for (auto line : split(content, '\n')) {
        auto const colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        auto& targets = arrows[std::string(line.substr(0, colon))];
        for (auto target : split(trim(line.substr(colon + 1)), ' '))
            if (!target.empty()) targets.insert(std::string(target));
    }
    // A room may use whatever the rooms it states may use.
    for (bool grown = true; grown;) {
        grown = false;
        for (auto& [room, targets] : arrows)
            for (auto const& target : std::set(targets))
                for (auto const& further : arrows[target]) grown |= targets.insert(further).second;
    }
    return arrows;
}

/// Names in angle brackets or quotes of every #include line of a file.
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
    for (auto const& entry : fs::recursive_directory_iterator(source_folder)) {
        auto const extension = entry.path().extension();
        if (extension == ".hpp" || extension == ".cpp") visit(entry.path());
    }
}

/// The folder of src/ that a file lies in. In apps each program is a room of its own, `apps/poll`;
/// what they share is `apps`.
std::string room_of(fs::path const& file, Arrows const& arrows)
{
    auto const inside = fs::relative(file, source_folder);
    auto room = inside.begin()->string();
    if (room != "apps") return room;
    auto const program = "apps/" + std::next(inside.begin())->stem().string();
    return arrows.count(program) ? program : room;
}

/// Every header that a file gets, by itself or through headers of ours, and the file that names it.
std::map<std::string, fs::path> reached_from(fs::path const& file)
{
    std::map<std::string, fs::path> reached;
    std::vector<fs::path> open{file};
    while (!open.empty()) {
        auto const at = open.back();
        open.pop_back();
        for (auto const& name : includes_of(at)) {
            if (!reached.emplace(name, at).second) continue;
            for (auto const& ours : {source_folder / name, at.parent_path() / name})
                if (fs::exists(ours)) open.push_back(ours);
        }
    }
    return reached;
}

TEST(Arrows, NoRoomAndNoProgramIncludesWhatItDoesNotState)
{
    auto const arrows = stated_arrows();
    ASSERT_TRUE(arrows.count("core"));
    ASSERT_TRUE(arrows.count("apps/poll"));
    std::set<std::string> seen;
    each_source([&](fs::path const& file) {
        auto const room = room_of(file, arrows);
        seen.insert(room);
        ASSERT_TRUE(arrows.count(room))
            << room << " is a folder of src/ without curtail_library(" << room << " ...)";
        for (auto const& name : includes_of(file)) {
            auto const target = name.substr(0, name.find('/'));
            if (target == room || !arrows.count(target)) continue;
            EXPECT_TRUE(arrows.at(room).count(target))
                << file << " includes " << name << ", but " << room << " does not state " << target;
        }
    });
    for (auto const& [room, targets] : arrows)
        EXPECT_TRUE(seen.count(room)) << room << " is stated, but has no source";
}

TEST(Arrows, NoRoomUsesItself)
{
    for (auto const& [room, targets] : stated_arrows())
        EXPECT_FALSE(targets.count(room)) << room << " is part of a cycle";
}

/// Headers, by how their names begin, that some rooms must not get, not even through a header of
/// another room.
struct Ban {
    std::string why;
    std::set<std::string> rooms;
    std::vector<std::string> headers;
};

std::vector<std::string> const computing{"mpi.h",  "nccl.h", "cuda",   "ATen",
                                         "torch/", "c10/",   "hdf5.h", "H5"};
std::vector<std::string> const network{"curl/", "sys/socket.h", "netdb.h", "netinet/", "arpa/"};
std::vector<std::string> const effects{
    "core/files.hpp", "core/events.hpp",    "core/log.hpp", "core/clock.hpp", "thread",
    "mutex",          "condition_variable", "fstream",      "iostream",       "unistd.h",
    "fcntl.h",        "signal.h",           "sys/",         "random",         "cstdlib",
    "ctime"};

std::vector<Ban> const bans{
    {"decisions are pure", {"windows", "plan", "rounds", "energy"}, effects},
    {"what decides and what waits builds without an accelerator and starts at once",
     {"core", "http", "windows", "plan", "rounds", "energy", "config", "signals", "launch", "poll",
      "store", "status", "account", "reference", "report", "apps", "apps/poll", "apps/status",
      "apps/report"},
     computing},
    {"only the HTTP library includes network headers",
     {"core",        "windows",   "plan",       "rounds",    "energy",    "config",
      "launch",      "signals",   "poll",       "store",     "status",    "account",
      "reference",   "report",    "comm",       "tensors",   "data",      "model",
      "optim",       "train",     "evaluate",   "apps",      "apps/poll", "apps/status",
      "apps/report", "apps/data", "apps/model", "apps/train"},
     network},
};

TEST(Arrows, NoRoomGetsAHeaderThatItIsToBeFreeOf)
{
    auto const arrows = stated_arrows();
    for (auto const& ban : bans)
        for (auto const& room : ban.rooms)
            EXPECT_TRUE(arrows.count(room))
                << room << " is banned from something and does not exist";
    each_source([&](fs::path const& file) {
        auto const room = room_of(file, arrows);
        for (auto const& [name, by] : reached_from(file)) {
            EXPECT_NE(name, "torch/torch.h") << by;
            for (auto const& ban : bans)
                for (auto const& banned : ban.headers)
                    EXPECT_FALSE(ban.rooms.count(room) && name.rfind(banned, 0) == 0)
                        << file << " gets " << name << " through " << by << ": " << ban.why;
        }
    });
}

}  // namespace
}  // namespace curtail
