import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

const THREADS = 4;
const LINES = 5000;

/** Threads of one process that write to one log; each line begins with its length. */
const PROGRAM = `
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { openAccessLog } from './access-log.mjs';
const path = process.argv[2];
if (isMainThread) {
  for (let thread = 0; thread < ${THREADS}; thread++) new Worker(process.argv[1], { argv: [path], workerData: thread });
} else {
  const log = { write: (level, message) => { throw new Error(message); } };
  const access = openAccessLog({ path, bufferBytes: workerData % 2 ? 3000 : 0, flushMs: 0, log });
  for (let i = 0; i < ${LINES}; i++) {
    const rest = '-'.repeat((i * 7) % 200);
    access.write([rest.length, workerData, i, rest].join(' '));
    if (i % 50 === 0) await new Promise(setImmediate);
  }
  await access.close();
}
`;

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gw-log-'));
  const source = fileURLToPath(new URL('../../src/log/access-log.ts', import.meta.url));
  const banner = {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  };
  buildSync({
    entryPoints: [source],
    outfile: join(dir, 'access-log.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner,
  });
  writeFileSync(join(dir, 'program.mjs'), PROGRAM);
});
afterAll(() => rmSync(dir, { recursive: true }));

test.each([
  ['a file', () => join(dir, 'access.log')],
  ['standard output', () => '/dev/stdout'],
])('threads that share %s write whole lines, all of them, each thread in its order', (_, pathOf) => {
  const path = pathOf();
  // Through a shell's pipe: Node would give the program a socket as standard output.
  const command = `"${process.execPath}" "${join(dir, 'program.mjs')}" ${path} | cat`;
  const { stdout, stderr, status } = spawnSync('sh', ['-c', command], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  const lines = (path === '/dev/stdout' ? stdout : readFileSync(path, 'utf8')).split('\n');
  expect(lines.pop()).toBe('');
  const next = Array<number>(THREADS).fill(0);
  for (const line of lines) {
    const [length, thread, index, rest = ''] = line.split(' ');
    expect(line).toMatch(/^\d+ \d \d+ -*$/);
    const expected = next[Number(thread)] as number;
    expect([rest.length, index]).toEqual([Number(length), String(expected)]);
    next[Number(thread)] = expected + 1;
  }
  expect(next).toEqual(Array(THREADS).fill(LINES));
});
