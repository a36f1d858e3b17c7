import { createRequire } from 'node:module';
import type * as UwsModule from 'uWebSockets.js';

export type Uws = typeof UwsModule;

/** Node's module ABI numbers that each build serves: 20.51 has Node 20, 22 and 23; 20.69 has Node 24 and 26. */
const NEWER_ABI = 137;

/** Loads the build of uWebSockets.js for this Node. Throws an error that names the requirements if there is none. */
export function loadUws(): Uws {
  const abi = Number(process.versions.modules);
  const name = abi >= NEWER_ABI ? 'uWebSockets.js-node24' : 'uWebSockets.js';
  try {
    return createRequire(import.meta.url)(name) as Uws;
  } catch (cause) {
    const wants =
      abi >= NEWER_ABI
        ? 'Linux with glibc 2.38 or later, macOS or Windows'
        : 'glibc 2.31 or later, macOS or Windows';
    throw new Error(
      `uWebSockets.js has no binary for node ${process.versions.node} on ${process.platform}-${process.arch} (it wants ${wants})`,
      { cause },
    );
  }
}
