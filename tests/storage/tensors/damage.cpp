// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile files give an error or the original content and never crash the reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include "base/core/files.hpp"
#include "storage/tensors/reader.hpp"
#include "storage/tensors/writer.hpp"
#include "support/temporary_folder.hpp"

// HDF5 1.10 leaks memory whenever it refuses a file; leak checks of these tests ignore that. The
// leak sanitizer looks for this name.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" char const* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace curtail::tensors {
namespace {

using testing::HasSubstr;

constexpr unsigned seed = 20'260'111;

std::string sample_bytes()
{
    std::mt19937 random(seed);
    std::vector<float> weights(300);
    for (auto& w : weights) w = static_cast<float>(random()) / 1e9F;
    std::vector<std::uint16_t> tokens(500, 7);
    TensorWriter writer;
    writer.add<float>("weights/a", {10, 30}, weights);
    writer.add<float>("weights/b", {}, std::span(weights).first(1));
    writer.add<std::uint16_t>("tokens", {500}, tokens);
    writer.attribute("step", 12);
    writer.attribute("commit", "0123abcd");
    return writer.encode();
}

// The whole content of a file as text; empty if the reader refuses any of it.
std::string content_of(Result<TensorReader> const& reader)
{
    if (!reader) return {};
    std::string all = json::to_string(reader->attributes());
    for (auto const& tensor : reader->list()) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
        if (!reader->read_into(tensor.name, tensor.dtype, bytes)) return {};
        all += tensor.name;
        all.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    }
    return all;
}

TEST(DamagedTensorFile, EveryTruncationIsAnError)
{
    test::TemporaryFolder const folder;
    auto const whole = sample_bytes();
    for (std::size_t length = 0; length < whole.size(); length += length < 256 ? 1 : 61) {
        EXPECT_FALSE(TensorReader::from_bytes(whole.substr(0, length), "cut")) << length;
        std::ofstream(folder / "cut.h5", std::ios::binary) << whole.substr(0, length);
        EXPECT_EQ(TensorReader::open(folder / "cut.h5").error().code, ExitCode::data) << length;
    }
}

TEST(DamagedTensorFile, AFlippedBitIsAnErrorOrHarmless)
{
    test::TemporaryFolder const folder;
    auto const whole = sample_bytes();
    ASSERT_TRUE(write_file(folder / "a.h5", whole));
    auto const original = content_of(TensorReader::open(folder / "a.h5"));
    ASSERT_FALSE(original.empty());
    int refused = 0;
    std::mt19937 random(seed);
    for (std::size_t at = 0; at < whole.size(); at += 1 + random() % 3) {
        auto flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
        (void)content_of(TensorReader::from_bytes(flipped, "flipped"));
        std::ofstream(folder / "b.h5", std::ios::binary) << flipped;
        auto const found = content_of(TensorReader::open(folder / "b.h5"));
        refused += found.empty();
        EXPECT_TRUE(found.empty() || found == original) << "seed " << seed << ", byte " << at;
    }
    EXPECT_GT(refused, 1'000) << "data and headers have more bytes than that";
}

TEST(DamagedTensorFile, RandomDamageNeverCrashes)
{
    auto const whole = sample_bytes();
    for (unsigned round = 0; round < 2'000; ++round) {
        std::mt19937 random(seed + round);
        auto damaged = whole;
        for (auto n = 1 + random() % 40; n > 0; --n)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        SCOPED_TRACE("seed " + std::to_string(seed + round));
        (void)content_of(TensorReader::from_bytes(damaged, "damaged"));
    }
}

TEST(DamagedTensorFile, RandomBytesAreRefused)
{
    for (unsigned round = 0; round < 300; ++round) {
        std::mt19937 random(seed + round);
        std::string bytes(random() % 4'096, '\0');
        for (auto& b : bytes) b = static_cast<char>(random());
        if (round % 2 == 0 && bytes.size() > 8) bytes.replace(0, 8, "\x89HDF\r\n\x1a\n");
        EXPECT_FALSE(TensorReader::from_bytes(bytes, "noise")) << "seed " << seed + round;
    }
}

// Fills a file through HDF5 itself and returns why a reader refuses it, or "accepted".
std::string refusal_of(std::function<void(hid_t)> const& fill, FileLimits const& limits = {})
{
    test::TemporaryFolder const folder;
    auto const path = folder / "hostile.h5";
    hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    fill(file);
    H5Fclose(file);
    auto const reader = TensorReader::open(path, limits);
    return reader ? "accepted" : reader.error().message();
}

hid_t dataset(hid_t file, char const* name, hid_t type, std::vector<hsize_t> const& extent,
              hid_t properties = H5P_DEFAULT)
{
    hid_t const space = H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr);
    hid_t const made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Sclose(space);
    return made;
}

void put_floats(hid_t made, std::size_t n)
{
    std::vector<float> const zeros(n);
    H5Dwrite(made, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
    H5Dclose(made);
}

TEST(HostileTensorFile, OnlyHardLinksAreAccepted)
{
    EXPECT_THAT(
        refusal_of([](hid_t f) { H5Lcreate_soft("/x", f, "soft", H5P_DEFAULT, H5P_DEFAULT); }),
        HasSubstr("external link \"soft\""));
    EXPECT_THAT(refusal_of([](hid_t f) {
                    H5Lcreate_external("/etc/passwd", "/", f, "out", H5P_DEFAULT, H5P_DEFAULT);
                }),
                HasSubstr("external link \"out\""));
    EXPECT_THAT(refusal_of([](hid_t f) {
                    put_floats(dataset(f, "a", H5T_IEEE_F32LE, {2}), 2);
                    H5Lcreate_hard(f, "a", f, "b", H5P_DEFAULT, H5P_DEFAULT);
                }),
                HasSubstr("several links"));
    EXPECT_THAT(refusal_of([](hid_t f) {
                    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
                    H5Lcreate_hard(f, "/", f, "g/root", H5P_DEFAULT, H5P_DEFAULT);
                }),
                testing::Not(HasSubstr("accepted")));
}

TEST(HostileTensorFile, OnlyPlainElementTypesAreAccepted)
{
    EXPECT_THAT(refusal_of([](hid_t f) {
                    hid_t const text = H5Tcopy(H5T_C_S1);
                    H5Tset_size(text, H5T_VARIABLE);
                    H5Dclose(dataset(f, "text", text, {1}));
                    H5Tclose(text);
                }),
                HasSubstr("element type"));
    EXPECT_THAT(
        refusal_of([](hid_t f) { H5Dclose(dataset(f, "reference", H5T_STD_REF_OBJ, {1})); }),
        HasSubstr("element type"));
    EXPECT_THAT(refusal_of([](hid_t f) { H5Dclose(dataset(f, "big", H5T_IEEE_F32BE, {1})); }),
                HasSubstr("element type"));
    EXPECT_THAT(refusal_of([](hid_t f) {
                    put_floats(dataset(f, "five", H5T_IEEE_F32LE, {1, 1, 1, 1, 2}), 2);
                }),
                HasSubstr("dimensions"));
    EXPECT_THAT(refusal_of([](hid_t f) {
                    hid_t const type = H5Tcopy(H5T_NATIVE_INT);
                    H5Tcommit2(f, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
                    H5Tclose(type);
                }),
                HasSubstr("neither a group nor a tensor"));
}

TEST(HostileTensorFile, StorageMustBeCompleteAndInsideTheFile)
{
    EXPECT_THAT(refusal_of([](hid_t f) {
                    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
                    H5Pset_external(properties, "/etc/passwd", 0, 8);
                    H5Dclose(dataset(f, "outside", H5T_IEEE_F32LE, {2}, properties));
                    H5Pclose(properties);
                }),
                HasSubstr("other files"));
    EXPECT_THAT(refusal_of([](hid_t f) {
                    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
                    H5Pset_external(properties, "elsewhere.raw", 0, H5F_UNLIMITED);
                    H5Dclose(dataset(f, "outside", H5T_IEEE_F32LE, {2}, properties));
                    H5Pclose(properties);
                }),
                HasSubstr("other files"));
    EXPECT_THAT(refusal_of([](hid_t f) {
                    H5Dclose(dataset(f, "bomb", H5T_IEEE_F32LE, {1ULL << 40, 1ULL << 20}));
                }),
                testing::Not(HasSubstr("accepted")));
    EXPECT_THAT(refusal_of([](hid_t f) { H5Dclose(dataset(f, "unwritten", H5T_IEEE_F32LE, {4})); }),
                HasSubstr("0 bytes in the file"));
}

// Adds a virtual dataset backed by the dataset `/data` of another file, which determines its size.
void make_virtual(hid_t file, std::string const& source)
{
    hsize_t const size = 4;
    hsize_t const unlimited = H5S_UNLIMITED;
    hsize_t const start = 0;
    hsize_t const one = 1;
    hid_t const space = H5Screate_simple(1, &size, &unlimited);
    hid_t const from = H5Scopy(space);
    for (hid_t const selected : {space, from})
        H5Sselect_hyperslab(selected, H5S_SELECT_SET, &start, &one, &unlimited, &one);
    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(properties, space, source.c_str(), "/data", from);
    H5Dclose(
        H5Dcreate2(file, "virtual", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Pclose(properties);
    H5Sclose(from);
    H5Sclose(space);
}

TEST(HostileTensorFile, AVirtualDatasetIsRefusedBeforeItsSourceIsOpened)
{
    test::TemporaryFolder const folder;
    EXPECT_THAT(refusal_of([&](hid_t f) { make_virtual(f, (folder / "absent.h5").string()); }),
                HasSubstr("virtual"));
    // Opening a FIFO without a writer blocks forever: this test would hit its time limit.
    ASSERT_EQ(mkfifo((folder / "fifo.h5").c_str(), 0600), 0);
    auto const path = folder / "hostile.h5";
    hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    make_virtual(file, (folder / "fifo.h5").string());
    H5Fclose(file);
    alarm(20);
    auto const reader = TensorReader::open(path);
    alarm(0);
    ASSERT_FALSE(reader);
    EXPECT_THAT(reader.error().message(), HasSubstr("virtual"));
}

TEST(HostileTensorFile, CompressionIsAcceptedOnlyOnRequest)
{
    auto const fill = [](hid_t f) {
        hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
        hsize_t const chunk = 1'000;
        H5Pset_chunk(properties, 1, &chunk);
        H5Pset_shuffle(properties);
        H5Pset_deflate(properties, 6);
        put_floats(dataset(f, "zip", H5T_IEEE_F32LE, {100'000}, properties), 100'000);
        H5Pclose(properties);
    };
    EXPECT_THAT(refusal_of(fill), HasSubstr("filter (number 2)"));
    EXPECT_EQ(refusal_of(fill, {.compressed = true}), "accepted");
    EXPECT_THAT(refusal_of(fill, {.bytes = 399'999, .compressed = true}),
                HasSubstr("more than 399999 bytes"));
    EXPECT_EQ(refusal_of(fill, {.bytes = 400'000, .compressed = true}), "accepted");
}

TEST(HostileTensorFile, OtherFiltersAreRefused)
{
    auto const fill = [](hid_t f) {
        hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
        hsize_t const chunk = 10;
        H5Pset_chunk(properties, 1, &chunk);
        H5Pset_fletcher32(properties);
        put_floats(dataset(f, "sum", H5T_IEEE_F32LE, {10}, properties), 10);
        H5Pclose(properties);
    };
    EXPECT_THAT(refusal_of(fill, {.compressed = true}), HasSubstr("filter (number 3)"));
}

TEST(HostileTensorFile, NestingIsBounded)
{
    EXPECT_THAT(
        refusal_of([](hid_t f) {
            std::string path;
            for (int i = 0; i < 20; ++i) {
                path += "/g";
                H5Gclose(H5Gcreate2(f, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
            }
        }),
        HasSubstr("deeper than 16"));
}

}  // namespace
}  // namespace curtail::tensors
