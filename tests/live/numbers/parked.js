// SPDX-License-Identifier: Apache-2.0
/* The pools of Node.js have hardly any work for so many seconds, and no thread waits for a lock. */
const fs = require('fs');
const end = Date.now() + 1000 * process.argv[2];
(function again() {
	fs.stat('/', () => Date.now() < end ? setTimeout(again, 50) : console.log(0));
})();
