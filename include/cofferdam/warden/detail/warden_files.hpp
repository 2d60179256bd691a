// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_transfer.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/transfer.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/path_error.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>
#include <cofferdam/warden/protocol.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// The answer to a file request: the number the kernel gave, what the reply says, and the data before it.
class file_answer {
 public:
  int number = 0;
  bytes values;
  bytes data;
};

/// File requests under way at a warden. One executor.
class file_requests {
 public:
  explicit file_requests(const asio::any_io_executor& executor) : executor_(executor) {}

  static constexpr std::uint32_t first_number = 0x80000000;  ///< commands have the numbers below

  /// A number for one request, or for all of one file that is written.
  std::uint32_t number() noexcept { return next_ = (next_ + 1) | first_number; }

  /// Sends a request and waits for its answer.
  /// \throws error{errc::cancelled}, or what the session was lost for.
  awaitable<file_answer> ask(frame_sink& sink, std::uint32_t number, bytes frame) {
    if (lost_) throw *lost_;
    auto mine = std::make_shared<pending>(executor_);
    pending_.insert_or_assign(number, mine);
    sink.send(std::move(frame));
    while (!mine->answered && !lost_) {
      std::error_code woken;
      co_await mine->woken.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() == asio::cancellation_type::none) continue;
      pending_.erase(number);
      throw error(errc::cancelled, "file operation: cancelled; whether it was done is not known");
    }
    pending_.erase(number);
    if (!mine->answered) throw *lost_;
    co_return std::move(mine->answer);
  }

  /// \return  whether the frame was an answer.
  bool arrived(const wire::frame& frame) {
    if (frame.type() == wire::frame_type::worker_lost) {
      for (const auto& [number, one] : pending_) {
        one->answer.number = ECONNRESET;
        one->end();
      }
      return true;
    }
    if (frame.type() != wire::frame_type::reply && frame.type() != wire::frame_type::reply_data) return false;
    const auto found = pending_.find(frame.job());
    if (found == pending_.end()) return true;  // of one that was cancelled
    pending& one = *found->second;
    bytes_view payload = frame.payload();
    if (frame.type() == wire::frame_type::reply_data) {
      one.answer.data.insert(one.answer.data.end(), payload.begin(), payload.end());
      return true;
    }
    wire::payload_reader values(frame);
    one.answer.number = values.number<std::int32_t>();
    payload = payload.subspan(sizeof(std::int32_t));
    one.answer.values.assign(payload.begin(), payload.end());
    one.end();
    return true;
  }

  void lose(const error& reason) {
    lost_ = reason;
    for (const auto& [number, one] : pending_) one->woken.cancel();
  }

 private:
  struct pending {
    explicit pending(const asio::any_io_executor& executor)
        : woken(executor, std::chrono::steady_clock::time_point::max()) {}
    void end() {
      answered = true;
      woken.cancel();
    }
    asio::steady_timer woken;
    file_answer answer;
    bool answered = false;
  };

  asio::any_io_executor executor_;
  std::uint32_t next_ = first_number;
  std::optional<error> lost_;
  std::unordered_map<std::uint32_t, std::shared_ptr<pending>> pending_;
};

/// The files of a place that only a warden can reach: the same operations as `workspace_files`, with the same errors.
/// Its coroutines keep what they need alive.
class warden_files {
 public:
  /// \param path  the root as the guest sees it: paths beneath it are understood too.
  warden_files(std::shared_ptr<frame_sink> sink, std::shared_ptr<file_requests> requests, std::string path)
      : sink_(std::move(sink)), requests_(std::move(requests)), path_(std::move(path)) {}

  static awaitable<bytes> read_file(warden_files self, std::string path, std::size_t most) {
    const std::string clean = workspace_path(path, self.path_);
    bytes content;
    for (;;) {
      file_answer piece = co_await self.read_piece(clean, content.size());
      if (piece.data.size() > most - content.size() || self.size_in(piece) > most)
        throw error(errc::too_large, "read " + shown_path(path) + ": longer than " + std::to_string(most) + " bytes");
      const bool end = piece.data.empty() || content.size() + piece.data.size() >= self.size_in(piece);
      if (content.empty())
        content = std::move(piece.data);
      else
        content.insert(content.end(), piece.data.begin(), piece.data.end());
      if (end) co_return content;
    }
  }

  static awaitable<void> write_file(warden_files self, std::string path, bytes_view content) {
    const std::string clean = workspace_path(path, self.path_);
    const std::uint32_t number = co_await self.begin_file(clean, wire::keep_mode);
    std::exception_ptr failure;
    try {
      co_await self.write_pieces(number, clean, content);
      co_await self.commit(number, clean);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) self.abort(number, failure);
  }

  static awaitable<entry> stat(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    wire::frame_writer frame(wire::frame_type::stat, 0);
    file_answer answer = co_await self.ask("stat", clean, frame.text(clean));
    values_of values(answer.values);
    co_return values.next_entry(clean);
  }

  static awaitable<std::vector<entry>> list(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    wire::frame_writer frame(wire::frame_type::list, 0);
    file_answer answer = co_await self.ask("list", clean, frame.text(clean).number(yes_byte));
    std::vector<entry> entries;
    values_of values(answer.data);
    while (!values.empty()) entries.push_back(values.next_named_entry());
    directory::sort_entries(entries);
    co_return entries;
  }

  /// A directory beneath the root as the warden's own path of it.
  static awaitable<std::string> directory_path(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    if (clean == ".") co_return self.path_;
    entry found = co_await stat(self, clean);
    if (found.type() == file_type::symlink) {  // leads it out, or to a file? A look into it tells.
      wire::frame_writer frame(wire::frame_type::list, 0);
      co_await self.ask("enter", clean, frame.text(clean).number(no_byte));
    } else if (!found.is_directory()) {
      throw path_error(ENOTDIR, "enter", clean);
    }
    co_return self.path_ == "/" ? "/" + clean : self.path_ + "/" + clean;
  }

  static awaitable<void> make_directory(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    if (clean == ".") co_return;
    wire::frame_writer frame(wire::frame_type::make_directory, 0);
    co_await self.ask("make directory", clean, frame.text(clean).number(folder_mode));
  }

  static awaitable<void> remove(warden_files self, std::string path) {
    const std::string clean = workspace_path(path, self.path_);
    wire::frame_writer frame(wire::frame_type::remove, 0);
    co_await self.ask("remove", clean, frame.text(clean));
  }

  static awaitable<void> rename(warden_files self, std::string from, std::string to) {
    const std::string clean = workspace_path(from, self.path_);
    const std::string target = workspace_path(to, self.path_);
    wire::frame_writer frame(wire::frame_type::rename, 0);
    co_await self.ask("rename", clean, frame.text(clean).text(target));
  }

  static awaitable<transfer> put_files(warden_files self, file_source& source) {
    const auto put = [&self, &source](const file_header& header) { return self.put_one(source, header); };
    transfer report = co_await put_each(source, put);
    co_return report;
  }

  std::unique_ptr<file_source> get_files(std::vector<file_request> requests) const;

 private:
  static constexpr std::uint8_t no_byte = 0;
  static constexpr std::uint8_t yes_byte = 1;
  static constexpr std::uint32_t folder_mode = 0755;

  /// Takes the values of an answer. They come from the other side of a wall: nothing in them is believed.
  class values_of {
   public:
    explicit values_of(bytes_view values) : frame_(wire::frame_type::reply, 0, values), reader_(frame_) {}
    entry next_entry(std::string path) {
      const auto type = reader_.number<std::uint8_t>();
      const auto mode = reader_.number<std::uint32_t>();
      const auto size = reader_.number<std::uint64_t>();
      reader_.number<std::int64_t>();
      reader_.number<std::uint32_t>();
      if (type > 3) throw wire::violation("a file of type " + std::to_string(type));
      return entry(std::move(path), static_cast<file_type>(type), size, mode & 0777U);
    }
    entry next_named_entry() {
      const entry found = next_entry("");
      std::string name = reader_.text();
      return entry(std::move(name), found.type(), found.size(), found.mode());
    }
    std::uint64_t next_size() { return reader_.number<std::uint64_t>(); }
    std::uint32_t next_mode() { return reader_.number<std::uint32_t>(); }
    bool empty() const noexcept { return reader_.empty(); }

   private:
    wire::frame frame_;
    wire::payload_reader reader_;
  };

  class source;

  std::string beneath(std::string_view path) const { return workspace_path_or_root(path, path_); }

  /// \param frame  its number is set here.
  awaitable<file_answer> ask(const char* doing, std::string path, wire::frame_writer& frame) const {
    const std::uint32_t number = requests_->number();
    return ask_as(number, doing, std::move(path), frame.renumbered(number).take());
  }

  awaitable<file_answer> ask_as(std::uint32_t number, const char* doing, std::string path, bytes frame) const {
    const auto sink = sink_;
    const auto requests = requests_;
    file_answer answer = co_await requests->ask(*sink, number, std::move(frame));
    if (answer.number != 0) throw path_error(answer.number, doing, path);
    co_return answer;
  }

  awaitable<file_answer> read_piece(std::string path, std::uint64_t offset) const {
    wire::frame_writer frame(wire::frame_type::read, 0);
    frame.text(path).number(offset).number(wire::most_read);
    return ask("read", std::move(path), frame);
  }

  static std::uint64_t size_in(const file_answer& answer) {
    values_of values(answer.values);
    return values.next_size();
  }

  awaitable<std::uint32_t> begin_file(std::string path, std::uint32_t mode) const {
    const std::uint32_t number = requests_->number();
    wire::frame_writer frame(wire::frame_type::write, number);
    frame.text(path).number(mode).number(no_byte);
    co_await ask_as(number, "write", path, frame.take());
    co_return number;
  }

  awaitable<void> write_pieces(std::uint32_t number, std::string path, bytes_view content) const {
    while (!content.empty()) {
      const bytes_view piece = content.first(std::min(content.size(), wire::longest_payload));
      wire::frame_writer frame(wire::frame_type::write_data, number);
      co_await ask_as(number, "write", path, frame.data(piece).take());
      content = content.subspan(piece.size());
    }
  }

  awaitable<void> commit(std::uint32_t number, std::string path) const {
    co_await ask_as(number, "write", path, wire::frame_writer(wire::frame_type::write_commit, number).take());
  }

  /// Gives an unfinished file up, without waiting for the answer, and rethrows.
  [[noreturn]] void abort(std::uint32_t number, const std::exception_ptr& failure) const {
    sink_->send(wire::frame_writer(wire::frame_type::write_abort, number).take());
    std::rethrow_exception(failure);
  }

  awaitable<transferred_file> put_one(file_source& source, const file_header& header) const {
    const std::string clean = workspace_path(header.destination(), path_);
    if (header.type() == file_type::directory) {
      wire::frame_writer make(wire::frame_type::make_directory, 0);
      co_await ask("make directory", clean, make.text(clean).number(folder_mode));
      wire::frame_writer set(wire::frame_type::set_mode, 0);
      const std::uint32_t mode = header.mode() & 0777U;
      co_await ask("make directory", clean, set.text(clean).number(mode));
      co_return transferred_file(header.source(), clean, 0);
    }
    const std::uint32_t number = co_await begin_file(clean, header.mode() & 0777U);
    std::uint64_t size = 0;
    std::exception_ptr failure;
    try {
      for (;;) {
        const bytes piece = co_await source.read(file_piece);
        if (piece.empty()) break;
        co_await write_pieces(number, clean, piece);
        size += piece.size();
      }
      co_await commit(number, clean);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) abort(number, failure);
    co_return transferred_file(header.source(), clean, size);
  }

  std::shared_ptr<frame_sink> sink_;
  std::shared_ptr<file_requests> requests_;
  std::string path_;
};

/// Files one after another, in pieces.
class warden_files::source final : public file_source {
 public:
  source(const warden_files& files, std::vector<file_request> requests)
      : files_(files), requests_(std::move(requests)) {}
  awaitable<std::optional<file_header>> next() override {
    reading_.clear();
    std::optional<file_header> header;
    if (at_ == requests_.size()) co_return header;
    const file_request& wanted = requests_[at_++];
    try {
      const std::string clean = files_.beneath(wanted.path());
      entry found = co_await stat(files_, clean);
      if (found.is_directory()) {
        header.emplace(wanted.path(), wanted.destination(), file_type::directory, 0, found.mode());
      } else {
        first_ = co_await files_.read_piece(clean, 0);
        values_of values(first_.values);
        const std::uint64_t size = values.next_size();
        header.emplace(wanted.path(), wanted.destination(), file_type::regular, size, values.next_mode() & 0777U);
        reading_ = clean;
        done_ = sent_ = 0;
      }
    } catch (const error& failure) {
      if (ends_transfer(failure)) throw;
      header.emplace(wanted.path(), failure);
    }
    co_return header;
  }
  awaitable<bytes> read(std::size_t most) override {
    bytes piece;
    if (reading_.empty() || most == 0) co_return piece;
    if (sent_ == first_.data.size()) {
      if (sent_ == 0 && done_ == 0) co_return piece;
      first_ = co_await files_.read_piece(reading_, done_);
      sent_ = 0;
    }
    const std::size_t count = std::min(most, first_.data.size() - sent_);
    const auto start = first_.data.begin() + static_cast<std::ptrdiff_t>(sent_);
    piece.assign(start, start + static_cast<std::ptrdiff_t>(count));
    sent_ += count;
    done_ += count;
    co_return piece;
  }

 private:
  warden_files files_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  std::string reading_;
  file_answer first_;
  std::size_t sent_ = 0;
  std::uint64_t done_ = 0;
};

inline std::unique_ptr<file_source> warden_files::get_files(std::vector<file_request> requests) const {
  return std::make_unique<source>(*this, std::move(requests));
}

}  // namespace cofferdam::inline v0::detail
