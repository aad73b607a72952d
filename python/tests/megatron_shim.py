"""Lets `megatron.core.datasets` be imported without the rest of megatron-core.

`megatron/core/__init__.py` imports the transformer, the optimizer and more, and needs a newer torch
than Debian's. The dataset classes need none of it but `log_single_rank`. After `import
megatron_shim` the package `megatron.core` is only its folder, and `megatron.core.utils` only that
function; everything below `megatron.core.datasets` is the real code with its compiled helpers.

The venv that tools/venv.sh makes imports this at start.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder


class _NoCode(Loader):
    def exec_module(self, module):
        pass


class _Utilities(Loader):
    def exec_module(self, module):
        from megatron.core._rank_utils import log_single_rank

        module.log_single_rank = log_single_rank


class _Finder(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "megatron.core":
            real = PathFinder.find_spec(name, path)
            if real is None:
                return None
            spec = ModuleSpec(name, _NoCode(), is_package=True)
            spec.submodule_search_locations = real.submodule_search_locations
            return spec
        if name == "megatron.core.utils":
            return ModuleSpec(name, _Utilities())
        return None


if not any(type(finder).__name__ == _Finder.__name__ for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
