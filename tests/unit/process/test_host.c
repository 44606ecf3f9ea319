/* SPDX-License-Identifier: Apache-2.0 */
#include "process/host.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "process/membership.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef"

static char root[] = "/tmp/op-host-XXXXXX";

static void make(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "we");
	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void make_root(void)
{
	char command[256];

	(void)memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
	CHECK(mkdtemp(root));
	(void)snprintf(command, sizeof(command), "mkdir -p %s/etc %s/var/lib/dbus", root,
		       root);
	CHECK(system(command) == 0);
}

static void remove_root(void)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK(system(command) == 0);
}

static void test_files(void)
{
	struct op_host h;

	make_root();
	op_host_of_root(root, &h);
	CHECK_STR(h.name, "");
	CHECK_STR(h.id, "");
	make("etc/hostname", "# made by hand\nnode-1 \n");
	make("etc/machine-id", ID "\n");
	op_host_of_root(root, &h);
	CHECK_STR(h.name, "node-1");
	CHECK_STR(h.id, ID);
	/* machine-id(5): before the first boot is done */
	make("etc/machine-id", "uninitialized\n");
	op_host_of_root(root, &h);
	CHECK_STR(h.id, "");
	make("etc/machine-id", "");
	make("var/lib/dbus/machine-id", ID "\n");
	op_host_of_root(root, &h);
	CHECK_STR(h.id, ID);
	make("var/lib/dbus/machine-id", ID "0\n");
	op_host_of_root(root, &h);
	CHECK_STR(h.id, "");
	make("var/lib/dbus/machine-id", "00000000000000000000000000000000\n");
	op_host_of_root(root, &h);
	CHECK_STR(h.id, "");
	make("etc/hostname", "#\n");
	op_host_of_root(root, &h);
	CHECK_STR(h.name, "");
	remove_root();
}

/* Of a /proc that is not the host's nothing is taken. */
static void test_no_host(void)
{
	struct op_host h;

	make_root();
	op_host_read(root, &h);
	CHECK_STR(h.name, "");
	CHECK_STR(h.id, "");
	remove_root();
}

static void test_this_host(void)
{
	struct utsname uts;
	struct op_host h;

	CHECK(uname(&uts) == 0);
	op_host_read("/proc", &h);
	if (op_namespace_inode("/proc", "self", "uts") == 0xEFFFFFFE)
		CHECK_STR(h.name, uts.nodename);
}

TEST_MAIN({ "files", test_files }, { "no_host", test_no_host },
	  { "this_host", test_this_host })
