"""Hold the gripper of an arm, lift a box, and write the demonstrations as a LeRobot data set.

The arm has three hinges and a slide; its fingers close on the box by themselves, and the hand
feels arm, box and table. Run it with

    python examples/demonstrate.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import detent
from detent.record.lerobot import write_lerobot

SCENE = """<mujoco model="arm with a gripper">
  <option gravity="0 0 -9.81"/>
  <default>
    <geom friction="0.8 0.005 0.0001"/>
    <default class="arm"><geom type="capsule" size="0.015" contype="0" conaffinity="0"/>
      <joint damping="0.1" armature="0.002"/></default>
    <default class="finger"><joint type="slide" range="0 0.03" damping="5"/>
      <geom type="box" size="0.004 0.012 0.03" pos="0 0 -0.03" mass="0.03"/>
      <position kp="400" ctrlrange="0 0.03"/></default>
  </default>
  <worldbody>
    <geom name="table" type="box" size="0.1 0.12 0.01" pos="0.05 0 -0.01" rgba="0.6 0.64 0.7 1"/>
    <body name="shoulder" pos="-0.25 0 0.2" childclass="arm" gravcomp="1">
      <joint name="shoulder" axis="0 0 1"/><geom fromto="0 0 0 0.15 0 0" mass="0.6"/>
      <body name="elbow" pos="0.15 0 0" gravcomp="1">
        <joint name="elbow" axis="0 0 1"/><geom fromto="0 0 0 0.15 0 0" mass="0.4"/>
        <body name="wrist" pos="0.15 0 0" gravcomp="1">
          <joint name="lift" type="slide" axis="0 0 1" range="-0.1 0.15"/>
          <joint name="turn" axis="0 0 1"/>
          <geom fromto="0 0 0 0 0 -0.07" mass="0.2"/>
          <body name="gripper" pos="0 0 -0.08" gravcomp="1">
            <geom type="box" size="0.035 0.015 0.01" mass="0.15" rgba="0 0.45 0.7 1"/>
            <body name="left" childclass="finger" pos="-0.004 0 0" gravcomp="1">
              <joint name="left" axis="-1 0 0"/><geom rgba="0 0.62 0.45 1"/></body>
            <body name="right" childclass="finger" pos="0.004 0 0" gravcomp="1">
              <joint name="right" axis="1 0 0"/><geom rgba="0 0.62 0.45 1"/></body>
          </body>
        </body>
      </body>
    </body>
    <body name="box" pos="0.05 0 0.0199"><freejoint/>
      <geom name="box" type="box" size="0.012 0.012 0.02" mass="0.05" rgba="0.85 0.75 0.35 1"/>
    </body>
  </worldbody>
  <equality><joint joint1="left" joint2="right" polycoef="0 1 0 0 0"/></equality>
  <actuator>
    <position name="left" class="finger" joint="left"/>
    <position name="right" class="finger" joint="right"/>
  </actuator>
  <keyframe>
    <key name="start" qpos="0 0 -0.06 0 0.016 0.016 0.05 0 0.0199 1 0 0 0" ctrl="0.004 0.004"/>
  </keyframe>
</mujoco>"""
SECONDS = 3.0
AIDED = {"stiffness": 400.0, "damping": 40.0}  # [N/m, N·s/m] of the hand


def demonstration(session: detent.Session, aside: float) -> detent.Trace:
    """Lift the box by 60 mm, take it *aside* [m], and put it down."""
    x, y, z = session.run(0.001)["device_position"][0]
    path = [
        (0.0, x, y, z),
        (0.5, x, y, z),
        (1.1, x, y, z + 0.06),
        (1.9, x, y + aside, z + 0.06),
        (2.5, x, y + aside, z),
    ]
    return session.run(SECONDS, detent.hands.Guided(**AIDED, path=path))


def main(folder: Path) -> None:
    """Three demonstrations, and what the hand felt in them."""
    world = detent.World.from_string(SCENE, tool="gripper", held="gripper")
    session = detent.Session(world, detent.Contact(8_000, 40))
    traces = [demonstration(session, aside) for aside in (-0.06, 0.0, 0.06)]
    write_lerobot(traces, folder, fps=50, task="lift the box and put it down aside")
    heavy = max(abs(trace["device_wrench"][:, 2]).max() for trace in traces)
    print(f"{len(traces)} demonstrations in {folder}, forces of up to {heavy:.2g} N along z")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demonstrations"))
