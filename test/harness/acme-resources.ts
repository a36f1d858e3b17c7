import { randomBytes, X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Jws, keyOfJwk, Problem, readJws, thumbprintOf, verifyBinding, verifyJws } from './acme-jws.ts';
import { Certifier } from './acme-issuing.ts';
import {
  type Account,
  accountReply,
  type Authorization,
  type Challenge,
  contentOf,
  type Identifier,
  type Issued,
  json,
  JSON_TYPE,
  mustBeEmpty,
  type Order,
  owned,
  readCsr,
  type Reply,
  wantedName,
} from './acme-records.ts';
import { type Network, validate } from './acme-validation.ts';

/** What a client can ask of an authority. */
export type Step = keyof typeof PATHS;

const PATHS = {
  directory: /^\/directory$/,
  newNonce: /^\/new-nonce$/,
  newAccount: /^\/new-account$/,
  newOrder: /^\/new-order$/,
  revokeCert: /^\/revoke$/,
  renewalInfo: /^\/renewal\/[\w.-]+$/,
  account: /^\/account\/\d+$/,
  order: /^\/order\/\d+$/,
  finalize: /^\/finalize\/\d+$/,
  authorization: /^\/authorization\/\d+$/,
  challenge: /^\/challenge\/\d+$/,
  certificate: /^\/certificate\/\d+(?:\/alternate)?$/,
} as const;

export interface AuthorityOptions {
  /** Default: any free one. */
  readonly port?: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Keys in base64url by their ids; with any, accounts have to be bound to one. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
  /** A URL, which accounts have to agree with. */
  readonly terms?: string;
  readonly profiles?: Readonly<Record<string, string>>;
  /** False: no RFC 9773. */
  readonly hasRenewalInfo?: boolean;
  /** False: all challenges are taken for met. */
  readonly validates?: boolean;
  /** False: each order has new authorizations. */
  readonly reuses?: boolean;
  readonly challenges?: readonly string[];
  readonly httpPort?: number;
  readonly tlsPort?: number;
}

interface Asked {
  readonly step: Step;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

const DAY_MS = 86_400_000;

/** The resources of an authority, and what its requests do to them. */
export class AcmeResources {
  readonly options: AuthorityOptions;
  /** Of the directory. */
  readonly url: string;
  readonly base: string;
  readonly network: Network;
  readonly accounts: Account[] = [];
  readonly orders: Order[] = [];
  readonly authorizations: Authorization[] = [];
  readonly issued: Issued[] = [];
  readonly certifier = new Certifier();
  /** What stays pending for ever. */
  stuck: 'authorization' | 'order' | undefined;
  /** What RFC 9773 says for every certificate. */
  window: { readonly startMs: number; readonly endMs: number; readonly retryAfter?: string } | undefined;
  readonly #nonces = new Set<string>();

  constructor(base: string, options: AuthorityOptions) {
    this.base = base;
    this.url = `${base}/directory`;
    this.options = options;
    this.network = {
      httpPort: options.httpPort ?? 80,
      tlsPort: options.tlsPort ?? 443,
      txt: new Map(),
      issuerDomains: ['authority.test'],
    };
  }

  /** What a path is about; `undefined`: there is no such resource. */
  stepOf(path: string): Step | undefined {
    return (Object.keys(PATHS) as Step[]).find((step) => PATHS[step].test(path));
  }

  newNonce(): string {
    const nonce = randomBytes(12).toString('base64url');
    this.#nonces.add(nonce);
    return nonce;
  }

  /** Forgets accounts, as an authority that was set up anew. */
  forget(): void {
    this.accounts.length = 0;
  }

  /** Responds to a request. Throws a `Problem`. */
  async replyTo(asked: Asked, body: string): Promise<Reply> {
    const { step, method, path } = asked;
    if (step === 'directory') return json(this.#directory());
    if (step === 'newNonce') return { status: method === 'HEAD' ? 200 : 204 };
    if (step === 'renewalInfo') return this.#renewalInfo(path);
    const jws = this.#opened(asked, body);
    if (step === 'newAccount') return this.#newAccount(jws);
    if (step === 'revokeCert') return this.#revoke(jws);
    const account = this.#accountOf(jws);
    verifyJws(jws, account.key);
    return this.#replyFor(asked, jws, account);
  }

  #replyFor({ step, path }: Asked, jws: Jws, account: Account): Reply {
    const at = `${this.base}${path}`;
    const replies: Partial<Record<Step, () => Reply>> = {
      newOrder: () => this.#newOrder(contentOf(jws), account),
      account: () => this.#changeAccount(jws, account),
      order: () => this.#showOrder(owned(this.orders, at, account), jws),
      finalize: () => this.#finalize(owned(this.orders, at.replace('/finalize/', '/order/'), account), jws),
      authorization: () => this.#authorization(owned(this.authorizations, at, account), jws),
      challenge: () => this.#challenge(at, account, jws),
      certificate: () => this.#certificate(at, account, jws),
    };
    const reply = replies[step]?.();
    if (!reply) throw new Problem(404, 'malformed');
    return reply;
  }

  #directory(): unknown {
    const { externalAccounts, terms, profiles, hasRenewalInfo = true } = this.options;
    const [newNonce, newAccount, newOrder] = ['new-nonce', 'new-account', 'new-order'].map(
      (path) => `${this.base}/${path}`,
    );
    return {
      newNonce,
      newAccount,
      newOrder,
      revokeCert: `${this.base}/revoke`,
      ...(hasRenewalInfo && { renewalInfo: `${this.base}/renewal` }),
      meta: {
        ...(terms !== undefined && { termsOfService: terms }),
        ...(externalAccounts && { externalAccountRequired: true }),
        ...(profiles && { profiles }),
        website: 'https://authority.test',
        caaIdentities: this.network.issuerDomains,
      },
    };
  }

  /** Checks all of a signed request but its signature, which needs the key. */
  #opened({ method, path, headers, step }: Asked, body: string): Jws {
    if (method !== 'POST') throw new Problem(405, 'malformed', 'only POST');
    if (headers['content-type'] !== 'application/jose+json')
      throw new Problem(415, 'malformed', 'wrong type');
    if (!/\S/.test(headers['user-agent'] ?? '')) throw new Problem(400, 'malformed', 'no User-Agent');
    const jws = readJws(body);
    const { nonce, url, kid, jwk } = jws.header;
    if (!this.#nonces.delete(String(nonce))) throw new Problem(400, 'badNonce');
    if (url !== `${this.base}${path}`)
      throw new Problem(401, 'unauthorized', 'the request was signed for another URL');
    const [hasKid, hasJwk] = [kid !== undefined, jwk !== undefined];
    if (hasKid === hasJwk) throw new Problem(400, 'malformed', 'neither or both of "kid" and "jwk"');
    if (step === 'newAccount' ? hasKid : hasJwk && step !== 'revokeCert')
      throw new Problem(400, 'malformed', 'wrong one of "kid" and "jwk"');
    return jws;
  }

  #accountOf({ header }: Jws): Account {
    const account = this.accounts.find(({ url }) => url === header['kid']);
    if (!account) throw new Problem(400, 'accountDoesNotExist', 'no such account');
    if (account.status !== 'valid')
      throw new Problem(403, 'unauthorized', `the account is ${account.status}`);
    return account;
  }

  #newAccount(jws: Jws): Reply {
    const key = keyOfJwk(jws.header['jwk']);
    verifyJws(jws, key);
    const { onlyReturnExisting, termsOfServiceAgreed, contact = [], externalAccountBinding } = contentOf(jws);
    const thumbprint = thumbprintOf(key);
    const known = this.accounts.find((one) => one.thumbprint === thumbprint);
    if (known) return { ...accountReply(known), status: 200 };
    if (onlyReturnExisting === true) throw new Problem(400, 'accountDoesNotExist', 'no account has this key');
    const { terms, externalAccounts: secrets } = this.options;
    if (terms !== undefined && termsOfServiceAgreed !== true) throw new Problem(403, 'userActionRequired');
    if (secrets) verifyBinding(externalAccountBinding, { url: `${this.base}/new-account`, key, secrets });
    const url = `${this.base}/account/${this.accounts.length + 1}`;
    const account = { url, key, thumbprint, status: 'valid', contact: contact as string[] };
    this.accounts.push(account);
    return accountReply(account);
  }

  #changeAccount(jws: Jws, account: Account): Reply {
    const { contact, status } = jws.payload === '' ? {} : contentOf(jws);
    if (Array.isArray(contact)) account.contact = contact as string[];
    if (status === 'deactivated') account.status = status;
    return { ...accountReply(account), status: 200 };
  }

  #newOrder(content: Record<string, unknown>, account: Account): Reply {
    const { identifiers, profile, replaces } = content as Partial<Order>;
    if (!Array.isArray(identifiers) || identifiers.length === 0)
      throw new Problem(400, 'malformed', 'no identifiers');
    if (profile !== undefined && !Object.hasOwn(this.options.profiles ?? {}, profile))
      throw new Problem(400, 'invalidProfile');
    if (replaces !== undefined) this.#checkReplaced(replaces);
    const wanted = identifiers as readonly Identifier[];
    const values = new Set(wanted.map(({ value }) => value));
    const covered = wanted.find(
      ({ value }) => /^[^*]/.test(value) && values.has(value.replace(/^[^.]*/, '*')),
    );
    if (covered) throw new Problem(400, 'malformed', `"${covered.value}" is covered by a wildcard`);
    const authorizations = wanted.map((identifier) => this.#authorizationFor(identifier, account));
    const order: Order = {
      url: `${this.base}/order/${this.orders.length + 1}`,
      account,
      identifiers: wanted,
      authorizations,
      status: authorizations.every(({ status }) => status === 'valid') ? 'ready' : 'pending',
      ...(profile !== undefined && { profile }),
      ...(replaces !== undefined && { replaces }),
    };
    this.orders.push(order);
    return { ...this.#orderReply(order), status: 201 };
  }

  #checkReplaced(id: string): void {
    if (!this.issued.some((one) => one.id === id)) throw new Problem(404, 'malformed', 'unknown certificate');
    const isOver = this.orders.some(({ replaces, status }) => replaces === id && status !== 'invalid');
    if (isOver) throw new Problem(409, 'alreadyReplaced');
  }

  #authorizationFor({ type, value }: Identifier, account: Account): Authorization {
    const isWildcard = value.startsWith('*.');
    const identifier = { type, value: isWildcard ? value.slice(2) : value };
    const known = this.authorizations.find(
      (one) =>
        one.account === account &&
        one.status === 'valid' &&
        one.isWildcard === isWildcard &&
        one.identifier.value === identifier.value,
    );
    if (known && this.options.reuses !== false) return known;
    const number = this.authorizations.length + 1;
    const { challenges = ['http-01', 'tls-alpn-01', 'dns-01', 'dns-persist-01'] } = this.options;
    const fitting = challenges.filter(
      (one) => (isWildcard ? one.startsWith('dns') : true) && (type === 'ip' ? !one.startsWith('dns') : true),
    );
    const authorization = {
      url: `${this.base}/authorization/${number}`,
      account,
      identifier,
      isWildcard,
      status: 'pending',
      challenges: fitting.map((one, at) => ({
        url: `${this.base}/challenge/${number * 10 + at}`,
        type: one,
        token: randomBytes(24).toString('base64url'),
        status: 'pending',
      })),
    };
    this.authorizations.push(authorization);
    return authorization;
  }

  #orderReply({ url, authorizations, identifiers, status, certificate, error }: Order): Reply {
    const expires = new Date(Date.now() + DAY_MS).toISOString();
    const finalize = url.replace('/order/', '/finalize/');
    const urls = authorizations.map((one) => one.url);
    const body = { status, identifiers, authorizations: urls, finalize, expires, certificate, error };
    return { ...json(body), headers: { ...JSON_TYPE, Location: url } };
  }

  #showOrder(order: Order, jws: Jws): Reply {
    mustBeEmpty(jws);
    const statuses = order.authorizations.map(({ status }) => status);
    if (order.status === 'pending') {
      if (statuses.every((status) => status === 'valid')) order.status = 'ready';
      else if (statuses.some((status) => status !== 'pending' && status !== 'valid'))
        order.status = 'invalid';
    } else if (order.status === 'processing' && this.stuck !== 'order' && order.certificate !== undefined)
      order.status = 'valid';
    return this.#orderReply(order);
  }

  #authorization(authorization: Authorization, jws: Jws): Reply {
    if (jws.payload !== '') authorization.status = String(contentOf(jws)['status']);
    const { identifier, isWildcard, status, challenges } = authorization;
    const shown = challenges.map((one) => this.#shown(one));
    const expires = new Date(Date.now() + DAY_MS).toISOString();
    return json({ identifier, ...(isWildcard && { wildcard: true }), status, challenges: shown, expires });
  }

  #shown(challenge: Challenge): unknown {
    if (challenge.type !== 'dns-persist-01') return challenge;
    const { url, type, status, error } = challenge;
    return { url, type, status, error, 'issuer-domain-names': this.network.issuerDomains };
  }

  #challenge(url: string, account: Account, jws: Jws): Reply {
    const authorization = this.authorizations.find(({ challenges }) =>
      challenges.some((one) => one.url === url),
    );
    const challenge = authorization?.challenges.find((one) => one.url === url);
    if (!authorization || !challenge || authorization.account !== account)
      throw new Problem(404, 'malformed');
    if (jws.payload !== '{}') throw new Problem(400, 'malformed', 'a challenge is accepted with {}');
    if (challenge.status === 'pending' && authorization.status === 'pending') {
      challenge.status = 'processing';
      void this.#validate(authorization, challenge);
    }
    return json(this.#shown(challenge));
  }

  async #validate(authorization: Authorization, challenge: Challenge): Promise<void> {
    const { identifier, isWildcard, account } = authorization;
    const { type, token } = challenge;
    const { network } = this;
    const keyAuthorization = `${token}.${account.thumbprint}`;
    const looked = {
      type,
      token,
      identifier,
      isWildcard,
      keyAuthorization,
      accountUrl: account.url,
      network,
    };
    try {
      if (this.options.validates !== false) await validate(looked);
      if (this.stuck === 'authorization') return;
      challenge.status = authorization.status = 'valid';
    } catch (error) {
      challenge.status = authorization.status = 'invalid';
      challenge.error = (error as Problem).document();
    }
  }

  #finalize(order: Order, jws: Jws): Reply {
    if (order.status === 'pending') this.#showOrder(order, { ...jws, payload: '' });
    if (order.status !== 'ready') throw new Problem(403, 'orderNotReady', `the order is ${order.status}`);
    const request = readCsr(contentOf(jws)['csr']);
    const wanted = order.identifiers.map(wantedName).sort();
    if (wanted.join() !== request.wanted.join())
      throw new Problem(400, 'badCSR', 'the names are not those of the order');
    order.status = 'processing';
    const url = `${this.base}/certificate/${this.issued.length + 1}`;
    this.issued.push({ ...this.certifier.issue(request), url, order, commonName: request.commonName });
    const reply = this.#orderReply(order);
    order.certificate = url;
    return reply;
  }

  #certificate(at: string, account: Account, jws: Jws): Reply {
    mustBeEmpty(jws);
    const url = at.replace(/\/alternate$/, '');
    const issued = this.issued.find((one) => one.url === url && one.order.account === account);
    if (!issued) throw new Problem(404, 'malformed', 'no such certificate');
    const headers = {
      'Content-Type': 'application/pem-certificate-chain',
      Link: `<${url}/alternate>;rel="alternate"`,
    };
    const body = url === at ? issued.pem : this.certifier.otherChain(issued.leaf);
    return { status: 200, body, headers };
  }

  #renewalInfo(path: string): Reply {
    const issued = this.issued.find(({ id }) => path.endsWith(`/${id}`));
    if (!issued) throw new Problem(404, 'malformed', 'unknown certificate');
    const { validTo } = new X509Certificate(issued.leaf);
    const end = Date.parse(validTo);
    const {
      startMs,
      endMs,
      retryAfter = '21600',
    } = this.window ?? { startMs: end - 30 * DAY_MS, endMs: end - 28 * DAY_MS };
    const suggestedWindow = { start: new Date(startMs).toISOString(), end: new Date(endMs).toISOString() };
    const reply = json({ suggestedWindow, explanationURL: 'https://authority.test/why' });
    return { ...reply, headers: { ...JSON_TYPE, 'Retry-After': retryAfter } };
  }

  #revoke(jws: Jws): Reply {
    const { certificate, reason } = contentOf(jws);
    const der = Buffer.from(String(certificate), 'base64url');
    const issued = this.issued.find(({ leaf }) => leaf.equals(der));
    if (!issued) throw new Problem(404, 'malformed', 'no such certificate');
    if (jws.header['jwk'] === undefined) {
      const account = this.#accountOf(jws);
      verifyJws(jws, account.key);
      if (account !== issued.order.account) throw new Problem(403, 'unauthorized');
    } else {
      const key = keyOfJwk(jws.header['jwk']);
      verifyJws(jws, key);
      if (!new X509Certificate(der).publicKey.equals(key)) throw new Problem(403, 'unauthorized');
    }
    if (issued.revoked) throw new Problem(400, 'alreadyRevoked');
    issued.revoked = { reason: reason as number | undefined };
    return { status: 200 };
  }
}
