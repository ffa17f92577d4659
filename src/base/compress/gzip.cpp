// SPDX-License-Identifier: Apache-2.0
#include "base/compress/gzip.hpp"

#include <stdexcept>

#include <zlib.h>

namespace curtail {
namespace {

constexpr int window_bits = 15 + 16;  // 32 KiB; 16 selects gzip instead of zlib format
constexpr int memory_level = 8;
constexpr int unknown_system = 255;

void require(bool good)
{
    if (!good) throw std::runtime_error("zlib failed");
}

// zlib does not write to its input; its interface only lacks the const.
void set_input(z_stream& stream, std::string_view text)
{
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
}

void set_output(z_stream& stream, std::string& out)
{
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
}

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
        set_input(stream_, text);
        set_output(stream_, out);
        require(deflate(&stream_, Z_FINISH) == Z_STREAM_END);
        out.resize(stream_.total_out);
        return out;
    }

  private:
    z_stream stream_{};
    gz_header header_{};
};

// A zlib stream that reads gzip.
class Inflate {
  public:
    Inflate() { require(inflateInit2(&stream_, window_bits) == Z_OK); }
    Inflate(Inflate const&) = delete;
    Inflate& operator=(Inflate const&) = delete;
    ~Inflate() { inflateEnd(&stream_); }

    [[nodiscard]] std::optional<std::string> all_of(std::string_view compressed, std::size_t most)
    {
        std::string out(most, '\0');
        set_input(stream_, compressed);
        set_output(stream_, out);
        bool const is_whole = inflate(&stream_, Z_FINISH) == Z_STREAM_END && stream_.avail_in == 0;
        if (!is_whole) return std::nullopt;
        out.resize(stream_.total_out);
        return out;
    }

  private:
    z_stream stream_{};
};

}  // namespace

std::string gzip(std::string_view text) { return Deflate().all_of(text); }

std::optional<std::string> gunzip(std::string_view compressed, std::size_t most)
{
    return Inflate().all_of(compressed, most);
}

}  // namespace curtail
