// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/transfer.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/detail/secrets.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>
#include <cofferdam/serve/e2b_gateway/detail/uploads.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// `GET` and `POST /files` of a sandbox. \par Source  envd's API, envd.yaml.
class gateway_files {
 public:
  gateway_files(std::shared_ptr<gateway_core> core, std::shared_ptr<gateway_sandbox> sandbox, http_call& call)
      : core_(std::move(core)), sandbox_(std::move(sandbox)), call_(call), query_(call.query()) {}

  /// Whether a signature that stands in a request is that of the sandbox's token.
  static bool is_signed_by(const gateway_sandbox& sandbox, const http_call& call) {
    if (!sandbox.settings().token) return false;
    const gateway_query query(call.query());
    return same_secret(query.value("signature"), due_signature(sandbox, call.method(), query));
  }

  /// Answers by itself. \throws gateway_refusal and error where nothing was replied
  static awaitable<void> answer(gateway_files self) {
    const std::string& method = self.call_.method();
    if (method != "GET" && method != "POST") {
      http_reply reply(405);
      reply.field("Allow", "GET, POST");
      co_await self.call_.reply(std::move(reply));
      co_return;
    }
    self.check_access();
    const std::string_view user = self.query_.value("username");
    if (!user.empty() && user != "user" && user != "root")
      throw gateway_refusal(401, "error looking up user '" + one_line(user.substr(0, 64)) + "': user: unknown user " +
                                     one_line(user.substr(0, 64)));
    if (method == "GET") {
      co_await self.download();
    } else {
      co_await self.upload();
    }
  }

 private:
  static std::string due_signature(const gateway_sandbox& sandbox, std::string_view method,
                                   const gateway_query& query) {
    const std::string_view operation = method == "POST" ? "write" : "read";
    return gateway_signature(query.value("path"), operation, query.value("username"), *sandbox.settings().token,
                             query.value("signature_expiration"));
  }

  void check_access() const {
    const std::optional<std::string>& token = sandbox_->settings().token;
    if (!token) return;
    if (const auto given = call_.field("X-Access-Token")) {
      if (!same_secret(*given, *token)) throw gateway_refusal(401, "access token present in header but does not match");
      return;
    }
    const auto signature = query_.find("signature");
    if (!signature) throw gateway_refusal(401, "missing signature query parameter");
    if (!same_secret(*signature, due_signature(*sandbox_, call_.method(), query_)))
      throw gateway_refusal(401, "invalid signature");
    const std::string_view expiration = query_.value("signature_expiration");
    if (expiration.empty()) return;
    const auto until = gateway_number<std::int64_t>(expiration);
    if (!until ||
        *until < std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                     .count())
      throw gateway_refusal(401, "signature is already expired");
  }

  /// The refusal that a failure of the environment is answered with.
  gateway_refusal refusal(const error& failure, std::string_view path) const {
    const std::string name = "'" + one_line(sandbox_->paths().outside(path)) + "'";
    if (failure.code() == errc::not_found) return {404, "path " + name + " does not exist"};
    if (failure.code() == errc::not_a_file) return {400, "path is a directory: " + name};
    if (failure.code() == errc::outside_workspace || failure.code() == errc::permission_denied)
      return {403, failure.what()};
    if (failure.code() == errc::invalid_argument) return {400, failure.what()};
    if (failure.code() == errc::too_large) return {413, failure.what()};
    if (failure.cause() == std::errc::no_space_on_device) return {507, "not enough disk space available"};
    return {500, failure.what()};
  }

  static std::string type_of(std::string_view path) {
    struct row {
      std::string_view ending;
      std::string_view type;
    };
    static constexpr std::array<row, 12> known{{{".txt", "text/plain; charset=utf-8"},
                                                {".html", "text/html; charset=utf-8"},
                                                {".css", "text/css; charset=utf-8"},
                                                {".js", "text/javascript; charset=utf-8"},
                                                {".json", "application/json"},
                                                {".csv", "text/csv; charset=utf-8"},
                                                {".xml", "text/xml; charset=utf-8"},
                                                {".png", "image/png"},
                                                {".jpg", "image/jpeg"},
                                                {".gif", "image/gif"},
                                                {".svg", "image/svg+xml"},
                                                {".pdf", "application/pdf"}}};
    for (const row& one : known)
      if (path.ends_with(one.ending)) return std::string(one.type);
    return "application/octet-stream";
  }

  /// \throws gateway_refusal where there is no file
  awaitable<void> check_file(std::string path) {
    std::optional<gateway_refusal> wrong;
    try {
      const entry found = co_await sandbox_->environment().stat(path);
      if (found.is_directory())
        wrong = gateway_refusal(400, "path '" + one_line(sandbox_->paths().outside(path)) + "' is a directory");
      if (found.type() == file_type::other)
        wrong = gateway_refusal(400, "path '" + one_line(sandbox_->paths().outside(path)) + "' is no regular file");
    } catch (const error& failure) {
      if (ends_transfer(failure)) throw;
      wrong = refusal(failure, path);
    }
    if (wrong) throw *wrong;
  }

  awaitable<void> download() {
    const std::string path = sandbox_->paths().inside(query_.value("path"));
    co_await check_file(path);
    std::vector<file_request> requests;
    requests.emplace_back(path, path);
    const std::unique_ptr<file_source> source = co_await sandbox_->environment().get_files(std::move(requests));
    const std::optional<file_header> header = co_await source->next();
    if (!header) throw gateway_refusal(404, "path '" + one_line(sandbox_->paths().outside(path)) + "' does not exist");
    if (header->failure()) throw refusal(*header->failure(), path);
    http_reply head(200);
    std::string name = header->destination();
    name = one_line(name.substr(name.rfind('/') + 1));
    for (char& c : name)
      if (c == '"' || c == '\\') c = '_';
    head.field("Content-Disposition", "inline; filename=\"" + name + "\"");
    // Of a sandbox's files none is to be more than a file to a browser.
    head.field("Content-Type", type_of(path)).field("X-Content-Type-Options", "nosniff").field("Vary", "Origin");
    co_await call_.begin(std::move(head), header->size());
    std::uint64_t left = header->size();
    while (left != 0) {
      bytes piece = co_await source->read(file_piece);
      if (piece.empty()) break;
      if (piece.size() > left) piece.resize(static_cast<std::size_t>(left));  // it has grown since
      left -= piece.size();
      const bytes_view view(piece);
      co_await call_.write(view);
    }
    // One that has become shorter cannot be told but by cutting the answer off.
    if (left != 0) throw error(errc::io_error, "download: the file has become shorter meanwhile");
  }

  awaitable<void> upload() {
    const std::string_view coding = call_.field("Content-Encoding").value_or("identity");
    if (coding != "identity" && !coding.empty())
      throw gateway_refusal(400, "unsupported Content-Encoding: " + one_line(coding.substr(0, 64)) +
                                     ", this gateway takes files as they are");
    for (const http_field& one : call_.head().fields)
      if (one.name().size() > 11 && same_ignoring_case(std::string_view(one.name()).substr(0, 11), "X-Metadata-"))
        throw gateway_refusal(400, "file metadata: this gateway does not offer it");
    const std::string_view type = call_.field("Content-Type").value_or(std::string_view());
    const std::string_view plain = without_blanks(type.substr(0, type.find(';')));
    std::optional<std::string> destination;
    if (const auto path = query_.find("path"); path && !path->empty()) {
      destination = sandbox_->paths().inside(*path);
      if (*destination == ".") throw gateway_refusal(400, "path is a directory: " + sandbox_->paths().home());
    }
    std::unique_ptr<gateway_upload> source;
    if (same_ignoring_case(plain, "application/octet-stream")) {
      if (!destination) throw gateway_refusal(400, "path query parameter is required for raw body upload");
      source = std::make_unique<gateway_raw_upload>(call_, *destination);
    } else if (same_ignoring_case(plain, "multipart/form-data")) {
      std::optional<std::string> boundary = gateway_multipart_reader::boundary_of(type);
      if (!boundary) throw gateway_refusal(400, "multipart/form-data: the boundary is missing, or none that may be");
      source = std::make_unique<gateway_form_upload>(call_, std::move(*boundary), destination, sandbox_->paths());
    } else {
      throw gateway_refusal(400, "unsupported content type: " + one_line(plain.substr(0, 64)) +
                                     ", expected multipart/form-data or application/octet-stream");
    }
    call_.body_limit(core_->options().upload());
    transfer report;
    std::exception_ptr failure;
    try {
      report = co_await sandbox_->environment().put_files(*source);
    } catch (...) {
      failure = std::current_exception();
    }
    if (source->failure()) std::rethrow_exception(source->failure());
    if (failure) std::rethrow_exception(failure);
    if (!report.ok()) throw refusal(report.failed().front().reason(), report.failed().front().source());
    boost::json::array answer;
    for (const transferred_file& one : report.files()) {
      boost::json::object object;
      const std::string whole = sandbox_->paths().outside(one.destination());
      object["name"] = gateway_json_text(std::string_view(whole).substr(whole.rfind('/') + 1));
      object["path"] = gateway_json_text(whole);
      object["type"] = "file";
      answer.push_back(std::move(object));
    }
    http_reply reply = gateway_text_reply(200, boost::json::serialize(answer));
    reply.field("Vary", "Origin");
    co_await call_.reply(std::move(reply));
  }

  std::shared_ptr<gateway_core> core_;
  std::shared_ptr<gateway_sandbox> sandbox_;
  http_call& call_;
  gateway_query query_;
};

}  // namespace cofferdam::inline v0::detail
