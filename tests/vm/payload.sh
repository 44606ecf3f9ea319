#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Run in the guest by init.sh: doctor, then a recording of the known-answer program, which
# goes to the host as text between two marks.
mkdir -p /tmp/out
cd /tmp/out || exit 1

otelprof --version
otelprof doctor
echo "VM: doctor $?"

# Uses CPU time for longer than the recording lasts, whatever the emulation costs.
/truth/chain 600 >/tmp/out/chain.log &
pid=$!
sleep 1
otelprof record -F 99 -d 10 -p $pid -o cpu.otlp --format otlp
echo "VM: record $?"
kill $pid
[ -s cpu.otlp ] || { echo "VM: no file"; exit 1; }
echo "VM: begin cpu.otlp"
gzip -c cpu.otlp | base64
echo "VM: end cpu.otlp"
