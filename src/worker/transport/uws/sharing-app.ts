import type { TemplatedApp } from 'uWebSockets.js';

/** The undeclared part of uWebSockets.js: an App that passes accepted connections on to other Apps. */
export interface SharingApp extends TemplatedApp {
  /** Returns a number that identifies this App to other Apps, also in other threads. */
  getDescriptor(): number;
  addChildAppDescriptor(descriptor: number): SharingApp;
  removeChildAppDescriptor(descriptor: number): SharingApp;
}

/** Turns of the event loop after which connections that were passed to an App of this thread have arrived. */
const TURNS = 2;

/** Resolves when connections that were passed to an App of this thread have arrived. */
export async function turnsOfLoop(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}
