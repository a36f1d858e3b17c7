import { createRequire } from 'node:module';
import type * as UwsModule from 'uWebSockets.js';

export type Uws = typeof UwsModule;

/**
 * The builds of uWebSockets.js in the order in which they are tried: 20.51 supports Node 20, 22 and 23; 20.69 supports
 * Node 22, 24 and 26 and needs glibc 2.38. Both read requests alike; the first one is the most widely used.
 */
const BUILDS = ['uWebSockets.js', 'uWebSockets.js-node24'];

/**
 * True where the compiler's `char` is signed: every build then treats bytes from 0x80 on as blanks around a header
 * value, and drops them before gw sees the value.
 */
export const DROPS_HIGH_BYTES = process.arch === 'x64' || process.platform !== 'linux';

/**
 * Loads the first build of uWebSockets.js that works with this Node and this system, by trying each. Throws an error
 * with the reasons if none can be loaded.
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
