// SPDX-License-Identifier: Apache-2.0
#include "base/compress/gzip.hpp"

#include <stdexcept>

#include <zlib.h>

namespace curtail {
namespace {

constexpr int window_bits = 15 + 16;  // 32 KiB; 16 selects gzip instead of zlib format
constexpr int memory_level = 8;
constexpr int unknown_system = 255;

// A zlib stream that compresses to gzip.
class Deflate {
  public:
    Deflate()
    {
        require(deflateInit2(&stream_, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, memory_level,
                             Z_DEFAULT_STRATEGY) == Z_OK);
        header_.os = unknown_system;
        require(deflateSetHeader(&stream_, &header_) == Z_OK);
    }
    Deflate(Deflate const&) = delete;
    Deflate& operator=(Deflate const&) = delete;
    ~Deflate() { deflateEnd(&stream_); }

    [[nodiscard]] std::string all_of(std::string_view text)
    {
        std::string out(deflateBound(&stream_, text.size()), '\0');
        // zlib does not write to its input; its interface only lacks the const.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        stream_.avail_in = static_cast<uInt>(text.size());
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        require(deflate(&stream_, Z_FINISH) == Z_STREAM_END);
        out.resize(stream_.total_out);
        return out;
    }

  private:
    static void require(bool good)
    {
        if (!good) throw std::runtime_error("zlib cannot compress");
    }

    z_stream stream_{};
    gz_header header_{};
};

}  // namespace

std::string gzip(std::string_view text) { return Deflate().all_of(text); }

}  // namespace curtail
