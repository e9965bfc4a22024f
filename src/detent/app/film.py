"""A run as a moving picture, drawn without a screen: GIF, or MP4 where ffmpeg is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent.app.rehearsal import Run
from detent.app.replay import smoothed
from detent.app.shapes import TOOL_COLOUR, WORLD_COLOUR, body_shapes
from detent.app.stage import Stage, set_stage
from detent.checks import positive
from detent.errors import ParameterError, PlatformError
from detent.record.plots import BLACK, BLUE, ORANGE, RED

KINDS = (".gif", ".mp4")
FPS = 25.0
WIDTH, HEIGHT = 4.2, 4.2  # [in] of a world; the chart is below
CHART = 1.5  # [in] high
DPI = 100
MOST_FRAMES = 3000
LIGHT = np.array([0.35, 0.25, 0.9])
DARKEST = 0.45  # of a face that looks away from the light
ARROW = 0.3  # of the world's size, for the largest force


class Scene:
    """A world as triangles, seen from its camera."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        model = stage.world.model
        self._bodies: list[tuple[int, np.ndarray, np.ndarray]] = []
        for body in range(model.nbody):
            tool = model.body_treeid[body] == stage.world.tree
            plain = TOOL_COLOUR if tool else WORLD_COLOUR
            for shape in body_shapes(model, body, stage.size, plain):
                corners = np.asarray(shape.vertices, float)[np.asarray(shape.faces)]
                self._bodies.append((body, corners, np.asarray(shape.colour, float)))
        eye = stage.camera()
        ahead = stage.centre - eye
        self._eye, self._far = eye, float(np.linalg.norm(ahead))
        ahead = ahead / self._far
        right = np.cross(ahead, stage.up)
        right /= np.linalg.norm(right)
        self._axes = np.array([right, np.cross(right, ahead), ahead])

    def seen(self, points: np.ndarray) -> np.ndarray:
        """(…, 3) across, up [m at the centre's distance] and distance from the eye [m]."""
        local = (points - self._eye) @ self._axes.T
        scale = self._far / np.maximum(local[..., 2:], 1e-6)
        return np.concatenate([local[..., :2] * scale, local[..., 2:]], axis=-1)

    def triangles(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, 3, 2) corners and (n, 4) colours, the farthest first."""
        corners, colours = [], []
        for body, shape, colour in self._bodies:
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, poses[body, 3:])
            placed = shape @ turn.reshape(3, 3).T + poses[body, :3]
            normal = np.cross(placed[:, 1] - placed[:, 0], placed[:, 2] - placed[:, 0])
            size = np.linalg.norm(normal, axis=1, keepdims=True)
            normal = normal / np.maximum(size, 1e-15)
            light = normal @ (LIGHT / np.linalg.norm(LIGHT))
            shade = DARKEST + (1.0 - DARKEST) * np.clip(light, 0.0, 1.0)
            front = np.einsum("ij,ij->i", normal, placed.mean(axis=1) - self._eye) < 0.0
            rgba = np.tile(colour, (len(placed), 1))
            rgba[:, :3] *= shade[:, None]
            corners.append(placed[front])
            colours.append(rgba[front])
        flat = self.seen(np.concatenate(corners))
        order = np.argsort(-flat[..., 2].mean(axis=1))
        return flat[order][..., :2], np.clip(np.concatenate(colours)[order], 0.0, 1.0)


class Film:
    """Worlds side by side, and the force on the hand below them."""

    def __init__(self, runs: list[Run]) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        self._runs = runs
        self._scenes = [Scene(set_stage(run.session)) for run in runs]
        self._stages = [set_stage(run.session) for run in runs]
        figure = Figure((WIDTH * len(runs), HEIGHT + CHART), dpi=DPI, layout="constrained")
        self._canvas = FigureCanvasAgg(figure)
        grid = figure.add_gridspec(2, len(runs), height_ratios=(HEIGHT, CHART))
        self._polygons: list[Any] = []
        self._arrows: list[Any] = []
        for i, (run, stage) in enumerate(zip(runs, self._stages, strict=True)):
            ax = figure.add_subplot(grid[0, i])
            half = 0.56 * stage.size if stage.planar else 1.05 * stage.radius
            ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", title=run.label)
            ax.set_axis_off()
            self._polygons.append(ax.add_collection(PolyCollection([], edgecolors="face", lw=0.3)))
            line = ax.annotate("", (0, 0), (0, 0), arrowprops={"arrowstyle": "->", "lw": 2.5,
                               "color": BLACK, "mutation_scale": 16}, zorder=9)  # fmt: skip
            self._arrows.append(line)
        self._cursor = self._add_chart(figure.add_subplot(grid[1, :]))
        self._strongest = max(1e-9, *(self._strength(run) for run in runs))

    @staticmethod
    def _strength(run: Run) -> float:
        force = np.linalg.norm(run.trace.felt[:, :3], axis=1)
        return float(np.percentile(force, 99.0))

    def _add_chart(self, ax: Any) -> Any:
        for run, colour in zip(self._runs, (BLUE, ORANGE), strict=False):
            force = np.linalg.norm(run.trace.felt[:, :3], axis=1)
            calm = np.where(run.trace["collisions"] > 0, np.nan, force)
            ax.plot(run.trace["time"], calm, color=colour, lw=1.2, label=run.label)
            hits = run.trace["collisions"] > 0
            ax.plot(run.trace["time"][hits], np.zeros(hits.sum()), "|", color=colour, ms=9, mew=1)
        ax.set(xlabel="time [s]  (| collisions)", ylabel="felt [N]", ylim=(0.0, None))
        ax.margins(x=0.0)
        if len(self._runs) > 1:
            ax.legend(fontsize=8, frameon=False, loc="upper right", ncols=len(self._runs))
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        return ax.axvline(0.0, color=RED, lw=1.2)

    def frame(self, now: float) -> np.ndarray:
        """(height, width, 3) the picture at a time [s]."""
        self._cursor.set_xdata([now, now])
        for run, scene, stage, polygons, arrow in zip(
            self._runs, self._scenes, self._stages, self._polygons, self._arrows, strict=True
        ):
            corners, colours = scene.triangles(run.poses[run.frame_at(now)])
            polygons.set_verts(corners)
            polygons.set_facecolor(colours)
            begin = run.trace["tool_position"][run.tick_at(now)]
            force = smoothed(run, now)[0] / self._strongest
            force *= ARROW * stage.size / max(1.0, float(np.linalg.norm(force)))
            tail, tip = scene.seen(np.array([begin, begin + force]))[:, :2]
            arrow.set_visible(bool(np.linalg.norm(tip - tail) > 0.02 * stage.size))
            arrow.set_position(tail)
            arrow.xy = tip
        self._canvas.draw()
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()


def film(
    runs: list[Run],
    path: Path,
    slowness: float = 1.0,
    fps: float = FPS,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write a film of runs.

    Args:
        runs: one, or two on the same hand.
        path: ends with .gif or .mp4.
        slowness: 2 is half as fast as it was.
        fps: frames per second.
        progress: called with the fraction done.
    """
    path = Path(path)
    if path.suffix not in KINDS:
        raise ParameterError("film", str(path), f"a name that ends with {' or '.join(KINDS)}")
    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise PlatformError("an MP4 needs ffmpeg, which is not installed: write a .gif")
    end = max(float(run.trace["time"][-1]) for run in runs)
    count = max(2, round(end * positive("slowness", slowness) * positive("fps", fps)))
    if count > MOST_FRAMES:
        raise ParameterError("frames of the film", count, f"at most {MOST_FRAMES}")
    shown = Film(runs)

    def frames() -> Iterator[np.ndarray]:
        for i, now in enumerate(np.linspace(0.0, end, count)):
            yield shown.frame(float(now))
            if progress is not None:
                progress((i + 1) / count)

    (write_gif if path.suffix == ".gif" else write_mp4)(frames(), path, fps)
    return path


def write_gif(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    """An animated GIF, with one palette for all frames."""
    from PIL import Image  # matplotlib brings it

    first, *rest = [Image.fromarray(frame) for frame in frames]
    palette = first.quantize(128, dither=Image.Dither.NONE)
    small = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in (first, *rest)]
    small[0].save(path, save_all=True, append_images=small[1:], duration=round(1e3 / fps), loop=0)


def write_mp4(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    """H.264 by ffmpeg; sides are even numbers, as it wants them."""
    first = next(frames)
    high, wide = (side // 2 * 2 for side in first.shape[:2])
    command = [
        *("ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"),
        *("-s", f"{wide}x{high}", "-r", f"{fps:g}", "-i", "-", "-pix_fmt", "yuv420p", str(path)),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stderr is not None
    for frame in (first, *frames):
        process.stdin.write(np.ascontiguousarray(frame[:high, :wide]).tobytes())
    process.stdin.close()
    said = process.stderr.read().decode(errors="replace")
    if process.wait() != 0:
        raise PlatformError(f"ffmpeg could not write {path.name}: {said.strip()[:200]}")
