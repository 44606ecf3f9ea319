/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container of a process, by its cgroup paths. Known shapes, with the deepest one of a
 * path taken, since containers nest (ID: 64 hex digits):
 *
 *   /docker/ID                                    docker, cgroupfs driver
 *   /system.slice/docker-ID.scope                 docker, systemd driver
 *   /kubepods/burstable/podUID/ID                 Kubernetes, cgroupfs driver
 *   /kubepods.slice/…/cri-containerd-ID.scope     containerd, systemd driver
 *   /system.slice/…slice:cri-containerd:ID        containerd given a systemd path by mistake
 *   /kubepods.slice/…/crio-ID.scope               CRI-O
 *   /machine.slice/libpod-ID.scope[/container]    podman
 *   /default/ID, nerdctl-ID.scope                 nerdctl
 *   /ecs/TASK/ID                                  ECS on EC2
 *   /ecs/TASK/HEX32-DIGITS                        ECS on Fargate; this is the id
 *
 * The monitors crio-conmon-ID and libpod-conmon-ID stand beside the container, not in it.
 */
#ifndef OP_PROCESS_CONTAINER_H
#define OP_PROCESS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

enum {
	OP_CONTAINER_ID_MAX = 65
}; /* with the NUL */

/* The id in one cgroup path. Returns true and fills @ret, or false. */
bool op_container_of_path(const char *path, size_t len, char ret[OP_CONTAINER_ID_MAX]);

/*
 * The id in the text of a /proc/PID/cgroup: of the unified hierarchy, else of any other.
 * *@ret_unified says which, where an id was found. Returns true or false.
 */
bool op_container_of_text(const char *text, size_t len, char ret[OP_CONTAINER_ID_MAX],
			  bool *ret_unified);

#endif
