/* SPDX-License-Identifier: Apache-2.0 */
/* Calls its library without an end. */
void plugin_work(void);

int main(void)
{
	for (;;)
		plugin_work();
}
