import { createSecretKey, type KeyObject } from 'node:crypto';
import type { ErrorLog } from '../../log/index.ts';
import { isObject } from '../../json.ts';
import { signFlattened } from '../../tokens/index.ts';
import type { AcmeIdentifier, AcmeIssuer } from '../plan.ts';
import { AcmeFault, malformed, shownText } from './fault.ts';
import { chainsOf, choose, derOf } from './chains.ts';
import { Patience } from './patience.ts';
import { AcmeRequests, type AcmeResponse, type Signer } from './requests.ts';
import {
  type AcmeAuthorization,
  type AcmeChallenge,
  type AcmeDirectory,
  type AcmeOrder,
  ResourceReader,
} from './resources.ts';

/** When a certificate should be renewed (RFC 9773, 4.2). */
interface RenewalInfo {
  readonly startMs: number;
  readonly endMs: number;
  readonly explanationUrl?: string;
  /** When to ask again. */
  readonly retryAfterMs: number | undefined;
}

/** An order for a certificate. */
interface OrderRequest {
  readonly identifiers: readonly AcmeIdentifier[];
  readonly profile?: AcmeIssuer['profile'];
  /** The id (RFC 9773, 4.1) of the certificate that the new one replaces. */
  readonly replaces?: string | undefined;
}

interface ClientParts {
  readonly issuer: Pick<
    AcmeIssuer,
    'name' | 'uri' | 'contacts' | 'externalAccount' | 'acceptsTerms' | 'trusted' | 'verifies'
  >;
  /** The private key; without it, only what needs no account can be done. */
  readonly accountKey: KeyObject | undefined;
  readonly log: ErrorLog;
  /** Ends what goes on; all promises reject. */
  readonly signal: AbortSignal;
}

/** How long the directory of an authority is kept. */
const DIRECTORY_MS = 3_600_000;
const PEM_CHAIN = 'application/pem-certificate-chain';

/** Opens a client for the account that has a key at an authority (RFC 8555). Asks nothing yet. */
export function openAcmeClient(parts: ClientParts): AcmeClient {
  return new AcmeClient(parts);
}

/** A client of an authority. All promises reject with an `AcmeFault`. Waits are bounded; see `Patience`. */
export class AcmeClient {
  readonly #parts: ClientParts;
  readonly #requests: AcmeRequests;
  readonly #reader: ResourceReader;
  readonly #patience: Patience;
  #directory: { readonly asked: Promise<AcmeDirectory>; readonly sinceMs: number } | undefined;
  #account: Promise<{ readonly url: string }> | undefined;
  #thumbprint = '';

  constructor(parts: ClientParts) {
    const { issuer, accountKey, signal } = parts;
    this.#parts = parts;
    this.#reader = new ResourceReader(issuer.uri);
    this.#patience = new Patience(signal);
    this.#requests = new AcmeRequests({
      key: accountKey,
      trust: { ca: issuer.trusted?.text, rejectUnauthorized: issuer.verifies },
      signal,
      newNonce: async () => (await this.directory()).newNonce,
    });
  }

  /** What the authority offers; asked once an hour. */
  directory(): Promise<AcmeDirectory> {
    const known = this.#directory;
    if (known && Date.now() - known.sinceMs < DIRECTORY_MS) return known.asked;
    const asked = this.#requests
      .get(this.#parts.issuer.uri)
      .then(({ json }) => this.#reader.directory(json))
      .catch((error: unknown) => {
        this.#directory = undefined;
        throw error;
      });
    this.#directory = { asked, sinceMs: Date.now() };
    return asked;
  }

  /**
   * Finds the account of the key, or makes it. With the URL of a `known` one it is only looked up at first: that needs no
   * external account. Its contacts are changed if they differ.
   */
  account(known?: string): Promise<{ readonly url: string }> {
    this.#account ??= this.#openAccount(known).catch((error: unknown) => {
      this.#account = undefined;
      throw error;
    });
    return this.#account;
  }

  async #openAccount(known: string | undefined): Promise<{ readonly url: string }> {
    const { thumbprint } = await this.#requests.own();
    this.#thumbprint = thumbprint;
    const response =
      (known === undefined ? undefined : await this.#findAccount()) ?? (await this.#makeAccount());
    const url = this.#reader.url(response.location, '"Location" of the account');
    const { status = 'valid', contact } = isObject(response.json) ? response.json : {};
    if (status !== 'valid')
      throw new AcmeFault(`the account is ${shownText(String(status))}`, { kind: 'unauthorized' });
    const { contacts } = this.#parts.issuer;
    if (Array.isArray(contact) && !hasSame(contact, contacts))
      await this.#requests.post(url, { payload: { contact: contacts }, signer: { kid: url } });
    return { url };
  }

  async #findAccount(): Promise<AcmeResponse | undefined> {
    const { newAccount } = await this.directory();
    try {
      return await this.#requests.post(newAccount, {
        payload: { onlyReturnExisting: true },
        signer: 'own key',
      });
    } catch (error) {
      if (error instanceof AcmeFault && error.kind === 'accountDoesNotExist') return undefined;
      throw error;
    }
  }

  async #makeAccount(): Promise<AcmeResponse> {
    const { issuer } = this.#parts;
    const { newAccount, termsOfService, externalAccountRequired } = await this.directory();
    if (termsOfService !== undefined && !issuer.acceptsTerms)
      throw new AcmeFault(
        `the terms of service at ${termsOfService} have to be accepted with "accept_terms_of_service"`,
        { kind: 'refused' },
      );
    if (externalAccountRequired && !issuer.externalAccount)
      throw new AcmeFault('the authority demands an "external_account_key"', { kind: 'refused' });
    const binding = issuer.externalAccount && (await this.#binding(issuer.externalAccount, newAccount));
    return this.#requests.post(newAccount, {
      payload: {
        ...(issuer.acceptsTerms && { termsOfServiceAgreed: true }),
        ...(issuer.contacts.length > 0 && { contact: issuer.contacts }),
        ...(binding && { externalAccountBinding: binding }),
      },
      signer: 'own key',
    });
  }

  /** RFC 8555, 7.3.4. */
  async #binding(
    { kid, key }: NonNullable<AcmeIssuer['externalAccount']>,
    url: string,
  ): ReturnType<typeof signFlattened> {
    const { jwk } = await this.#requests.own();
    const secret = createSecretKey(key, 'base64url');
    if (secret.symmetricKeySize === 0)
      throw new AcmeFault('the key of "external_account_key" is empty', { kind: 'refused' });
    return signFlattened(JSON.stringify(jwk), secret, { alg: 'HS256', kid, url });
  }

  /** Signs with the account, which is opened if it is not yet. One that is lost is made again by the next request. */
  async #post(url: string, payload: unknown, accept?: string): Promise<AcmeResponse> {
    const { url: kid } = await this.account();
    try {
      return await this.#requests.post(url, { payload, signer: { kid }, accept });
    } catch (error) {
      if (error instanceof AcmeFault && error.kind === 'accountDoesNotExist') this.#account = undefined;
      throw error;
    }
  }

  /** Orders a certificate. A `replaces` that the authority does not take is left out. */
  async newOrder({ identifiers, profile, replaces }: OrderRequest): Promise<AcmeOrder> {
    const { newOrder, renewalInfo, profiles } = await this.directory();
    const isOffered = profile !== undefined && profiles.has(profile.name);
    if (profile && !isOffered) this.#missProfile(profile, profiles);
    const order = { identifiers, ...(isOffered && { profile: profile.name }) };
    const before = renewalInfo === undefined ? undefined : replaces;
    try {
      return this.#orderIn(
        await this.#post(newOrder, { ...order, ...(before !== undefined && { replaces: before }) }),
      );
    } catch (error) {
      // Another order has replaced the certificate, or the authority does not know it (RFC 9773, 5).
      const isAboutIt = error instanceof AcmeFault && REPLACEMENT_FAULTS.has(error.kind);
      if (before === undefined || !isAboutIt) throw error;
      return this.#orderIn(await this.#post(newOrder, order));
    }
  }

  #missProfile(
    { name, isRequired }: NonNullable<AcmeIssuer['profile']>,
    profiles: AcmeDirectory['profiles'],
  ): void {
    const offered = [...profiles.keys()].map((one) => `"${shownText(one)}"`).join(', ') || 'none';
    const message = `the authority has no profile "${name}"; it offers ${offered}`;
    if (isRequired) throw new AcmeFault(message, { kind: 'refused' });
    this.#parts.log.write('warn', `issuer "${this.#parts.issuer.name}": ${message}`);
  }

  #orderIn({ json, location }: AcmeResponse): AcmeOrder {
    return this.#reader.order(json, this.#reader.url(location, '"Location" of the order'));
  }

  /** Looks at an order. */
  async order(url: string): Promise<AcmeOrder> {
    return (await this.#askedOrder(url)).value;
  }

  async #askedOrder(url: string): Promise<Asked<AcmeOrder>> {
    const { json, retryAfterMs } = await this.#post(url, undefined);
    return { value: this.#reader.order(json, url), retryAfterMs };
  }

  /** Looks at an authorization. */
  async authorization(url: string): Promise<AcmeAuthorization> {
    return (await this.#askedAuthorization(url)).value;
  }

  async #askedAuthorization(url: string): Promise<Asked<AcmeAuthorization>> {
    const { json, retryAfterMs } = await this.#post(url, undefined);
    return { value: this.#reader.authorization(json, url), retryAfterMs };
  }

  /** What a challenge is to be answered with (RFC 8555, 8.1). The account must be open. */
  keyAuthorization(token: string): string {
    if (this.#thumbprint === '') throw new AcmeFault('the account is not open yet', { kind: 'refused' });
    return `${token}.${this.#thumbprint}`;
  }

  /** Tells the authority that a challenge can be looked at. */
  async accept({ url }: Pick<AcmeChallenge, 'url'>): Promise<void> {
    await this.#post(url, {});
  }

  /** Gives an authorization up (RFC 8555, 7.5.2). */
  async deactivate({ url }: Pick<AcmeAuthorization, 'url'>): Promise<void> {
    await this.#post(url, { status: 'deactivated' });
  }

  /**
   * Waits until an authorization is valid, at most for `mostMs`. Rejects with what the authority found when it becomes
   * anything else.
   */
  async untilDecided({ url }: Pick<AcmeAuthorization, 'url'>, mostMs?: number): Promise<AcmeAuthorization> {
    const found = await this.#patience.until('the authorization', {
      ask: () => this.#askedAuthorization(url),
      isOver: ({ status }) => status !== 'pending',
      mostMs,
    });
    if (found.status === 'valid') return found;
    const error = found.challenges.find((one) => one.error)?.error;
    const what = `the authorization for "${found.identifier.value}" is ${found.status}`;
    throw error
      ? new AcmeFault(`${what}: ${error.message}`, error)
      : new AcmeFault(what, { kind: 'unauthorized' });
  }

  /** Waits until an order can be finalized, at most for `mostMs`. */
  untilReady({ url }: Pick<AcmeOrder, 'url'>, mostMs?: number): Promise<AcmeOrder> {
    return this.#untilOrder({ url, mostMs }, ({ status }) => status !== 'pending');
  }

  /** Waits until there is a certificate, at most for `mostMs`. */
  untilValid({ url }: Pick<AcmeOrder, 'url'>, mostMs?: number): Promise<AcmeOrder> {
    return this.#untilOrder({ url, mostMs }, ({ status }) => status === 'valid' || status === 'invalid');
  }

  async #untilOrder(
    { url, mostMs }: { readonly url: string; readonly mostMs: number | undefined },
    isOver: (order: AcmeOrder) => boolean,
  ): Promise<AcmeOrder> {
    const found = await this.#patience.until('the order', {
      ask: () => this.#askedOrder(url),
      isOver,
      mostMs,
    });
    if (found.status !== 'invalid') return found;
    const { error } = found;
    throw error
      ? new AcmeFault(`the order is invalid: ${error.message}`, error)
      : new AcmeFault('the order is invalid', { kind: 'orderInvalid' });
  }

  /** Sends the request for the certificate in DER. The order need not be valid yet. */
  async finalize({ url, finalize }: Pick<AcmeOrder, 'url' | 'finalize'>, csr: Buffer): Promise<AcmeOrder> {
    const { json } = await this.#post(finalize, { csr: csr.toString('base64url') });
    return this.#reader.order(json, url);
  }

  /**
   * Fetches the chain of a valid order, in PEM. With `preferredChain` it is the one whose last certificate an authority
   * of this common name has signed, if there is one, else the first.
   */
  async download(
    { certificate }: Pick<AcmeOrder, 'certificate'>,
    { preferredChain }: { readonly preferredChain?: string | undefined } = {},
  ): Promise<string> {
    if (certificate === undefined) throw malformed('a valid order without a certificate');
    const fetched = (url: string): Promise<AcmeResponse> => this.#post(url, undefined, PEM_CHAIN);
    const first = await fetched(certificate);
    if (preferredChain === undefined) return first.text;
    return choose(preferredChain, chainsOf(first, { url: certificate, reader: this.#reader, fetched }));
  }

  /** When a certificate should be renewed, by its id (RFC 9773, 4.1). */
  async renewalInfo(certificateId: string): Promise<RenewalInfo> {
    const { renewalInfo } = await this.directory();
    if (renewalInfo === undefined)
      throw new AcmeFault('the authority has no renewal information', { kind: 'refused' });
    const { json, retryAfterMs } = await this.#requests.get(
      `${renewalInfo.replace(/\/$/, '')}/${certificateId}`,
    );
    const { suggestedWindow, explanationURL: explanation } = isObject(json) ? json : {};
    const { start, end } = isObject(suggestedWindow) ? suggestedWindow : {};
    const [startMs, endMs] = [Date.parse(String(start)), Date.parse(String(end))];
    if (!(startMs < endMs)) throw malformed('"suggestedWindow" is no span of time');
    return {
      startMs,
      endMs,
      retryAfterMs,
      ...(typeof explanation === 'string' && { explanationUrl: shownText(explanation) }),
    };
  }

  /** Revokes the first certificate of a chain, by the account or by the certificate's own `key` (RFC 8555, 7.6). */
  async revoke(
    chain: string,
    { reason, key }: { readonly reason?: number; readonly key?: KeyObject } = {},
  ): Promise<void> {
    const { revokeCert } = await this.directory();
    if (revokeCert === undefined)
      throw new AcmeFault('the authority revokes no certificates', { kind: 'refused' });
    const signer: Signer = key ? { key } : { kid: (await this.account()).url };
    const certificate = derOf(chain).toString('base64url');
    const payload = { certificate, ...(reason !== undefined && { reason }) };
    await this.#requests.post(revokeCert, { payload, signer });
  }
}

interface Asked<T> {
  readonly value: T;
  readonly retryAfterMs: number | undefined;
}

const REPLACEMENT_FAULTS: ReadonlySet<string> = new Set(['alreadyReplaced', 'malformed', 'conflict']);

function hasSame(some: readonly unknown[], others: readonly string[]): boolean {
  return some.length === others.length && others.every((one) => some.includes(one));
}
