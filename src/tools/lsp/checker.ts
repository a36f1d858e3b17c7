import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { placeOf, type ReadFile, readFileBytes } from '../../../grammar/index.ts';
import type { Context } from '../../config/index.ts';
import { check, type Finding, load } from '../../pipeline.ts';
import type { Root } from './walk.ts';

/** The blocks around a fragment of configuration, so that it can be checked alone. */
const AROUND: Readonly<Record<Context, readonly string[]>> = {
  main: [],
  check: ['check'],
  events: ['events'],
  http: ['http'],
  upstream: ['http', 'upstream around'],
  cluster: ['http', 'cluster around'],
  token_issuer: ['http', 'token_issuer around'],
  oidc_provider: ['http', 'oidc_provider around'],
  otel_exporter: ['http', 'otel_exporter'],
  acme_issuer: ['http', 'acme_issuer around'],
  server: ['http', 'server'],
  location: ['http', 'server', 'location /'],
  limit_except: ['http', 'server', 'location /', 'limit_except GET'],
  'server if': ['http', 'server', 'if ($uri)'],
  'location if': ['http', 'server', 'location /', 'if ($uri)'],
};

/** Rules that need the whole configuration: in a fragment they would report that everything is missing. */
const NEEDS_THE_REST: ReadonlySet<string> = new Set([
  'bad-reference',
  'unknown-variable',
  'missing-resolver',
  'named-location-unused',
  'flag-unused',
]);

/** One configuration to check. */
export interface CheckJob {
  readonly root: Root;
  readonly prefix: string;
  /** The texts of open documents, by path. */
  readonly opened: ReadonlyMap<string, string>;
}

/** All findings of a configuration as it is open in the editor. */
export async function checkRoot({ root, prefix, opened }: CheckJob): Promise<readonly Finding[]> {
  const { path, kind } = root;
  const readFile: ReadFile = (file, maxBytes) => opened.get(file) ?? readFileBytes(file, maxBytes);
  if (kind === 'main') {
    const text = opened.get(path);
    return check(load({ confFile: path, name: path, prefix, text, readFile }, { advise: true }));
  }
  if (kind === 'data' || kind === 'unknown') return [];
  const confFile = join(dirname(path), 'around.conf');
  const text = wrapped(path, kind);
  const found = await check(load({ confFile, name: confFile, prefix, text, readFile }, { advise: true }));
  return found.filter(
    ({ span, slug }) => span !== undefined && placeOf(span).file === path && !NEEDS_THE_REST.has(slug),
  );
}

function wrapped(path: string, context: Context): string {
  const openers = AROUND[context];
  const include = `include "${path.replace(/["\\]/g, '\\$&')}";`;
  return `${openers.map((opener) => `${opener} { `).join('')}${include}${' }'.repeat(openers.length)}`;
}

/** The result of a check in the thread: findings, or the reason of a failure. */
export type CheckResult = { readonly findings: readonly Finding[] } | { readonly failed: string };

/** Longest time of a check; after it the thread is terminated. */
const MAX_CHECK_MS = 60_000;

interface Pending {
  readonly resolve: (findings: readonly Finding[]) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** Checks one configuration at a time in a separate thread, so that the server responds meanwhile. */
export class Checker {
  #worker: Worker | undefined;
  #pending: Pending | undefined;

  /** Checks a configuration. Rejects if the check fails or takes too long; the next check starts a new thread. */
  check(job: CheckJob): Promise<readonly Finding[]> {
    this.#worker ??= this.#start();
    this.#worker.postMessage(job);
    return new Promise((resolve, reject) => {
      const tooLong = new Error(`it took more than ${MAX_CHECK_MS} ms`);
      const timer = setTimeout(() => this.#giveUp(tooLong), MAX_CHECK_MS);
      this.#pending = { resolve, reject, timer };
    });
  }

  stop(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    clearTimeout(this.#pending?.timer);
  }

  #start(): Worker {
    // Standard output belongs to the protocol, so the output of the thread is discarded.
    const worker = new Worker(new URL('../tools/lsp/check-thread.cjs', import.meta.url), {
      stdout: true,
      stderr: true,
    });
    worker.on('message', (result: CheckResult) => {
      clearTimeout(this.#pending?.timer);
      if ('findings' in result) this.#pending?.resolve(result.findings);
      else this.#pending?.reject(new Error(result.failed));
    });
    worker.on('error', (error) => this.#giveUp(error));
    worker.on('exit', (code) => {
      if (worker === this.#worker) this.#giveUp(new Error(`the thread ended with ${code}`));
    });
    worker.unref();
    return worker;
  }

  #giveUp(reason: unknown): void {
    this.stop();
    this.#pending?.reject(reason);
  }
}
