// SPDX-License-Identifier: Apache-2.0
// Orders that were sent twice are found by a search through all of those that are kept.
'use strict';

function receive(count) {
  const orders = [];
  for (let i = 0; i < count; i++) {
    orders.push({ id: `order-${(i * 7919) % count}`, total: i });
  }
  return orders;
}

function withoutDuplicates(orders) {
  const ids = [];
  const unique = [];
  for (const order of orders) {
    if (!ids.includes(order.id)) { // GUILTY
      ids.push(order.id);
      unique.push(order);
    }
  }
  return unique;
}

function serve() {
  const unique = withoutDuplicates(receive(4000));
  return unique.reduce((sum, order) => sum + order.total, 0);
}

for (;;) serve();
