"""What the browser does by itself: a camera that stays upright, a held script, clicks, the hint."""

from __future__ import annotations

import json
from typing import Literal

#: pressed by the page itself while the pointer is down on the picture
HOLD_KEY: Literal["H"] = "H"
GO_ON_KEY: Literal["G"] = "G"
SEEN = "detent-hint-seen"  # in the browser's memory, once the hint was closed

_SCRIPT = """
(() => {
  const D = window.__detent = window.__detent || {clicks: 0, sound: false};
  D.planar = PLANAR;
  document.title = 'Detent';
  const dress = () => {
    const c = window.__viserMutable?.cameraControl;
    if (!c) return setTimeout(dress, 100);
    c.mouseButtons.left = D.planar ? 2 : 1;
    c.azimuthRotateSpeed = c.polarRotateSpeed = D.planar ? 0 : 1;
  };
  dress();
  const hint = document.querySelector('[data-name=hint]');
  if (hint && !localStorage.getItem('SEEN')) hint.style.display = 'block';
  if (D.listens) return;
  D.listens = true;
  const press = (key) => document.documentElement.dispatchEvent(new KeyboardEvent(
    'keydown', {key: key.toLowerCase(), code: 'Key' + key, bubbles: true}));
  const typing = (e) => e.target.closest?.('input, textarea, [role=slider]');
  document.addEventListener('pointerdown', (e) => {
    if (e.target.tagName !== 'CANVAS') return;
    D.down = true; press('HOLD');
  }, true);
  for (const end of ['pointerup', 'pointercancel'])
    window.addEventListener(end, () => { if (D.down) { D.down = false; press('GO_ON'); } }, true);
  window.addEventListener('keydown', (e) => {
    if (D.planar && e.key.startsWith('Arrow') && !typing(e)) e.stopImmediatePropagation();
  }, true);
  D.click = (loud) => {
    D.clicks += 1; D.loud = loud;
    if (!D.sound) return;
    const a = D.audio = D.audio || new AudioContext();
    if (a.state === 'suspended') a.resume();
    const tone = a.createOscillator(), gain = a.createGain(), now = a.currentTime;
    tone.type = 'triangle'; tone.frequency.setValueAtTime(1400, now);
    tone.frequency.exponentialRampToValueAtTime(300, now + 0.03);
    gain.gain.setValueAtTime(loud, now);
    gain.gain.exponentialRampToValueAtTime(1e-4, now + 0.05);
    tone.connect(gain).connect(a.destination); tone.start(now); tone.stop(now + 0.06);
  };
})()
"""
_HINT_STYLE = (
    "display:none;margin:0.2em 0.75em 0.5em;padding:0.45em 0.6em;border-radius:6px;"
    "border:1px solid rgba(0,114,178,0.45);background:rgba(0,114,178,0.08);"
    "font-size:0.82em;line-height:1.45"
)
HINT = (
    "<b>Drag the tool</b> into a wall: the thick arrow is what your hand would feel.",
    "Choose under <b>Feel the difference</b>: penalty sinks in, impulses do not.",
    "<b>Space</b> pauses, <b>R</b> starts over, <b>V</b> looks straight on; more under Help.",
)

HINT_OF_MECHANISM = (
    "<b>Drag the tool</b>: it moves as its mechanism allows, and nowhere else.",
    "The thick arrow is what your hand would feel; the line is where a point of it has been.",
    "<b>R</b> starts over, <b>V</b> looks straight on; more under Help.",
)


def run_once(code: str) -> str:
    """HTML that runs a piece of JavaScript when the page shows it: viser has no other way."""
    return f"<img src='data:,' onerror=\"{code}\" hidden>"


def page_script(planar: bool, hint: tuple[str, ...] = HINT) -> str:
    """HTML with what each page does by itself, and the hint of the first visit.

    Args:
        planar: the camera looks straight on, always.
        hint: its lines; none is no hint.
    """
    code = _SCRIPT.replace("PLANAR", json.dumps(planar)).replace("SEEN", SEEN)
    code = code.replace("HOLD", HOLD_KEY).replace("GO_ON", GO_ON_KEY)
    if not hint:
        return run_once(code)
    close = (
        f"localStorage.setItem('{SEEN}','1');"
        "document.querySelector('[data-name=hint]').style.display='none'"
    )
    button = (
        f"<button data-name='hint-close' onclick=\"{close}\" style='float:right;border:0;"
        "background:none;color:inherit;cursor:pointer' title='Do not show again'>✕</button>"
    )
    lines = f"<div data-name='hint' style='{_HINT_STYLE}'>{button}{'<br>'.join(hint)}</div>"
    return lines + run_once(code)


def sound(on: bool) -> str:
    """HTML that turns clicks on or off."""
    return run_once(f"window.__detent.sound={json.dumps(on)}")


def click(number: int, loud: float) -> str:
    """HTML that clicks once; a number of its own makes it new."""
    return f"<i data-click='{number}'></i>" + run_once(f"window.__detent.click({loud:.3f})")
