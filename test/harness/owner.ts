import { afterAll } from 'vitest';

/** Determines the lifetime of a started service: vitest's test context `t`, or `wholeFile()`. */
export interface Owner {
  onTestFinished(stop: () => Promise<void>): void;
  onTestFailed?(explain: () => void): void;
}

/**
 * Owns the services that all tests of a file share. Call it at the top level of the file, and start services in
 * `beforeAll`: vitest silently ignores an `afterAll` that a hook registers.
 */
export function wholeFile(): Owner {
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  return { onTestFinished: (stop) => void stops.push(stop) };
}
