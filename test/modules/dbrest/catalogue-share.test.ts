import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type Catalogue,
  CatalogueShare,
  openShare,
  type Reading,
} from '../../../src/modules/dbrest/schema/index.ts';

const catalogue = (): Catalogue => new SharedArrayBuffer(8);

/** The workers of one process, and the readings that each got from others. */
function workers(count: number, key = openShare()): { share: CatalogueShare; given: Reading[] }[] {
  return Array.from({ length: count }, (_, i) => {
    const given: Reading[] = [];
    const share = new CatalogueShare(key, i + 1, (posted) => given.push(posted));
    onTestFinished(() => share.close());
    return { share, given };
  });
}

/** A read that the test ends. */
function reading() {
  type Read = { catalogue: Catalogue };
  let settle: { resolve(read: Read): void; reject(error: Error): void } | undefined;
  const read = vi.fn(() => new Promise<Read>((resolve, reject) => (settle = { resolve, reject })));
  return {
    read,
    resolve: (catalogue: Catalogue) => settle?.resolve({ catalogue }),
    reject: () => settle?.reject(new Error('down')),
  };
}

test('a worker that needs a catalogue while another reads it shares the memory of that one', async () => {
  const [a, b, c] = workers(3);
  const [first, second] = [reading(), reading()];
  const one = a?.share.obtain(first.read);
  const other = b?.share.obtain(second.read);
  const read = catalogue();
  first.resolve(read);
  expect((await one)?.catalogue).toBe(read);
  const shared = await other;
  expect(second.read).not.toHaveBeenCalled();
  // The objects differ, and the memory is the same.
  new Uint8Array(read).fill(7);
  expect(new Uint8Array(shared?.catalogue as Catalogue)).toEqual(new Uint8Array(8).fill(7));
  await vi.waitFor(() => expect(c?.given).toHaveLength(1));
});

test('a worker that asks just after a read waits for its catalogue', async () => {
  const [a, b] = workers(2);
  const [first, second] = [reading(), reading()];
  const one = a?.share.obtain(first.read);
  first.resolve(catalogue());
  await one;
  expect((await b?.share.obtain(second.read))?.catalogue).toBeInstanceOf(SharedArrayBuffer);
  expect(second.read).not.toHaveBeenCalled();
});

test('a worker that starts later reads by itself, and the others get its catalogue', async () => {
  const key = openShare();
  const [a] = workers(1, key);
  const first = reading();
  const one = a?.share.obtain(first.read);
  first.resolve(catalogue());
  await one;
  const [late] = workers(1, key);
  const second = reading();
  const other = late?.share.obtain(second.read);
  second.resolve(catalogue());
  await other;
  expect(second.read).toHaveBeenCalledTimes(1);
  await vi.waitFor(() => expect(a?.given).toHaveLength(1));
});

test('when a read fails, each worker that waited for it tries by itself', async () => {
  const [a, b] = workers(2);
  const [first, second] = [reading(), reading()];
  const one = a?.share.obtain(first.read);
  const other = b?.share.obtain(second.read);
  first.reject();
  await expect(one).rejects.toThrow('down');
  await vi.waitFor(() => expect(second.read).toHaveBeenCalled());
  const read = catalogue();
  second.resolve(read);
  expect((await other)?.catalogue).toBe(read);
});

test('a reader that never finishes is waited for once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const [dead, b] = workers(2);
  void dead?.share.obtain(reading().read);
  const second = reading();
  const other = b?.share.obtain(second.read);
  expect(second.read).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(5_000);
  second.resolve(catalogue());
  await other;
  const third = reading();
  const next = b?.share.obtain(third.read);
  expect(third.read).toHaveBeenCalled();
  third.resolve(catalogue());
  await next;
});

test('a worker that needs a newer catalogue skips a read that began before', async () => {
  const [a, b] = workers(2);
  const [first, second] = [reading(), reading()];
  const one = a?.share.obtain(first.read);
  const other = b?.share.settled().then(() => b.share.obtain(second.read));
  first.resolve(catalogue());
  expect((await one)?.reads).toBe(1);
  await vi.waitFor(() => expect(second.read).toHaveBeenCalled());
  second.resolve(catalogue());
  expect((await other)?.reads).toBe(2);
});

test('one worker listens at a time; another follows when it leaves, and its replacement when it dies', async () => {
  const key = openShare();
  const [a, b] = workers(2, key);
  const [again] = workers(1, key);
  expect([a?.share.claimListening(), b?.share.claimListening()]).toEqual([true, false]);
  expect(again?.share.claimListening()).toBe(true);
  const isVacant = new Promise<void>((resolve) => b?.share.whenVacant(resolve));
  a?.share.leave();
  await isVacant;
  expect(b?.share.claimListening()).toBe(true);
  a?.share.leave();
  expect(again?.share.claimListening()).toBe(false);
});
