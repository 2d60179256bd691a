# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The names of IPython.display, and the forms of values that only a notebook shows."""
import base64
import datetime
import json
import math
import os
import sys

DATA, CHART = "e2b/data", "e2b/chart"  # the MIME types of E2B for tables and charts
MOST_CELLS = 200000  # maximum count of the values of a table that are sent as data


def content_of(data, url, filename, binary):
    """Returns the content of a display object, which is given itself, or as the URL or the path where it is."""
    if data is not None and not binary and url is None and filename is None and isinstance(data, (str, os.PathLike)):
        text = str(data)
        if isinstance(data, os.PathLike):
            filename = text
        elif text.startswith(("http:", "https:")) and "\n" not in text:
            url = text
    if filename is not None:
        with open(filename, "rb") as stream:
            data = stream.read()
    elif url is not None:
        from urllib.request import urlopen
        with urlopen(url) as stream:
            data = stream.read()
    return data.decode("utf-8", "replace") if isinstance(data, bytes) and not binary else data


class DisplayObject:
    """The base of the classes of IPython.display: some content, which is shown in one form."""
    MIME = "text/plain"
    binary = False

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        self.data = content_of(data, url, filename, self.binary)
        self.url, self.filename, self.metadata = url, filename, metadata or {}

    def __repr__(self):
        return "<%s.%s object>" % (type(self).__module__, type(self).__qualname__)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {} if self.data is None else {self.MIME: self.data}


class TextDisplayObject(DisplayObject):
    pass


class HTML(TextDisplayObject):
    MIME = "text/html"

    def __html__(self):
        return self.data


class Markdown(TextDisplayObject):
    MIME = "text/markdown"


class Latex(TextDisplayObject):
    MIME = "text/latex"


class Math(TextDisplayObject):
    MIME = "text/latex"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.MIME: "$\\displaystyle %s$" % self.data.strip("$")}


class SVG(DisplayObject):
    MIME = "image/svg+xml"


class Pretty(TextDisplayObject):
    def __repr__(self):
        return self.data


class JSON(DisplayObject):
    MIME = "application/json"

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **ignored):
        if isinstance(data, (str, os.PathLike)) or data is None:
            data = content_of(data, url, filename, False)
            data = None if data is None else json.loads(data)
        DisplayObject.__init__(self, None, metadata=metadata)
        self.data = data


class GeoJSON(JSON):
    MIME = "application/geo+json"


class Javascript(TextDisplayObject):
    MIME = "application/javascript"

    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        DisplayObject.__init__(self, data, url, filename)
        for script in reversed([lib] if isinstance(lib, str) else lib or []):
            self.data = "$.getScript(%s, function () {\n%s\n});" % (json.dumps(script), self.data)
        for sheet in reversed([css] if isinstance(css, str) else css or []):
            self.data = '$("head").append($("<link/>").attr({rel: "stylesheet", type: "text/css", href: %s}));\n%s' % (
                json.dumps(sheet), self.data)


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        DisplayObject.__init__(self, data, url, filename)

    def __repr__(self):
        return self.data

    def _repr_mimebundle_(self, include=None, exclude=None):
        import html
        return {"text/html": "<pre>%s</pre>" % html.escape(self.data)}


class Image(DisplayObject):
    binary = True
    TYPES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None,
                 retina=False, unconfined=False, metadata=None, alt=None):
        if isinstance(data, os.PathLike):
            data = str(data)
        if isinstance(data, str):
            if data.startswith(("http:", "https:")):
                url, data = url or data, None
            elif filename is None and url is None:
                filename, data = data, None
        if url is not None and (embed or filename is not None):
            data, filename = content_of(None, url, filename, True), None
        elif filename is not None and data is None:
            data = content_of(None, None, filename, True)
        if data is None and url is None:
            raise ValueError("No image data found. Expecting filename, url, or data.")
        self.data, self.url, self.filename, self.metadata = data, url, filename, metadata or {}
        self.width, self.height, self.alt = width, height, alt
        found = [kind for start, kind in self.TYPES.items() if (data or b"").startswith(start)]
        self.format = (format or (found or ["png"])[0]).lower().replace("jpg", "jpeg")

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is not None:
            return {"image/" + self.format: self.data}
        import html
        sizes = "".join(' %s="%s"' % (name, html.escape(str(value))) for name, value in
                        [("width", self.width), ("height", self.height), ("alt", self.alt)] if value is not None)
        return {"text/html": '<img src="%s"%s/>' % (html.escape(self.url), sizes)}


class IFrame:
    def __init__(self, src, width, height, extras=None, **parameters):
        from urllib.parse import urlencode
        self.src = src + ("?" + urlencode(parameters) if parameters else "")
        self.width, self.height, self.extras = width, height, extras or []

    def _repr_html_(self):
        return '<iframe width="%s" height="%s" src="%s" frameborder="0" allowfullscreen %s></iframe>' % (
            self.width, self.height, self.src, " ".join(self.extras))


class FileLink:
    def __init__(self, path, url_prefix="", *ignored, **ignored_too):
        self.path, self.url_prefix = str(path), url_prefix

    def __repr__(self):
        return os.path.abspath(self.path)

    def _repr_html_(self):
        import html
        return '<a href="%s" target="_blank">%s</a><br>' % (
            html.escape(self.url_prefix + self.path), html.escape(self.path))


class Media(DisplayObject):
    """Audio and Video: shown as an HTML element with the content inside, or with its address."""
    binary = True
    ELEMENT, KIND = "audio", "audio/wav"

    def __init__(self, data=None, filename=None, url=None, embed=None, **options):
        if isinstance(data, (str, os.PathLike)):
            if str(data).startswith(("http:", "https:")):
                url = str(data)
            else:
                filename = str(data)
            data = None
        if data is not None and not isinstance(data, bytes):
            raise ValueError("give the content as bytes, or the path or URL of a file")
        self.data = content_of(data, None, filename, True)
        self.url, self.filename, self.metadata = url, filename, {}
        import mimetypes
        self.kind = options.get("mimetype") or mimetypes.guess_type(filename or url or "")[0] or self.KIND

    def _repr_mimebundle_(self, include=None, exclude=None):
        source = self.url
        if self.data is not None:
            source = "data:%s;base64,%s" % (self.kind, base64.b64encode(self.data).decode())
        return {"text/html": '<%s controls="controls"><source src="%s" type="%s"/></%s>' % (
            self.ELEMENT, source, self.kind, self.ELEMENT)}


class Audio(Media):
    pass


class Video(Media):
    ELEMENT, KIND = "video", "video/mp4"


class DisplayHandle:
    """What display(..., display_id=True) returns. E2B's clients have no updates, so an update shows nothing."""

    def __init__(self, display_id, show):
        self.display_id, self.show = display_id, show

    def display(self, value, **options):
        self.show(value, **options)

    def update(self, value, **options):
        pass


SHOWN_BY_NAME = [DisplayObject, TextDisplayObject, HTML, Markdown, Latex, Math, SVG, Pretty, JSON, GeoJSON, Javascript,
                 Code, Image, IFrame, FileLink, Audio, Video, DisplayHandle]
for made in SHOWN_BY_NAME:
    made.__module__ = "IPython.core.display"


def is_of(value, module, name):
    """Returns True if a value is an instance of a class that an imported module has. Imports nothing."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def table_data(frame):
    """Returns E2B's data of a DataFrame of pandas: {column: values}. None if it is too large."""
    if frame.shape[0] * frame.shape[1] > MOST_CELLS:
        return None
    return {str(name): [plain(cell) for cell in column] for name, column in frame.to_dict(orient="list").items()}


def plain(value, is_strict=False):
    """Returns a value as JSON has it: a number that JSON lacks becomes None, a time ISO 8601, and others their text. If
    `is_strict` is true, a type that JSON cannot express raises TypeError instead."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (datetime.date, datetime.time)):
        return None if value != value else value.isoformat()  # a time that is missing (NaT) is not equal to itself
    if isinstance(value, dict):
        return {str(key): plain(item, is_strict) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, is_strict) for item in value]
    if hasattr(value, "tolist") and type(value).__module__.partition(".")[0] == "numpy":
        made = value.tolist()
        if type(made) is not type(value):
            return plain(made, is_strict)
    if is_strict:
        raise TypeError("not JSON: %s" % type(value).__qualname__)
    return str(value)
