import { afterAll } from 'vitest';

/** What a started thing lives as long as: vitest's test context `t`, or `wholeFile()`. */
export interface Owner {
  onTestFinished(stop: () => Promise<void>): void;
  onTestFailed?(explain: () => void): void;
}

/**
 * Owns what all tests of a file share. Call it at the top level of the file and start things in `beforeAll`: vitest
 * ignores an `afterAll` that a hook registers, without a word.
 */
export function wholeFile(): Owner {
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  return { onTestFinished: (stop) => void stops.push(stop) };
}
