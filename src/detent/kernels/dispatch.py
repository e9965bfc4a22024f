"""How kernels are compiled: those that others call become a part of them, not code of their own.

Numba makes machine code of every function that it compiles, optimises it twice, keeps it, and
links it into its callers, where all of it is optimised again: compiling grows with the depth of
the calls. Here what one kernel calls in another is only typed and translated; LLVM sees the whole
of it once, where an entry (a stage, or a kernel that Python calls) is compiled. Floating-point
arithmetic is not reordered by that: the results are the same.

With ``NUMBA_BOUNDSCHECK=1`` an entry may raise what it or a kernel within it raises, and that
needs all that Numba does for a function that Python calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from detent.kernels.cached import ByContent

CHECKED = bool(numba.config.BOUNDSCHECK)  # type: ignore[attr-defined]
OPTIONS: dict[str, Any] = {
    **{"nopython": True, "nogil": True},
    **{"error_model": "numpy", "boundscheck": None},
}


def _as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    return context.cast(builder, index, kind, types.intp)


@contextmanager
def plain_indices() -> Iterator[None]:
    """While it lasts, what is compiled takes no index below zero for one from the end.

    No kernel has any, and asking for the sign of each costs as much as a short loop does
    otherwise. With CHECKED such an index is out of bounds like others, and told.
    """
    from numba.np import arrayobj  # not needed where all code is kept

    with global_compiler_lock:
        before = arrayobj.fix_integer_index
        arrayobj.fix_integer_index = _as_it_is
        try:
            yield
        finally:
            arrayobj.fix_integer_index = before


class _Linked(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """What a kernel is translated to, for its callers: neither optimised nor turned into code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _LinkedCompiler(Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _Linked(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        return super().define_pipelines()


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """An entry with all that it calls: optimised once.

    What it calls is its own, and nobody else's: so LLVM puts what is called in one place only
    into that place, and passes on no argument that is not used. It has a name of its own, too: by
    its common one the loader would take it for the whole function, which Python may call. Loops are
    not turned into vector code: those of a tick are short, and run over strides.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
                function.name = f"own.{function.name}"
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False)
        passes.run(self._final_module, builder)


class _WholeCompiler(Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()


class _Hidden(CPUDispatcher):  # type: ignore[misc]
    """A kernel as other code sees it, not Python, which cannot call it."""

    def __init__(self, function: Callable[..., Any], compiler: type, **options: bool) -> None:
        all_options = OPTIONS | {"no_cpython_wrapper": True} | options
        super().__init__(function, targetoptions=all_options, pipeline_class=compiler)

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result


class _Called(CPUDispatcher):  # type: ignore[misc]
    """A kernel as Python calls it."""

    def compile(self, kinds: Any) -> Any:
        with plain_indices():
            return super().compile(kinds)


class _Callee(_Hidden):
    """A kernel as its callers see it."""

    def __init__(self, function: Callable[..., Any], inline: bool) -> None:
        super().__init__(function, _LinkedCompiler, no_cfunc_wrapper=True, forceinline=inline)

    def add_overload(self, result: Any) -> None:
        super().add_overload(result)
        key = self.get_overload(result.signature.args)
        self.targetctx.insert_user_function(key, result.fndesc, [result.library])

    def get_overload(self, kinds: Any) -> Any:
        return self, tuple(kinds)


class Kernel:
    """A function that is compiled, when it is first needed, for whoever needs it."""

    def __init__(self, function: Callable[..., Any], inline: bool = False) -> None:
        self.py_func, self.inline = function, inline
        update_wrapper(self, function)

    @cached_property
    def called(self) -> Any:
        """As Python calls it: with machine code of its own, kept by content."""
        dispatcher = _Called(self.py_func, targetoptions=OPTIONS)
        dispatcher._cache = ByContent(self.py_func)
        return dispatcher

    @cached_property
    def linked(self) -> Any:
        """As other kernels call it."""
        return _Callee(self.py_func, self.inline)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.linked)

    def __call__(self, *given: Any) -> Any:
        return self.called(*given)

    def entry(self, kinds: tuple[Any, ...]) -> Any:
        """The result of compiling it as something that only compiled code and C call."""
        dispatcher = self.called if CHECKED else _Hidden(self.py_func, _WholeCompiler)
        with plain_indices():
            dispatcher.compile(kinds)
        return dispatcher.overloads[kinds]
