// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/loader.hpp"

#include <stdexcept>

namespace curtail::data {

RowRange rows_of_rank(std::int64_t rows, int rank, int ranks)
{
    if (ranks < 1 || rank < 0 || rank >= ranks) throw std::out_of_range("rank out of range");
    return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

Loader::Loader(TokenStream stream, std::int64_t block_tokens, std::int64_t sequence)
    : stream_(std::move(stream)),
      block_tokens_(block_tokens),
      sequence_(sequence),
      blocks_per_epoch_((stream_.tokens() - 1) / block_tokens)
{
}

Result<Loader> Loader::create(TokenStream stream, std::int64_t block_tokens, std::int64_t sequence)
{
    if (sequence < 1 || block_tokens < sequence || block_tokens % sequence != 0)
        return fail(
            ExitCode::config,
            "cannot cut the text into blocks of " + std::to_string(block_tokens) + " tokens",
            "block_tokens must be a multiple of the model's sequence, " + std::to_string(sequence),
            "change one of them");
    if (stream.tokens() < block_tokens + 1)
        return fail(
            ExitCode::data,
            "cannot cut the text into blocks of " + std::to_string(block_tokens) + " tokens",
            "it has only " + std::to_string(stream.tokens()) + " tokens",
            "use more text or smaller blocks");
    return Loader(std::move(stream), block_tokens, sequence);
}

Result<Batch> Loader::rows(std::span<std::int64_t const> blocks, RowRange range)
{
    if (range.begin < 0 || range.end < range.begin ||
        range.end > std::ssize(blocks) * rows_per_block())
        throw std::out_of_range("rows beyond the batch");
    Batch batch{.rows = range.size(), .sequence = sequence_};
    batch.inputs.reserve(static_cast<std::size_t>(batch.rows * sequence_));
    batch.targets.reserve(batch.inputs.capacity());
    std::vector<Token> row(static_cast<std::size_t>(sequence_) + 1);
    for (auto r = range.begin; r < range.end; ++r) {
        auto const block = blocks[static_cast<std::size_t>(r / rows_per_block())];
        if (block < 0) throw std::out_of_range("negative block");
        auto const offset =
            block % blocks_per_epoch_ * block_tokens_ + r % rows_per_block() * sequence_;
        if (auto read = stream_.read(offset, row); !read) return tl::unexpected(read.error());
        batch.inputs.insert(batch.inputs.end(), row.begin(), row.end() - 1);
        batch.targets.insert(batch.targets.end(), row.begin() + 1, row.end());
    }
    return batch;
}

}  // namespace curtail::data
