/* SPDX-License-Identifier: Apache-2.0 */
/* The chain as a plain C program. */
#include "links.h"

int main(int argc, char **argv)
{
	return truth_main(argc, argv, f24);
}
