import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { IssuerState } from '../../../src/acme/custodian/issuer-state.ts';
import { NO_ATTEMPTS } from '../../../src/acme/custodian/schedule.ts';
import { StateFiles } from '../../../src/acme/custodian/state-files.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'gw-acme-state-')));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let count = 0;

/** A state in a directory of its own, and what it has told. */
function openState(root: string = join(base, String((count += 1)))): {
  readonly root: string;
  readonly state: IssuerState;
  readonly told: string[];
} {
  const told: string[] = [];
  const tell = (message: string): void => void told.push(message);
  const files = new StateFiles({ root, workerId: 1, failed: tell, recovered: tell });
  return { root, state: new IssuerState({ files, broken: tell }), told };
}

const PAIR = {
  chain:
    '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n',
  key: '-----BEGIN PRIVATE KEY-----\nCCCC\n-----END PRIVATE KEY-----\n',
};
const ATTEMPTS = { ...NO_ATTEMPTS, failures: 2, failedMs: 5, waitMs: 7, fault: 'refused' };
const WINDOW = { certificate: 'a.b', nextPollMs: 9, chosen: { startMs: 1, endMs: 3, atMs: 2 } };
const ID = '*.example.com';
const FOLDER = `certificates/${ID}`;

test('everything is there again after a restart, for the account alone', async () => {
  const { root, state, told } = openState();
  await state.saveAccountKey(PAIR.key);
  await state.saveAccount({ authority: 'https://a.test/dir', url: 'https://a.test/acct/1' });
  await state.savePair(ID, PAIR);
  await state.saveRecord(ID, { attempts: ATTEMPTS, window: WINDOW });
  await state.saveOrder(ID, { url: 'https://a.test/order/1', key: PAIR.key });

  const again = openState(root);
  expect(await again.state.accountKey()).toBe(PAIR.key);
  expect(await again.state.account('https://a.test/dir')).toMatchObject({ url: 'https://a.test/acct/1' });
  expect(await again.state.account('https://other.test/dir')).toBeUndefined();
  expect(await again.state.certificate(ID)).toEqual({
    attempts: ATTEMPTS,
    window: WINDOW,
    pair: PAIR,
    order: { url: 'https://a.test/order/1', key: PAIR.key },
  });
  expect([...told, ...again.told]).toEqual([]);
  const modes = [
    'account.key',
    'account.json',
    'certificates',
    FOLDER,
    `${FOLDER}/pair.pem`,
    `${FOLDER}/state.json`,
    `${FOLDER}/order.json`,
  ];
  for (const path of modes) {
    const { mode } = statSync(join(root, path));
    expect([path, (mode & 0o777).toString(8)]).toEqual([
      path,
      path.includes('.') && !path.endsWith(ID) ? '600' : '700',
    ]);
  }
});

test('an order is forgotten when its certificate is stored', async () => {
  const { root, state } = openState();
  await state.saveOrder(ID, { url: 'u', key: PAIR.key });
  await state.savePair(ID, PAIR);
  expect(readdirSync(join(root, FOLDER))).toEqual(['pair.pem']);
});

test('what a killed process has left beside a file is removed, and what a living one writes is not', async () => {
  const { root, state } = openState();
  await state.savePair(ID, PAIR);
  writeFileSync(join(root, FOLDER, 'pair.pem.999999999.1.new'), 'half a cert');
  writeFileSync(join(root, FOLDER, `pair.pem.${process.pid}.1.new`), 'being written');
  expect((await state.certificate(ID)).pair).toEqual(PAIR);
  expect(readdirSync(join(root, FOLDER)).toSorted()).toEqual(['pair.pem', `pair.pem.${process.pid}.1.new`]);
});

describe('a file counts as missing, and one line says so, if it', () => {
  const cases = [
    { it: 'is cut in the key', file: 'pair.pem', text: `${PAIR.chain}-----BEGIN PRIVATE KEY-----\nCC` },
    { it: 'has no certificate', file: 'pair.pem', text: PAIR.key },
    { it: 'is empty', file: 'pair.pem', text: '' },
    { it: 'is half of a JSON text', file: 'state.json', text: '{"attempts":{"fail' },
    { it: 'has other values than expected', file: 'state.json', text: '{"attempts":{"failures":"many"}}' },
    {
      it: 'has negative numbers',
      file: 'state.json',
      text: JSON.stringify({ attempts: { ...ATTEMPTS, failures: -1 } }),
    },
    { it: 'is no order', file: 'order.json', text: '[]' },
    { it: 'is too large', file: 'pair.pem', text: 'x'.repeat(1_048_577), line: 'more than 1048576 bytes' },
  ];
  for (const { it, file, text, line = 'is broken' } of cases)
    test(it, async () => {
      const { root, state, told } = openState();
      mkdirSync(join(root, FOLDER), { recursive: true });
      writeFileSync(join(root, FOLDER, file), text);
      expect(await state.certificate(ID)).toMatchObject({ attempts: NO_ATTEMPTS });
      expect(told).toHaveLength(1);
      expect(told[0]).toContain(file);
      expect(told[0]).toContain(line);
    });

  test('is a link to another one', async () => {
    const { root, state, told } = openState();
    mkdirSync(join(root, FOLDER), { recursive: true });
    writeFileSync(join(base, 'elsewhere.pem'), PAIR.chain + PAIR.key);
    symlinkSync(join(base, 'elsewhere.pem'), join(root, FOLDER, 'pair.pem'));
    expect((await state.certificate(ID)).pair).toBeUndefined();
    expect(told.join()).toMatch(/pair\.pem" failed \(40: Too many levels of symbolic links\)/);
    await state.savePair(ID, PAIR);
    expect((await state.certificate(ID)).pair).toEqual(PAIR);
    expect(readFileSync(join(base, 'elsewhere.pem'), 'utf8')).toBe(PAIR.chain + PAIR.key);
  });
});

test('a broken key of the account is made anew, and one that cannot be read is not', async () => {
  const { root, state, told } = openState();
  mkdirSync(root);
  writeFileSync(join(root, 'account.key'), 'no key');
  expect(await state.accountKey()).toBeUndefined();
  expect(told).toEqual(['"account.key" is broken, and is made anew']);
  rmSync(join(root, 'account.key'));
  mkdirSync(join(root, 'account.key'));
  await expect(state.accountKey()).rejects.toThrow(/account\.key/);
});

test('what cannot be written stays in memory, with one line, and is written later', async () => {
  const { root, state, told } = openState();
  // A file in place of the directory: as root, a mode would not do.
  writeFileSync(root, '');
  await state.savePair(ID, PAIR);
  await state.saveRecord(ID, { attempts: ATTEMPTS });
  expect(await state.certificate(ID)).toEqual({
    attempts: ATTEMPTS,
    window: undefined,
    pair: PAIR,
    order: undefined,
  });
  await state.retry();
  expect(told).toHaveLength(1);
  expect(told[0]).toMatch(
    /^write\(\) ".*" failed \(.*\); it stays in memory, and is tried again every minute$/,
  );
  expect(told.join()).not.toContain('CCCC');

  rmSync(root);
  await state.retry();
  expect(told[1]).toBe(`the state in "${root}" is written again`);
  expect((await openState(root).state.certificate(ID)).pair).toEqual(PAIR);
});

test('an order stays until its certificate is on disk', async () => {
  const { root, state } = openState();
  await state.saveOrder(ID, { url: 'u', key: PAIR.key });
  mkdirSync(join(root, FOLDER, 'pair.pem'));
  await state.savePair(ID, PAIR);
  expect(existsSync(join(root, FOLDER, 'order.json'))).toBe(true);
  rmSync(join(root, FOLDER, 'pair.pem'), { recursive: true });
  await state.retry();
  expect(readdirSync(join(root, FOLDER))).toEqual(['pair.pem']);
});

test('a file that is written twice at the same time has the last text', async () => {
  const { root, state, told } = openState();
  const failed = (failures: number) => state.saveRecord(ID, { attempts: { ...ATTEMPTS, failures } });
  await Promise.all([failed(1), failed(2), failed(3)]);
  expect(told).toEqual([]);
  expect((await openState(root).state.certificate(ID)).attempts.failures).toBe(3);
});

test('without a directory, nothing is written', async () => {
  const files = new StateFiles({
    root: undefined,
    workerId: 1,
    failed: () => undefined,
    recovered: () => undefined,
  });
  const memory = new IssuerState({ files, broken: () => undefined });
  await memory.savePair(ID, PAIR);
  expect(await memory.certificate(ID)).toMatchObject({ attempts: NO_ATTEMPTS });
  expect(await memory.ids()).toEqual([]);
});

test('requests of operators are found and ended', async () => {
  const { root, state } = openState();
  expect(await state.requests()).toEqual([]);
  mkdirSync(join(root, 'requests'), { recursive: true });
  chmodSync(join(root, 'requests'), 0o700);
  for (const name of ['renew-a.test', 'revoked-*.b.test', 'else-c', '.hidden'])
    writeFileSync(join(root, 'requests', name), '');
  const found = await state.requests();
  expect(found.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([
    { kind: 'revoked', id: '*.b.test' },
    { kind: 'renew', id: 'a.test' },
  ]);
  for (const request of found) expect(await state.endRequest(request)).toBe(true);
  expect(await state.requests()).toEqual([]);
});

test('names that are no ids are left out, and nothing is left of what is forgotten', async () => {
  const { root, state } = openState();
  await state.savePair(ID, PAIR);
  await state.saveOrder('a.test', { url: 'u', key: PAIR.key });
  for (const name of ['.nfs0001', '.DS_Store']) writeFileSync(join(root, 'certificates', name), '');
  expect((await state.ids()).toSorted()).toEqual([ID, 'a.test']);
  await state.forget('a.test');
  expect(existsSync(join(root, 'certificates', 'a.test'))).toBe(false);
  await state.savePair('a.test', PAIR);
  expect((await openState(root).state.certificate('a.test')).pair).toEqual(PAIR);
});

test('a directory that all can write is closed to others, if it is our own', async () => {
  const { root, state } = openState();
  mkdirSync(root);
  chmodSync(root, 0o777);
  await state.saveAccountKey(PAIR.key);
  expect(statSync(root).mode & 0o777).toBe(0o700);
});

describe('nothing is read or written, and one line says so, if the directory', () => {
  const cases = [
    { it: 'belongs to another account', owner: 12_345, mode: 0o700, says: 'belongs to another account' },
    { it: 'of root is open to all', owner: 0, mode: 0o1777, says: 'every account can write' },
  ];
  for (const { it, owner, mode, says } of cases)
    test.runIf(process.getuid?.() === 0)(it, async (t) => {
      const { root, state, told } = openState();
      mkdirSync(root);
      writeFileSync(join(root, 'account.key'), PAIR.key);
      chmodSync(root, mode);
      chownSync(root, owner, 0);
      const account = vi.spyOn(process as { geteuid: () => number }, 'geteuid').mockReturnValue(65_534);
      t.onTestFinished(() => account.mockRestore());
      expect(await state.accountKey()).toBeUndefined();
      await state.savePair(ID, PAIR);
      expect((await state.certificate(ID)).pair).toEqual(PAIR);
      await state.retry();
      expect(readdirSync(root)).toEqual(['account.key']);
      expect(told).toHaveLength(1);
      expect(told[0]).toContain(says);
      expect(told[0]).toContain(': nothing is read or written there; it stays in memory');
    });
});

test('an id that leaves the directory is refused', async () => {
  const { state } = openState();
  for (const id of ['../x', '.x', 'a/b']) await expect(state.savePair(id, PAIR)).rejects.toThrow('is no id');
});

const MAY_MOUNT = process.getuid?.() === 0 && spawnSync('mount', ['--version']).status === 0;

test.runIf(MAY_MOUNT)(
  'on a full disk nothing is half written, and all is written when there is room',
  async (t) => {
    const { root, state, told } = openState();
    mkdirSync(root);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=0700', 'tmpfs', root]).status !== 0)
      return t.skip('no mounts are allowed here');
    t.onTestFinished(() => void spawnSync('umount', ['-l', root]));
    const large = { chain: PAIR.chain.repeat(200), key: PAIR.key };
    await state.savePair(ID, PAIR);
    const filler = join(root, 'filler');
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k', 'count=100']);
    await state.savePair(ID, large);
    expect(told.join()).toMatch(/failed \(28: No space left on device\); it stays in memory/);
    // What another start would read is the old one, whole.
    expect((await openState(root).state.certificate(ID)).pair).toEqual(PAIR);
    expect((await state.certificate(ID)).pair).toEqual(large);
    rmSync(filler);
    await state.retry();
    expect((await openState(root).state.certificate(ID)).pair).toEqual(large);
    expect(readdirSync(join(root, FOLDER))).toEqual(['pair.pem']);
  },
);
