import { type Moment, type Range, SHORTEST_RANGE } from '../ranges.ts';
import { DATA_PATHS, type Overview, type Refusal, WRITE_HEADER } from '../contract.ts';

type Parameters = Readonly<Record<string, string | number>>;

const RETRY_MS = 2_000;

/** Requests a path below the console's location. Throws an `Error` whose message can be shown. */
export async function read<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  // The gateway does not decode a plus as a blank.
  const text = query.toString().replaceAll('+', '%20');
  return bodyOf<T>(await reach(text === '' ? path : `${path}?${text}`, signal ? { signal } : {}));
}

/** Sends a change. Throws as `read` does. */
export async function write<T>(path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json', [WRITE_HEADER]: '1' };
  return bodyOf<T>(await reach(path, { method: 'POST', headers, body: JSON.stringify(body) }));
}

/** Requests pages until the signal and calls `take` with each. `since` is the newest entry of the last page. */
export async function follow<T extends { readonly newest: number }>(
  path: string,
  { parameters, signal, take }: { parameters: Parameters; signal: AbortSignal; take: (page: T) => void },
): Promise<void> {
  let since = 0;
  let wait = 0;
  while (!signal.aborted) {
    try {
      const page = await read<T>(path, { ...parameters, since, wait }, signal);
      since = page.newest;
      wait = 1;
      take(page);
    } catch {
      await pause(RETRY_MS, signal);
    }
  }
}

/** Resolves after the given time, or at the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, cache: 'no-store' });
  } catch {
    throw new Error('the gateway does not respond');
  }
}

async function bodyOf<T>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => undefined)) as (T & Partial<Refusal>) | undefined;
  if (response.ok && body !== undefined) return body;
  throw new Error(body?.error ?? `the gateway answers ${response.status}`);
}

const EVERY_MS = 2_000;

/** The last overview, with the moments of all overviews before it. */
export interface LiveOverview extends Overview {
  readonly range: Range;
}

type Listener = (seen: LiveOverview) => void;

/** Requests the overview every two seconds while the page is visible. */
export class Live {
  readonly #listeners = new Set<Listener>();
  readonly #failed: (message: string | undefined) => void;
  #moments: readonly Moment[] = [];
  #seen: LiveOverview | undefined;
  #range = SHORTEST_RANGE;

  constructor(failed: (message: string | undefined) => void) {
    this.#failed = failed;
  }

  /** Calls the listener now if there is an overview, and for each new one. Gives a function that removes the listener. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#seen) listener(this.#seen);
    return () => void this.#listeners.delete(listener);
  }

  get range(): Range {
    return this.#range;
  }

  /** Shows another range from now on. */
  show(range: Range): void {
    if (range === this.#range) return;
    this.#range = range;
    this.#moments = [];
    void this.#ask();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!document.hidden) await this.#ask();
      await pause(EVERY_MS, signal);
    }
  }

  async #ask(): Promise<void> {
    const range = this.#range;
    try {
      const since = this.#moments.at(-1)?.atMs ?? 0;
      const overview = await read<Overview>(DATA_PATHS.overview, { since, range: range.name });
      // Meanwhile another range may have been chosen, whose overview is on its way.
      if (range !== this.#range) return;
      this.#add(overview, range);
      this.#seen = { ...overview, range, moments: withLatest(this.#moments, overview.latest) };
      for (const listener of this.#listeners) listener(this.#seen);
      this.#failed(undefined);
    } catch (error) {
      this.#failed((error as Error).message);
    }
  }

  #add({ moments, gateway, nowMs }: Overview, { seconds, stepMs }: Range): void {
    const isAnother = this.#seen !== undefined && this.#seen.gateway.startedMs !== gateway.startedMs;
    const lastMs = isAnother ? 0 : (this.#moments.at(-1)?.atMs ?? 0);
    const oldestMs = nowMs - seconds * 1_000 - stepMs;
    this.#moments = [
      ...(isAnother ? [] : this.#moments),
      ...moments.filter(({ atMs }) => atMs > lastMs),
    ].filter(({ atMs }) => atMs >= oldestMs);
  }
}

/** Adds the present to moments whose last one may be minutes old. */
function withLatest(moments: readonly Moment[], latest: readonly Moment[]): readonly Moment[] {
  const last = latest.at(-1);
  return last && last.atMs > (moments.at(-1)?.atMs ?? 0) ? [...moments, last] : moments;
}
