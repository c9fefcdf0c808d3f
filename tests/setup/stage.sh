#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# stage.sh NAME COMMAND [ARG ...]: run a part of the gate, and say how long it took.
name=$1
shift
began=$(date +%s)
"$@"
status=$?
echo "stage $name: $(($(date +%s) - began)) s"
exit $status
