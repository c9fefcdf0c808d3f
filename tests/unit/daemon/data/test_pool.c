/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pool of blocks: its budget, which memory is used again, two threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/data/block.h"

static void test_pool_budget(void **state)
{
	struct block_pool *p = block_pool_create(2 << 20);
	struct block *b[64], *big;
	unsigned n = 0;

	while (n < 64 && (b[n] = block_get(p, 60000))) {
		memset(b[n]->payload, 1, 60000);
		n++;
	}
	assert_true(n == 31);
	assert_true(block_pool_in_use(p) <= 2 << 20);
	assert_null(block_get(p, 60000));
	block_put(b[0]);
	b[0] = block_get(p, 50000); /* the same memory again */
	assert_non_null(b[0]);
	assert_null(block_get(p, 60000));
	for (unsigned i = 0; i < n; i++) {
		block_put(b[i]);
	}
	assert_int_equal(block_pool_in_use(p), 0);
	big = block_get(p, 1500000); /* what is free makes room for another size */
	assert_non_null(big);
	memset(big->payload, 2, 1500000);
	assert_null(block_get(p, 600000));
	block_hold(big);
	block_put(big);
	assert_true(block_pool_in_use(p) > 0);
	block_put(big);
	assert_null(block_get(p, 100u << 20));
	block_pool_destroy(p);
	block_pool_destroy(NULL);
}

/* A payload beyond the largest size is refused, however much memory there is. */
static void a_block_has_a_largest_size(void **state)
{
	struct block_pool *p = block_pool_create(256 << 20);
	struct block *b = block_get(p, 25000000);

	assert_non_null(b);
	block_put(b);
	assert_null(block_get(p, 40000000));
	assert_null(block_get(p, SIZE_MAX));
	assert_int_equal(block_pool_in_use(p), 0);
	block_pool_destroy(p);
}

#define HANDED 20000u
static struct block *_Atomic handed[8];

/* What was in use last is used next. */
static void test_pool_warm(void **state)
{
	struct block_pool *p = block_pool_create(16u << 20);
	struct block *b[4];

	for (unsigned i = 0; i < 4; i++) {
		b[i] = block_get(p, 100000);
	}
	for (unsigned i = 0; i < 4; i++) {
		block_put(b[i]);
	}
	assert_ptr_equal(block_get(p, 100000), b[3]);
	assert_ptr_equal(block_get(p, 100000), b[2]);
	block_put(b[3]);
	assert_ptr_equal(block_get(p, 100000), b[3]);
	block_put(b[2]);
	block_put(b[3]);
	block_pool_destroy(p);
}

static void *put_thread(void *arg)
{
	unsigned done = 0;

	while (done < HANDED) {
		for (unsigned i = 0; i < 8; i++) {
			struct block *b = atomic_exchange(&handed[i], NULL);

			if (b) {
				assert_int_equal(b->payload[0],
						 b->payload[b->header.payload_bytes - 1]);
				block_put(b);
				done++;
			}
		}
	}
	return NULL;
}

static void test_pool_threads(void **state)
{
	struct block_pool *p = block_pool_create(4 << 20);
	pthread_t thread;
	unsigned sent = 0;

	assert_int_equal(pthread_create(&thread, NULL, put_thread, NULL), 0);
	while (sent < HANDED) {
		for (unsigned i = 0; i < 8 && sent < HANDED; i++) {
			struct block *b;
			uint32_t bytes = 1000u << sent * 5 % 8;

			if (atomic_load(&handed[i]) || !(b = block_get(p, bytes))) {
				continue;
			}
			b->payload[0] = (uint8_t)sent;
			b->payload[bytes - 1] = (uint8_t)sent;
			b->header.payload_bytes = bytes;
			atomic_store(&handed[i], b);
			sent++;
		}
	}
	pthread_join(thread, NULL);
	assert_int_equal(block_pool_in_use(p), 0);
	block_pool_destroy(p);
}

static void outcomes_have_names(void **state)
{
	assert_string_equal(outcome_name(OUTCOME_ACKED), "acknowledged");
	assert_string_equal(outcome_name(OUTCOME_DROP_POOL), "pool");
	assert_string_equal(outcome_name(OUTCOME_DROP_NO_TIME), "no-time");
	assert_string_equal(outcome_name(OUTCOMES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_budget),    cmocka_unit_test(a_block_has_a_largest_size),
		cmocka_unit_test(test_pool_warm),      cmocka_unit_test(test_pool_threads),
		cmocka_unit_test(outcomes_have_names),
	};

	return cmocka_run_group_tests_name("block pool", tests, NULL, NULL);
}
