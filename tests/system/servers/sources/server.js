// SPDX-License-Identifier: Apache-2.0
// A small Express server. On SIGUSR2 V8's own profiler runs for the seconds of argv[3] and its
// profile is written to argv[2].
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const inspector = require('inspector');
const express = require('express');

const items = Array.from({ length: 300 }, (_, n) => ({
  id: n, name: `item ${n} of ${n * 7919 % 1000}`, tags: [`a${n % 7}`, 'b'], price: n * 3.25 }));
const app = express();

app.use((request, response, next) => { request.words = (request.query.q || 'item').split(' '); next(); });
for (let i = 0; i < 12; i++)
  app.use((request, response, next) => { request['mark' + i] = i; next(); });
app.use('/none', (request, response, next) => next());

function score(item) {
  const found = /(\w+) (\d+) of (\d+)/.exec(item.name);
  return (Number(found[2]) + Number(found[3])) % 97;
}
function search(limit) {
  return items.map((item) => ({ ...item, score: score(item) }))
    .sort((a, b) => a.score - b.score).slice(0, limit);
}
function escape(text) {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}
function page(list) {
  return `<ul>${list.map((item) => `<li>${escape(item.name)}: ${item.price.toFixed(2)}</li>`).join('\n')}</ul>`;
}
app.get('/', (request, response) => response.send(page(search(40))));
app.get('/small', (request, response) => response.send('ok'));
app.get('/api', (request, response) => response.json({
  items: search(60), sum: crypto.createHash('sha1').update(request.words.join()).digest('hex') }));

process.on('SIGUSR2', () => {
  const session = new inspector.Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 500 });
  session.post('Profiler.start', () => setTimeout(() => session.post('Profiler.stop', (error, got) => {
    fs.writeFileSync(process.argv[2] + '.part', JSON.stringify(got.profile));
    fs.renameSync(process.argv[2] + '.part', process.argv[2]);
  }), process.argv[3] * 1000));
});
app.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
