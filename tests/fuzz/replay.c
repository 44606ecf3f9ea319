/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files and folders given: its corpus, as a test. */
#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "test.h"

enum {
	INPUT_MAX_BYTES = 16 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	_cleanup_free_ char *bytes = NULL;
	_cleanup_free_ uint8_t *exact = NULL;
	ssize_t len = op_read_file(path, INPUT_MAX_BYTES, &bytes);

	if (len < 0)
		TEST_FAIL("%s: %s", path, strerror((int)-len));
	/* Without the NUL that follows, so that a read past the end is seen. */
	exact = malloc((size_t)len);
	if (len)
		memcpy(exact, bytes, (size_t)len);
	(void)LLVMFuzzerTestOneInput(exact, (size_t)len);
	return 1;
}

static int replay(const char *path)
{
	_cleanup_closedir_ DIR *d = NULL;
	struct dirent *e;
	struct stat st;
	int count = 0;

	if (stat(path, &st))
		TEST_FAIL("%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	d = opendir(path);
	if (!d)
		TEST_FAIL("%s: %s", path, strerror(errno));
	while ((e = readdir(d)) != NULL) {
		char file[4096];

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		count += replay(file);
	}
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;
	int i;

	for (i = 1; i < argc; i++)
		count += replay(argv[i]);
	printf("%d inputs\n", count);
	if (!count)
		TEST_FAIL("no inputs");
	return 0;
}
