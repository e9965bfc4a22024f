"""Where the cells of a map are computed: here, on a Dask cluster, or by SLURM.

All of them take `submit(function, argument)` and give something with `done()` and `result()`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from detent.errors import MissingExtraError, ParameterError

MANY = 64  # workers that a cluster is taken to have
PATIENCE = 10.0  # [s] for a scheduler to answer
FORMS = "local, local:WORKERS, dask:ADDRESS or slurm:PARTITION"


def check_place(where: str) -> None:
    """Refuse what names no place, also where nothing is left to compute."""
    kind, _, rest = where.partition(":")
    if kind not in ("local", "dask", "slurm") or (kind != "local" and not rest):
        raise ParameterError("--on", where, FORMS)
    workers(where)


@contextmanager
def open_executor(where: str, folder: Path) -> Iterator[Any]:
    """The executor that *where* names; *folder* is for what SLURM leaves behind."""
    check_place(where)
    kind, _, rest = where.partition(":")
    if kind == "local":
        with _here(where) as executor:
            yield executor
    elif kind == "dask":
        with _dask(rest) as executor:
            yield executor
    else:
        yield _slurm(rest, folder)


def workers(where: str) -> int:
    """How many cells are computed at once: as named, or on all cores; of a cluster many."""
    kind, _, count = where.partition(":")
    if kind != "local":
        return MANY
    if count and (not count.isdigit() or int(count) < 1):
        raise ParameterError("--on", where, FORMS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(count) if count else cores or 1


@contextmanager
def _here(where: str) -> Iterator[ProcessPoolExecutor]:
    executor = ProcessPoolExecutor(workers(where), get_context("spawn"))
    try:
        yield executor
    finally:  # what has not begun is not waited for
        executor.shutdown(cancel_futures=True)


async def _reach(address: str) -> None:
    """Fail unless somebody answers there: a client of Dask would go on trying, and complain."""
    from distributed.core import connect

    line = await connect(address, timeout=PATIENCE)
    await line.close()


@contextmanager
def _dask(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("a map on a Dask cluster", "distributed") from error
    try:
        asyncio.run(_reach(address))
    except (OSError, ValueError) as error:
        allowed = f"the address of a Dask scheduler, as dask:tcp://HOST:8786 ({error})"
        raise ParameterError("--on", f"dask:{address}", allowed) from error
    with Client(address, set_as_default=False) as client:
        # the same cell gives the same row: one that another map computed may serve
        yield client.get_executor(pure=False, retries=2)


def _slurm(partition: str, folder: Path) -> Any:
    try:
        import submitit
    except ImportError as error:
        raise MissingExtraError("a map on SLURM", "submitit") from error
    try:
        executor = submitit.AutoExecutor(folder=folder / "slurm", cluster="slurm")
    except RuntimeError as error:
        allowed = f"on a machine that has SLURM ({error})"
        raise ParameterError("--on", f"slurm:{partition}", allowed) from error
    executor.update_parameters(slurm_partition=partition, timeout_min=60, cpus_per_task=1)
    return executor
