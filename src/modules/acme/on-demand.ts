import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import {
  type AcmeCertificate,
  certificateId,
  type OnDemandRules,
  type SharedCertificates,
  SparseLines,
} from '../../acme/index.ts';
import { fetchText, LateFault, withinTime } from '../../client/index.ts';
import type { AcmeServer } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import { nameFault } from './identifiers.ts';

/** Handshakes of one worker that wait for certificates. */
const MOST_WAITING = 100;
/** The longest wait of a handshake. */
const WAIT_MS = 10_000;
const POLL_MS = 50;
/** For how long a verdict of `ask` counts. */
const YES_MS = 300_000;
const NO_MS = 60_000;
const MOST_VERDICTS = 10_000;
const ASK_MS = 5_000;
/** The body of a response to `ask` has no meaning. */
const MOST_BYTES = 65_536;

/** The certificate for the name that a client asks for; `undefined` if it asks for none that can be ordered. */
export function demandedBy(x: Exchange, { issuer, key }: OnDemandRules): AcmeCertificate | undefined {
  const value = x.request.connection?.tls?.serverName.toLowerCase() ?? '';
  // A name of one label belongs to no domain.
  if (!value.includes('.') || isIP(value) !== 0 || nameFault(value) !== undefined) return undefined;
  return { issuer, identifiers: [{ type: 'dns', value }], key };
}

/** True if the configured certificate of a server has the name that a client asks for. */
export function isConfigured(x: Exchange, { certificate }: AcmeServer): boolean {
  const name = x.request.connection?.tls?.serverName.toLowerCase() ?? '';
  const parent = name.replace(/^[^.]*/, '*');
  return certificate?.identifiers.some(({ value }) => value === name || value === parent) ?? false;
}

interface OnDemandParts {
  readonly ask: string;
  readonly served: AcmeServer;
  readonly certificates: SharedCertificates;
  readonly log: ErrorLog;
  /** Aborted when the configuration retires. */
  readonly retiring: AbortSignal;
}

/**
 * Certificates for the names that clients ask for in handshakes, if `ask` says so. What is stored serves without a
 * question, so that a dead server behind `ask` ends no TLS that worked.
 */
export class OnDemand {
  readonly #parts: OnDemandParts;
  readonly #verdicts = new LRUCache<string, boolean>({ max: MOST_VERDICTS });
  /** The questions to `ask` that have no response yet. */
  readonly #asking = new Map<string, Promise<boolean>>();
  readonly #lines: SparseLines;
  #waiting = 0;

  constructor(parts: OnDemandParts) {
    this.#parts = parts;
    this.#lines = new SparseLines(parts.log);
  }

  /** Waits until the certificate for a handshake is there, or none is to be expected. */
  await(x: Exchange): Promise<void> | undefined {
    const { served, certificates } = this.#parts;
    if (!served.onDemand || isConfigured(x, served)) return undefined;
    const certificate = demandedBy(x, served.onDemand);
    if (!certificate) return undefined;
    const id = certificateId(certificate);
    if (certificates.certificate(id)) return undefined;
    if (this.#waiting >= MOST_WAITING) {
      this.#lines.write(
        'warn',
        `${MOST_WAITING} handshakes wait for certificates already: one for "${id}" does not`,
      );
      return undefined;
    }
    this.#waiting++;
    return this.#order(x, certificate).finally(() => this.#waiting--);
  }

  async #order(x: Exchange, certificate: AcmeCertificate): Promise<void> {
    const { certificates, retiring } = this.#parts;
    const endMs = performance.now() + WAIT_MS;
    const [{ value: name } = { value: '' }] = certificate.identifiers;
    const id = certificateId(certificate);
    if (!(await this.#mayHave(x, name))) return;
    if (isRefused(certificates.answerTo(id))) return;
    if (!certificates.ask(certificate))
      return this.#lines.write('warn', `too many certificates are asked for: none is ordered for "${name}"`);
    let revision = NaN;
    while (performance.now() < endMs && !retiring.aborted) {
      // What nobody has changed need not be looked at.
      if (certificates.revision !== revision) {
        revision = certificates.revision;
        if (certificates.certificate(id) || isRefused(certificates.answerTo(id))) return;
      }
      await sleep(POLL_MS);
    }
  }

  /** Asks whether a name may have a certificate, at most once at the same time. */
  #mayHave(x: Exchange, name: string): Promise<boolean> {
    const known = this.#verdicts.get(name);
    if (known !== undefined) return Promise.resolve(known);
    const asking = this.#asking.get(name) ?? this.#askFor(x, name);
    this.#asking.set(name, asking);
    return asking;
  }

  async #askFor(x: Exchange, name: string): Promise<boolean> {
    const { ask, log } = this.#parts;
    try {
      const status = await (ask.startsWith('/') ? askServer(x, ask, name) : askUrl(ask, name));
      const isYes = status === 200;
      this.#verdicts.set(name, isYes, { ttl: isYes ? YES_MS : NO_MS });
      if (!isYes) log.write('info', `"${name}" gets no certificate: "acme_on_demand" got status ${status}`);
      return isYes;
    } catch (error) {
      this.#lines.write('error', `"acme_on_demand" cannot ask for "${name}": ${(error as Error).message}`);
      return false;
    } finally {
      this.#asking.delete(name);
    }
  }
}

const isRefused = (outcome: string | undefined): boolean => outcome === 'refused' || outcome === 'failed';

/** Sends a request to a URI of the server itself, without a client. Resolves with its status. */
async function askServer(x: Exchange, uri: string, name: string): Promise<number> {
  const timer = setTimeout(() => x.abort(), ASK_MS);
  try {
    const { status, aborted } = await x.subrequest({ uri, args: `domain=${name}`, keep: 'head' });
    if (aborted) throw new Error(`no response within ${ASK_MS / 1_000} s`);
    return status;
  } finally {
    clearTimeout(timer);
  }
}

async function askUrl(ask: string, name: string): Promise<number> {
  const url = new URL(ask);
  url.searchParams.set('domain', name);
  try {
    const { status } = await withinTime({ timeoutMs: ASK_MS }, (signal) =>
      fetchText(url.href, { signal, mostBytes: MOST_BYTES }),
    );
    return status;
  } catch (error) {
    throw error instanceof LateFault ? new Error(`${url.host}: ${error.message}`) : error;
  }
}
