import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../harness/gateway.ts';
import { directoryWith, gw, runIn } from './command.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Preloaded into all processes and threads: writes each script that is compiled without V8's code of the build. */
const WITNESS = `
const { appendFileSync } = require('node:fs');
const { basename } = require('node:path');
const vm = require('node:vm');
vm.Script = class extends vm.Script {
  constructor(text, options) {
    super(text, options);
    if (options.filename === undefined) return;
    const isTaken = options.cachedData !== undefined && !this.cachedDataRejected;
    const name = basename(options.filename).replace(/-[^-]*$/, '');
    appendFileSync(process.env.GW_T_SCRIPTS, name + (isTaken ? '' : ' is compiled') + '\\n');
  }
};
`;

test('gw -t and gw check take the code that the build has recorded', async (t) => {
  const dir = directoryWith(t, {
    'witness.cjs': WITNESS,
    'gw.conf': 'http { server { listen 8080; location ~ \\.php$ { deny all; } } }',
  });
  for (const args of [
    ['-t', '-c', 'gw.conf', '-p', dir],
    ['check', 'gw.conf'],
  ]) {
    const log = join(dir, `${args[0]}.log`);
    await gw(dir, args, { NODE_OPTIONS: `--require ${join(dir, 'witness.cjs')}`, GW_T_SCRIPTS: log });
    const scripts = readFileSync(log, 'utf8');
    expect(scripts).toMatch(/^main\n[^]*^rules-of-modules$/m);
    expect(scripts).not.toContain('is compiled');
  }
});

test('all processes and threads of a gateway take the code that the build has recorded', async (t) => {
  const dir = directoryWith(t, { 'witness.cjs': WITNESS });
  const log = join(dir, 'scripts.log');
  const env = { NODE_OPTIONS: `--require ${join(dir, 'witness.cjs')}`, GW_T_SCRIPTS: log };
  const gateway = await startGateway(t, 'server { location ~ ^/(a+)+$ { return 200 $1; } }', {
    env,
    main: 'user root;',
    supervised: true,
  });
  await gateway.expect('GET /aaa', { status: 200, body: 'aaa' });
  const scripts = readFileSync(log, 'utf8');
  // The programs of the command, the master and the worker; the supervisor is the command.
  expect(scripts.match(/^main$/gm)).toEqual(['main', 'main', 'main']);
  expect(scripts).not.toContain('is compiled');
});

/** Preloaded into a gateway: each worker writes which of Node's own modules it has compiled from their text. */
const NODE_WITNESS = `
const { appendFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');
const { getCacheUsage } = require('internal/test/binding').internalBinding('builtins');
if (!isMainThread) process.on('exit', () => {
  const { compiledWithCache, compiledWithoutCache } = getCacheUsage();
  const lines = [...compiledWithCache, ...[...compiledWithoutCache].map((name) => name + ' is compiled')];
  appendFileSync(process.env.GW_T_SCRIPTS, lines.join('\\n') + '\\n');
});
`;

test("a worker takes Node's code for Node's own modules", async (t) => {
  const dir = directoryWith(t, { 'witness.cjs': NODE_WITNESS });
  const log = join(dir, 'modules.log');
  const env = { NODE_OPTIONS: `--require ${join(dir, 'witness.cjs')}`, GW_T_SCRIPTS: log };
  // Each pattern is compared with what V8's linear engine takes.
  const conf = 'server { location ~ ^/(a+)+$ { return 200 $1; } }';
  const gateway = await startGateway(t, conf, { env, nodeFlags: ['--expose-internals'] });
  await gateway.expect('GET /aaa', { status: 200, body: 'aaa' });
  await gateway.stop();
  const modules = readFileSync(log, 'utf8');
  for (const name of ['crypto', 'http', 'tls', 'vm']) expect(modules).toMatch(new RegExp(`^${name}$`, 'm'));
});

test('gw runs without the recorded code, as with another version of Node', async (t) => {
  const dir = directoryWith(t, { 'gw.conf': 'http { server { listen 8080; } }' });
  mkdirSync(join(dir, 'gw'));
  cpSync(join(ROOT, 'dist'), join(dir, 'gw/dist'), {
    recursive: true,
    filter: (path) => !basename(path).endsWith(`.${process.version}-${process.arch}`),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'gw/node_modules'));
  const said = await runIn(dir, [
    process.execPath,
    join(dir, 'gw/dist/bin/gw.js'),
    '-t',
    '-c',
    'gw.conf',
    '-p',
    dir,
  ]);
  expect(said).toMatchObject({ code: 0, stderr: expect.stringContaining('syntax is ok') as string });
});
