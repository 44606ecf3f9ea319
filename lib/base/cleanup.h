/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleanup attributes for owning locals. Each such local is tagged, and initialised at
 * its declaration. It leaves its scope only through OP_TAKE_PTR() or OP_TAKE_FD()
 * (docs/memory.md).
 */
#ifndef OP_BASE_CLEANUP_H
#define OP_BASE_CLEANUP_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Transfer the pointer. The local becomes NULL. */
#define OP_TAKE_PTR(ptr)                                                                 \
	({                                                                               \
		__typeof__(ptr) *_pp = &(ptr);                                           \
		__typeof__(ptr) _p = *_pp;                                               \
		*_pp = NULL;                                                             \
		_p;                                                                      \
	})

/* Transfer the descriptor. The local becomes -1. */
#define OP_TAKE_FD(fd)                                                                   \
	({                                                                               \
		int *_fdp = &(fd);                                                       \
		int _fd = *_fdp;                                                         \
		*_fdp = -1;                                                              \
		_fd;                                                                     \
	})

/* Define op_x_freep() for a free function that takes NULL. */
#define OP_DEFINE_CLEANUP(type, fn)                                                      \
	static inline void fn##p(type *p)                                                \
	{                                                                                \
		if (*p)                                                                  \
			fn(*p);                                                          \
		*p = NULL;                                                               \
	}

static inline void op_freep(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}

/* The same for a secret string: it is wiped before its memory is freed. */
static inline void op_wipep(void *p)
{
	char *secret = *(void **)p;

	if (secret)
		explicit_bzero(secret, strlen(secret));
	op_freep(p);
}

static inline void op_closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static inline void op_fclosep(FILE **f)
{
	if (*f)
		(void)fclose(*f);
	*f = NULL;
}

static inline void op_closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d);
	*d = NULL;
}

/* Block all signals of this thread. A thread or a child that begins meanwhile handles
 * none, because signals of the process are for its host. Returns the previous mask. */
static inline sigset_t op_signals_block(void)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	return before;
}

static inline void op_signals_restore(sigset_t *before)
{
	(void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

#define _cleanup_signals_  _cleanup_(op_signals_restore)
#define _cleanup_free_	   _cleanup_(op_freep)
#define _cleanup_close_	   _cleanup_(op_closep)
#define _cleanup_fclose_   _cleanup_(op_fclosep)
#define _cleanup_closedir_ _cleanup_(op_closedirp)

#endif
