import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Denial, type Exchange, logContext } from '../../http/index.ts';
import { isObject, parseJson } from '../../json.ts';
import type { ErrorLog, Level } from '../../log/index.ts';
import {
  type Cookie,
  cookieText,
  furtherParts,
  loginPrefix,
  noCookieText,
  sessionCookies,
  sessionValues,
  takenCookies,
} from './cookies.ts';
import type { OpenProvider } from './open-provider.ts';
import { type Metadata, type PendingLogin, ProviderFault } from './provider-client.ts';
import { StoreFault } from './sessions.ts';
import { absoluteUrl, returnTarget, type Site } from './site.ts';

/** A login that was begun, as its cookie has it. */
interface BegunLogin extends PendingLogin {
  readonly target: string;
  readonly endsMs: number;
}

/** A login that a client comes back from, and its cookie. */
interface FoundLogin {
  readonly cookie: Cookie;
  readonly login: BegunLogin;
  readonly site: Site;
}

/** Why a login has failed. */
interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly level?: Level;
}

/** The errors of a provider that a client causes (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6). */
const BY_CLIENTS: ReadonlySet<string> = new Set([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'login_required',
]);

const LOGIN_S = 600;
const MOST_LOGINS = 5;
const RANDOM_BYTES = 32;

/** The response while a provider is away. */
export const AWAY: Denial = { status: 503, headers: ['Retry-After', '5'] };

/** Begins and finishes logins at one provider (OpenID Connect Core 1.0, 3.1). */
export class Logins {
  readonly #open: OpenProvider;
  readonly #log: ErrorLog;

  constructor(open: OpenProvider, log: ErrorLog) {
    this.#open = open;
    this.#log = log;
  }

  /** Returns the redirect to the page where the client logs in. */
  async begin(x: Exchange, site: Site): Promise<Denial> {
    try {
      return this.#redirect(x, site, await this.#open.client.metadata());
    } catch (error) {
      this.#log.write('error', this.#wordsOf(error), logContext(x));
      return AWAY;
    }
  }

  #redirect(x: Exchange, site: Site, metadata: Metadata): Denial {
    const { provider, seal } = this.#open;
    const usesPkce =
      provider.pkce ??
      (provider.clientSecret === undefined ||
        metadata.code_challenge_methods_supported?.includes('S256') === true);
    const login: BegunLogin = {
      state: randomText(),
      nonce: randomText(),
      ...(usesPkce && { verifier: randomText() }),
      target: returnTarget(x.request.requestUri),
      endsMs: Date.now() + LOGIN_S * 1_000,
    };
    const name = `${loginPrefix(provider.cookieName)}${Date.now().toString(36)}${randomBytes(4).toString('hex')}`;
    const value = seal().seal(JSON.stringify(login));
    const before = this.#loginCookies(x)
      .map((cookie) => cookie.name)
      .toSorted();
    const dropped = before.slice(0, Math.max(0, before.length + 1 - MOST_LOGINS));
    const { isSecure } = site;
    const location = authorizationUrl(this.#open, { metadata, site, login });
    const headers = ['Location', location, 'Cache-Control', 'no-store'];
    headers.push('Set-Cookie', cookieText({ name, value }, { isSecure, maxAgeS: LOGIN_S }));
    for (const old of dropped) headers.push('Set-Cookie', noCookieText(old, isSecure));
    return { status: 302, headers };
  }

  /** The cookie of the login that a client comes back from, if the client has it; others have another state. */
  find(x: Exchange, state: string): Omit<FoundLogin, 'site'> | undefined {
    const seal = this.#open.seal();
    for (const cookie of this.#loginCookies(x)) {
      const login = readLogin(seal.open(cookie.value));
      if (login && isEqual(login.state, state))
        return login.endsMs > Date.now() ? { cookie, login } : undefined;
    }
    return undefined;
  }

  /** Responds to a client that comes back from a login. */
  async finish(x: Exchange, args: URLSearchParams, { cookie, login, site }: FoundLogin): Promise<void> {
    const { sessions, provider } = this.#open;
    try {
      x.response.setHeader('Set-Cookie', noCookieText(cookie.name, site.isSecure));
      const { client } = this.#open;
      const checked = client.checkedArguments(await client.metadata(), args, login.state);
      if ('error' in checked)
        return this.#refuse(x, {
          status: 403,
          message: `the provider reports "${checked.error}"`,
          level: BY_CLIENTS.has(checked.error) ? 'info' : 'error',
        });
      const redirectUri = absoluteUrl(provider.redirectUri, site);
      const tokens = await client.finishLogin(checked.args, redirectUri, login);
      if (x.done) return;
      // Only who has logged in may write to the store: others would fill it, and a full one forgets sessions.
      if (!sessions.isFirst('state', login.state, LOGIN_S * 1_000))
        return this.#refuse(x, { status: 400, message: 'its state was used before' });
      for (const value of sessionValues(x, provider.cookieName)) sessions.end(value);
      this.#giveCookies(x, sessions.add(tokens), site);
      x.response.replaceHeader('Location', login.target);
      endUncached(x, 302);
    } catch (error) {
      this.#fail(x, error);
    }
  }

  #giveCookies(x: Exchange, session: string, { isSecure }: Site): void {
    const { cookieName } = this.#open.provider;
    const cookies = sessionCookies(cookieName, session);
    for (const cookie of cookies) x.response.setHeader('Set-Cookie', cookieText(cookie, { isSecure }));
    for (const part of furtherParts(x, cookieName))
      if (cookies.every(({ name }) => name !== part))
        x.response.setHeader('Set-Cookie', noCookieText(part, isSecure));
  }

  #fail(x: Exchange, error: unknown): void {
    if (error instanceof ProviderFault && error.kind !== 'away')
      return this.#refuse(x, { status: error.kind === 'foreign' ? 400 : 403, message: error.message });
    this.#log.write('error', this.#wordsOf(error), logContext(x));
    x.response.replaceHeader('Retry-After', '5');
    endUncached(x, 503);
  }

  #refuse(x: Exchange, { status, message, level = 'info' }: Refusal): void {
    this.#log.write(level, `a login at "${this.#open.provider.name}" is refused: ${message}`, logContext(x));
    endUncached(x, status);
  }

  #wordsOf(error: unknown): string {
    if (!(error instanceof ProviderFault || error instanceof StoreFault)) throw error;
    return `nobody can log in at "${this.#open.provider.name}": ${error.message}`;
  }

  #loginCookies(x: Exchange): readonly Cookie[] {
    const prefix = loginPrefix(this.#open.provider.cookieName);
    return takenCookies(x).filter(({ name }) => name.startsWith(prefix));
  }
}

/** Responds with a status that no cache may keep. */
export function endUncached(x: Exchange, status: number): void {
  x.response.replaceHeader('Cache-Control', 'no-store');
  x.end(status);
}

function authorizationUrl(
  { provider }: OpenProvider,
  { metadata, site, login }: { readonly metadata: Metadata; readonly site: Site; readonly login: BegunLogin },
): string {
  const url = new URL(metadata.authorization_endpoint ?? '');
  const args = {
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: absoluteUrl(provider.redirectUri, site),
    scope: [...new Set(['openid', ...provider.scopes])].join(' '),
    state: login.state,
    nonce: login.nonce,
    ...(login.verifier !== undefined && {
      code_challenge: hash(login.verifier),
      code_challenge_method: 'S256',
    }),
  };
  for (const [name, value] of Object.entries(args)) url.searchParams.set(name, value);
  return provider.extraAuthArgs === undefined ? url.href : `${url.href}&${provider.extraAuthArgs}`;
}

function readLogin(text: string | undefined): BegunLogin | undefined {
  const login = text === undefined ? undefined : parseJson(text);
  return isObject(login) ? (login as object as BegunLogin) : undefined;
}

function randomText(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
