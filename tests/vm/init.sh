#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# First process of the guest: mounts what the profiler needs, runs /payload.sh, powers off.
# Everything the host looks for stands on a line of its own that begins with "VM:".
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs tmp /tmp
mount -t bpf bpf /sys/fs/bpf 2>/dev/null
echo
echo "VM: kernel $(uname -r)"
[ -r /sys/kernel/btf/vmlinux ] && echo "VM: btf yes" || echo "VM: btf no"
[ -x /payload.sh ] && /payload.sh
echo "VM: end"
poweroff -f
