/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/claim.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/image/executable.h"
#include "process/target/open.h"

/* File systems set times by a clock that advances with its ticks. A change can be so much
 * later than its time. */
static const uint64_t TICK_NS = UINT64_C(10000000);

struct op_claim op_claim_of(const struct op_executable *e, const struct op_file_key *key,
			    const char *path, uint64_t mapped_ns)
{
	return (struct op_claim){
		.mapped_ns = mapped_ns,
		.other_path = !op_executable_has_path(e, path),
		.numbered = key->generation && e->key.generation == key->generation,
	};
}

/* Is the device in mappings another than the file's own? Then another file may have the
 * same device and inode there (btrfs, layers of overlayfs). */
static bool is_ambiguous(const struct op_executable *e)
{
	return e->stamp.dev != gnu_dev_makedev(e->key.dev_major, e->key.dev_minor);
}

/* Was the known content there both before and after the file was mapped? */
static bool is_in_time(const struct op_executable *e, const struct op_claim *claim)
{
	return claim->mapped_ns >= e->same_since_ns &&
	       claim->mapped_ns <= e->same_until_ns;
}

bool op_claim_is_doubted(const struct op_executable *e, const struct op_claim *claim)
{
	/* what was compared with it may not be read yet */
	bool known = e->image || e->state == OP_EXECUTABLE_FOREIGN || e->stamp.inode;

	if (!claim || claim->compared || e->vdso || e->memory || !known)
		return false;
	return claim->other_path || is_ambiguous(e) || !is_in_time(e, claim);
}

/* Of a process that has ended: is the file of its path, which is that of @e, the one that
 * was mapped? A generation is little proof: on btrfs it is a transaction, so two
 * subvolumes have files of one inode and one generation if both were made at one time, or
 * one is a snapshot. */
static bool is_proved_by_path(const struct op_executable *e, const struct op_claim *claim)
{
	return !claim->other_path && (!is_ambiguous(e) || claim->numbered) &&
	       is_in_time(e, claim);
}

bool op_claim_is_rewritten(const struct op_executable *e, const struct op_claim *claim,
			   uint64_t time_ns)
{
	return e->written_ns > time_ns ||
	       (e->written_ns > claim->mapped_ns && time_ns - e->written_ns < TICK_NS);
}

/* The content had its stamp until x->now_ns. */
static void note_same(const struct op_executables *x, struct op_executable *e)
{
	int64_t changed_ns = e->stamp.ctime_ns - x->realtime_offset_ns;
	int64_t written_ns;

	/* a program that serves a file can report any time */
	e->same_since_ns = e->stamp.served  ? UINT64_MAX
			   : changed_ns < 0 ? 0
					    : (uint64_t)changed_ns + TICK_NS;
	e->same_until_ns = OP_MAX(e->same_until_ns, x->now_ns - 1);
	/* ctime also changes when a name is removed; mtime may be copied from another
	 * file */
	written_ns = OP_MIN(e->stamp.ctime_ns, e->stamp.mtime_ns) - x->realtime_offset_ns;
	e->written_ns = e->stamp.served || written_ns < 0 ? 0 : (uint64_t)written_ns;
}

/*
 * The mapping of @place now has a file with the stamp of @e. Returns false if that file's
 * attributes changed after it was mapped, and a waiting event may have mapped another
 * file of that number there.
 */
static bool note_mapped(const struct op_executables *x, struct op_executable *e,
			const struct op_executable_place *place)
{
	const struct op_claim *claim = place->claim;

	if (!claim)
		return true;
	if (!e->stamp.served && !claim->compared && claim->mapped_ns < e->same_since_ns &&
	    x->map_waits &&
	    x->map_waits(x->events_ctx, place->start, place->end, e->key.inode))
		return false;
	e->same_until_ns = OP_MAX(e->same_until_ns, claim->mapped_ns);
	return true;
}

/* Stat the file by its handle, if it was mapped after the handle was known: until now no
 * other file has its number. Nor in the tick of its last change: it may have had other content. */
static int look_by_handle(const struct op_executables *x, struct op_executable *e,
			  const struct op_executable_place *place, struct op_opened *ret)
{
	int r;

	if (!e->handle.bytes || !place->claim ||
	    place->claim->mapped_ns < OP_MAX(e->handle_ns, e->same_since_ns))
		return -ENOENT;
	r = op_target_stat_handle(x->target, &e->handle, ret);
	if (r < 0)
		e->handle.bytes = 0;
	return r;
}

/* Stat what is mapped there now. If the mapping is gone or cannot be read, stat its path,
 * if that leads to a file of the same number. */
static int look(struct op_executables *x, struct op_executable *e,
		const struct op_executable_place *place, struct op_opened *ret)
{
	const struct op_mapped_file file = op_executable_mapped(e, place);
	int r = look_by_handle(x, e, place, ret);

	if (r == 0)
		return 0;
	r = place->gone ? -ESRCH
			: op_target_stat_mapped(x->target, place->pid, &file, ret);
	if (r != -EPERM && r != -EACCES && r != -ENOENT && r != -ESRCH)
		return r;
	r = op_executable_open_mapped(x->target, e, place, ret);
	if (r < 0)
		return r;
	op_closep(&ret->fd);
	ret->mount = e->stamp.mount;
	return 0;
}

/* Returns 0, 1 if another file is mapped (*@ret), or -errno. */
static int compare(struct op_executables *x, struct op_executable *e,
		   const struct op_executable_place *place, struct op_file_stamp *ret)
{
	struct op_opened opened;
	int r;

	r = look(x, e, place, &opened);
	if (r < 0)
		return r;
	if ((uint32_t)opened.inode != (uint32_t)e->key.inode)
		return -ESTALE; /* another mapping is there now */
	*ret = op_file_stamp_of(&opened);
	ret->served = e->stamp.served;
	if (!op_file_stamp_same(&e->stamp, ret))
		return opened.mapped ? 1 : -ESTALE;
	note_same(x, e);
	if (opened.mapped && !note_mapped(x, e, place))
		return -ESTALE;
	if (opened.mapped || !op_claim_is_doubted(e, place->claim) ||
	    is_proved_by_path(e, place->claim))
		return 0;
	return -ESTALE;
}

int op_claim_check(struct op_executables *x, struct op_executable *e,
		   const struct op_executable_place *place)
{
	struct op_file_stamp stamp;
	int r = compare(x, e, place, &stamp);

	return r > 0 ? -ESTALE : r;
}

int op_claim_settle(struct op_executables *x, struct op_executable **e,
		    const struct op_executable_place *place, struct op_claim *claim)
{
	struct op_executable *other;
	struct op_file_stamp stamp;
	int r = compare(x, *e, place, &stamp);

	if (r < 0)
		return r;
	if (r > 0) {
		r = op_executable_get_other(x, *e, &stamp, &other);
		if (r < 0)
			return r;
		op_executable_put(x, *e);
		*e = other;
		r = 1;
	}
	claim->compared = true;
	return r;
}

int op_claim_take(struct op_executables *x, struct op_executable *e,
		  const struct op_executable_place *place, const struct op_opened *o)
{
	const struct op_claim *claim = place->claim;
	struct op_executable as = *e;

	as.state = OP_EXECUTABLE_FOREIGN; /* not new: its content is known */
	as.stamp = op_file_stamp_of(o);
	as.same_until_ns = 0;
	note_same(x, &as);
	if (o->mapped && !note_mapped(x, &as, place))
		return -ESRCH;
	/* a path may lead to another file, or to later content */
	if (!o->mapped && claim &&
	    (claim->compared
		     ? !op_file_stamp_same(&e->stamp, &as.stamp)
		     : claim->other_path || (is_ambiguous(&as) && !claim->numbered) ||
			       claim->mapped_ns < as.same_since_ns))
		return -ESRCH;
	e->stamp = as.stamp;
	e->same_since_ns = as.same_since_ns;
	e->same_until_ns = as.same_until_ns;
	e->written_ns = as.written_ns;
	e->handle = o->handle;
	e->handle_ns = op_clock_monotonic_ns();
	return 0;
}
