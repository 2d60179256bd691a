#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that the recipes of the package managers agree with the source tree.

The vcpkg manifest obeys the rules that vcpkg documents for vcpkg.json. It has the version of version.hpp and names the
port of each Boost library that include/ includes. The Conan recipe has a component, and `usage` only targets, that
CMakeLists.txt makes. Both recipes name only CMake options that exist.
"""
import json
import re

from _harness import main

PORT = "packaging/vcpkg/cofferdam"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MANIFEST_KEYS = {"$schema", "name", "version", "version-semver", "version-date", "version-string", "port-version",
                 "maintainers", "summary", "description", "homepage", "documentation", "license", "supports",
                 "dependencies", "overrides", "default-features", "features", "builtin-baseline"}
VERSION_KEYS = {"version", "version-semver", "version-date", "version-string"}
DEPENDENCY_KEYS = {"name", "default-features", "features", "host", "platform", "version>="}
FEATURE_KEYS = {"description", "dependencies", "supports", "license"}


def judge_dependencies(where, dependencies, found):
    names = []
    if not isinstance(dependencies, list):
        found.append(f"{where}: must be a list")
        return names
    for item in dependencies:
        name = item.get("name") if isinstance(item, dict) else item
        if not isinstance(name, str) or not NAME.fullmatch(name):
            found.append(f"{where}: {item!r} does not name a port")
            continue
        if isinstance(item, dict):
            for key in sorted(set(item) - DEPENDENCY_KEYS):
                if not key.startswith("$"):
                    found.append(f"{where}: {name}: vcpkg knows no key {key}")
            if not isinstance(item.get("host", False), bool):
                found.append(f"{where}: {name}: host must be true or false")
        names.append(name)
    if names != sorted(names) or len(names) != len(set(names)):
        found.append(f"{where}: must be sorted, each port once: {', '.join(names)}")
    return names


def judge_manifest(root, found):
    where = f"{PORT}/vcpkg.json"
    try:
        manifest = json.loads((root / where).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        found.append(f"{where}: {error}")
        return
    for key in sorted(set(manifest) - MANIFEST_KEYS):
        found.append(f"{where}: vcpkg knows no key {key}")
    if manifest.get("name") != "cofferdam":
        found.append(f"{where}: the name must be that of its folder, cofferdam")
    version = re.search(r'string_view version = "([^"]+)"', (root / "include/cofferdam/version.hpp").read_text(encoding="utf-8"))[1]
    versions = VERSION_KEYS & set(manifest)
    if versions != {"version"} or manifest["version"] != version:
        found.append(f"{where}: the version must be {version}, as in version.hpp, under the key version alone")
    if not manifest.get("description"):
        found.append(f"{where}: has no description")
    if manifest.get("license") != "BSL-1.0":
        found.append(f"{where}: the license must be BSL-1.0")
    names = judge_dependencies(f"{where}: dependencies", manifest.get("dependencies"), found)
    for name, feature in manifest.get("features", {}).items():
        if not NAME.fullmatch(name) or name in ("core", "default"):
            found.append(f"{where}: no feature may be called {name}")
        if not isinstance(feature, dict) or not feature.get("description"):
            found.append(f"{where}: the feature {name} has no description")
            continue
        for key in sorted(set(feature) - FEATURE_KEYS):
            found.append(f"{where}: the feature {name}: vcpkg knows no key {key}")
        names += judge_dependencies(f"{where}: the feature {name}", feature.get("dependencies", []), found)
    for library in sorted(boost_libraries(root)):
        if f"boost-{library}" not in names:
            found.append(f"{where}: include/ includes boost/{library}, but boost-{library} is no dependency")


def boost_libraries(root):
    """Returns the names of the Boost libraries whose headers include/ includes."""
    used = set()
    for path in sorted((root / "include").rglob("*.[hi]pp")):
        for name in re.findall(r"^#include <boost/([a-z_]+)[./]", path.read_text(encoding="utf-8"), re.M):
            used.add(name.replace("_", "-"))
    return used


def problems(root):
    found = []
    judge_manifest(root, found)
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    options = set(re.findall(r"^(?:option|set)\((COFFERDAM_\w+)", cmake, re.M)) | {"COFFERDAM_SEPARATE_COMPILATION"}
    targets = set(re.findall(r"cofferdam::(\w+)", cmake))
    for name in (f"{PORT}/portfile.cmake", "conanfile.py"):
        text = (root / name).read_text(encoding="utf-8")
        for option in sorted(set(re.findall(r"COFFERDAM_[A-Z_]*[A-Z]", text))):
            if option not in options and not any(known.startswith(option + "_") for known in options):
                found.append(f"{name}: CMakeLists.txt has no option {option}")
    for target in sorted(set(re.findall(r"cofferdam::(\w+)", (root / PORT / "usage").read_text(encoding="utf-8")))):
        if target not in targets:
            found.append(f"{PORT}/usage: CMakeLists.txt makes no target cofferdam::{target}")
    recipe = (root / "conanfile.py").read_text(encoding="utf-8")
    components = set(re.findall(r'components\["(\w+)"\]', recipe))
    for component in sorted(components - targets):
        found.append(f"conanfile.py: CMakeLists.txt makes no target cofferdam::{component}")
    for target in ("core", "cofferdam", "compiled"):
        if target not in components:
            found.append(f"conanfile.py: has no component {target}")
    return found


MANIFEST = {"name": "cofferdam", "version": "1.2.3", "description": "x", "license": "BSL-1.0",
            "dependencies": ["asio", "boost-json", {"name": "vcpkg-cmake", "host": True}],
            "features": {"compiled": {"description": "y"}}}
GOOD = {
    "CMakeLists.txt": "option(COFFERDAM_INSTALL \"\" ON)\noption(COFFERDAM_BUILD_TESTS)\n"
                      "# cofferdam::core cofferdam::cofferdam cofferdam::compiled\n",
    "include/cofferdam/version.hpp": 'inline constexpr std::string_view version = "1.2.3";\n#include <boost/json/value.hpp>\n',
    f"{PORT}/vcpkg.json": json.dumps(MANIFEST),
    f"{PORT}/portfile.cmake": "-DCOFFERDAM_INSTALL=ON\n",
    f"{PORT}/usage": "cofferdam::core\n",
    "conanfile.py": 'f"COFFERDAM_BUILD_{part}" components["core"] components["cofferdam"] components["compiled"]\n',
}


def changed(**changes):
    return {f"{PORT}/vcpkg.json": json.dumps({**MANIFEST, **changes})}


BAD = [
    ("no JSON", {f"{PORT}/vcpkg.json": "{"}, "vcpkg.json"),
    ("another version", changed(version="1.2.4"), "version must be 1.2.3"),
    ("two versions", changed(**{"version-date": "2020-01-01"}), "under the key version alone"),
    ("an unknown key", changed(licence="x"), "no key licence"),
    ("another name", changed(name="dam"), "name must be"),
    ("a Boost library that is missing", changed(dependencies=["asio"]), "boost-json is no dependency"),
    ("dependencies in disorder", changed(dependencies=["boost-json", "asio"]), "sorted"),
    ("a dependency with an unknown key", changed(dependencies=["boost-json", {"name": "x", "hots": True}]), "no key hots"),
    ("a bad port name", changed(dependencies=["Boost_JSON", "boost-json"]), "does not name a port"),
    ("a feature without description", changed(features={"compiled": {}}), "no description"),
    ("a feature with a reserved name", changed(features={"core": {"description": "y"}}), "called core"),
    ("an option that does not exist", {f"{PORT}/portfile.cmake": "-DCOFFERDAM_INSTAL=ON\n"}, "no option COFFERDAM_INSTAL"),
    ("a target that does not exist", {f"{PORT}/usage": "cofferdam::all\n"}, "no target cofferdam::all"),
    ("a component that is missing", {"conanfile.py": 'components["core"] components["cofferdam"]\n'}, "no component compiled"),
    ("a component without target", {"conanfile.py": GOOD["conanfile.py"] + 'components["json"]'}, "no target cofferdam::json"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
