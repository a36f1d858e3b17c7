import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

interface Recorded {
  readonly threadId: number;
  readonly entered: readonly { readonly url: string; readonly offsets: readonly number[] }[];
}

/** Names in a chunk where the code of a source begins. */
const SOURCE = /^\/\*! ((?:src|bin|grammar)\/\S+|\S+) \*\/$/gm;
const OURS = /^(?:src|bin|grammar)\//;

/** Which source files the threads of a gateway enter, from one call of `take` to the next. */
export class Coverage {
  readonly #directory: string;
  #takes = 0;
  readonly #sources = new Map<string, readonly { readonly from: number; readonly name: string }[]>();

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory);
    // Where root runs it, the gateway writes as another user.
    chmodSync(directory, 0o777);
  }

  /** For the gateway's process. */
  get env(): NodeJS.ProcessEnv {
    return {
      NODE_OPTIONS: `--require ${join(process.cwd(), 'test/doors/recorder.cjs')}`,
      GW_DOORS: this.#directory,
    };
  }

  /**
   * The files in which a function has begun since the last call, in all threads that responded to it. Functions that went
   * on after an `await` are not counted again.
   */
  async take(isAsked: (thread: { readonly isMain: boolean }) => boolean): Promise<ReadonlySet<string>> {
    const prefix = `${this.#takes}-`;
    writeFileSync(join(this.#directory, `take-${this.#takes++}`), '');
    let files: string[] = [];
    // Each thread looks every 5 ms; no thread writes much later than the others.
    for (let unchanged = 0; unchanged < 20; unchanged++) {
      await sleep(25);
      const now = readdirSync(this.#directory).filter(
        (name) => name.startsWith(prefix) && name.endsWith('.json'),
      );
      if (now.length !== files.length) unchanged = 0;
      files = now;
    }
    const recorded = files.map(
      (name) => JSON.parse(readFileSync(join(this.#directory, name), 'utf8')) as Recorded,
    );
    const asked = recorded.filter(({ threadId }) => isAsked({ isMain: threadId === 0 }));
    return new Set(asked.flatMap(({ entered }) => entered.flatMap((script) => this.#named(script))));
  }

  #named({ url, offsets }: Recorded['entered'][number]): readonly string[] {
    const path = url.replace(/^file:\/\//, '');
    if (!existsSync(path)) return [];
    const sources = this.#sources.get(path) ?? sourcesOf(path);
    this.#sources.set(path, sources);
    return offsets.flatMap((offset) => {
      const name = sources.findLast(({ from }) => from <= offset)?.name ?? '';
      return OURS.test(name) ? [name] : [];
    });
  }
}

function sourcesOf(path: string): readonly { readonly from: number; readonly name: string }[] {
  const text = readFileSync(path, 'latin1');
  return [...text.matchAll(SOURCE)].map(({ index, 1: name = '' }) => ({ from: index, name }));
}
