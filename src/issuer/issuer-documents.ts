import { setTimeout as sleep } from 'node:timers/promises';
import { fetchText, type TextResponse, withinTime } from '../client/index.ts';
import { isObject, parseJson } from '../json.ts';
import { type KeySet, readKeySet } from '../tokens/index.ts';
import { monotonicMs, type SharedText } from '../zone/index.ts';
import {
  type IssuerSource,
  MOST_KEYS_BYTES,
  MOST_METADATA_BYTES,
  namedUrlFault,
  nameOfIssuer,
} from './issuer-source.ts';

/** Keys, or why there are none. */
export type KeysOrFault = KeySet | { readonly fault: string };

/** The members of an issuer's metadata (RFC 8414, 2; OpenID Connect Discovery 1.0, 3). */
type Metadata = Readonly<Record<string, unknown>>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

const MOST_KEYS = 100;
const TIMEOUT_MS = 5 * SECOND;
/** For how long keys are fresh: by `Cache-Control`, within these bounds. */
const SHORTEST_MS = MINUTE;
const USUAL_MS = 10 * MINUTE;
const LONGEST_MS = DAY;
/** Keys are fetched again when this part of their time is over. */
const RENEWAL = 0.8;
/** For how long keys serve when they cannot be fetched again. */
const STALE_MS = DAY;
/** Pauses between fetches: after a failure without known keys, after one with them, and for an unknown key id. */
const RETRY_MS = 5 * SECOND;
const RETRY_WITH_KEYS_MS = 30 * SECOND;
const KEY_ID_MS = 30 * SECOND;
const LOOK_MS = SECOND;
const POLL_MS = 20;
/** Requests of one worker that wait for a fetch; others are judged by the known keys. */
const MOST_WAITING = 100;

/** What all workers know of an issuer. Times are those of the monotonic clock that all threads share, in ms. */
interface DocumentRecord {
  /** The JWK set. */
  readonly text: string;
  readonly metadata: string;
  /** When the last fetch began. */
  readonly askedAtMs: number;
  readonly fetchedAtMs: number;
  readonly freshMs: number;
  readonly failedAtMs: number;
  /** The last fetch because of an unknown key id. */
  readonly soughtAtMs: number;
  readonly fault: string;
}

/** Longer ago than any time that is compared with it; JSON has no infinity. */
const NEVER = -1e15;

const NOTHING: DocumentRecord = {
  text: '',
  metadata: '',
  askedAtMs: NEVER,
  fetchedAtMs: NEVER,
  freshMs: 0,
  failedAtMs: NEVER,
  soughtAtMs: NEVER,
  fault: 'they have not been fetched yet',
};

interface DocumentParts {
  readonly source: IssuerSource;
  readonly shared: SharedText;
  /** Called by the worker that fetched. */
  readonly tell: (result: 'ok' | 'failed', fault: string) => void;
}

/**
 * The keys and the metadata of an issuer. The worker that holds the seat fetches them for all. They are fetched before
 * they are needed, again before they are stale, and at most every 30 s because a token names an unknown key.
 */
export class IssuerDocuments {
  readonly #parts: DocumentParts;
  readonly #seat;
  readonly #timer: NodeJS.Timeout;
  readonly #ending = new AbortController();
  #fetching: Promise<void> | undefined;
  #waiting = 0;
  #revision = -1;
  #record = NOTHING;
  #keys: KeysOrFault = { fault: '' };
  #metadata: Metadata = {};

  constructor(parts: DocumentParts) {
    this.#parts = parts;
    this.#seat = parts.shared.seat(0);
    this.#timer = setInterval(() => this.#renew(), LOOK_MS).unref();
    this.#renew();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#ending.abort();
    this.#seat.leave();
  }

  /** The keys, as long as they may serve. */
  keys(): KeysOrFault {
    if (this.#serves()) return this.#keys;
    return { fault: `no keys from "${nameOfIssuer(this.#parts.source)}": ${this.#record.fault}` };
  }

  /** The metadata, as long as they may serve; without any members if the issuer has none. */
  metadata(): Metadata | { readonly fault: string } {
    if (this.#serves()) return this.#metadata;
    return { fault: `no metadata from "${nameOfIssuer(this.#parts.source)}": ${this.#record.fault}` };
  }

  /** How long ago the documents were fetched; `undefined`: they never were. */
  ageMs(): number | undefined {
    this.#look();
    const { text, fetchedAtMs } = this.#record;
    return text === '' ? undefined : monotonicMs() - fetchedAtMs;
  }

  #serves(): boolean {
    this.#look();
    const { text, fetchedAtMs, freshMs } = this.#record;
    return text !== '' && monotonicMs() < fetchedAtMs + freshMs + STALE_MS;
  }

  /** Waits for a fetch, if one is due: of `all` keys where there are none, of `one` that a token names. */
  ask(missing: 'all' | 'one'): Promise<void> | undefined {
    if (this.#waiting >= MOST_WAITING) return undefined;
    const nowMs = monotonicMs();
    const isBusy = this.#isBusy(nowMs);
    if (!isBusy && !this.#isDue(missing, nowMs)) return undefined;
    const { revision } = this.#parts.shared;
    this.#waiting += 1;
    const fetching = isBusy ? this.#fetching : this.#begin(missing);
    return (fetching ?? this.#others(revision)).finally(() => {
      this.#waiting -= 1;
    });
  }

  /** True while a worker fetches. */
  #isBusy(nowMs: number): boolean {
    this.#look();
    const { askedAtMs, fetchedAtMs, failedAtMs } = this.#record;
    return askedAtMs > Math.max(fetchedAtMs, failedAtMs) && nowMs < askedAtMs + TIMEOUT_MS;
  }

  #isDue(missing: 'all' | 'one' | 'renewal', nowMs: number): boolean {
    this.#look();
    const { text, fetchedAtMs, freshMs, failedAtMs, soughtAtMs } = this.#record;
    if (missing === 'one') return nowMs >= soughtAtMs + KEY_ID_MS;
    const pause = text === '' ? RETRY_MS : RETRY_WITH_KEYS_MS;
    if (nowMs < failedAtMs + pause) return false;
    return missing === 'all' || nowMs >= fetchedAtMs + freshMs * RENEWAL;
  }

  #renew(): void {
    if (this.#isDue('renewal', monotonicMs())) void this.#begin('all');
  }

  /** Fetches; `undefined` if another worker does. */
  #begin(why: 'all' | 'one'): Promise<void> | undefined {
    if (this.#fetching) return this.#fetching;
    if (!this.#seat.hold(2 * TIMEOUT_MS)) return undefined;
    const now = monotonicMs();
    // Another worker may have been faster.
    if (!this.#isDue(why === 'one' ? 'one' : 'renewal', now)) {
      this.#seat.leave();
      return Promise.resolve();
    }
    this.#write((record) => ({ ...record, askedAtMs: now, ...(why === 'one' && { soughtAtMs: now }) }));
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
      this.#seat.leave();
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { source, tell } = this.#parts;
    const ending = this.#ending.signal;
    try {
      const documents = await withinTime({ timeoutMs: TIMEOUT_MS, ending }, (signal) =>
        fetchDocuments(source, signal),
      );
      const found = { ...documents, fetchedAtMs: monotonicMs(), failedAtMs: NEVER, fault: '' };
      const written = this.#write((record) => ({ ...record, ...found }));
      if (written !== 'changed') throw new Error('the response is too long');
      tell('ok', '');
    } catch (error) {
      if (ending.aborted) return;
      const fault = (error as Error).message;
      this.#write((record) => ({ ...record, failedAtMs: monotonicMs(), fault }));
      tell('failed', `keys of "${nameOfIssuer(source)}" could not be fetched: ${fault}`);
    }
  }

  /** Waits until another worker has changed the record. */
  async #others(revision: number): Promise<void> {
    const until = monotonicMs() + TIMEOUT_MS;
    while (this.#parts.shared.revision === revision && monotonicMs() < until)
      await sleep(POLL_MS, undefined, { ref: false });
  }

  #write(next: (record: DocumentRecord) => DocumentRecord): ReturnType<SharedText['change']> {
    return this.#parts.shared.change((text) => JSON.stringify(next(recordOf(text))));
  }

  #look(): void {
    if (this.#parts.shared.revision === this.#revision) return;
    const read = this.#parts.shared.read();
    if (!read) return;
    const before = this.#record;
    this.#revision = read.revision;
    this.#record = recordOf(read.text);
    const { text, metadata } = this.#record;
    if (text !== before.text) this.#keys = readKeySet(text);
    if (metadata !== before.metadata) this.#metadata = JSON.parse(metadata) as Metadata;
  }
}

function recordOf(text: string): DocumentRecord {
  return text === '' ? NOTHING : (JSON.parse(text) as DocumentRecord);
}

/** Fetches the documents of an issuer. Rejects with an error that says what is wrong with them. */
export async function fetchDocuments(
  { keysUrl, metadata: from, trust }: IssuerSource,
  signal: AbortSignal,
): Promise<Pick<DocumentRecord, 'text' | 'metadata' | 'freshMs'>> {
  const fetchJson = (url: string, mostBytes: number): Promise<TextResponse> =>
    fetchText(url, { headers: ACCEPT, signal, mostBytes, trust });
  const metadata = from && (await fetchMetadata(from, (url) => fetchJson(url, MOST_METADATA_BYTES)));
  const response = await fetchJson(keysUrl ?? keysUrlIn(metadata ?? {}), MOST_KEYS_BYTES);
  checkKeys(response);
  return {
    text: response.text,
    metadata: JSON.stringify(metadata ?? {}),
    freshMs: freshnessOf(response.headers['cache-control']),
  };
}

/** Where the metadata of an issuer say that its keys are. */
function keysUrlIn({ jwks_uri: url, issuer }: Metadata): string {
  if (typeof url !== 'string') throw new Error('its metadata have no "jwks_uri"');
  const fault = namedUrlFault(url, String(issuer));
  if (fault !== undefined) throw new Error(`"jwks_uri" of its metadata: ${fault}`);
  return url;
}

const ACCEPT = { Accept: 'application/jwk-set+json, application/json' };

/** The metadata at the first URL that has some. They must be those of the issuer (RFC 8414, 3.3). */
async function fetchMetadata(
  { issuer, urls }: NonNullable<IssuerSource['metadata']>,
  fetchFrom: (url: string) => Promise<TextResponse>,
): Promise<Metadata> {
  let status = 0;
  for (const url of urls) {
    const response = await fetchFrom(url);
    ({ status } = response);
    if (status !== 200) continue;
    const metadata = parseJson(response.text);
    if (!isObject(metadata)) throw new Error('its metadata are not a JSON object');
    if (metadata['issuer'] !== issuer)
      throw new Error(`its metadata name another issuer: ${shown(metadata['issuer'])}`);
    return metadata;
  }
  throw new Error(`status ${status} instead of its metadata`);
}

/** A value in a message: one line of bounded length. */
function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'none').slice(0, 200);
}

/** Throws why a response has no keys. */
function checkKeys({ status, text }: TextResponse): void {
  if (status !== 200) throw new Error(`status ${status}`);
  const json = parseJson(text);
  if (isObject(json) && Array.isArray(json['keys']) && json['keys'].length > MOST_KEYS)
    throw new Error(`more than ${MOST_KEYS} keys`);
  const keys = readKeySet(text);
  if ('fault' in keys) throw new Error(keys.fault);
}

/** For how long a response is fresh (RFC 9111, 5.2.2.1), within bounds. */
function freshnessOf(cacheControl = ''): number {
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(cacheControl) ?? [];
  if (seconds === undefined) return USUAL_MS;
  return Math.min(Math.max(Number(seconds) * SECOND, SHORTEST_MS), LONGEST_MS);
}
