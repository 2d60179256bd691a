// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/kept_files.hpp>

#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// \param doing  the name of the operation.
/// \param path   empty if the operation has none.
inline error read_only_error(std::string_view doing, std::string_view path) {
  std::string text(doing);
  std::replace(text.begin(), text.end(), '_', ' ');
  if (!path.empty()) text += " " + shown_path(path);
  return error(exec_errc::permission_denied, text + ": the files of this environment are read-only");
}

/// File operations that refuse every change.
class read_only_files final : public file_system_adaptor<read_only_files> {
 public:
  explicit read_only_files(file_system files) : files_(std::move(files)) {}

  template <class Operation>
  std::invoke_result_t<Operation&, const file_system&> call(Operation operation) {
    if constexpr (Operation::changes) {
      throw read_only_error(operation.name(), operation.path());
    } else {
      return operation(std::as_const(files_));
    }
  }

 private:
  file_system files_;
};

}  // namespace detail

/// The environment type that `provider | read_only()` opens.
template <code_exec_environment Inner>
class read_only_layer : public layer<read_only_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  read_only_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns.
  explicit read_only_layer(Inner inner) : layer<read_only_layer<Inner>, Inner>(std::move(inner)) {}

  /// Throws `error{exec_errc::permission_denied}`.
  awaitable<void> write_file(std::string path, bytes_view) { throw detail::read_only_error("write", path); }
  /// Throws `error{exec_errc::permission_denied}`.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&&) {
    throw detail::read_only_error("write", path);
  }

  file_system files()
    requires file_environment<Inner>
  {
    return kept_.get([this] { return std::make_shared<detail::read_only_files>(this->inner().files()); });
  }

 private:
  detail::kept_files kept_;
};

/// Refuses every change of files through the operations of the environment object: `provider | read_only()`.
///
/// **Commands can still write files**, because a layer cannot see the file accesses of a command. Only the isolation of
/// a backend can prevent these. Use this layer for code of your own that should only read an environment, such as a
/// tool. Put layers that write files, such as `upload_files`, on its left.
/// \throws error{exec_errc::permission_denied} from `write_file`, and from `make_directory`, `remove`, `rename` and
///     `put_files` of `files()`.
class read_only : public pipeable {
 public:
  template <code_exec_environment Inner>
  read_only_layer<Inner> attach(Inner inner) const {
    return read_only_layer<Inner>(std::move(inner));
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI
