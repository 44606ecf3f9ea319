// SPDX-License-Identifier: Apache-2.0
// The TypeScript compiler checks its own declarations, again and again. On SIGUSR2 V8's profiler
// runs as in server.js; between two rounds, for the compiler never returns to the loop.
'use strict';
const fs = require('fs');
const inspector = require('inspector');
const path = require('path');
const ts = require('typescript');

const input = path.join(__dirname, 'input.ts');
let session = null;
let end = 0;
let asked = false;
process.on('SIGUSR2', () => { asked = true; });

fs.writeFileSync(input, `import * as ts from 'typescript';
${Array.from({ length: 200 }, (_, n) => `
interface Shape${n} { kind: 's${n}'; size: number; inner?: Shape${(n + 1) % 200} }
function make${n}<T extends Shape${n}>(value: T, ...rest: Array<keyof T>): Partial<T> & { n: ${n} } {
  const picked: { [K in keyof T]?: T[K] } = {};
  for (const key of rest) picked[key] = value[key];
  return { ...picked, n: ${n} } as Partial<T> & { n: ${n} };
}
export const made${n} = make${n}({ kind: 's${n}', size: ${n} }, 'kind').n + ts.SyntaxKind.Unknown;`).join('\n')}
`);

function round() {
  const program = ts.createProgram([input], {
    strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    module: ts.ModuleKind.CommonJS, types: [] });
  const errors = ts.getPreEmitDiagnostics(program);
  if (errors.length) console.error(ts.formatDiagnostics(errors.slice(0, 3), ts.createCompilerHost({})));
}
function turn() {
  round();
  if (asked && !session) {
    session = new inspector.Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: 500 });
    session.post('Profiler.start');
    console.log('started');
    end = Date.now() + process.argv[3] * 1000;
  }
  if (session && end && Date.now() > end) {
    end = 0;
    session.post('Profiler.stop', (error, got) => {
      fs.writeFileSync(process.argv[2] + '.part', JSON.stringify(got.profile));
      fs.renameSync(process.argv[2] + '.part', process.argv[2]);
    });
  }
  setImmediate(turn);
}
console.log('ready');
turn();
