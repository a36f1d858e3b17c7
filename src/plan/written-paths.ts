import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CoreConfig, Written } from '../contract/index.ts';

/** Gathers what serving requests writes: each path once, absolute. */
export class WrittenPaths {
  readonly #prefix: string;
  readonly #files = new Set<string>();
  readonly #directories = new Set<string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  add({ files = [], directories = [] }: Written = {}): void {
    for (const file of files) this.#files.add(resolve(this.#prefix, file));
    for (const directory of directories) this.#directories.add(resolve(this.#prefix, directory));
  }

  /** The process's own error log, which has a default place. */
  addMain({ errorLogs }: CoreConfig): void {
    const isDefault = !errorLogs && existsSync(resolve(this.#prefix, 'logs'));
    const logs = errorLogs ?? (isDefault ? [{ path: 'logs/error.log' }] : []);
    this.add({ files: logs.flatMap((log) => ('path' in log && log.path !== 'stderr' ? log.path : [])) });
  }

  get paths(): Required<Written> {
    return { files: [...this.#files], directories: [...this.#directories] };
  }
}
