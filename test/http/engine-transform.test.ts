import { setImmediate as turn } from 'node:timers/promises';
import { constants, createGunzip, createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { EngineTransform } from '../../src/http/index.ts';

const TEXT = Buffer.from('a line of text that comes again and again\n'.repeat(10_000));
const PIECES = [TEXT.subarray(0, 10), TEXT.subarray(10, 200_000), TEXT.subarray(200_000)];
/** 100 MB of zeros in 100 KB. */
const BOMB = gzipSync(Buffer.alloc(100_000_000));

async function through(transform: EngineTransform, pieces: readonly Uint8Array[]): Promise<Buffer> {
  const made: Uint8Array[] = [];
  for (const piece of pieces) for await (const part of transform.write(piece)) made.push(part);
  for await (const part of transform.end()) made.push(part);
  return Buffer.concat(made);
}

test('a body passes an engine piece by piece and comes out whole', async () => {
  const packed = await through(new EngineTransform(createGzip()), PIECES);
  expect(gunzipSync(packed).equals(TEXT)).toBe(true);
  const cut = [packed.subarray(0, 5), packed.subarray(5, 6), packed.subarray(6)];
  expect((await through(new EngineTransform(createGunzip()), cut)).equals(TEXT)).toBe(true);
});

test('with flush, each piece comes out as soon as it went in', async () => {
  const engine = createGzip();
  const transform = new EngineTransform(engine, (done) => engine.flush(constants.Z_SYNC_FLUSH, done));
  const sent: Uint8Array[] = [];
  for (const word of ['first ', 'second ']) {
    for await (const part of transform.write(Buffer.from(word))) sent.push(part);
    const seen = gunzipSync(Buffer.concat(sent), { finishFlush: constants.Z_SYNC_FLUSH });
    expect(seen.toString()).toMatch(new RegExp(`${word}$`));
  }
  transform.close();
});

test('no more output is produced than the reader takes', async () => {
  const engine = createGunzip();
  const transform = new EngineTransform(engine);
  const parts = transform.write(BOMB)[Symbol.asyncIterator]();
  for (let taken = 0; taken < 3; taken++) {
    const { value } = (await parts.next()) as { value: Uint8Array };
    expect(value.byteLength).toBeLessThanOrEqual(65_536);
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(engine.readableLength).toBeLessThanOrEqual(65_536);
  }
  transform.close();
  expect(await parts.next()).toEqual({ value: undefined, done: true });
});

for (const [it, bytes, fault] of [
  ['is not what it says', Buffer.from('plain text'), 'incorrect header check'],
  ['ends too early', BOMB.subarray(0, 500), 'unexpected end of file'],
] as const) {
  test(`a body that ${it} is a failure`, async () => {
    await expect(through(new EngineTransform(createGunzip()), [bytes])).rejects.toThrow(fault);
  });
}
