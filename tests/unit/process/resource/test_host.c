/* SPDX-License-Identifier: Apache-2.0 */
#include "process/resource/host.h"

#include <sys/utsname.h>

#include "process/resource/membership.h"
#include "tools.h"

#define ID "0123456789abcdef0123456789abcdef"

static void make_root(void)
{
	TOOLS_RUN("rm -rf * && mkdir -p etc var/lib/dbus");
}

static void test_files(void)
{
	struct op_host h;

	make_root();
	op_host_of_root(tools_dir, &h);
	CHECK_STR(h.name, "");
	CHECK_STR(h.id, "");
	tools_write("etc/hostname", "# made by hand\nnode-1 \n");
	tools_write("etc/machine-id", ID "\n");
	op_host_of_root(tools_dir, &h);
	CHECK_STR(h.name, "node-1");
	CHECK_STR(h.id, ID);
	/* machine-id(5): before the first boot is done */
	tools_write("etc/machine-id", "uninitialized\n");
	op_host_of_root(tools_dir, &h);
	CHECK_STR(h.id, "");
	tools_write("etc/machine-id", "");
	tools_write("var/lib/dbus/machine-id", ID "\n");
	op_host_of_root(tools_dir, &h);
	CHECK_STR(h.id, ID);
	tools_write("var/lib/dbus/machine-id", ID "0\n");
	op_host_of_root(tools_dir, &h);
	CHECK_STR(h.id, "");
	tools_write("var/lib/dbus/machine-id", "00000000000000000000000000000000\n");
	op_host_of_root(tools_dir, &h);
	CHECK_STR(h.id, "");
	tools_write("etc/hostname", "#\n");
	op_host_of_root(tools_dir, &h);
	CHECK_STR(h.name, "");
}

/* Of a /proc that is not the host's nothing is taken. */
static void test_no_host(void)
{
	struct op_host h;

	make_root();
	op_host_read(tools_dir, &h);
	CHECK_STR(h.name, "");
	CHECK_STR(h.id, "");
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
