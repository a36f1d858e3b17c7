import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { singleBody, validatorsOf } from '../../../src/http/index.ts';
import type { OpenFile } from '../../../src/modules/static/files.ts';
import { FileSender, PieceBuffers } from '../../../src/bodies/send-file.ts';
import { TestWire } from '../../harness/test-wire.ts';

const SIZE_BYTES = 5_000_000;
const LARGEST_PIECE = 262_144;

/** A large file on a slow disk, which gives its pieces when the test wants, and records all calls. */
class SlowFile implements OpenFile {
  readonly kind = 'file';
  readonly sizeBytes = SIZE_BYTES;
  readonly modifiedSeconds = 0;
  readonly validators = validatorsOf(0, SIZE_BYTES);
  readonly pieces: number[] = [];
  released = 0;
  deliver = (): void => undefined;

  content(): Uint8Array {
    throw new Error('a large file is read whole');
  }

  read(): number {
    throw new Error('a large file is read by the thread that serves');
  }

  async readLater(bytes: Buffer): Promise<number> {
    if (this.released > 0) throw new Error('a file is read after its release');
    this.pieces.push(bytes.length);
    await new Promise<void>((resolve) => (this.deliver = resolve));
    bytes.fill('x');
    return bytes.length;
  }

  release(): void {
    this.released++;
  }
}

function startSending(buffers = new PieceBuffers()) {
  const wire = new TestWire('GET /large');
  const file = new SlowFile();
  const sender = new FileSender(buffers, { write: () => undefined });
  const hold = wire.holdStream();
  const body = singleBody({ from: 0, to: SIZE_BYTES }, 'text/plain');
  const ended = Promise.resolve(sender.send(wire.x, file, { status: 200, body, path: '/large' }));
  return { wire, file, hold, ended };
}

test('a large file is read piece by piece, each in another thread', async () => {
  const { wire, file, hold, ended } = startSending();
  hold.release();
  while (wire.sent === undefined) {
    file.deliver();
    await nextTurn();
  }
  await ended;
  expect(wire.sent.body).toBe('x'.repeat(SIZE_BYTES));
  expect(Math.max(...file.pieces)).toBe(LARGEST_PIECE);
  expect(file.released).toBe(1);
});

test('no piece is read for a client that has not taken the last one', async () => {
  const { file, hold } = startSending();
  file.deliver();
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect([file.pieces, hold.bytes()]).toEqual([[LARGEST_PIECE], LARGEST_PIECE]);
});

test('a file whose client leaves is released when the read under way is over', async () => {
  const { wire, file, ended } = startSending();
  wire.leave();
  await nextTurn();
  expect(file.released).toBe(0);
  file.deliver();
  await ended;
  expect(file.released).toBe(1);
});

test('while many clients are slow the pieces of further ones are small', () => {
  const buffers = new PieceBuffers();
  const sizes = Array.from({ length: 100 }, () => startSending(buffers).file.pieces[0] ?? 0);
  expect(sizes.slice(0, 64)).toEqual(Array.from({ length: 64 }, () => LARGEST_PIECE));
  expect(sizes.slice(64)).toEqual(Array.from({ length: 36 }, () => 65_536));
});

test('buffers that are returned serve the next files', () => {
  const buffers = new PieceBuffers();
  const taken = Array.from({ length: 65 }, () => buffers.next(LARGEST_PIECE));
  for (const buffer of taken) buffers.give(buffer);
  expect(taken).toContain(buffers.next(LARGEST_PIECE));
  expect(Array.from({ length: 63 }, () => buffers.next(LARGEST_PIECE).length)).not.toContain(65_536);
});
