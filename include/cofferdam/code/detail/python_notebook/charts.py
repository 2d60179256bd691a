# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Extracts the data of a figure of matplotlib, in the form that E2B's clients expect."""
import re
import sys

from shows import plain

UNIT = re.compile(r"\s\((.*?)\)|\[(.*?)\]")


def chart_of(figure):
    """Returns the chart of a figure, or None if nothing is drawn in it."""
    axes = figure.get_axes()
    if not any(one.has_data() for one in axes):
        return None
    if len(axes) == 1:
        return chart_of_axes(axes[0])
    title = figure._suptitle.get_text() if getattr(figure, "_suptitle", None) is not None else ""
    return {"type": "superchart", "title": title, "elements": [chart_of_axes(one) for one in axes]}


def chart_of_axes(axes):
    kind = kind_of(axes)
    chart = {"type": kind, "title": axes.get_title() or None, "elements": []}
    if kind not in ("pie", "unknown"):
        for side, label in (("x", axes.get_xlabel()), ("y", axes.get_ylabel())):
            unit = UNIT.search(label)
            chart[side + "_label"] = label or None
            chart[side + "_unit"] = (unit.group(1) or unit.group(2)) if unit else None
    fill = {"line": fill_lines, "scatter": fill_scatter, "bar": fill_bars, "pie": fill_pie,
            "box_and_whisker": fill_boxes}.get(kind)
    if fill is not None:
        fill(axes, chart)
    return chart


def kind_of(axes):
    """Returns E2B's name for the kind of a plot, which follows from the types of what is drawn."""
    names = sys.modules
    lines, patches = names["matplotlib.lines"], names["matplotlib.patches"]
    points = names["matplotlib.collections"].PathCollection
    drawn = list_of(axes, "lines", "patches", "collections", "images", "artists", "tables")
    if all(isinstance(one, lines.Line2D) for one in drawn):
        return "line"
    if all(isinstance(one, (patches.PathPatch, lines.Line2D)) for one in drawn):
        return "box_and_whisker"
    drawn = [one for one in drawn if not is_grid_line(one)]
    for name, kind in (("scatter", points), ("pie", patches.Wedge), ("bar", patches.Rectangle)):
        if all(isinstance(one, kind) for one in drawn):
            return name
    return "unknown"


def list_of(axes, *names):
    return [one for name in names for one in getattr(axes, name, ())]


def is_grid_line(line):
    if not hasattr(line, "get_xdata"):
        return False
    x, y = line.get_xdata(), line.get_ydata()
    return len(x) == 2 == len(y) and (x[0] == x[1] or y[0] == y[1])


def fill_points(axes, chart):
    """Adds the ticks and scales of both axes."""
    for side, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        labels = [label.get_text() for label in axis.get_ticklabels()]
        ticks = [plain(tick) for tick in axis.get_ticklocs()]
        scale = axis.get_scale()
        dates = sys.modules.get("matplotlib.dates")
        get = getattr(axis, "get_converter", None)
        converter = get() if get else axis.converter
        if dates is not None and "Date" in type(converter).__name__:
            ticks = [dates.num2date(tick).isoformat() for tick in ticks]
            scale = "datetime"
        elif scale == "linear" and all(
                tick == index and label != str(index) for index, (tick, label) in enumerate(zip(ticks, labels))):
            scale = "categorical"
        chart.update({side + "_ticks": ticks, side + "_tick_labels": labels, side + "_scale": scale})


def point(x, y):
    return [moment(x), moment(y)]


def moment(value):
    """Returns a coordinate: a number, or the text of a time."""
    if type(value).__name__ == "datetime64":
        return str(value.astype("datetime64[s]"))
    return plain(value)


def fill_lines(axes, chart):
    fill_points(axes, chart)
    for line in axes.get_lines():
        if not is_grid_line(line):
            chart["elements"].append({"label": label_of(line, "_child", "Line"), "points": [
                point(x, y) for x, y in zip(line.get_xdata(), line.get_ydata())]})


def fill_scatter(axes, chart):
    fill_points(axes, chart)
    for collection in axes.collections:
        chart["elements"].append({"label": collection.get_label(), "points": [
            point(x, y) for x, y in collection.get_offsets().tolist()]})


def label_of(artist, start, word):
    """Returns the label of an artist. A label that matplotlib has made up becomes a word and a number."""
    label = str(artist.get_label())
    return "%s %s" % (word, label[len(start):]) if label.startswith(start) else label


def turn(chart):
    for name in ("label", "unit"):
        chart["x_" + name], chart["y_" + name] = chart["y_" + name], chart["x_" + name]


def fill_bars(axes, chart):
    turned = False
    for container in axes.containers:
        bars = [one for one in container if hasattr(one, "get_height")]
        lying = getattr(container, "orientation", None) == "horizontal"
        turned = turned or lying
        axis = axes.yaxis if lying else axes.xaxis
        labels = [label.get_text() for label in axis.get_ticklabels()]
        for label, bar in zip(labels, bars):
            value = bar.get_width() if lying else bar.get_height()
            chart["elements"].append({"label": label, "group": label_of(container, "_container", "Group"),
                                      "value": plain(value)})
    if turned:
        turn(chart)


def fill_pie(axes, chart):
    for wedge in axes.patches:
        chart["elements"].append({"label": str(wedge.get_label()), "angle": rounded(abs(wedge.theta2 - wedge.theta1)),
                                  "radius": plain(wedge.r)})


def rounded(number):
    """Returns a number without the noise of the binary arithmetic in its last digits."""
    return float("%.8g" % number)


def fill_boxes(axes, chart):
    """Finds the five numbers of each box: the box is a patch, and the lines at it are its whiskers and its median."""
    boxes = []
    for patch in axes.patches:
        box = patch.get_path().vertices
        xs, ys = [rounded(x) for x in box[:, 0]], [rounded(y) for y in box[:, 1]]
        boxes.append([min(xs), max(xs), min(ys), max(ys)])
    lying = any(is_lying_median(line, box) for line in axes.lines for box in boxes)
    if lying:
        turn(chart)
        boxes = [[box[2], box[3], box[0], box[1]] for box in boxes]
    axis = axes.yaxis if lying else axes.xaxis
    labels = [label.get_text() for label in axis.get_ticklabels()]
    for index, (left, right, low, high) in enumerate(boxes):
        made = {"label": labels[index] if index < len(labels) else "", "min": low, "first_quartile": low,
                "median": None, "third_quartile": high, "max": high, "outliers": []}
        for line in axes.lines:
            across, along = [rounded(x) for x in line.get_xdata()], [rounded(y) for y in line.get_ydata()]
            if lying:
                across, along = along, across
            if not across or not all(left <= x <= right for x in across):
                continue
            if len(along) == 2 and across[0] == across[1]:
                if max(along) == low:
                    made["min"] = min(along)
                elif min(along) == high:
                    made["max"] = max(along)
            elif len(along) == 2 and along[0] == along[1] and low <= along[0] <= high:
                made["median"] = along[0]
            elif line.get_marker() not in ("None", "", None):
                made["outliers"] += along
        chart["elements"].append(made)


def is_lying_median(line, box):
    """Returns True if a line is the median of a lying box: it stands from the lower to the upper edge of the box."""
    left, right, low, high = box
    xs, ys = [rounded(x) for x in line.get_xdata()], [rounded(y) for y in line.get_ydata()]
    return len(xs) == 2 and xs[0] == xs[1] and left <= xs[0] <= right and sorted(ys) == [low, high]
