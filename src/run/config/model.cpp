// SPDX-License-Identifier: Apache-2.0
#include "run/config/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/config/read.hpp"

namespace curtail::config {
namespace {

constexpr std::int64_t max_depth = 256;
constexpr std::int64_t max_sequence = 1 << 20;

// The number of heads nearest to width / 128 (half to even) that divides the width.
std::int64_t heads_for(std::int64_t width)
{
    auto const target = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::nearbyint(static_cast<double>(width) / 128)));
    for (std::int64_t distance = 0;; ++distance)
        for (std::int64_t heads : {target + distance, target - distance})
            if (heads > 0 && width % heads == 0) return heads;
}

}  // namespace

std::int64_t Model::parameters() const
{
    std::int64_t const attention = 2 * width * width + 2 * width * kv_heads * head_size();
    return 2 * padded_vocabulary() * width + layers * (attention + 8 * width * width) + 2 * layers;
}

double Model::flops_per_token() const
{
    auto const products = parameters() - padded_vocabulary() * width - 2 * layers;
    return 6 * static_cast<double>(products) + 12 * static_cast<double>(layers * width * sequence);
}

std::optional<BrokenRule> broken_rule(Model const& m)
{
    auto const within = [](std::int64_t value, std::int64_t least, std::int64_t most) {
        return value >= least && value <= most;
    };
    if (!within(m.layers, 1, max_depth) || m.width != 64 * m.layers)
        return BrokenRule{"depth", fmt::format("must be 1 to {}", max_depth)};
    if (!within(m.sequence, 1, max_sequence))
        return BrokenRule{"sequence", fmt::format("must be 1 to {}", max_sequence)};
    if (!within(m.vocabulary, 2, 65'536))
        return BrokenRule{"vocabulary", "must be 2 to 65536 (token ids are stored in 16 bits)"};
    if (!within(m.heads, 1, m.width) || m.width % (2 * m.heads) != 0)
        return BrokenRule{"heads",
                          fmt::format("must divide the width {} into heads of even size", m.width)};
    if (m.kv_heads < 1 || m.heads % m.kv_heads != 0)
        return BrokenRule{"kv_heads", "must divide heads"};
    return std::nullopt;
}

Model model_of_depth(std::int64_t depth, std::int64_t sequence, std::int64_t vocabulary)
{
    std::int64_t const width = 64 * depth;
    std::int64_t const heads = heads_for(width);
    return {"d" + std::to_string(depth), depth, width, heads, heads, sequence, vocabulary};
}

Result<Model> read_model(std::filesystem::path const& file, std::vector<SettingsFile>& files)
{
    auto const json = read_settings(file, files);
    if (!json) return tl::unexpected(json.error());
    json::ObjectReader r(*json, file.string(), ExitCode::config);
    // An invalid depth must not stop the reader here: finish() needs to know all allowed keys.
    auto model = model_of_depth(read_integer(r, "depth", {}, 1, max_depth));
    model.sequence = r.integer("sequence", 2048);
    model.vocabulary = r.integer("vocabulary", 65'536);
    model.name = r.text("name", model.name);
    model.heads = r.integer("heads", model.heads);
    model.kv_heads = r.integer("kv_heads", model.heads);
    if (auto const broken = broken_rule(model)) r.require(false, broken->key, broken->rule);
    if (auto error = r.finish()) return tl::unexpected(*error);
    return model;
}

}  // namespace curtail::config
