#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that the library parses foreign JSON only with the functions that limit the members of an object.

The objects of Boost.JSON are hash tables, and whoever chooses the keys can make a large one very slow. Every file that
calls a parser of Boost.JSON itself is listed here, with the reason.
"""
import re

from _harness import main

PARSER = re.compile(r"\bjson::(?:parse(?:_into)?\s*\(|(?:stream_|basic_)?parser\b(?!_))")
ALLOWED = {
    "detail/net/impl/untrusted_json.ipp": "the limit itself",
    "detail/net/json_events.hpp": "runs the parser that a caller has made",
    "code/detail/impl/guest_json.ipp": "large objects become lists of pairs",
    "serve/mcp/detail/schemas.hpp": "schemas in the program",
    "serve/mcp/detail/sealed_state.hpp": "text that this program has encrypted and signed",
    "llm/impl/llm_review.ipp": "a schema in the program",
    "llm/detail/impl/tool_arguments.ipp": "finds the position of an error, and builds no values",
    "backends/docker/detail/progress_stream.hpp": "a stream of objects of limited size, whose keys the daemon chooses",
    "testing/detail/code_value_conformance.hpp": "texts in the tests",
}


def problems(root):
    found, used = [], set()
    include = root / "include" / "cofferdam"
    for path in sorted(include.rglob("*.[hi]pp")):
        name = path.relative_to(include).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not PARSER.search(line.split("//")[0]):
                continue
            used.add(name)
            if name not in ALLOWED:
                found.append(f"include/cofferdam/{name}:{number}: parses JSON without a limit on members; take "
                             "parse_untrusted_json, or list the file with its reason")
    if (include / "version.hpp").exists():
        found += [f"include/cofferdam/{name}: is listed, but parses no JSON" for name in sorted(set(ALLOWED) - used)]
    return found


ALL_LISTED = {f"include/cofferdam/{name}": "auto v = boost::json::parse(text);\n" for name in ALLOWED}
GOOD = ALL_LISTED | {
    "include/cofferdam/version.hpp": "",
    "include/cofferdam/a.hpp": "#include <boost/json/parse.hpp>\n"
                               "/// Parses as `boost::json::parse()` does.\n"
                               "boost::json::parse_options options;\n"
                               "const auto v = detail::parse_untrusted_json(text, failure);\n",
}
BAD = [
    ("a parser", {"include/cofferdam/net/b.hpp": "auto v = boost::json::parse({a, b}, failure);\n"}, r"net/b\.hpp:1: "),
    ("a parser of a body", {"include/cofferdam/net/impl/b.ipp": "\nauto v = json::parse (text);\n"}, r"b\.ipp:2: "),
    ("a stream parser", {"include/cofferdam/b.hpp": "boost::json::stream_parser parser_;\n"}, r"b\.hpp:1: "),
    ("a basic parser", {"include/cofferdam/b.hpp": "boost::json::basic_parser<h> parser;\n"}, r"b\.hpp:1: "),
    ("a row without a parser", {"include/cofferdam/serve/mcp/detail/schemas.hpp": "\n"}, "schemas.hpp: is listed"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
