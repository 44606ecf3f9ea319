// SPDX-License-Identifier: Apache-2.0
// outer calls middle calls leaf, all the time; each is too large to be inlined into the other.
function leaf(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (x * 31 + i) | 0;
  return x;
}
function middle(n) {
  let s = 0;
  for (let i = 0; i < 50; i++) s = (s + leaf(n)) | 0;
  return s;
}
function outer(end) {
  let s = 0;
  while (Date.now() < end) s = (s + middle(2000)) | 0;
  return s;
}
outer(Date.now() + 1000 * Number(process.argv[2]));
