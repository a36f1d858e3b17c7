import { expect, test } from 'vitest';
import { loadUws } from '../../src/worker/transport/uws/loader.ts';

const NEWER = 'uWebSockets.js-node24';
const OLDER = 'uWebSockets.js';

/** A build wants another Node or a newer glibc: loading it throws. */
const cases = [
  { it: 'the older build is taken wherever it loads', loading: [NEWER, OLDER], taken: OLDER },
  { it: 'the newer build is taken where the older one does not load', loading: [NEWER], taken: NEWER },
];

for (const { it, loading, taken } of cases) {
  test(`of uWebSockets.js ${it}`, () => {
    expect(loadUws(requireOf(loading))).toBe(taken);
  });
}

test('uWebSockets.js that loads in no build is a fault with all reasons', () => {
  const load = (): unknown => loadUws(requireOf([]));
  expect(load).toThrow(/^uWebSockets\.js has no binary for node .*glibc: 2\.31 .*2\.38/);
  expect(load).toThrow(expect.objectContaining({ errors: [new Error(OLDER), new Error(NEWER)] }));
});

function requireOf(loading: readonly string[]): (name: string) => unknown {
  return (name) => {
    if (!loading.includes(name)) throw new Error(name);
    return name;
  };
}
