/* SPDX-License-Identifier: Apache-2.0 */
/* Opens executable files, and makes their images. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/image/claim.h"
#include "process/image/executable.h"
#include "process/image/file.h"
#include "process/image/vdso.h"
#include "process/target/open.h"
#include "process/target/target.h"

static const uint64_t OPEN_RETRY_NS = UINT64_C(1000000000);
/* The pause after a failure that does not depend on the file. */
static const uint64_t OPEN_BUSY_NS = UINT64_C(20000000);

enum {
	OPEN_RETRY_SHIFT_MAX = 6, /* retries after 1 s, 2 s, ... 64 s */
};

/* Does a file that stayed mapped still have the content of @e? The ctime alone also
 * changes with a rename or an unlink. */
static bool is_unchanged(const struct op_executable *e, const struct op_file_stamp *now)
{
	return e->stamp.dev == now->dev && e->stamp.inode == now->inode &&
	       e->stamp.uid == now->uid && e->stamp.size == now->size &&
	       e->stamp.mtime_ns == now->mtime_ns;
}

bool op_executable_is_read(const struct op_executable *e, const struct op_elf *elf,
			   bool served)
{
	return served || op_elf_mtime_ns(elf) == e->stamp.mtime_ns;
}

/* Does @error mean that the file is no ELF file of this machine? */
static bool is_foreign(int error)
{
	return error == -ENOEXEC || error == -ENOTSUP || error == -EBADMSG;
}

/* Is the cause of @error the library or the process, and not the file? */
static bool is_of_others(int error)
{
	return error == -EAGAIN || error == -ETIMEDOUT || error == -ENOMEM ||
	       error == -ESRCH;
}

static void note_failure(struct op_executables *x, struct op_executable *e, int error)
{
	bool foreign = is_foreign(error);

	if (is_of_others(error)) {
		/* a process that stalled is skipped anyway */
		if (error != -ETIMEDOUT)
			e->retry_ns = x->now_ns + OPEN_BUSY_NS;
		return;
	}
	/* an image that may be published stays, even if the file has changed since */
	if (foreign && !e->image) {
		op_executable_forget_image(x, e);
		e->state = OP_EXECUTABLE_FOREIGN;
		/* The process makes code in a memfd, and writes there again and again. */
		e->memory = error == -ENOEXEC && op_executable_is_in_memory(x, e);
		return;
	}
	if (!e->failures)
		op_log(x->images.log, OP_LOG_DEBUG, "Cannot open %s: %s", e->path,
		       strerror(-error));
	e->retry_ns =
		x->now_ns + (OPEN_RETRY_NS << OP_MIN(e->failures, OPEN_RETRY_SHIFT_MAX));
	e->failures++;
}

/* Make the image of the file. Takes @elf on success. */
static int take_content(struct op_executables *x, struct op_executable *e,
			struct op_elf *elf, const struct op_file_stamp *stamp)
{
	struct op_image *image;
	int r = op_image_new(&x->images, elf, e->path, stamp, &image);

	if (r < 0)
		return r;
	op_executable_forget_image(x, e);
	e->image = image;
	return 0;
}

/* The file is no ELF file, but a runtime may know its format. */
static void take_other(struct op_executables *x, struct op_executable *e, int fd,
		       const struct op_file_stamp *stamp)
{
	struct op_image *image;

	if (op_image_new_other(&x->images, fd, e->path, stamp, &image) <= 0)
		return;
	op_executable_forget_image(x, e);
	e->image = image;
	e->state = OP_EXECUTABLE_FOREIGN;
}

/* Replace *@fd by an ELF file that a runtime makes from it. */
static int make_elf(const struct op_executables *x, int *fd)
{
	int made;
	int r = op_runtime_as_elf(*fd, x->images.runtimes_off, &made);

	if (r < 0)
		return r;
	op_closep(fd);
	*fd = made;
	return 0;
}

/* Use the opened file @taken_fd, which is taken even on failure. */
static int take_file(struct op_executables *x, struct op_executable *e, int taken_fd,
		     const struct op_file_stamp *stamp)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	_cleanup_close_ int fd = taken_fd;
	bool made = e->image && e->image->made;
	int r;

	if (e->image && !is_unchanged(e, stamp))
		return -ESTALE; /* the file was written while it was mapped */
	if (e->image) {
		if (!op_image_may_read(e->image, stamp))
			return -ESTALE;
		r = made ? make_elf(x, &fd) : 0;
		if (r < 0)
			return r;
		op_image_take_fd(&x->images, e->image, OP_TAKE_FD(fd), stamp->served);
		if (made || op_executable_is_read(e, e->image->elf, stamp->served))
			return 0;
		op_image_close_file(&x->images, e->image);
		return -ESTALE;
	}
	r = op_elf_open(fd, &elf);
	if (is_foreign(r) && make_elf(x, &fd) == 0) {
		made = true;
		r = op_elf_open(fd, &elf);
	}
	if (is_foreign(r))
		take_other(x, e, fd, stamp);
	if (r < 0)
		return r;
	fd = -1;
	if (!made && !op_executable_is_read(e, elf, stamp->served))
		return -ESTALE;
	r = take_content(x, e, elf, stamp);
	if (r == 0)
		e->image->made = made;
	if (r == 0)
		elf = NULL;
	return r;
}

static int open_vdso(struct op_executables *x, struct op_executable *e)
{
	static const struct op_file_stamp no_file;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	int r = op_vdso_open(&elf);

	if (r == 0)
		r = take_content(x, e, elf, &no_file);
	if (r == 0)
		elf = NULL;
	return r;
}

/* Report each content once to the host program. */
static void tell(struct op_executables *x, const struct op_executable *e, uint32_t pid)
{
	if (!x->events.executable || e->image->reported)
		return;
	e->image->reported = true;
	x->events.executable(x->events.ctx, e, pid);
}

static int open_anew(struct op_executables *x, struct op_executable *e,
		     const struct op_executable_place *place)
{
	struct op_file_stamp stamp;
	struct op_opened opened;
	int r;

	if (e->vdso)
		return open_vdso(x, e);
	r = op_executable_open_mapped(x->target, e, place, &opened);
	if (r < 0)
		return r;
	stamp = op_file_stamp_of(&opened);
	if (!e->image) {
		r = op_claim_take(x, e, place, &opened);
		if (r < 0) {
			op_closep(&opened.fd);
			return r;
		}
	}
	r = take_file(x, e, opened.fd, &stamp);
	if (r < 0)
		return r;
	if (!e->image->opener)
		e->image->opener = e;
	tell(x, e, place->pid);
	return 0;
}

int op_executable_open(struct op_executables *x, struct op_executable *e,
		       const struct op_executable_place *place, bool need_file)
{
	int r;

	if (op_claim_is_doubted(e, place->claim)) {
		r = op_claim_check(x, e, place);
		if (r < 0)
			return r;
	}
	if (e->state == OP_EXECUTABLE_FOREIGN)
		return -ENOEXEC;
	if (e->image && (!need_file || op_image_has_file(e->image)))
		return 0;
	if (x->now_ns < e->retry_ns)
		return -EAGAIN;
	r = open_anew(x, e, place);
	/* the image stays: later the file may be opened through another process */
	if ((r == -ENOENT || r == -ESRCH) && e->image)
		return r;
	if (r < 0) {
		if (!place->gone && !(e->image && e->image->other))
			note_failure(x, e, r);
		return r;
	}
	e->state = OP_EXECUTABLE_READY;
	e->failures = 0;
	e->retry_ns = 0;
	return 0;
}
