/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordinary C for compilers' options: a parser of expressions by recursive descent, a sort
 * with a callback, a hash table, a tree, and arrays on the stack. Works for ever.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

struct node {
	struct node *left, *right;
	uint32_t key;
};

static uint32_t seed = 1;

static uint32_t next_number(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static struct node *insert(struct node *tree, uint32_t key)
{
	if (!tree) {
		tree = calloc(1, sizeof(*tree));
		if (!tree)
			abort();
		tree->key = key;
	} else if (key < tree->key) {
		tree->left = insert(tree->left, key);
	} else if (key > tree->key) {
		tree->right = insert(tree->right, key);
	}
	return tree;
}

static uint64_t drop(struct node *tree, int depth)
{
	uint64_t sum;

	if (!tree)
		return 0;
	sum = tree->key + drop(tree->left, depth + 1) + drop(tree->right, depth + 1);
	free(tree);
	return sum * (unsigned int)depth;
}

static uint64_t trees(void)
{
	struct node *tree = NULL;
	int i;

	for (i = 0; i < 3000; i++)
		tree = insert(tree, next_number() % 100000);
	return drop(tree, 1);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t sorts(int n)
{
	uint32_t numbers[n]; /* of variable length: the frame has a frame pointer */
	int i;

	for (i = 0; i < n; i++)
		numbers[i] = next_number();
	qsort(numbers, (size_t)n, sizeof(numbers[0]), by_value);
	return numbers[n / 2];
}

static uint64_t expressions(void)
{
	char text[4096]; /* the frame is a page: its callers are far above */
	size_t at = 0;
	int i;

	for (i = 0; i < 60; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "(%u*(%u+%u)-",
				       next_number() % 100, next_number() % 100,
				       next_number() % 100);
	}
	text[at++] = '7';
	memset(text + at, ')', 60);
	text[at + 60] = 0;
	return (uint64_t)evaluate(text);
}

int main(void)
{
	uint64_t sum = 0;
	int round;

	for (round = 0;; round++) {
		sum += trees() + sorts(500 + round % 100);
		for (int i = 0; i < 40; i++)
			sum += expressions();
		if (argument_of_end(sum)) {
			printf("%llu\n", (unsigned long long)sum);
			return 0;
		}
	}
}
