import type { KeyObject } from 'node:crypto';
import { fetchText, LateFault, type TrustSettings, withinTime } from '../../client/index.ts';
import { parseJson } from '../../json.ts';
import { UNKNOWN_AUTHORITY } from '../../system/index.ts';
import { publicJwkOf, type SignedJson, signFlattened } from '../../tokens/index.ts';
import { VERSION } from '../../version.ts';
import { AcmeFault, malformed, responseFault } from './fault.ts';

/** A response that reports success. */
export interface AcmeResponse {
  readonly status: number;
  readonly text: string;
  /** `undefined` if the text is not JSON. */
  readonly json: unknown;
  /** `Location`. */
  readonly location: string | undefined;
  readonly link: string;
  readonly retryAfterMs: number | undefined;
}

/** How an authority is asked. */
interface RequestSettings {
  /** Of the account. */
  readonly key: KeyObject | undefined;
  readonly trust: TrustSettings;
  readonly signal: AbortSignal;
  /** Where nonces come from when none is left. */
  newNonce(): Promise<string>;
}

/** Who signs a request: the account of this URL, or a key that the request has with it. */
export type Signer = { readonly kid: string } | 'own key' | { readonly key: KeyObject };

/** A request that is signed. */
interface SignedRequest {
  /** `undefined` asks for a resource (POST-as-GET). */
  readonly payload: unknown;
  readonly signer: Signer;
  readonly accept?: string | undefined;
}

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 1_048_576;
const MOST_NONCES = 32;
/** How often a request is sent again because of its nonce (RFC 8555, 6.5). */
const NONCE_RETRIES = 3;
const LONGEST_WAIT_MS = 366 * 86_400_000;

/** Sends requests to one authority: signs them, keeps nonces, and bounds what comes back in time and length. */
export class AcmeRequests {
  readonly #settings: RequestSettings;
  /** The newest is the last. */
  readonly #nonces: string[] = [];
  #own: ReturnType<typeof publicJwkOf> | undefined;

  constructor(settings: RequestSettings) {
    this.#settings = settings;
  }

  /** The public key of the account, and its digest. */
  own(): ReturnType<typeof publicJwkOf> {
    this.#own ??= publicJwkOf(this.#key());
    return this.#own;
  }

  #key(): KeyObject {
    const { key } = this.#settings;
    if (!key) throw new AcmeFault('there is no key of an account', { kind: 'refused' });
    return key;
  }

  /** Asks for a public resource, which needs no signature. Rejects with an `AcmeFault`. */
  async get(url: string): Promise<AcmeResponse> {
    const response = await this.#send(url, { method: 'GET' });
    return succeeded({ ...response, url });
  }

  /** Sends a signed request. Rejects with an `AcmeFault`. */
  async post(url: string, { payload, signer, accept }: SignedRequest): Promise<AcmeResponse> {
    for (let tries = 0; ; tries += 1) {
      const nonce = this.#nonces.pop() ?? (await this.#newNonce());
      const body = JSON.stringify(await this.#signed({ url, nonce, payload, signer }));
      const response = await this.#send(url, { method: 'POST', body, accept });
      if (response.status < 300) return succeeded(response);
      const fault = responseFault(response);
      if (fault.kind !== 'badNonce' || tries === NONCE_RETRIES) throw fault;
    }
  }

  async #signed(parts: {
    readonly url: string;
    readonly nonce: string;
    readonly payload: unknown;
    readonly signer: Signer;
  }): Promise<SignedJson> {
    const { url, nonce, payload, signer } = parts;
    const key = typeof signer === 'object' && 'key' in signer ? signer.key : this.#key();
    const by =
      typeof signer === 'object' && 'kid' in signer
        ? { kid: signer.kid }
        : { jwk: (key === this.#settings.key ? await this.own() : await publicJwkOf(key)).jwk };
    const text = payload === undefined ? '' : JSON.stringify(payload);
    return signFlattened(text, key, { alg: algorithmOf(key), nonce, url, ...by });
  }

  async #newNonce(): Promise<string> {
    const response = await this.#send(await this.#settings.newNonce(), { method: 'HEAD' });
    if (response.status >= 300) throw responseFault(response);
    const nonce = this.#nonces.pop();
    if (nonce === undefined) throw malformed('a response without "Replay-Nonce"', response.status);
    return nonce;
  }

  async #send(
    url: string,
    {
      method,
      body,
      accept,
    }: { readonly method: string; readonly body?: string; readonly accept?: string | undefined },
  ): Promise<AcmeResponse> {
    const { trust, signal } = this.#settings;
    const headers = {
      'User-Agent': `gw/${VERSION}`,
      ...(accept !== undefined && { Accept: accept }),
      ...(body !== undefined && { 'Content-Type': 'application/jose+json' }),
    };
    const {
      status,
      text,
      headers: got,
    } = await withinTime({ timeoutMs: TIMEOUT_MS, ending: signal }, (timed) =>
      fetchText(url, { method, body, headers, signal: timed, mostBytes: MOST_BYTES, trust }),
    ).catch((error: Error) => {
      const message = error instanceof LateFault ? error.message : connectionFault(error);
      throw new AcmeFault(message, { kind: 'unreachable' });
    });
    this.#keep(got['replay-nonce']);
    return {
      status,
      text,
      json: parseJson(text),
      location: got.location,
      link: String(got['link'] ?? ''),
      retryAfterMs: waitOf(got['retry-after'], Date.now()),
    };
  }

  #keep(nonce: string | string[] | undefined): void {
    if (typeof nonce !== 'string' || !/^[\w-]{1,1024}$/.test(nonce)) return;
    this.#nonces.push(nonce);
    // The oldest would be refused first.
    if (this.#nonces.length > MOST_NONCES) this.#nonces.shift();
  }
}

function succeeded(response: AcmeResponse & { readonly url?: string }): AcmeResponse {
  if (response.status < 200 || response.status >= 300) throw responseFault(response);
  return response;
}

/** Codes of node:tls for certificates that are out of date, or that a wrong clock takes for that. */
const OUT_OF_DATE: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** Returns why an authority could not be asked, in one line. */
export function connectionFault({ message, cause }: Error): string {
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException;
  if (UNKNOWN_AUTHORITY.has(code))
    return `${message} ("ssl_trusted_certificate" of the issuer says whom to trust)`;
  const now = new Date().toISOString();
  return OUT_OF_DATE.has(code) ? `${message} (the clock of this machine says ${now})` : message;
}

/** The algorithm by which a key signs requests (RFC 7518, 3.1). Throws if it can sign none. */
function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (asymmetricKeyType === 'rsa') return 'RS256';
  const found = CURVES[asymmetricKeyDetails?.namedCurve ?? ''];
  if (found !== undefined) return found;
  throw new AcmeFault('the key is neither RSA nor one of P-256, P-384 and P-521', { kind: 'refused' });
}

const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** Reads `Retry-After`: seconds or a date (RFC 9110, 10.2.3). */
function waitOf(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,10}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_WAIT_MS) : undefined;
}
