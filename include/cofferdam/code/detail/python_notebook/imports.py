# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The modules of IPython that code can import in a notebook, and the change of matplotlib's plt.show."""
from base import DRIVER
from shell import UsageError
from shows import SHOWN_BY_NAME


class Modules:
    """An import hook that serves the modules of IPython which take part in the display of values.

    They replace those of an installed IPython, because these have no kernel here to which they could send anything.
    """
    SERVED = {"IPython", "IPython.display", "IPython.core", "IPython.core.display", "IPython.core.display_functions",
              "IPython.core.getipython", "IPython.core.magic"}
    IF_MISSING = {"IPython.core.error", "IPython.core.pylabtools"}

    def __init__(self, notebook):
        self.notebook = notebook

    def find_spec(self, name, path=None, target=None):
        if name not in self.SERVED and name not in self.IF_MISSING and name != "matplotlib.pyplot":
            return None
        import importlib.machinery  # not before: this import may call this function
        if name in self.SERVED or name in self.IF_MISSING and not path:
            spec = importlib.machinery.ModuleSpec(name, self, origin=DRIVER)
            if name in ("IPython", "IPython.core"):
                spec.submodule_search_locations = self.installed(name, path)
            return spec
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                module.show = self.notebook.show_function()

            spec.loader.exec_module = exec_module
        return spec

    @staticmethod
    def installed(name, path):
        """Returns the folders of an installed IPython, whose other modules can still be imported."""
        import importlib.machinery
        try:
            found = importlib.machinery.PathFinder.find_spec(name, path)
        except Exception:
            found = None
        return list(found.submodule_search_locations or []) if found is not None else []

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        notebook, shell, names = self.notebook, self.notebook.shell, module.__dict__
        kind = module.__name__.rpartition(".")[2]
        if kind in ("IPython", "getipython", "display", "display_functions"):
            names["get_ipython"] = notebook.get_ipython
        if kind == "IPython":
            names.update(version_info=(9, 0, 0, ""), __version__="9.0.0")
        elif kind == "error":
            names["UsageError"] = UsageError
        elif kind == "pylabtools":
            names["backend2gui"] = {}
        elif kind == "magic":
            for way in ("line", "cell", "line_cell"):
                names["register_%s_magic" % way] = registrar(shell, way)
        elif kind in ("display", "display_functions"):
            names.update((made.__name__, made) for made in SHOWN_BY_NAME)
            names.update(display=notebook.display, publish_display_data=notebook.publish,
                         update_display=nothing, clear_output=nothing, set_matplotlib_formats=nothing,
                         set_matplotlib_close=nothing)
            for form in ("html", "markdown", "svg", "png", "jpeg", "latex", "json", "javascript", "pretty"):
                names["display_" + form] = notebook.display


def nothing(*ignored, **ignored_too):
    """Does nothing: E2B's clients cannot clear or change what was shown."""


def registrar(shell, way):
    def register(name=None):
        if callable(name):
            shell.register_magic_function(name, way)
            return name

        def named(function):
            shell.register_magic_function(function, way, name)
            return function

        return named

    return register
