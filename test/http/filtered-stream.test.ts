import { expect, test } from 'vitest';
import type { BodyTransform } from '../../src/http/body-transform.ts';
import { FilteredStream, type ResponseStream } from '../../src/http/response-stream.ts';

const RESPONSES = 20;
const BODY = Buffer.from(Array.from({ length: 50_000 }, (_, line) => `${line}\n`).join(''));

/** Between two immediates of the test may be one of the budget: 128 KB on both sides of it, and what a last slice has beyond. */
const MOST_BYTES = 2 * 131_072 + 65_536;

/** Counts bytes by the turns of the event loop. */
class Turns {
  readonly bytes: number[] = [0];
  isOver = false;

  run(): void {
    this.bytes.push(0);
    if (!this.isOver) setImmediate(() => this.run());
  }

  count(bytes: number): void {
    (this.bytes[this.bytes.length - 1] as number) += bytes;
  }
}

/** A client that takes all it gets; `ended` gives that. */
function client(): ResponseStream & { readonly ended: Promise<string> } {
  let [received, end] = ['', (): void => undefined];
  const ended = new Promise<string>((resolve) => (end = () => resolve(received)));
  const write = (piece: string | Uint8Array): boolean => {
    received += String(piece);
    return true;
  };
  return { ended, write, drained: () => Promise.resolve(), end: () => end() };
}

for (const pieceBytes of [1_000, 65_536, 262_144]) {
  test(`of pieces of ${pieceBytes} bytes little is transformed in one turn for all clients together, and all arrives`, async () => {
    const turns = new Turns();
    const transform: BodyTransform = {
      write(piece) {
        turns.count(piece.byteLength);
        return Buffer.from(piece);
      },
      end: () => Buffer.from('the end'),
    };
    const fail = (error: unknown): void => expect(error).toBeUndefined();
    const clients = Array.from({ length: RESPONSES }, client);
    turns.run();
    for (const inner of clients) {
      const stream = new FilteredStream(inner, [transform], fail);
      for (let at = 0; at < BODY.length; at += pieceBytes) stream.write(BODY.subarray(at, at + pieceBytes));
      stream.end();
    }
    for (const { ended } of clients) expect((await ended) === `${BODY.toString()}the end`).toBe(true);
    turns.isOver = true;
    expect(Math.max(...turns.bytes)).toBeLessThanOrEqual(MOST_BYTES);
  });
}
