import type { Identity } from '../auth/index.ts';
import type { Stopwatch } from './stopwatch.ts';

/** Who sent a request, and what measures it. */
export interface Asker {
  readonly identity: Identity;
  readonly watch: Stopwatch | undefined;
}
