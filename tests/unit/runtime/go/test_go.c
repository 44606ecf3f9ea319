/* SPDX-License-Identifier: Apache-2.0 */
/* Where the labels of goroutines are, by version. */
#include "runtime/go/go.h"
#include "test.h"

static void test_versions(void)
{
	struct op_context_place place = { 0 };

	CHECK_INT(op_go_labels_by_version(17, &place), 0);
	CHECK_INT(op_go_labels_by_version(28, &place), 0);
	CHECK_INT(op_go_labels_by_version(0, &place), 0);
	CHECK_INT(op_go_labels_by_version(22, &place), 1);
	CHECK(place.go_map && place.go_labels == 344 && place.go_curg == 192);
	CHECK_INT(op_go_labels_by_version(27, &place), 1);
	CHECK(!place.go_map && place.go_labels == 352 && place.go_curg == 184);
}

TEST_MAIN({ "versions", test_versions })
