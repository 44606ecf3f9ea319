#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2034 # the loop's variable only counts
# First process of the guest, in the initramfs: loads the disk's driver and goes on there.
/bin/busybox mount -t devtmpfs dev /dev
for module in /modules/*; do
	/bin/busybox insmod "$module"
done
for wait in 1 2 3 4 5 6 7 8 9 10; do
	[ -b /dev/vda ] && break
	/bin/busybox sleep 1
done
/bin/busybox mount -t ext4 -o noatime /dev/vda /disk || echo "VM: no disk"
/bin/busybox umount /dev
exec /bin/busybox switch_root /disk /sbin/guest
