"""Films: things are drawn where they are, and a file is what its name says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from detent import Contact, Session, World
from detent.app.film import Scene, film
from detent.app.rehearsal import Run, rehearse
from detent.app.stage import set_stage
from detent.errors import ParameterError, PlatformError
from detent.hands import Constant


@pytest.fixture(scope="module")
def run() -> Run:
    session = Session(World.builtin("corner"), Contact(4000, 30))
    return rehearse("push", session, session.run(0.2, Constant(force=(20.0, 0.0))))


def test_a_scene_is_seen_from_its_camera(run: Run) -> None:
    stage = set_stage(run.session)
    scene = Scene(stage)
    across, up, far = scene.seen(stage.centre)
    assert (across, up) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert far == pytest.approx(np.linalg.norm(stage.camera() - stage.centre))
    right = scene.seen(stage.centre + np.array([0.01, 0.0, 0.0]))
    assert right[:2] == pytest.approx((0.01, 0.0))  # from above, x goes to the right
    corners, colours = scene.triangles(run.poses[0])
    assert corners.shape[1:] == (3, 2) and len(corners) == len(colours)
    # what looks away from the camera is left out: a box shows at most five of its sides
    assert len(corners) <= 10 * stage.world.model.ngeom


def test_a_film_is_a_gif_in_which_the_tool_moves(run: Run, tmp_path: Path) -> None:
    told: list[float] = []
    path = film([run], tmp_path / "push.gif", slowness=0.5, fps=30.0, progress=told.append)
    with Image.open(path) as picture:
        assert picture.n_frames == 3 == len(told)  # type: ignore[attr-defined]
        first = np.asarray(picture.convert("RGB"), float)
        picture.seek(2)
        last = np.asarray(picture.convert("RGB"), float)
    orange = [(one[..., 0] - one[..., 2] > 90).nonzero()[1].mean() for one in (first, last)]
    assert orange[1] > orange[0] + 5  # it was pushed to the right


def test_what_is_no_film_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ParameterError, match=r"ends with \.gif or \.mp4"):
        film([run], tmp_path / "push.avi")
    with pytest.raises(ParameterError, match="at most 3000"):
        film([run], tmp_path / "push.gif", slowness=1e4)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PlatformError, match="needs ffmpeg"):
        film([run], tmp_path / "push.mp4")
