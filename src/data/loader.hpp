// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "data/stream.hpp"

namespace curtail::data {

/// Rows of a batch: [begin, end).
struct RowRange {
    std::int64_t begin{0};
    std::int64_t end{0};
    [[nodiscard]] std::int64_t size() const { return end - begin; }
    friend bool operator==(RowRange, RowRange) = default;
};
/// The consecutive rows out of `rows` that rank `rank` of `ranks` computes. Shares differ by at
/// most one row.
[[nodiscard]] RowRange rows_of_rank(std::int64_t rows, int rank, int ranks);

/// Rows for the model, in row-major order.
struct Batch {
    std::int64_t rows{0};               ///< B
    std::int64_t sequence{0};           ///< T
    std::vector<std::int64_t> inputs;   ///< (B, T)
    std::vector<std::int64_t> targets;  ///< (B, T): the token that follows each input
};

/// Cuts a stream of n tokens into blocks of K = block_tokens and blocks into rows of T.
///
/// An epoch has blocks_per_epoch = floor((n - 1) / K) blocks; all epochs are equal. Block p of the
/// run's stream is block b = p mod blocks_per_epoch of its epoch: the tokens [b K, b K + K), and
/// the next token as the last target. Its row r has the inputs [b K + r T, b K + r T + T) and the
/// same shifted by one as targets. The last n - 1 - blocks_per_epoch K tokens of the part are never
/// inputs. The contents of a block depend on nothing else, in particular not on ranks or sites.
class Loader {
  public:
    /// Fails with `config` if K is not a multiple of T, and with `data` if the stream is shorter
    /// than one block and one token.
    [[nodiscard]] static Result<Loader> create(TokenStream stream, std::int64_t block_tokens,
                                               std::int64_t sequence);

    [[nodiscard]] std::int64_t blocks_per_epoch() const { return blocks_per_epoch_; }
    [[nodiscard]] std::int64_t rows_per_block() const { return block_tokens_ / sequence_; }
    [[nodiscard]] TokenStream& stream() { return stream_; }
    /// Rows `range` of the global batch, which is the concatenation of `blocks`. Throws if a row or
    /// block does not exist.
    [[nodiscard]] Result<Batch> rows(std::span<BlockIndex const> blocks, RowRange range);

  private:
    Loader(TokenStream stream, std::int64_t block_tokens, std::int64_t sequence);
    TokenStream stream_;
    std::int64_t block_tokens_;
    std::int64_t sequence_;
    std::int64_t blocks_per_epoch_;
};

}  // namespace curtail::data
