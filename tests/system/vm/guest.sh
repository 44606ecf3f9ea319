#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2034 # the loop's variable only counts
# First process of the guest on its disk: mounts what the profiler needs, tells what the
# profiler says of this kernel and what its programs cost to load, records each known-answer
# program of /cells, and powers off. Results go to /out; the console tells how far it is.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin PYTHONDONTWRITEBYTECODE=1 OTELPROF_EMULATED=1
ten=
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t bpf bpf /sys/fs/bpf
for folder in proc dev; do
	[ ! -d /trixie ] || mount --bind /$folder /trixie/$folder
done
mkdir -p /out
cd /out || poweroff -f
echo
echo "VM: kernel $(uname -r)"
[ -r /sys/kernel/btf/vmlinux ] && echo "VM: btf yes" || echo "VM: btf no"

# Is part $1 of the run wanted?
wanted() {
	grep -qx "$1" /parts
}

# Run program $2… and record it for $1 seconds; the result is $name.otlp.
record() {
	seconds=$1
	shift
	"$@" >"$name.program" 2>&1 &
	program=$!
	sleep "${delay:-2}"
	# the JVM may take a minute
	for wait in 1 2 3 4 5 6 7 8 9 10 11 12; do
		grep -q ^ready "$name.program" && break
		sleep 10
	done
	otelprof record -v -F 99 -d "$seconds" -p $program -o "$name.otlp" --format otlp \
		>"$name.txt" 2>&1
	echo "exit $?" >>"$name.txt"
	kill -9 $program
	wait $program 2>/dev/null
	cat "/proc/uptime" >>"$name.txt"
	sync
	echo "VM: cell $name $(tail -n 2 "$name.txt" | head -n 1)"
}

/truth/bits >bits.txt
otelprof doctor >doctor.txt 2>&1
echo "VM: doctor $?"
cat /sys/devices/system/clocksource/clocksource0/current_clocksource >clock.txt
if wanted loads; then
	# both write the same file
	OTELPROF_LOADS=/out/loads.txt LD_PRELOAD=/truth/loads.so /truth/test_walkers costs \
		>>loads.txt 2>&1
	echo "exit $?" >>loads.txt
	echo "VM: loads $(tail -n 1 loads.txt)"
fi
if wanted ten; then
	for form in loop each whole; do
		/truth/test_ten $form >>ten.txt 2>&1
		status=$?
		[ $status -eq 77 ] || [ $status -eq 0 ] || ten=failed
	done
	[ -n "$ten" ] || echo "exit 0" >>ten.txt
	echo "VM: ten $(tail -n 1 ten.txt)"
fi

# waits of known length, by every form of the programs; long ones, for an emulated machine
for test in "off_cpu sleeps" "off_cpu forms" "locks long" "kernel_locks long" "block_io bytes" \
		"block_io starts" "block_io_ends lost" "block_io_queue shares" \
		"block_io_flush after" "block_io_flush before_and_after" "wakers shares" \
		"wakers forms" "waker_reasons reasons" "waker_reasons races" \
		"signals signals" "wall shares" "threads threads" "probes counts" \
		"values arguments" "values kernel" "values software" "page_faults counts" \
		"growth bytes" "fault_ticks cpu_and_faults" "heap three_places" "kinds all"; do
	kind=${test% *}
	wanted "$kind" || continue
	/truth/test_"$kind" "${test#* }" >>"$kind.txt" 2>&1
	status=$?
	[ $status -eq 77 ] || [ $status -eq 0 ] || echo "failed $status" >>"$kind.txt"
done
for kind in off_cpu locks kernel_locks wakers waker_reasons block_io block_io_ends \
		block_io_queue block_io_flush signals wall threads probes values page_faults \
		growth fault_ticks heap kinds; do
	wanted "$kind" || continue
	grep -q ^failed "$kind.txt" || echo "exit 0" >>"$kind.txt"
	echo "VM: $kind $(tail -n 1 "$kind.txt")"
done

# a line a cell: NAME DELAY SECONDS COMMAND…
while read -r name delay seconds command; do
	# shellcheck disable=SC2086
	record "$seconds" $command
done </cells
echo "VM: end"
sync
poweroff -f
