import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { IS_LONG } from '../harness/tier.ts';

// Minutes long, and it asks npm's registry: the package of the current commit, installed as a stranger would.

const dir = mkdtempSync(join(tmpdir(), 'gw-installed-'));
const home = join(dir, 'prefix');
const gw = join(home, 'bin/gw');
let tarball = '';

function run(program: string, args: readonly string[], cwd = dir): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function release(out: string): string {
  run('node', ['bin/build/release/main.mjs', '--out', out, '--snapshot', '--only', 'npm'], process.cwd());
  return join(out, readdirSync(out).find((name) => name.endsWith('.tgz')) ?? '');
}

beforeAll(() => {
  if (!IS_LONG) return;
  tarball = release(join(dir, 'first'));
  mkdirSync(home);
  run('npm', ['install', '-g', '--prefix', home, tarball]);
}, 600_000);
afterAll(() => rmSync(dir, { recursive: true }));

test.runIf(IS_LONG)(
  'a second release of a commit has the same bytes',
  () => {
    const again = release(join(dir, 'second'));
    expect(readFileSync(again).equals(readFileSync(tarball))).toBe(true);
    const sums = (out: string): string => readFileSync(join(dir, out, 'SHA256SUMS'), 'utf8');
    expect(sums('second')).toBe(sums('first'));
    run('sha256sum', ['-c', 'SHA256SUMS'], join(dir, 'second'));
  },
  600_000,
);

test.runIf(IS_LONG)('npm would pack the files that the release has packed', () => {
  run('tar', ['-xzf', tarball]);
  const [packed] = JSON.parse(run('npm', ['pack', '--dry-run', '--json'], join(dir, 'package'))) as [
    { readonly files: readonly { readonly path: string }[] },
  ];
  const listed = run('tar', ['-tzf', tarball]).split('\n');
  const files = listed
    .filter((name) => name !== '' && !name.endsWith('/'))
    .map((name) => name.slice('package/'.length));
  expect(packed.files.map(({ path }) => path).sort()).toEqual(files.sort());
  expect(readFileSync(tarball).length).toBeLessThan(5_000_000);
});

test.runIf(IS_LONG)(
  'the installed program tells where it comes from, loads its native parts and its examples',
  () => {
    const { commit, native, installation } = JSON.parse(run(gw, ['version', '--json'])) as Record<
      string,
      unknown
    >;
    expect(commit).toBe(run('git', ['rev-parse', 'HEAD'], process.cwd()).trim());
    expect(installation).toEqual({ kind: 'npm', directory: join(home, 'lib/node_modules/gw') });
    expect(native).toEqual(
      ['uWebSockets.js', 'lmdb', '@node-rs/bcrypt'].map((name) => ({
        name,
        version: expect.any(String) as string,
      })),
    );
    for (const { name } of JSON.parse(run(gw, ['example', '--json'])) as readonly { readonly name: string }[])
      expect(run(gw, ['example', name])).toMatch(/^#/);
    run(gw, ['why', 'GW117']);
    run(gw, ['manpage', '-o', join(dir, 'man')]);
  },
);

test.runIf(IS_LONG)(
  'the installed program serves, stores included, and leaves no file when it is removed',
  async () => {
    const port = await freePort();
    writeFileSync(
      join(dir, 'gw.conf'),
      `pid gw.pid; error_log stderr notice; http { server { listen 127.0.0.1:${port}; location / { return 200 hello; }
     location = /hits { kv_pass embedded:kv; kv_key hits; kv_command incr; } } }`,
    );
    mkdirSync(join(dir, 'kv'), { mode: 0o777 });
    const gateway = spawn(gw, ['-p', dir, '-c', 'gw.conf', '-g', 'user root;'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await new Promise<void>((resolve) => {
      gateway.stderr.on('data', (text) => String(text).includes('start worker processes') && resolve());
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello');
    expect(await (await fetch(`http://127.0.0.1:${port}/hits`, { method: 'POST' })).text()).toMatch(/\b1\b/);
    gateway.kill('SIGQUIT');
    await once(gateway, 'close');
    run('npm', ['uninstall', '-g', '--prefix', home, 'gw']);
    expect(existsSync(gw)).toBe(false);
    expect(readdirSync(join(home, 'lib/node_modules')).filter((name) => !name.startsWith('.'))).toEqual([]);
  },
);
