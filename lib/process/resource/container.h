/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container and the pod of a process, by its cgroup paths. Containers nest, so the
 * deepest known shape of a path counts (ID: 64 hex digits):
 *
 *   /docker/ID                                    docker, cgroupfs driver
 *   /system.slice/docker-ID.scope                 docker, systemd driver; ECS on cgroup v2
 *   /kubepods/burstable/podUID/ID                 Kubernetes, cgroupfs driver
 *   /kubepods.slice/…/cri-containerd-ID.scope     containerd, systemd driver
 *   /system.slice/…slice:cri-containerd:ID        containerd given a systemd path by mistake
 *   /kubepods.slice/…/crio-ID[.scope]             CRI-O
 *   /machine.slice/libpod-ID.scope[/container]    podman
 *   /…/UNIT.service/libpod-payload-ID             podman, --cgroups=split
 *   /default/ID, nerdctl-ID.scope                 nerdctl
 *   /ecs/TASK/ID                                  ECS on EC2
 *   /ecs/TASK/HEX32-DIGITS                        ECS on Fargate; this is the id
 *   /…/buildkit/BASE36                            BuildKit's steps: 25 digits and letters
 *   /…/garden/GUID                                Cloud Foundry's garden
 *
 * These have no id, but a name that is unique on the host:
 *
 *   /machine.slice/machine-NAME.scope[/payload]   systemd-nspawn, machined; libvirt's LXC
 *   /machine.slice/systemd-nspawn@NAME.service    systemd-nspawn, by its unit
 *   /lxc.payload.NAME, /lxc.payload/NAME          LXC 4, LXD, Incus; LXC 3
 *   /lxc/NAME                                     LXC 1 to 3, Proxmox
 *
 * Monitors are beside a container, not in it: crio-conmon-ID, libpod-conmon-ID,
 * lxc.monitor.NAME, the supervisor of nspawn. So are virtual machines (machine-qemu…).
 *
 * A pod is a component podUID (cgroupfs driver) or …-podUID.slice with '_' for '-'
 * (systemd driver). A UID is a UUID, or 32 hex digits for a pod of a static manifest.
 */
#ifndef OP_PROCESS_RESOURCE_CONTAINER_H
#define OP_PROCESS_RESOURCE_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

/* Sizes with the NUL. */
enum {
	OP_CONTAINER_ID_MAX = 65,
	OP_CONTAINER_NAME_MAX = 128, /* a longer name is ignored */
	OP_POD_UID_MAX = 37,
};

/* Each member is "" if unknown. */
struct op_container {
	char id[OP_CONTAINER_ID_MAX];
	char name[OP_CONTAINER_NAME_MAX]; /* if there is no id */
	char pod_uid[OP_POD_UID_MAX];
};

/* Examine one cgroup path. Returns true and fills @ret, or false. */
bool op_container_of_path(const char *path, size_t len, struct op_container *ret);

/* Examine the text of /proc/PID/cgroup: the unified hierarchy if it has an id, else any
 * other. *@ret_unified: it was the unified one. Returns whether something was found. */
bool op_container_of_text(const char *text, size_t len, struct op_container *ret,
			  bool *ret_unified);

/* Decode systemd's "\xNN" in a part of a unit's name. Returns the length without the NUL;
 * 0 if it is empty, has a NUL, or needs more than @size bytes. */
size_t op_container_unit_name(const char *name, size_t len, char *ret, size_t size);

/* The path in the unified hierarchy, borrowed from @text, or NULL. */
const char *op_container_unified_path(const char *text, size_t len, size_t *ret_len);

/*
 * May a cgroup namespace hide the container in this text? It may if the path in the
 * unified hierarchy (without one: any path) is "/" itself or begins above it ("/../…").
 */
bool op_container_hidden(const char *text, size_t len);

/*
 * Examine the text of /proc/PID/mountinfo. A container manager mounts files over
 * /etc/hostname, /etc/hosts and /etc/resolv.conf from a folder named by the container's
 * id (Docker, podman), and over /etc/hosts from one named by the pod (Kubernetes). In a
 * pod the id of those folders is the sandbox's, not the container's: the result is a pod
 * without an id. If the files name two containers, the result is none. Returns true and
 * fills @ret, or false.
 */
bool op_container_of_mountinfo(const char *text, size_t len, struct op_container *ret);

#endif
