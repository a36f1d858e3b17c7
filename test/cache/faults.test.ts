import { constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CacheDirectory } from '../../src/cache/store/directory.ts';
import { directoryAt, filesIn, look, openedStore, placeForEntries, put } from './opened-store.ts';

type Code = 'ENOSPC' | 'EDQUOT' | 'EIO' | 'EROFS' | 'EMFILE' | 'EACCES';

/** A directory whose disk fails as it is told. */
class FailingDirectory extends CacheDirectory {
  fails: 'create' | 'write' | 'rename' | undefined = undefined;
  code: Code = 'EIO';

  constructor(path: string) {
    super({ path, levels: [] }, { owner: 'test', threadId: 1 });
  }

  override create(digest: Buffer): ReturnType<CacheDirectory['create']> {
    if (this.fails === 'create') return Promise.reject(this.#fault('open'));
    if (this.fails !== 'write') return super.create(digest);
    // Nothing can be written to either: one has no room, the other is open for reading.
    const fd =
      this.code === 'ENOSPC' ? openSync('/dev/full', constants.O_WRONLY) : openSync('/dev/null', 'r');
    return Promise.resolve({ fd, path: join(this.path, 'none.part') });
  }

  override publish(part: string, digest: Buffer): Promise<void> {
    return this.fails === 'rename' ? Promise.reject(this.#fault('rename')) : super.publish(part, digest);
  }

  #fault(call: string): Error {
    const errno = -({ ENOSPC: 28, EDQUOT: 122, EIO: 5, EROFS: 30, EMFILE: 24, EACCES: 13 } as const)[
      this.code
    ];
    return Object.assign(new Error(`${this.code}: ${call}`), { code: this.code, errno });
  }
}

const SMALL = [Buffer.from('small')];
const LARGE = Array.from({ length: 10 }, () => Buffer.alloc(100_000, 'x'));

const faults: readonly { fails: 'create' | 'write' | 'rename'; code: Code; makesRoom?: true }[] = [
  { fails: 'create', code: 'ENOSPC', makesRoom: true },
  { fails: 'create', code: 'EDQUOT', makesRoom: true },
  { fails: 'create', code: 'EMFILE' },
  { fails: 'create', code: 'EROFS' },
  { fails: 'create', code: 'EACCES' },
  { fails: 'write', code: 'ENOSPC', makesRoom: true },
  { fails: 'write', code: 'EIO' },
  { fails: 'rename', code: 'ENOSPC', makesRoom: true },
  { fails: 'rename', code: 'EDQUOT', makesRoom: true },
  { fails: 'rename', code: 'EIO' },
];

for (const { fails, code, makesRoom } of faults) {
  for (const [size, pieces] of [
    ['small', SMALL],
    ['large', LARGE],
  ] as const) {
    test(`a ${size} response is not stored if ${fails} fails with ${code}`, async (t) => {
      const directory = new FailingDirectory(placeForEntries(t));
      const { store, log } = openedStore(t, directory.path, directory);
      expect(await put(store, '/before', SMALL)).toBe(true);
      Object.assign(directory, { fails, code });
      expect(await put(store, '/a', pieces)).toBe(false);
      expect((await look(store, '/a')).entry).toBeUndefined();
      // For a while nothing is tried, and the log has one line.
      directory.fails = undefined;
      expect(await put(store, '/b', pieces)).toBe(false);
      expect(log).toEqual([
        expect.stringMatching(/^crit .*\(\) ".*" failed \(\d+: .*\), cache "one" stores nothing for 10s$/),
      ]);
      await expect.poll(() => filesIn(directory.path).length).toBe(makesRoom ? 0 : 1);
      expect(store.index.disk.failingSinceMs).toBeGreaterThan(Date.now() - 60_000);
      store.index.disk.pauseUntil(0);
      // An entry that is being removed to make room is not replaced at that moment.
      await expect.poll(() => put(store, '/a', pieces)).toBe(true);
      expect(store.index.disk.failingSinceMs).toBe(0);
      const found = await look(store, '/a');
      expect(found.entry?.sizeBytes).toBe(pieces.reduce((sum, { length }) => sum + length, 0));
      found.entry?.release();
    });
  }
}

test('what is written of a response can be read while its client needs it, though its disk has failed', async (t) => {
  const directory = new FailingDirectory(placeForEntries(t));
  const { store } = openedStore(t, directory.path, directory);
  const { name } = await look(store, '/a');
  const nowMs = store.now();
  const times = { storedMs: nowMs, validMs: nowMs + 1_000, updatingMs: 0, errorMs: 0 };
  const fill = store.fill({
    name,
    times,
    since: store.index.purges,
    description: { key: '/a', variant: '', tags: [] },
  });
  for (const piece of LARGE) fill?.add(piece);
  await expect.poll(() => fill?.writtenBytes).toBe(1_000_000);
  fill?.hold();
  directory.fails = 'rename';
  await fill?.finish();
  expect([fill?.isStoring, filesIn(directory.path)]).toEqual([false, []]);
  const bytes = Buffer.alloc(10);
  expect([await fill?.read(bytes, 999_990), bytes.toString()]).toEqual([10, 'x'.repeat(10)]);
  fill?.letGo();
});

test('a directory that is there again is used again', async (t) => {
  const path = join(placeForEntries(t), 'not', 'yet');
  const { store } = openedStore(t, path, directoryAt(path));
  expect(await put(store, '/a', SMALL)).toBe(true);
});
