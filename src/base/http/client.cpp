// SPDX-License-Identifier: Apache-2.0
#include "base/http/client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/core/build_info.hpp"
#include "base/core/text.hpp"
#include "base/core/trust.hpp"
#include "base/http/protocols.hpp"
#include "base/http/transfer.hpp"
#include "base/http/url.hpp"

namespace curtail::http {
namespace {

// Large transfers need fewer system calls with large buffers. libcurl allocates them on first use.
constexpr long buffer_bytes = 512L << 10;

// Once per process.
void initialise_curl()
{
    static CURLcode const code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

void check(CURLcode code, int option)
{
    if (code != CURLE_OK)
        throw std::runtime_error(fmt::format("libcurl refuses option {}", option));
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
                "no complete response within " + format_duration(request.deadline), ""};
    if (is_certificate_error(code))
        return {ExitCode::permission, what, "its certificate is not trusted (" + why + ")",
                "check the machine's clock and CA certificates, or pass the server's own with "
                "ca_file"};
    if (code == CURLE_SSL_CACERT_BADFILE)
        return {ExitCode::config, what, "cannot use ca_file (" + why + ")", "pass a PEM file"};
    return {ExitCode::temporary, what, why, ""};
}

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// An empty value needs the form "Name;".
HeaderList list_headers(std::vector<HeaderField> const& headers)
{
    HeaderList list{nullptr, curl_slist_free_all};
    for (auto const& [name, value] : headers) {
        auto const line = value.empty() ? name + ";" : name + ": " + value;
        auto* longer = curl_slist_append(list.get(), line.c_str());
        if (longer == nullptr) throw std::bad_alloc();
        static_cast<void>(list.release());
        list.reset(longer);
    }
    return list;
}

}  // namespace

struct Client::Handle {
    std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy{nullptr, curl_easy_cleanup};

    template <class T>
    void set(CURLoption option, T value)
    {
        check(curl_easy_setopt(easy.get(), option, value), static_cast<int>(option));
    }
    void connect_by(ConnectionSettings const& connection, bool https, bool loopback);
    void prepare(Request const& request, curl_slist* headers);
    void choose_method(Request const& request);
    void authenticate(Request const& request);

    std::string user_agent{"curtail/" + build_info().version};
};

void Client::Handle::connect_by(ConnectionSettings const& connection, bool https, bool loopback)
{
    if (restrict_protocols(easy.get(), https, has_protocol_names()) != CURLE_OK)
        throw std::runtime_error("libcurl cannot restrict protocols");
    if (connection.direct || (!https && loopback)) set(CURLOPT_NOPROXY, "*");
    else if (!connection.proxy.empty()) set(CURLOPT_PROXY, connection.proxy.c_str());
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (connection.ca_file.empty()) return;
    set(CURLOPT_CAINFO, connection.ca_file.c_str());
    set(CURLOPT_CAPATH, static_cast<char const*>(nullptr));
}

void Client::Handle::choose_method(Request const& request)
{
    auto const size = static_cast<curl_off_t>(request.body.size());
    switch (request.method) {
        case Method::get:
            return;
        case Method::head:
            return set(CURLOPT_NOBODY, 1L);
        case Method::remove:
            return set(CURLOPT_CUSTOMREQUEST, name_of(request.method));
        case Method::put:
            set(CURLOPT_UPLOAD, 1L);
            return set(CURLOPT_INFILESIZE_LARGE, size);
        case Method::post:
            set(CURLOPT_POST, 1L);
            return set(CURLOPT_POSTFIELDSIZE_LARGE, size);
    }
}

void Client::Handle::prepare(Request const& request, curl_slist* headers)
{
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    // libcurl must not use signals, since threads share them. It then leaves SIGPIPE alone too,
    // which the programs ignore (programs/frame/program.cpp).
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_TIMEOUT_MS, std::max<long>(1, request.deadline.count()));
    set(CURLOPT_USERAGENT, user_agent.c_str());
    if (request.once) set(CURLOPT_FRESH_CONNECT, 1L);
    if (request.sink) set(CURLOPT_BUFFERSIZE, buffer_bytes);
#if LIBCURL_VERSION_NUM >= 0x073e00
    if (!request.body.empty()) set(CURLOPT_UPLOAD_BUFFERSIZE, buffer_bytes);
#endif
    set(CURLOPT_HTTPHEADER, headers);
    choose_method(request);
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

Client::Client(ConnectionSettings connection)
    : handle_(std::make_unique<Handle>()), connection_(std::move(connection))
{
    initialise_curl();
    handle_->easy.reset(curl_easy_init());
    if (!handle_->easy) throw std::bad_alloc();
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Response> Client::send(Request const& request)
{
    auto const what =
        fmt::format("cannot {} {}", request.method == Method::get ? "get" : name_of(request.method),
                    without_query(request.url));
    auto const url = check_url(request.url, what, request.allow_http);
    if (!url) return tl::unexpected(url.error());

    if (auto const& file = connection_.ca_file; !file.empty())
        if (auto good = check_access(file, trust_in_installed()); !good)
            return tl::unexpected(good.error());

    auto* const easy = handle_->easy.get();
    Transfer transfer(request);
    char detail[CURL_ERROR_SIZE] = "";
    auto const headers = list_headers(request.headers);
    handle_->connect_by(connection_, url->scheme == "https", is_loopback(url->host));
    handle_->prepare(request, headers.get());
    handle_->set(CURLOPT_ERRORBUFFER, static_cast<char*>(detail));
    check(transfer.attach(easy), 0);
    CURLcode const code = curl_easy_perform(easy);
    auto response = transfer.response(easy);
    // Clears the credentials and the pointers into this frame; keeps the connection.
    curl_easy_reset(easy);
    if (code == CURLE_OK) return response;
    if (auto const error = transfer.error(what)) return tl::unexpected(*error);
    return tl::unexpected(transfer_error(
        code, request, what, printable(*detail != '\0' ? detail : curl_easy_strerror(code))));
}

}  // namespace curtail::http
