// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/layer.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/files/upload.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The environment type that `provider | upload_files(…)` opens.
template <code_exec_environment Inner>
class upload_files_layer : public layer<upload_files_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  upload_files_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns. `prepare` copies the files.
  upload_files_layer(Inner inner, std::shared_ptr<const file_set> set)
      : layer<upload_files_layer<Inner>, Inner>(std::move(inner)), set_(std::move(set)) {}

  /// Copies the files into the environment. `open()` of the provider awaits this function.
  awaitable<void> prepare() {
    if (!set_)
      throw error(exec_errc::environment_closed,
                  "upload_files: not open (default-constructed or moved from); call open() on the provider first");
    file_set files = *set_;
    transfer_result report = co_await upload(this->inner(), std::move(files));
    report.throw_if_failed("upload_files");
  }

 private:
  std::shared_ptr<const file_set> set_;
};

/// Copies files of the host into each environment when it opens: `provider | upload_files("data.csv", "inputs/")`.
///
/// `file_set` documents the names, directories and patterns. `upload_files(files("a").into("in"))` also sets the
/// destination directory. If any file fails, `open()` closes the environment and throws the failure, so that no
/// environment is used with only some of its files. Each `open()` reads the files again, in their current state.
/// Commands pass through unchanged.
/// \throws  from `open()`: the exceptions of `upload`, and the first failure that it reports.
/// \par Example  examples/quickstart.cpp
class upload_files : public pipeable {
 public:
  /// Makes the recipe, the object on the right of `provider | upload_files(set)`, for a prepared set of files.
  explicit upload_files(file_set set) : set_(std::make_shared<const file_set>(std::move(set))) {}

  template <std::convertible_to<std::string>... Items>
    requires(sizeof...(Items) > 0)
  explicit upload_files(Items&&... items) : upload_files(files(std::forward<Items>(items)...)) {}

  template <code_exec_environment Inner>
  upload_files_layer<Inner> attach(Inner inner) const {
    return upload_files_layer<Inner>(std::move(inner), set_);
  }

 private:
  std::shared_ptr<const file_set> set_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
