// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/warden/detail/file_requests.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>
#include <cofferdam/warden/detail/warden_watch.hpp>

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
#include <deque>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_warden_files;
using warden_files = basic_warden_files<>;

/// The files in a sandbox that this program reaches only through a warden, the helper program in the sandbox. It has
/// the operations and errors of `workspace_files`. A value type; the caller keeps it until its operations have
/// completed.
template <class Unused>
class basic_warden_files {
 public:
  /// \param path  the absolute path of the root in the sandbox. Paths that begin with it are accepted, too.
  basic_warden_files(std::shared_ptr<frame_sink> sink, std::shared_ptr<file_requests> requests, std::string path)
      : sink_(std::move(sink)), requests_(std::move(requests)), path_(std::move(path)) {}

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes);

  awaitable<void> write_file(std::string path, bytes_view content);

  awaitable<directory_entry> stat(std::string path) {
    const std::string clean = beneath(path);
    wire::frame_writer frame(wire::frame_type::stat, 0);
    file_answer answer = co_await ask("stat", clean, frame.text(clean));
    values_of values(answer.values);
    co_return values.next_entry(clean);
  }

  awaitable<std::vector<directory_entry>> list(std::string path, list_options options);

  /// Returns the absolute path, in the sandbox, of a directory beneath the root.
  awaitable<std::string> directory_path(std::string path) {
    const std::string clean = beneath(path);
    if (clean == ".") co_return path_;
    directory_entry found = co_await stat(clean);
    if (found.type() == file_type::symlink) {  // A listing detects a link that leads out of the root, or to a file.
      wire::frame_writer frame(wire::frame_type::list, 0);
      co_await ask("enter", clean, frame.text(clean).number(no_byte));
    } else if (!found.is_directory()) {
      throw path_error(ENOTDIR, "enter", clean);
    }
    co_return path_ == "/" ? "/" + clean : path_ + "/" + clean;
  }

  awaitable<void> make_directory(std::string path) {
    const std::string clean = beneath(path);
    if (clean == ".") co_return;
    wire::frame_writer frame(wire::frame_type::make_directory, 0);
    co_await ask("make directory", clean, frame.text(clean).number(folder_mode));
  }

  awaitable<void> remove(std::string path) {
    const std::string clean = workspace_path(path, path_);
    wire::frame_writer frame(wire::frame_type::remove, 0);
    co_await ask("remove", clean, frame.text(clean));
  }

  awaitable<void> rename(std::string from, std::string to) {
    const std::string clean = workspace_path(from, path_);
    const std::string target = workspace_path(to, path_);
    wire::frame_writer frame(wire::frame_type::rename, 0);
    const auto failure = [&](int code) { return rename_error(code, clean, target); };
    co_await ask_or(failure, frame.text(clean).text(target));
  }

  /// Gives a file that stands outside the root, on the same file system, its path beneath the root, in one step.
  /// \param size  the size that the file must have, in bytes.
  /// \param from  the absolute path of the file.
  /// \param mode  the permission bits; without them, those of the file at `path`, or 0644.
  /// \throws error{exec_errc::io_error} with ESTALE as cause if no such file of this size is there.
  awaitable<void> adopt(std::string path, std::string from, std::uint64_t size, std::optional<std::uint32_t> mode) {
    const std::string clean = workspace_path(path, path_);
    wire::frame_writer frame(wire::frame_type::adopt, 0);
    frame.text(clean).number(mode.value_or(wire::keep_mode)).number(size).text(from);
    co_await ask("write", clean, frame);
  }

  awaitable<transfer_result> put_files(file_source& from) {
    const auto put = [this, &from](const file_header& header) { return put_one(from, header); };
    transfer_result report = co_await put_each(from, put);
    co_return report;
  }

  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) const;

  awaitable<directory_watch> watch(std::string path, watch_options options) {
    return warden_watch::begin(sink_, requests_, beneath(path), options.is_recursive());
  }

 private:
  static constexpr std::uint8_t no_byte = 0;
  static constexpr std::uint8_t yes_byte = 1;
  static constexpr std::uint32_t folder_mode = 0755;

  /// A reader for the values of a reply. A guest (code in the sandbox) may have forged the values, so this class checks
  /// them.
  class values_of {
   public:
    explicit values_of(bytes_view values) : frame_(wire::frame_type::reply, 0, values), reader_(frame_) {}
    directory_entry next_entry(std::string path) {
      const auto type = reader_.number<std::uint8_t>();
      const auto mode = reader_.number<std::uint32_t>();
      const auto size = reader_.number<std::uint64_t>();
      const auto seconds = reader_.number<std::int64_t>();
      const auto nanoseconds = reader_.number<std::uint32_t>();
      const auto owner = reader_.number<std::uint32_t>();
      const auto group = reader_.number<std::uint32_t>();
      std::string target = reader_.text();
      if (type > 3) throw wire::violation("a file of type " + std::to_string(type));
      directory_entry entry(std::move(path), static_cast<file_type>(type), size, mode & 0777U);
      entry.ids(owner, group);
      if (const auto when = file_time(seconds, nanoseconds)) entry.modified(*when);
      if (entry.type() == file_type::symlink) entry.target(std::move(target));
      return entry;
    }
    directory_entry next_named_entry() {
      const directory_entry found = next_entry("");
      std::string name = reader_.text();
      return directory_entry(std::move(name), found);
    }
    std::uint64_t next_size() { return reader_.number<std::uint64_t>(); }
    std::uint32_t next_mode() { return reader_.number<std::uint32_t>(); }
    bool empty() const noexcept { return reader_.empty(); }

   private:
    wire::frame frame_;
    wire::payload_reader reader_;
  };

  class listing;
  class reading;
  class writing;
  class source;

  std::string beneath(std::string_view path) const { return workspace_path_or_root(path, path_); }

  /// Sends a request and waits for its reply.
  /// \param frame  the frame of the request. This function sets its number.
  awaitable<file_answer> ask(const char* doing, std::string path, wire::frame_writer& frame,
                             std::shared_ptr<reply_data_sink> data = nullptr) const {
    auto failure = [doing, path = std::move(path)](int code) { return path_error(code, doing, path); };
    return ask_or(std::move(failure), frame, std::move(data));
  }

  /// The same. `failure(code)` returns the error to throw for an `errno`.
  template <class Failure>
  awaitable<file_answer> ask_or(Failure failure, wire::frame_writer& frame,
                                std::shared_ptr<reply_data_sink> data = nullptr) const {
    const std::uint32_t number = requests_->number();
    return ask_as(std::move(failure), number, frame.renumbered(number).take(), std::move(data));
  }

  template <class Failure>
  awaitable<file_answer> ask_as(Failure failure, std::uint32_t number, bytes frame,
                                std::shared_ptr<reply_data_sink> data) const {
    const auto sink = sink_;
    const auto requests = requests_;
    std::shared_ptr<file_requests::sent> pending =
        co_await requests->send(*sink, number, std::move(frame), std::move(data));
    file_answer answer = co_await requests->answer(std::move(pending));
    if (answer.number != 0) throw failure(answer.number);
    co_return answer;
  }

  awaitable<transferred_file> put_one(file_source& from, const file_header& header) const;

  std::shared_ptr<frame_sink> sink_;
  std::shared_ptr<file_requests> requests_;
  std::string path_;
};

/// The entries of a directory, as they arrive from the warden. If a limit is exceeded, this object discards the entries
/// and keeps an error, which `entries` throws.
template <class Unused>
class basic_warden_files<Unused>::listing final : public reply_data_sink {
 public:
  explicit listing(listing_room room) : room_(std::move(room)) {}

  void take(bytes_view piece) override {
    values_of values(piece);
    while (!failure_ && !values.empty()) {
      directory_entry entry = values.next_named_entry();
      if (!room_.reaches(entry.path())) continue;
      try {
        room_.take_names(1);
        room_.take_path(entry.path());
        room_.take_path(entry.target());
        entries_.push_back(std::move(entry));
      } catch (const error& reason) {
        failure_ = reason;
        entries_ = {};
      }
    }
  }

  /// Returns the sorted entries. May be called once.
  /// \throws error{exec_errc::too_large} if a limit was exceeded.
  std::vector<directory_entry> entries() {
    if (failure_) throw *failure_;
    directory::sort_entries(entries_);
    return std::move(entries_);
  }

 private:
  listing_room room_;
  std::vector<directory_entry> entries_;
  std::optional<error> failure_;
};

template <class Unused>
awaitable<std::vector<directory_entry>> basic_warden_files<Unused>::list(std::string path, list_options options) {
  const std::string clean = beneath(path);
  const auto found = std::make_shared<listing>(listing_room(options, clean));
  wire::frame_writer frame(wire::frame_type::list, 0);
  frame.text(clean).number(options.depth() == 1 ? no_byte : yes_byte);
  co_await ask("list", clean, frame, found);
  std::vector<directory_entry> entries = found->entries();
  co_return entries;
}

/// A file that is being written. Requests are sent without waiting for the replies to earlier ones. The first error is
/// thrown. If the object is destroyed before `commit` has completed, the file is discarded.
template <class Unused>
class basic_warden_files<Unused>::writing {
 public:
  writing(const basic_warden_files& files, std::string path)
      : files_(files), path_(std::move(path)), number_(files_.requests_->number()) {}
  writing(const writing&) = delete;
  writing& operator=(const writing&) = delete;
  ~writing() {
    if (!begun_) return;
    try {
      files_.requests_->send_now(*files_.sink_, number_,
                                 wire::frame_writer(wire::frame_type::write_abort, number_).take());
    } catch (const std::bad_alloc&) {  // no memory for the request: the file is discarded when the session ends
    }
  }

  awaitable<void> begin(std::uint32_t mode) {
    co_await files_.requests_->files().acquire(1, "write");
    place_ = held_permits(files_.requests_->files(), 1);
    wire::frame_writer frame(wire::frame_type::write, number_);
    bytes whole = frame.text(path_).number(mode).number(no_byte).take();
    co_await send(std::move(whole));
    begun_ = true;
  }

  /// Writes bytes at the end of the file.
  /// \param content  kept by the caller until the awaitable completes.
  awaitable<void> put(bytes_view content) {
    while (!content.empty()) {
      check_answers();
      const bytes_view piece = content.first(std::min(content.size(), wire::max_payload));
      bytes whole = wire::frame_writer(wire::frame_type::write_data, number_).data(piece).take();
      co_await send(std::move(whole));
      content = content.subspan(piece.size());
    }
  }

  awaitable<void> commit() {
    check_answers();
    bytes whole = wire::frame_writer(wire::frame_type::write_commit, number_).take();
    co_await send(std::move(whole));
    begun_ = false;  // if the commit fails, the warden discards the file itself
    place_.release();
    while (!sent_.empty()) {
      std::shared_ptr<file_requests::sent> first = std::move(sent_.front());
      sent_.pop_front();
      const file_answer answer = co_await files_.requests_->answer(std::move(first));
      check(answer);
    }
  }

 private:
  awaitable<void> send(bytes frame) {
    std::shared_ptr<file_requests::sent> pending =
        co_await files_.requests_->send(*files_.sink_, number_, std::move(frame));
    sent_.push_back(std::move(pending));
  }
  void check_answers() {
    while (!sent_.empty() && sent_.front()->is_answered()) {
      check(file_requests::take_answer(*sent_.front()));
      sent_.pop_front();
    }
  }
  void check(const file_answer& answer) const {
    if (answer.number != 0) throw path_error(answer.number, "write", path_);
  }

  basic_warden_files files_;
  std::string path_;
  std::uint32_t number_;
  held_permits place_;
  bool begun_ = false;
  std::deque<std::shared_ptr<file_requests::sent>> sent_;
};

/// A file that is being read. Requests up to three pieces before it returns the current one, so that it seldom waits
/// for the way of a request and its reply.
template <class Unused>
class basic_warden_files<Unused>::reading {
 public:
  /// \param most  the maximum size in bytes; nothing is requested ahead of a larger file.
  reading(const basic_warden_files& files, std::string path,
          std::uint64_t most = std::numeric_limits<std::uint64_t>::max())
      : files_(files), path_(std::move(path)), most_(most) {}

  /// Returns the next piece, at most `wire::max_read` bytes; an empty piece at the end.
  awaitable<bytes> next() {
    bytes piece;
    if (ended_) co_return piece;
    if (ahead_.empty()) co_await ask();
    std::shared_ptr<file_requests::sent> first = ahead_.front();
    file_answer answer = co_await files_.requests_->answer(std::move(first));
    ahead_.pop_front();
    if (answer.number != 0) {
      ask_again();
      throw path_error(answer.number, "read", path_);
    }
    values_of values(answer.values);
    size_ = values.next_size();
    mode_ = values.next_mode();
    if (answer.data.size() > wire::max_read) throw wire::violation("more of a file than was requested");
    got_ += answer.data.size();
    ended_ = answer.data.empty() || got_ >= size_;
    piece = std::move(answer.data);
    if (ended_ || piece.size() < wire::max_read) ask_again();  // the other requests begin behind the next byte
    while (!ended_ && size_ <= most_ && asked_ < size_ && ahead_.size() < max_ahead) co_await ask();
    co_return piece;
  }

  /// Returns the size of the file in bytes, from the last reply.
  std::uint64_t size() const noexcept { return size_; }
  std::uint32_t mode() const noexcept { return mode_; }

 private:
  static constexpr std::size_t max_ahead = 3;

  /// Drops the requests that have no answer so far. Their answers are ignored.
  void ask_again() {
    ahead_.clear();
    asked_ = got_;
  }

  awaitable<void> ask() {
    const std::uint32_t number = files_.requests_->number();
    wire::frame_writer frame(wire::frame_type::read, number);
    bytes whole = frame.text(path_).number(asked_).number(wire::max_read).take();
    std::shared_ptr<file_requests::sent> request =
        co_await files_.requests_->send(*files_.sink_, number, std::move(whole));
    ahead_.push_back(std::move(request));
    asked_ += wire::max_read;
  }

  basic_warden_files files_;
  std::string path_;
  std::uint64_t most_;
  std::deque<std::shared_ptr<file_requests::sent>> ahead_;  // without an answer so far, in the order of their offsets
  std::uint64_t asked_ = 0;                                 // the offset of the next request
  std::uint64_t got_ = 0;
  std::uint64_t size_ = 0;
  std::uint32_t mode_ = 0;
  bool ended_ = false;
};

/// A source that reads files one after another, in pieces.
template <class Unused>
class basic_warden_files<Unused>::source final : public file_source {
 public:
  source(const basic_warden_files& files, std::vector<file_request> requests)
      : files_(files), requests_(std::move(requests)) {}
  awaitable<std::optional<file_header>> next() override {
    from_.reset();
    std::optional<file_header> header;
    if (at_ == requests_.size()) co_return header;
    const file_request& request = requests_[at_++];
    try {
      const std::string clean = files_.beneath(request.path());
      directory_entry found = co_await files_.stat(clean);
      if (found.is_directory()) {
        header.emplace(request.path(), request.destination(), file_type::directory, 0, found.mode());
      } else {
        auto from = std::make_unique<reading>(files_, clean);
        piece_ = co_await from->next();
        sent_ = 0;
        header.emplace(request.path(), request.destination(), file_type::regular, from->size(), from->mode() & 0777U);
        from_ = std::move(from);
      }
    } catch (const error& failure) {
      if (ends_everything(failure)) throw;
      header.emplace(request.path(), failure);
    }
    co_return header;
  }
  awaitable<bytes> read(std::size_t max_bytes) override {
    bytes piece;
    if (!from_ || max_bytes == 0) co_return piece;
    if (sent_ == piece_.size()) {
      piece_ = co_await from_->next();  // at the end, this returns an empty piece again
      sent_ = 0;
    }
    const std::size_t count = std::min(max_bytes, piece_.size() - sent_);
    const auto start = piece_.begin() + static_cast<std::ptrdiff_t>(sent_);
    piece.assign(start, start + static_cast<std::ptrdiff_t>(count));
    sent_ += count;
    co_return piece;
  }

 private:
  basic_warden_files files_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  std::unique_ptr<reading> from_;
  bytes piece_;
  std::size_t sent_ = 0;
};

template <class Unused>
awaitable<bytes> basic_warden_files<Unused>::read_file(std::string path, std::size_t max_bytes) {
  const std::string clean = workspace_path(path, path_);
  reading from(*this, clean, max_bytes);
  bytes content;
  for (;;) {
    bytes piece = co_await from.next();
    if (piece.size() > max_bytes - content.size() || from.size() > max_bytes)
      throw error(exec_errc::too_large,
                  "read " + shown_path(path) + ": longer than " + std::to_string(max_bytes) + " bytes");
    if (piece.empty()) co_return content;
    if (content.empty()) {
      content = std::move(piece);
      // A guest chooses the size, so a large file must prove it by its content.
      constexpr std::uint64_t most_reserved = std::uint64_t{256} << 20;
      content.reserve(static_cast<std::size_t>(std::min(from.size(), most_reserved)));
    } else {
      content.insert(content.end(), piece.begin(), piece.end());
    }
  }
}

template <class Unused>
awaitable<void> basic_warden_files<Unused>::write_file(std::string path, bytes_view content) {
  const std::string clean = workspace_path(path, path_);
  writing file(*this, clean);
  co_await file.begin(wire::keep_mode);
  co_await file.put(content);
  co_await file.commit();
}

template <class Unused>
awaitable<transferred_file> basic_warden_files<Unused>::put_one(file_source& from, const file_header& header) const {
  const std::string clean = workspace_path(header.destination(), path_);
  if (header.type() == file_type::directory) {
    wire::frame_writer make(wire::frame_type::make_directory, 0);
    co_await ask("make directory", clean, make.text(clean).number(folder_mode));
    wire::frame_writer set(wire::frame_type::set_mode, 0);
    const std::uint32_t mode = header.mode() & 0777U;
    co_await ask("make directory", clean, set.text(clean).number(mode));
    co_return transferred_file(header.source(), clean, 0);
  }
  writing file(*this, clean);
  const std::uint32_t mode = header.mode() & 0777U;
  co_await file.begin(mode);
  std::uint64_t size = 0;
  for (;;) {
    const bytes piece = co_await from.read(file_piece);
    if (piece.empty()) break;
    co_await file.put(piece);
    size += piece.size();
  }
  co_await file.commit();
  co_return transferred_file(header.source(), clean, size);
}

template <class Unused>
awaitable<std::unique_ptr<file_source>> basic_warden_files<Unused>::get_files(
    std::vector<file_request> requests) const {
  std::unique_ptr<file_source> result = std::make_unique<source>(*this, std::move(requests));
  co_return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
