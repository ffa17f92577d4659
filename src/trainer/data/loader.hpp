// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/stream.hpp"

namespace curtail::data {

/// The rows from `begin` up to, but not including, `end`.
struct RowRange {
    std::int64_t begin{0};
    std::int64_t end{0};
    [[nodiscard]] std::int64_t size() const { return end - begin; }
    friend bool operator==(RowRange, RowRange) = default;
};
/// Divides a batch of `rows` rows among `ranks` ranks and returns the rows of rank `rank`. Ranks
/// count from 0. The ranks' numbers of rows differ by at most one. Throws std::out_of_range if
/// `rank` does not exist.
[[nodiscard]] RowRange rows_of_rank(std::int64_t rows, int rank, int ranks);

/// Rows of tokens for the model, in row-major order.
struct Batch {
    std::int64_t rows{0};                 ///< B, the number of rows
    std::int64_t sequence{0};             ///< T, the tokens of a row
    std::vector<std::int64_t> inputs{};   ///< (B, T)
    std::vector<std::int64_t> targets{};  ///< (B, T): for each input the token that follows it
};

/// Cuts the n tokens of a TokenStream into blocks of K tokens (`block_tokens`), and each block into
/// rows of T tokens (`sequence`).
///
/// An epoch has blocks_per_epoch = floor((n - 1) / K) blocks, and all epochs are equal. Block p of
/// the run is therefore block b = p mod blocks_per_epoch of an epoch. Blocks, rows and tokens count
/// from 0. The K inputs of block b begin at token b K of the TokenStream. Row r of the block has T
/// of these inputs, from token b K + r T on. The target of an input is the token that follows it in
/// the TokenStream. The tokens after the last whole block are never inputs.
///
/// The contents of block p depend only on the tokens, K, T and p, and not on ranks or sites.
class Loader {
  public:
    /// Makes a loader. Fails with `config` if K is not a positive multiple of T. Fails with `data`
    /// if `stream` has fewer than K + 1 tokens.
    [[nodiscard]] static Result<Loader> create(TokenStream stream, std::int64_t block_tokens,
                                               std::int64_t sequence);

    [[nodiscard]] std::int64_t blocks_per_epoch() const { return blocks_per_epoch_; }
    [[nodiscard]] std::int64_t rows_per_block() const { return block_tokens_ / sequence_; }
    /// A batch is a sequence of blocks. `blocks` lists their numbers, in the order of the batch.
    /// Reads the rows `range` of the batch. Throws std::out_of_range if a row does not exist or if
    /// its block has a negative number. Fails with `data` if a shard is damaged and with `no_input`
    /// if a shard is missing.
    [[nodiscard]] Result<Batch> rows(std::span<std::int64_t const> blocks, RowRange range);

  private:
    Loader(TokenStream stream, std::int64_t block_tokens, std::int64_t sequence);
    TokenStream stream_;
    std::int64_t block_tokens_;
    std::int64_t sequence_;
    std::int64_t blocks_per_epoch_;
};

}  // namespace curtail::data
