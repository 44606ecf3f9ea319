/* SPDX-License-Identifier: Apache-2.0 */
/* Calls its library for ever. */
void plugin_work(void);

int main(void)
{
	for (;;)
		plugin_work();
}
