// SPDX-License-Identifier: Apache-2.0
// JavaScript that calls C that calls JavaScript.
'use strict';
const library = require(process.argv[2]);
let sink = 0;

function inner() {
  for (let i = 0; i < 100000; i++)
    sink = (sink * 31 + i) | 0;
}
function outer() {
  library.call_back(inner);
}

outer();
console.log('ready');
const end = Date.now() + Number(process.argv[3]) * 1000;
while (Date.now() < end)
  outer();
