import { afterAll, beforeAll, expect, test } from 'vitest';
import { RespReader } from '../../../src/redis/resp.ts';
import { REPEATED_BYTES, repeatedBytes } from '../../harness/repeated-bytes.ts';
import { StepCounter } from '../../harness/steps.ts';

const MAX_REPLY_BYTES = 100_000;

/** The bytes in front of the repeated byte. */
const fronts = [
  '',
  '+',
  '-',
  ':',
  '$',
  '$5\r\n',
  '$70000\r\n',
  '$-',
  '*',
  '*2\r\n',
  '*100000\r\n',
  '*2\r\n$1\r\na\r\n',
].concat('+OK\r', '_', '%1\r\n');

let counter: StepCounter;
beforeAll(async () => {
  counter = await StepCounter.open(/redis\/resp\.ts/);
});
afterAll(() => counter.close());

test.each(fronts)('reading %j and many times any byte ends', async (front) => {
  let replies = 0;
  const steps = await counter.count(() => {
    for (const pieces of repeatedBytes(front)) {
      const reader = new RespReader(MAX_REPLY_BYTES, () => replies++);
      // A fault ends the connection.
      for (const piece of pieces) if (reader.read(piece) !== undefined) break;
    }
  });
  expect(steps).toBeLessThan(1.1 * REPEATED_BYTES);
  expect(replies).toBeLessThan(10_000);
});
