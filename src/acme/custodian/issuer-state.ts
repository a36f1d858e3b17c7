import { isObject, parseJson } from '../../json.ts';
import type { CertificatePair } from '../shared-certificates.ts';
import { type Attempts, NO_ATTEMPTS, type OrderPause, type RenewalWindow } from './schedule.ts';
import type { StateFiles } from './state-files.ts';

/** The account at an authority. */
interface AccountRecord {
  /** Of the directory: another authority has other accounts. */
  readonly authority: string;
  readonly url: string;
}

/** An order that has been placed and not been finished, with the key of its certificate. */
export interface OrderRecord {
  readonly url: string;
  readonly key: string;
}

/** What is remembered of a certificate besides the certificate itself. */
interface CertificateRecord {
  /** The directory of the authority that issued it; `undefined`: none has yet. */
  readonly authority?: string | undefined;
  readonly attempts: Attempts;
  readonly window?: RenewalWindow | undefined;
}

/** Everything that is kept of a certificate. */
export interface KeptCertificate extends CertificateRecord {
  /** The certificate as it was stored: whether it may serve has not been looked at. */
  readonly pair?: CertificatePair | undefined;
  readonly order?: OrderRecord | undefined;
}

const ACCOUNT_KEY = 'account.key';
const ACCOUNT = 'account.json';
const PAUSE = 'pause.json';
const REQUESTS = 'requests';
const CERTIFICATES = 'certificates';
/** The certificate with its chain, then its key: one file, so that no reader sees those of two certificates. */
const PAIR = 'pair.pem';
const STATE = 'state.json';
const ORDER = 'order.json';

const REQUEST = /^(renew|revoked)-(.+)$/;
/** Requests that are looked at together. */
const MOST_REQUESTS = 10_000;

/** An operator's request for a new certificate. `revoked`: the present one was revoked at the authority. */
interface RenewalRequest {
  readonly kind: 'renew' | 'revoked';
  readonly id: string;
}

interface IssuerStateParts {
  readonly files: StateFiles;
  /** Told once for each file that cannot be used. */
  readonly broken: (message: string) => void;
}

/**
 * What an issuer's `state_path` keeps: `account.key`, `account.json`, `pause.json`, `requests/KIND-ID`, and for each certificate a directory
 * `certificates/ID` with `pair.pem`, `state.json` and, while there is an order, `order.json`.
 */
export class IssuerState {
  readonly #files: StateFiles;
  readonly #broken: IssuerStateParts['broken'];
  /** Certificates that wait to be written, and the orders that are forgotten then. */
  readonly #waiting = new Set<string>();

  constructor({ files, broken }: IssuerStateParts) {
    this.#files = files;
    this.#broken = broken;
  }

  /** Returns the key of the account in PEM. Rejects if it cannot be read: another key would be another account. */
  async accountKey(): Promise<string | undefined> {
    await this.#files.sweep('.');
    const text = await this.#files.read(ACCOUNT_KEY);
    if (text === undefined || text.includes('PRIVATE KEY-----')) return text;
    this.#broken(`"${ACCOUNT_KEY}" is broken, and is made anew`);
    return undefined;
  }

  async saveAccountKey(pem: string): Promise<void> {
    await this.#files.write(ACCOUNT_KEY, pem);
  }

  /** Returns the account at an authority. */
  async account(authority: string): Promise<AccountRecord | undefined> {
    const account = await this.#read(ACCOUNT, (text) => {
      const json = parseJson(text);
      if (!isObject(json)) return undefined;
      const { authority: of, url } = json;
      return typeof of === 'string' && typeof url === 'string' ? { authority: of, url } : undefined;
    });
    return account?.authority === authority ? account : undefined;
  }

  async saveAccount(account: AccountRecord): Promise<void> {
    await this.#files.write(ACCOUNT, `${JSON.stringify(account)}\n`);
  }

  /** Returns until when an authority is asked for nothing new. */
  async pause(authority: string): Promise<OrderPause | undefined> {
    const pause = await this.#read(PAUSE, readPause);
    return pause?.authority === authority ? pause : undefined;
  }

  async savePause(pause: OrderPause): Promise<void> {
    await this.#files.write(PAUSE, `${JSON.stringify(pause)}\n`);
  }

  async endPause(): Promise<void> {
    await this.#files.remove(PAUSE);
  }

  /** Returns what is kept of a certificate. Files that cannot be used are told, and count as missing. */
  async certificate(id: string): Promise<KeptCertificate> {
    await this.#files.sweep(directoryOf(id));
    const pair = await this.#read(pathOf(id, PAIR), readPair);
    const record = (await this.#read(pathOf(id, STATE), readRecord)) ?? { attempts: NO_ATTEMPTS };
    const order = await this.#read(pathOf(id, ORDER), readOrder);
    return { ...record, pair, order };
  }

  /** Returns the stored certificate alone. */
  async pair(id: string): Promise<CertificatePair | undefined> {
    return this.#read(pathOf(id, PAIR), readPair);
  }

  /** The ids of all certificates that are stored. File systems and tools leave names with a dot beside them. */
  async ids(): Promise<readonly string[]> {
    return (await this.#files.names(CERTIFICATES)).filter(isId);
  }

  /** Stores a certificate. Its order is forgotten only then: until then, it can be fetched once more. */
  async savePair(id: string, { chain, key }: CertificatePair): Promise<void> {
    const isSaved = await this.#files.write(pathOf(id, PAIR), `${chain.trimEnd()}\n${key.trimEnd()}\n`);
    if (isSaved) await this.#files.remove(pathOf(id, ORDER));
    else this.#waiting.add(id);
  }

  async saveRecord(id: string, { authority, attempts, window }: CertificateRecord): Promise<void> {
    await this.#files.write(pathOf(id, STATE), `${JSON.stringify({ authority, attempts, window })}\n`);
  }

  async saveOrder(id: string, order: OrderRecord): Promise<void> {
    this.#waiting.delete(id);
    await this.#files.write(pathOf(id, ORDER), `${JSON.stringify(order)}\n`);
  }

  /** Removes all that is kept of a certificate. */
  async forget(id: string): Promise<void> {
    for (const file of [ORDER, PAIR, STATE]) await this.#files.remove(pathOf(id, file));
    await this.#files.removeEmpty(directoryOf(id));
  }

  async forgetOrder(id: string): Promise<void> {
    await this.#files.remove(pathOf(id, ORDER));
  }

  /** Returns the requests of operators. */
  async requests(): Promise<readonly RenewalRequest[]> {
    const names = await this.#files.names(REQUESTS);
    return names.slice(0, MOST_REQUESTS).flatMap((name) => {
      const [, kind, id] = REQUEST.exec(name) ?? [];
      return id === undefined ? [] : [{ kind: kind as RenewalRequest['kind'], id }];
    });
  }

  /** Leaves a request for the gateway that runs. */
  async request({ kind, id }: RenewalRequest): Promise<void> {
    if (id.includes('/')) throw new Error(`"${id}" is no id of a certificate`);
    await this.#files.write(`${REQUESTS}/${kind}-${id}`, '');
  }

  /** Removes a request. Returns false if that failed: it would be found again. */
  async endRequest({ kind, id }: RenewalRequest): Promise<boolean> {
    return this.#files.remove(`${REQUESTS}/${kind}-${id}`);
  }

  /** Tries again what could not be written. */
  async retry(): Promise<void> {
    await this.#files.retry();
    for (const id of this.#waiting) {
      if (this.#files.isWaiting(pathOf(id, PAIR))) continue;
      this.#waiting.delete(id);
      await this.#files.remove(pathOf(id, ORDER));
    }
  }

  async #read<T>(path: string, parse: (text: string) => T | undefined): Promise<T | undefined> {
    try {
      const text = await this.#files.read(path);
      if (text === undefined) return undefined;
      const read = parse(text);
      if (read === undefined) this.#broken(`"${path}" is broken, and is made anew`);
      return read;
    } catch (error) {
      this.#broken((error as Error).message);
      return undefined;
    }
  }
}

/** Ids come from names that were validated; none of those has a slash, or begins with a dot. */
const isId = (text: string): boolean => !text.includes('/') && !text.startsWith('.');

function directoryOf(id: string): string {
  if (!isId(id)) throw new Error(`"${id}" is no id of a certificate`);
  return `${CERTIFICATES}/${id}`;
}

function pathOf(id: string, file: string): string {
  return `${directoryOf(id)}/${file}`;
}

const KEY = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^]*?-----END \1PRIVATE KEY-----\n?/;

function readPair(text: string): CertificatePair | undefined {
  const [key] = KEY.exec(text) ?? [];
  if (key === undefined) return undefined;
  const chain = text.replace(key, '').trim();
  return chain.startsWith('-----BEGIN CERTIFICATE-----') ? { chain: `${chain}\n`, key } : undefined;
}

function readOrder(text: string): OrderRecord | undefined {
  const json = parseJson(text);
  if (!isObject(json)) return undefined;
  const { url, key } = json;
  return typeof url === 'string' && typeof key === 'string' ? { url, key } : undefined;
}

function readPause(text: string): OrderPause | undefined {
  const json = parseJson(text);
  if (!isObject(json)) return undefined;
  const { authority, untilMs, fault, count } = json;
  const isRead =
    typeof authority === 'string' && typeof fault === 'string' && isCount(untilMs) && isCount(count);
  return isRead ? { authority, untilMs, fault, count } : undefined;
}

function readRecord(text: string): CertificateRecord | undefined {
  const json = parseJson(text);
  if (!isObject(json)) return undefined;
  const { authority } = json;
  const attempts = readAttempts(json['attempts']);
  if (!attempts || (authority !== undefined && typeof authority !== 'string')) return undefined;
  return { authority, attempts, window: readWindow(json['window']) };
}

function readAttempts(json: unknown): Attempts | undefined {
  if (!isObject(json)) return undefined;
  const { failures, failedMs, waitMs, fault, isWanted } = json;
  const isRead =
    isCount(failures) &&
    isCount(failedMs) &&
    isCount(waitMs) &&
    typeof fault === 'string' &&
    typeof isWanted === 'boolean';
  return isRead ? { failures, failedMs, waitMs, fault, isWanted } : undefined;
}

function readWindow(json: unknown): RenewalWindow | undefined {
  if (!isObject(json)) return undefined;
  const { certificate, nextPollMs, chosen } = json;
  if (typeof certificate !== 'string' || !isCount(nextPollMs)) return undefined;
  if (!isObject(chosen)) return { certificate, nextPollMs };
  const { startMs, endMs, atMs } = chosen;
  return isCount(startMs) && isCount(endMs) && isCount(atMs)
    ? { certificate, nextPollMs, chosen: { startMs, endMs, atMs } }
    : { certificate, nextPollMs };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
