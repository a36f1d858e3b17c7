import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { registerDemo, runningDemo } from '../../bin/running-demo.ts';
import { directoryWith, gw } from './command.ts';

const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;
const DEMO = JSON.stringify({ pid: process.pid, port: 8080 });

interface Case {
  readonly it: string;
  /** Changes the directory with the data, in which a demo runs. */
  readonly change: (data: string) => void;
  readonly needsRoot?: true;
}

const refused: readonly Case[] = [
  {
    it: 'a file of another account',
    change: (data) => chownSync(join(data, 'demo.json'), NOBODY, NOBODY),
    needsRoot: true,
  },
  {
    it: 'a directory of another account',
    change: (data) => chownSync(data, NOBODY, NOBODY),
    needsRoot: true,
  },
  {
    it: 'a link in the place of the file',
    change: (data) => {
      renameSync(join(data, 'demo.json'), join(data, 'other.json'));
      symlinkSync('other.json', join(data, 'demo.json'));
    },
  },
  {
    it: 'a link in the place of the directory',
    change: (data) => {
      renameSync(data, `${data}-other`);
      symlinkSync(`${data}-other`, data);
    },
  },
  {
    it: 'a pipe in the place of the file',
    change: (data) => {
      renameSync(join(data, 'demo.json'), join(data, 'other.json'));
      execFileSync('mkfifo', [join(data, 'demo.json')]);
    },
  },
  { it: 'a large file', change: (data) => writeFileSync(join(data, 'demo.json'), DEMO.padEnd(2_000)) },
];

test('a demo that this account runs is found', (t) => {
  const dir = directoryWith(t, { '.gw/demo.json': DEMO });
  expect(runningDemo(join(dir, '.gw'))).toEqual({ pid: process.pid, port: 8080 });
});

for (const { it, change, needsRoot = false } of refused) {
  test.runIf(IS_ROOT || !needsRoot)(`${it} does not say where a demo runs`, (t) => {
    const data = join(directoryWith(t, { '.gw/demo.json': DEMO }), '.gw');
    change(data);
    expect(runningDemo(data)).toBeUndefined();
  });
}

test('a demo writes nothing through a link, and removes nothing there', (t) => {
  const dir = directoryWith(t, { 'other/demo.json': 'mine' });
  symlinkSync('other', join(dir, '.gw'));
  expect(() => registerDemo(join(dir, '.gw'), 8080)).toThrow('is no directory');
  expect(existsSync(join(dir, 'other/demo.json'))).toBe(true);
});

test('gw demo says why it does not take a directory', async (t) => {
  const dir = directoryWith(t, { 'other/x': '' });
  symlinkSync('other', join(dir, '.gw'));
  expect(await gw(dir, ['demo'])).toEqual({
    code: 1,
    stdout: '',
    stderr: `gw: ".gw" is no directory; ${resolve('bin/gw')} demo --data DIR takes another directory\n`,
  });
});

/** Directories with a pipe, which nobody writes into. */
const pipes: readonly { readonly it: string; readonly path: string; readonly conf?: string }[] = [
  { it: 'the configuration', path: 'gateway.conf' },
  { it: 'a file that it includes', path: 'more.conf', conf: 'include more.conf;' },
  {
    it: 'a certificate',
    path: 'a.pem',
    conf: 'http { server { listen 443 ssl; ssl_certificate a.pem; ssl_certificate_key a.pem; } }',
  },
  { it: 'the file of a value', path: 'pid.txt', conf: 'pid ${file:pid.txt};' },
  { it: 'the file with the status', path: 'gw.pid.status', conf: 'pid gw.pid;' },
];

for (const { it, path, conf } of pipes) {
  test(`gw -V does not wait for ${it} if it is a pipe`, async (t) => {
    const dir = directoryWith(t, conf === undefined ? {} : { 'gateway.conf': conf });
    execFileSync('mkfifo', [join(dir, path)]);
    const { code, stderr } = await gw(dir, ['-V']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^gw version: gw\/.*\nbuilt /),
    });
  });
}

test('gw -V does not mind the faults of a configuration', async (t) => {
  const dir = directoryWith(t, { 'gateway.conf': 'http { nonsense; } }' });
  expect(await gw(dir, ['-V'])).toMatchObject({ code: 0, stderr: expect.stringMatching(/\nbuilt /) });
});

const asked = [['status'], ['live', '-p', '.gw'], ['events', 'list'], ['-s', 'stop'], ['upgrade']];
for (const args of asked) {
  test(`gw ${args.join(' ')} says where the demo has ended`, async (t) => {
    const dir = directoryWith(t, { '.gw/kv/data.mdb': '' });
    expect(await gw(dir, args)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^gw: (\[error\] )?no gateway runs here: the demo of \.gw has ended\n {2}"\S+ demo" starts one; -c FILE/,
      ),
    });
  });
}
