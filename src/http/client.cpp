// SPDX-License-Identifier: Apache-2.0
#include "http/client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string_view>

#include "core/build_info.hpp"
#include "core/text.hpp"
#include "http/protocols.hpp"
#include "http/retry_after.hpp"
#include "http/url.hpp"

namespace curtail::http {
namespace {

// Once per process.
void initialise_curl()
{
    static CURLcode const code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

// What has arrived of a response; checks limits while it arrives.
struct Arrival {
    std::string body;
    std::size_t body_limit;
    std::size_t header_bytes{0};
    bool body_too_large{false};
    bool header_too_large{false};
    std::optional<Seconds> retry_after;
};

std::size_t on_body(char const* bytes, std::size_t size, std::size_t count, void* user)
{
    auto& arrival = *static_cast<Arrival*>(user);
    if (size * count > arrival.body_limit - arrival.body.size()) {
        arrival.body_too_large = true;
        return 0;
    }
    arrival.body.append(bytes, size * count);
    return size * count;
}

std::size_t on_header(char const* bytes, std::size_t size, std::size_t count, void* user)
{
    auto& arrival = *static_cast<Arrival*>(user);
    arrival.header_bytes += size * count;
    arrival.header_too_large = arrival.header_bytes > header_limit;
    if (arrival.header_too_large) return 0;
    if (auto const wait = parse_retry_after({bytes, size * count}, SystemClock{}.now()))
        arrival.retry_after = *wait;
    return size * count;
}

std::optional<Error> size_error(Arrival const& arrival, std::string const& what)
{
    if (arrival.body_too_large)
        return Error{ExitCode::data, what,
                     fmt::format("the response is larger than {} bytes", arrival.body_limit), ""};
    if (arrival.header_too_large)
        return Error{ExitCode::data, what,
                     fmt::format("the headers are larger than {} bytes", header_limit), ""};
    return std::nullopt;
}

bool is_certificate_error(CURLcode code)
{
#if LIBCURL_VERSION_NUM < 0x073e00
    if (code == CURLE_SSL_CACERT) return true;  // merged with the next one in 7.62
#endif
    return code == CURLE_PEER_FAILED_VERIFICATION;
}

Error transfer_error(CURLcode code, Request const& request, std::string const& what,
                     std::string const& why)
{
    if (code == CURLE_OPERATION_TIMEDOUT)
        return {ExitCode::temporary, what,
                "no complete response within " + format_duration(request.deadline), "will retry"};
    if (is_certificate_error(code))
        return {ExitCode::permission, what, "its certificate is not trusted (" + why + ")",
                "check the machine's clock and CA certificates, or pass the server's own with "
                "ca_file"};
    if (code == CURLE_SSL_CACERT_BADFILE)
        return {ExitCode::config, what, "cannot use ca_file (" + why + ")", "pass a PEM file"};
    return {ExitCode::temporary, what, why, "will retry"};
}

}  // namespace

struct Client::Handle {
    std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy{nullptr, curl_easy_cleanup};

    template <class T>
    void set(CURLoption option, T value)
    {
        if (curl_easy_setopt(easy.get(), option, value) != CURLE_OK)
            throw std::runtime_error(
                fmt::format("libcurl refuses option {}", static_cast<int>(option)));
    }
    void prepare(Request const& request, bool https, std::filesystem::path const& ca_file);
    void authenticate(Request const& request);
    void receive_into(Arrival& arrival, char* detail);
    [[nodiscard]] Response response(Arrival& arrival) const;

    std::string user_agent{"curtail/" + build_info().version};
};

void Client::Handle::prepare(Request const& request, bool https,
                             std::filesystem::path const& ca_file)
{
    set(CURLOPT_URL, request.url.c_str());
    if (restrict_protocols(easy.get(), https, has_protocol_names()) != CURLE_OK)
        throw std::runtime_error("libcurl cannot restrict protocols");
    if (!https) set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!ca_file.empty()) {
        set(CURLOPT_CAINFO, ca_file.c_str());
        set(CURLOPT_CAPATH, static_cast<char const*>(nullptr));
    }
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, std::max<long>(1, request.deadline.count()));
    set(CURLOPT_USERAGENT, user_agent.c_str());
    authenticate(request);
}

void Client::Handle::authenticate(Request const& request)
{
    if (request.password != nullptr) {
        set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
        set(CURLOPT_USERNAME, request.username.c_str());
        set(CURLOPT_PASSWORD, request.password->reveal());
    } else if (request.bearer != nullptr) {
        set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
        set(CURLOPT_XOAUTH2_BEARER, request.bearer->reveal());
    }
}

void Client::Handle::receive_into(Arrival& arrival, char* detail)
{
    set(CURLOPT_ERRORBUFFER, detail);
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&arrival));
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&arrival));
}

Response Client::Handle::response(Arrival& arrival) const
{
    Response response;
    char const* type = nullptr;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &response.status);
    curl_easy_getinfo(easy.get(), CURLINFO_CONTENT_TYPE, &type);
    if (type != nullptr) response.content_type = type;
    response.retry_after = arrival.retry_after;
    response.body = std::move(arrival.body);
    return response;
}

Client::Client(std::filesystem::path ca_file)
    : handle_(std::make_unique<Handle>()), ca_file_(std::move(ca_file))
{
    initialise_curl();
    handle_->easy.reset(curl_easy_init());
    if (!handle_->easy) throw std::bad_alloc();
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Response> Client::get(Request const& request)
{
    auto const what = "cannot get " + without_query(request.url);
    auto const url = check_url(request.url, what);
    if (!url) return tl::unexpected(url.error());

    Arrival arrival{.body = {}, .body_limit = request.body_limit, .retry_after = {}};
    char detail[CURL_ERROR_SIZE] = "";
    handle_->prepare(request, url->scheme == "https", ca_file_);
    handle_->receive_into(arrival, detail);
    CURLcode const code = curl_easy_perform(handle_->easy.get());
    auto response = handle_->response(arrival);
    // Clears the credentials and the pointers into this frame; keeps the connection.
    curl_easy_reset(handle_->easy.get());
    if (code == CURLE_OK) return response;
    if (auto const too_large = size_error(arrival, what)) return tl::unexpected(*too_large);
    return tl::unexpected(transfer_error(
        code, request, what, printable(*detail != '\0' ? detail : curl_easy_strerror(code))));
}

}  // namespace curtail::http
