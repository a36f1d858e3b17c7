import { createRequire } from 'node:module';
import type * as UwsModule from 'uWebSockets.js';

export type Uws = typeof UwsModule;

/**
 * The builds of uWebSockets.js in the order in which they are tried: 20.51 has Node 20, 22 and 23, 20.69 has Node 22, 24 and 26 and wants
 * glibc 2.38. Both read requests alike; the first one is what most run.
 */
const BUILDS = ['uWebSockets.js', 'uWebSockets.js-node24'];

/**
 * True where the compiler's `char` is signed: there every build takes bytes from 0x80 on for blanks around a header value,
 * and drops them before our code sees the value.
 */
export const DROPS_HIGH_BYTES = process.arch === 'x64' || process.platform !== 'linux';

/**
 * Loads the first build of uWebSockets.js that this Node and this system can load: whether one can is asked by loading
 * it. Throws an error that says why none can.
 */
export function loadUws(require: (name: string) => unknown = createRequire(import.meta.url)): Uws {
  const causes: unknown[] = [];
  for (const build of BUILDS) {
    try {
      return require(build) as Uws;
    } catch (cause) {
      causes.push(cause);
    }
  }
  throw new AggregateError(
    causes,
    `uWebSockets.js has no binary for node ${process.versions.node} on ${process.platform}-${process.arch} (it wants macOS, Windows or Linux with glibc: 2.31 for node 20, 22 and 23, 2.38 for node 24 and 26)`,
  );
}
