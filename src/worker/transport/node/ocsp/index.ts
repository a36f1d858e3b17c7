import type { X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ocspResponderOf } from '../../../../system/index.ts';
import { askResponder } from './ask.ts';
import { encodeRequest, idOf, type Pair, readResponse, type Statement } from '../../../../x509/index.ts';

/** A question about the status of a certificate. */
interface StatusQuestion {
  readonly pair: Pair;
  /** Instead of the responder that the certificate names. */
  readonly responder: string | undefined;
  /** Certificates that may sign a response besides those of RFC 6960. */
  readonly trusted: readonly X509Certificate[];
}

async function ask({ pair, responder, trusted }: StatusQuestion): Promise<Statement & { der: Buffer }> {
  const url = responder ?? ocspResponderOf(pair.certificate);
  if (url === undefined) throw new Error('no OCSP responder URL in the certificate');
  const der = await askResponder(url, encodeRequest(pair));
  return { ...readResponse(der, pair, trusted), der };
}

/** Milliseconds; nginx: ngx_ssl_stapling_ocsp_handler. */
const SOONEST_REFRESH_MS = 300_000;
const LATEST_REFRESH_MS = 3_600_000;

/** The OCSP response that is stapled to one certificate (`ssl_stapling`). */
export class Staple {
  readonly #question: StatusQuestion;
  readonly #log: (reason: string) => void;
  #der: Buffer | undefined = undefined;
  #endsMs = 0;
  #refreshMs = 0;
  #asks = false;

  constructor(question: StatusQuestion, log: (reason: string) => void) {
    this.#question = question;
    this.#log = log;
  }

  /** Returns the response if it is valid, and fetches a new one if it is time to. */
  take(): Buffer | undefined {
    const now = Date.now();
    if (!this.#asks && now >= this.#refreshMs) void this.#renew();
    return now < this.#endsMs ? this.#der : undefined;
  }

  async #renew(): Promise<void> {
    this.#asks = true;
    try {
      const { status, endsMs, der } = await ask(this.#question);
      if (status !== 'good') throw new Error(`certificate status "${status}" in the OCSP response`);
      const now = Date.now();
      this.#der = der;
      this.#endsMs = endsMs;
      const inTime = Math.min(endsMs - SOONEST_REFRESH_MS, now + LATEST_REFRESH_MS);
      this.#refreshMs = Math.max(inTime, now + SOONEST_REFRESH_MS);
    } catch (error) {
      this.#refreshMs = Date.now() + SOONEST_REFRESH_MS;
      this.#log((error as Error).message);
    } finally {
      this.#asks = false;
    }
  }
}

/** The statuses of client certificates (`ssl_ocsp`). Simultaneous questions about a certificate share one request. */
export class ClientStatuses {
  readonly #known: LRUCache<string, Statement> | undefined;
  readonly #asked = new Map<string, Promise<Statement>>();

  /** `most` is the number of statuses that are kept; 0: none. */
  constructor(most: number) {
    this.#known = most > 0 ? new LRUCache({ max: most }) : undefined;
  }

  /** Returns the status of a certificate. Rejects with a reason in one line. */
  async of(question: StatusQuestion): Promise<Statement['status']> {
    const id = `${question.responder ?? ''} ${idOf(question.pair)}`;
    const known = this.#known?.get(id);
    if (known && known.endsMs > Date.now()) return known.status;
    const asked = this.#asked.get(id) ?? ask(question);
    this.#asked.set(id, asked);
    try {
      const { status, endsMs } = await asked;
      // Without a time, newer information is always available.
      if (endsMs !== Infinity) this.#known?.set(id, { status, endsMs });
      return status;
    } finally {
      this.#asked.delete(id);
    }
  }
}
