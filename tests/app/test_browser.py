"""The browser of the tests leaves nothing behind."""

from __future__ import annotations

import pytest
from browser import members, open_browser


@pytest.mark.browser
def test_a_test_that_fails_leaves_no_browser_behind() -> None:
    session = 0
    with pytest.raises(ZeroDivisionError), open_browser() as browser:
        session = browser.service.process.pid
        assert len(members(session)) > 1  # the driver and the browser's own
        browser.quit = lambda: 1 / 0  # not even the driver is asked
        raise ZeroDivisionError
    assert session and not members(session)
