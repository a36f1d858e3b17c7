import type { Build } from '../../contract/index.ts';

/** What the steps of one block are compiled with. */
export interface Compiling {
  readonly build: Build;
  /** `rewrite_log` */
  readonly log: boolean;
  /** Where relative paths of file tests start. */
  readonly prefix: string;
}
