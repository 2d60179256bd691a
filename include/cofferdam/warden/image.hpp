// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/os/machine.hpp>
#include <cofferdam/warden/image_aarch64.hpp>
#include <cofferdam/warden/image_x86_64.hpp>

#include <span>
#include <string_view>

namespace cofferdam::inline v0 {

/// The program of a warden.
class warden_image {
 public:
  constexpr warden_image(std::span<const unsigned char> program, std::string_view sha256)
      : program_(program), sha256_(sha256) {}
  /// An ELF file, statically linked; empty where there is none.
  constexpr std::span<const unsigned char> program() const noexcept { return program_; }
  /// Of the program, in hexadecimal.
  constexpr std::string_view sha256() const noexcept { return sha256_; }

 private:
  std::span<const unsigned char> program_;
  std::string_view sha256_;
};

/// The warden for a machine as `uname -m`, Docker and Go call it ("x86_64", "amd64", "aarch64", "arm64"); an empty one for
/// every other.
constexpr warden_image warden_image_for(std::string_view machine) noexcept {
  if (machine == "x86_64" || machine == "amd64") return {wire::image_x86_64, wire::image_x86_64_sha256};
  if (machine == "aarch64" || machine == "arm64") return {wire::image_aarch64, wire::image_aarch64_sha256};
  return {{}, {}};
}

/// The warden for the machine that this program runs on.
constexpr warden_image native_warden_image() noexcept { return warden_image_for(native_machine()); }

}  // namespace cofferdam::inline v0
