# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Finds the files that a run has created or changed."""
import base64
import os


MOST_PATHS = 2 * 1024 * 1024  # maximum bytes of the paths of all files of a run together
LONGEST_SCAN = 0.5  # maximum duration of a scan of the work directory, in seconds


def scan_files(most):
    """Scans the regular files below the work directory. Skips .cofferdam and __pycache__.

    Returns {path: size, times and inode of the file} and whether these are all files. Stops after `most` files, after
    4 * `most` entries or after LONGEST_SCAN, so that files which code has created cannot delay the next run for long.
    """
    import time
    found, folders, seen = {}, [b""], 0
    limit = time.monotonic() + LONGEST_SCAN
    whole = True
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder or b".") as entries:
                for entry in entries:
                    seen += 1
                    if len(found) >= most or seen > 4 * most or seen % 64 == 0 and time.monotonic() > limit:
                        return found, False
                    path = os.path.join(folder, entry.name)
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            if entry.name != b".cofferdam" and entry.name != b"__pycache__":
                                folders.append(path)
                        elif entry.is_file(follow_symlinks=False):
                            about = entry.stat(follow_symlinks=False)
                            found[path] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
                    except FileNotFoundError:
                        pass
        except FileNotFoundError:
            pass
        except OSError:  # no permission to read, or a path that is too long
            whole = False
    return found, whole


def changed_files(before, after):
    """Returns a row for the host for each new or changed file, ordered by path, and whether these are all."""
    rows, room = [], MOST_PATHS
    for path in sorted(after):
        if before.get(path) != after[path]:
            room -= len(path)
            if room < 0:
                return rows, False
            row = {"size": after[path][0], "new": path not in before}
            try:
                row["path"] = path.decode("utf-8")
            except UnicodeDecodeError:
                row["path64"] = base64.b64encode(path).decode()
            rows.append(row)
    return rows, True
