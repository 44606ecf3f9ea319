/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads perf maps. A line is "START SIZE name" with hexadecimal numbers. Of a line 16
 * bytes are kept, and its name is read from the file on demand. A later line wins over
 * an earlier one, because JIT compilers reuse memory.
 */
#include "code/symbol/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"

enum {
	PIECE_BYTES = 64 << 10,
	/* 4 MiB of memory; beyond that the older half is counted and dropped. */
	ENTRIES_MAX = 1 << 18,
	DIGIT_BITS = 11, /* for the search for the middle */
	DIGITS = 1 << DIGIT_BITS,
	/* The most that one look reads, however fast the process writes: a few ms of
	 * work. The next look reads on. */
	READ_BYTES_MAX = 2 << 20,
	NAME_BYTES_MAX = 1024,
	/* Entries before an address that are searched for one that covers it. */
	NESTING_MAX = 64,
};

#define FILE_BYTES_MAX (UINT64_C(1) << 30)

/* Time between two checks whether another file has replaced this one. */
static const uint64_t OPEN_NS = UINT64_C(1000000000);
/* A last line without a newline counts as complete after this time. */
static const uint64_t REST_NS = UINT64_C(500000000);
/* If reading new lines took longer than this, a pause of four times its duration
 * follows. */
static const uint64_t QUICK_NS = UINT64_C(100000);

struct entry {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* offset of the name in the file */
};

struct op_perfmap {
	op_perfmap_open_fn open_file;
	void *ctx;
	int fd;
	uint64_t look_ns;   /* the next look for new lines is not before this time */
	uint64_t opened_ns; /* when another file was last looked for */
	uint64_t read;	    /* bytes of the file that were parsed */
	OP_VEC(struct entry) entries;
	/* this many entries, from the first on, are sorted by address */
	size_t sorted;
	uint64_t refused; /* lines dropped */
	bool behind;	  /* there is more to read: a later line may name the same code */
	uint64_t rest;	  /* where a last line without a newline ended, and since when */
	uint64_t rest_ns;
	uint64_t begun; /* grows with each file that is read from its start */
	char name[NAME_BYTES_MAX];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *parse_hex(const char *p, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *start;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (start = p; p < end; p++) {
		int digit = op_hex_digit(*p);

		if (digit < 0)
			break;
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)digit;
	}
	if (p == start || p == end || !is_blank(*p))
		return NULL;
	while (p < end && is_blank(*p))
		p++;
	*ret = value;
	return p;
}

/* The file offset of the name in the middle of the file, found digit by digit from the
 * highest. */
static uint32_t middle(const struct op_perfmap *map)
{
	size_t before = map->entries.len / 2;
	uint32_t found = 0;
	int shift;

	for (shift = 2 * DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
		uint32_t counts[DIGITS] = { 0 };
		uint64_t above = UINT64_C(1) << (shift + DIGIT_BITS);
		uint32_t digit = 0;
		size_t i;

		for (i = 0; i < map->entries.len; i++) {
			uint32_t name = map->entries.data[i].name;

			if (name / above == found / above)
				counts[name >> shift & (DIGITS - 1)]++;
		}
		while (digit + 1 < DIGITS && counts[digit] <= before)
			before -= counts[digit++];
		found |= digit << shift;
	}
	return found;
}

/* Drop the older half of the entries: its code is the most likely to be gone. */
static void drop_older_half(struct op_perfmap *map)
{
	uint32_t from = middle(map);
	struct entry *e = map->entries.data;
	size_t sorted = 0;
	size_t len = 0;
	size_t i;

	for (i = 0; i < map->entries.len; i++) {
		if (e[i].name < from)
			continue;
		sorted += i < map->sorted;
		e[len++] = e[i];
	}
	map->refused += map->entries.len - len;
	map->entries.len = len;
	map->sorted = sorted;
}

/* Parse the line [@p, @end) at offset @off of the file. */
static int take_line(struct op_perfmap *map, const char *p, const char *end, uint64_t off)
{
	const char *line = p;
	struct entry *e;
	uint64_t start;
	uint64_t size;

	p = parse_hex(p, end, &start);
	p = p ? parse_hex(p, end, &size) : NULL;
	if (!p || p == end || !size || size > UINT32_MAX || start > UINT64_MAX - size)
		return 0;
	if (map->entries.len >= ENTRIES_MAX)
		drop_older_half(map);
	e = op_vec_push(&map->entries);
	if (!e)
		return -ENOMEM;
	*e = (struct entry){ start, (uint32_t)size,
			     (uint32_t)(off + (uint64_t)(p - line)) };
	return 0;
}

/* Parse the complete lines of a piece that begins at map->read. Returns the bytes used,
 * or -ENOMEM. */
static ssize_t take_piece(struct op_perfmap *map, const char *piece, size_t len)
{
	const char *start = piece;
	const char *newline;

	while ((newline = memchr(start, '\n', len - (size_t)(start - piece)))) {
		int r = take_line(map, start, newline,
				  map->read + (uint64_t)(start - piece));

		if (r)
			return r;
		start = newline + 1;
	}
	/* A line that fills a whole piece is not a line of a perf map. */
	if (start == piece && len == PIECE_BYTES)
		return (ssize_t)len;
	return start - piece;
}

/* A last line without a newline may not be complete yet. After a while it counts as
 * complete. */
static int take_rest(struct op_perfmap *map, const char *rest, size_t len)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	size_t before = map->entries.len;
	int r;

	if (map->rest != map->read + len) {
		map->rest = map->read + len;
		map->rest_ns = now_ns;
	}
	if (now_ns < map->rest_ns + REST_NS)
		return 0;
	r = take_line(map, rest, rest + len, map->read);
	if (r == 0 && map->entries.len > before)
		map->read += len;
	return r;
}

static int read_more(struct op_perfmap *map, uint64_t size)
{
	_cleanup_free_ char *piece = NULL;

	piece = malloc(PIECE_BYTES);
	if (!piece)
		return -ENOMEM;
	size = OP_MIN(OP_MIN(size, FILE_BYTES_MAX), map->read + READ_BYTES_MAX);
	while (map->read < size) {
		ssize_t n = op_pread_full(map->fd, piece, PIECE_BYTES, map->read);
		ssize_t len;

		len = n;
		if (n > 0)
			n = take_piece(map, piece, (size_t)n);
		if (n == 0 && len > 0)
			return take_rest(map, piece, (size_t)len);
		if (n <= 0)
			return (int)n;
		map->read += (uint64_t)n;
	}
	return 0;
}

static void forget(struct op_perfmap *map)
{
	op_vec_clear(&map->entries);
	map->begun += FILE_BYTES_MAX;
	map->read = 0;
	map->sorted = 0;
}

/* Order by address, then by the order in the file. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Merge the sorted tail @tail of @len entries into the @sorted entries before it, from
 * the end. */
static void merge(struct entry *e, size_t sorted, const struct entry *tail, size_t len)
{
	size_t to = sorted + len;

	while (len) {
		if (sorted && compare_entries(&e[sorted - 1], &tail[len - 1]) > 0)
			e[--to] = e[--sorted];
		else
			e[--to] = tail[--len];
	}
}

/* Sort the new entries into the others. Of several at one address only the last one is
 * kept. */
static int sort(struct op_perfmap *map)
{
	_cleanup_free_ struct entry *tail = NULL;
	struct entry *e = map->entries.data;
	size_t more = map->entries.len - map->sorted;
	size_t len = 0;
	size_t i;

	if (!more)
		return 0;
	tail = malloc(more * sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	memcpy(tail, e + map->sorted, more * sizeof(*tail));
	qsort(tail, more, sizeof(*tail), compare_entries);
	merge(e, map->sorted, tail, more);
	for (i = 0; i < map->entries.len; i++) {
		if (len && e[len - 1].start == e[i].start)
			len--;
		e[len++] = e[i];
	}
	map->entries.len = map->sorted = len;
	return 0;
}

/* Check whether another file has replaced this one. */
static void reopen(struct op_perfmap *map, uint64_t now_ns)
{
	struct stat old;
	struct stat st;
	int fd;

	if (now_ns < map->opened_ns + OPEN_NS)
		return;
	map->opened_ns = now_ns;
	fd = map->open_file(map->ctx);
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || fstat(map->fd, &old) < 0 ||
	    (st.st_ino == old.st_ino && st.st_dev == old.st_dev)) {
		(void)close(fd);
		return;
	}
	(void)close(map->fd);
	map->fd = fd;
	forget(map);
}

/* Read what was appended. A file that was rewritten is read again from its start. */
static int look(struct op_perfmap *map)
{
	struct stat st;
	int r;
	int e;

	if (fstat(map->fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < map->read)
		forget(map);
	if ((uint64_t)st.st_size == map->read)
		return 0;
	r = read_more(map, (uint64_t)st.st_size);
	map->behind =
		OP_MIN((uint64_t)st.st_size, FILE_BYTES_MAX) > map->read + PIECE_BYTES;
	e = sort(map);
	if (e < 0)
		map->entries.len = map->sorted;
	return r < 0 ? r : e;
}

static int refresh(struct op_perfmap *map)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t took;
	int r;

	if (now_ns < map->look_ns)
		return 0;
	reopen(map, now_ns);
	r = look(map);
	took = op_clock_monotonic_ns() - now_ns;
	if (took > QUICK_NS)
		map->look_ns = now_ns + 5 * took;
	return r;
}

int op_perfmap_new(op_perfmap_open_fn open_file, void *ctx, struct op_perfmap **ret)
{
	_cleanup_(op_perfmap_freep) struct op_perfmap *map = NULL;
	int r;

	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	map->open_file = open_file;
	map->ctx = ctx;
	map->opened_ns = op_clock_monotonic_ns();
	map->fd = open_file(ctx);
	if (map->fd < 0)
		return map->fd;
	r = refresh(map);
	if (r)
		return r;
	*ret = OP_TAKE_PTR(map);
	return 0;
}

struct op_perfmap *op_perfmap_free(struct op_perfmap *map)
{
	if (!map)
		return NULL;
	if (map->fd >= 0)
		(void)close(map->fd);
	op_vec_clear(&map->entries);
	free(map);
	return NULL;
}

size_t op_perfmap_bytes(const struct op_perfmap *map)
{
	return sizeof(*map) + map->entries.cap * sizeof(*map->entries.data);
}

uint64_t op_perfmap_number(struct op_perfmap *map)
{
	(void)refresh(map);
	return map->read + map->begun;
}

uint64_t op_perfmap_refused(const struct op_perfmap *map)
{
	return map->refused;
}

/* Of the entries that cover @addr, the one written last. */
static const struct entry *lookup(const struct op_perfmap *map, uint64_t addr)
{
	const struct entry *e = map->entries.data;
	const struct entry *found = NULL;
	size_t above = op_first_where(k, map->entries.len, e[k].start > addr);
	size_t i;

	for (i = above; i > 0 && above - i < NESTING_MAX; i--) {
		if (addr - e[i - 1].start < e[i - 1].size &&
		    (!found || e[i - 1].name > found->name))
			found = &e[i - 1];
	}
	return found;
}

const char *op_perfmap_find(struct op_perfmap *map, uint64_t addr)
{
	const struct entry *e;
	char *newline;
	ssize_t n;

	/* Without memory for the new lines, the old ones stay valid. */
	(void)refresh(map);
	e = map->behind ? NULL : lookup(map, addr);
	if (!e)
		return NULL;
	n = op_pread_full(map->fd, map->name, sizeof(map->name) - 1, e->name);
	if (n <= 0)
		return NULL;
	map->name[n] = 0;
	newline = strchr(map->name, '\n');
	if (newline)
		*newline = 0;
	return map->name[0] ? map->name : NULL;
}
