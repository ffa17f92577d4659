// SPDX-License-Identifier: Apache-2.0
#include "run/config/model.hpp"

#include <algorithm>
#include <cmath>

#include "run/config/read.hpp"

namespace curtail::config {
namespace {

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
    auto model = model_of_depth(read_integer(r, "depth", {}, 1, 256));
    model.sequence = read_integer(r, "sequence", 2048, 1, 1 << 20);
    model.vocabulary = r.integer("vocabulary", 65'536);
    model.name = r.text("name", model.name);
    model.heads = r.integer("heads", model.heads);
    model.kv_heads = r.integer("kv_heads", model.heads);
    r.require(model.vocabulary >= 2 && model.vocabulary <= 65'536, "vocabulary",
              "must be 2 to 65536 (token ids are stored in 16 bits)");
    r.require(
        model.heads >= 1 && model.width % model.heads == 0 && model.width / model.heads % 2 == 0,
        "heads",
        "must divide the width " + std::to_string(model.width) + " into heads of even size");
    r.require(model.kv_heads >= 1 && model.heads % model.kv_heads == 0, "kv_heads",
              "must divide heads");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return model;
}

}  // namespace curtail::config
