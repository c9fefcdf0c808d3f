# SPDX-License-Identifier: GPL-2.0-or-later
# systemd and udev as on a machine, our units and rules as installed. Drop-ins lengthen times (image_systemd.py).
run 360 step_systemd
hand_out /tmp/systemd
