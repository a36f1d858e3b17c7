import { type Build, compileAuthCounter } from '../../contract/index.ts';
import {
  type AccessCheck,
  type Denial,
  type Exchange,
  type Handler,
  HttpFault,
  logContext,
  quotable,
  stateKey,
} from '../../http/index.ts';
import { vouchFor } from '../../tokens/index.ts';
import { sessionValues } from './cookies.ts';
import { type AuthOidcConfig, fixedName } from './directives.ts';
import { AWAY, Logins } from './login.ts';
import type { OpenProvider, OpenProviders } from './open-provider.ts';
import type { Refreshed } from './refresher.ts';
import { type Session, StoreFault } from './sessions.ts';
import { compileSite } from './site.ts';

/** What a location found out about the session of a request. */
interface Recognition {
  readonly by: OpenProvider;
  readonly session: Refreshed;
}

const RECOGNITION = stateKey<Recognition>('auth_oidc');

/** The session of a request, as the last location that asked for one found it. */
export function lastSession({ main }: Exchange): Session | undefined {
  const session = main.state(RECOGNITION)?.session;
  return session === 'away' ? undefined : session;
}

/** Compiles the provider of a request; `undefined`: no login is required. */
function compileProviderOf(
  config: AuthOidcConfig,
  providers: OpenProviders,
  build: Build,
): (x: Exchange) => OpenProvider | undefined {
  const find = (name: string): OpenProvider | undefined => {
    if (name === 'off') return undefined;
    const provider = providers.get(name);
    if (!provider) throw new HttpFault(500, `"auth_oidc" names an unknown provider: "${name}"`);
    return provider;
  };
  const fixed = fixedName(config);
  if (fixed !== undefined) return () => find(fixed);
  const nameOf = build.value(config.protection ?? { parts: [] });
  return (x) => find(nameOf(x));
}

/** The session of a request's cookie. */
function findSession(x: Exchange, { provider, sessions }: OpenProvider): Session | undefined {
  for (const value of sessionValues(x, provider.cookieName)) {
    const session = sessions.find(value);
    if (session) return session;
  }
  return undefined;
}

/** Compiles the step that finds the session of a request, and waits while its tokens are renewed. */
export function compileIdentify(config: AuthOidcConfig, providers: OpenProviders, build: Build): Handler {
  const providerOf = compileProviderOf(config, providers, build);
  const keep = (x: Exchange, by: OpenProvider, session: Refreshed): void => {
    x.setState(RECOGNITION, { by, session });
    if (session && session !== 'away') vouchFor(x, session.idToken);
  };
  const fail = (x: Exchange, by: OpenProvider, error: unknown): void => {
    if (!(error instanceof StoreFault)) throw error;
    build.log.write('error', error.message, logContext(x));
    keep(x, by, 'away');
  };
  return (x) => {
    if (x.main !== x) return undefined;
    const by = providerOf(x);
    if (!by || x.state(RECOGNITION)?.by === by) return undefined;
    try {
      const session = findSession(x, by);
      const refreshed = session && by.refresher.refreshed(session);
      if (!(refreshed instanceof Promise)) return keep(x, by, refreshed);
      return refreshed.then(
        (settled) => keep(x, by, settled),
        (error: unknown) => fail(x, by, error),
      );
    } catch (error) {
      return fail(x, by, error);
    }
  };
}

/** Compiles the access check: without a session, pages are redirected to the login. */
export function compileAccess(config: AuthOidcConfig, providers: OpenProviders, build: Build): AccessCheck {
  for (const name of ['accept', 'sec-fetch-mode']) build.needHeader(name);
  build.needPeer();
  const providerOf = compileProviderOf(config, providers, build);
  const identify = compileIdentify(config, providers, build);
  const count = compileAuthCounter(build, 'oidc');
  const ways = new Map(
    [...providers.values()].map((open) => [
      open,
      { logins: new Logins(open, build.log), siteOf: compileSite(open.provider.redirectUri, build) },
    ]),
  );
  const judge = (x: Exchange, open: OpenProvider): ReturnType<AccessCheck> => {
    const session = x.state(RECOGNITION)?.session;
    count(session === 'away' ? 'failed' : session ? 'accepted' : 'none');
    if (session === 'away') return AWAY;
    if (session) return 'allowed';
    if (open.isExplained) return isNavigation(x) ? { status: 302 } : unauthorized(open);
    const way = ways.get(open);
    return way && isNavigation(x) ? way.logins.begin(x, way.siteOf(x)) : unauthorized(open);
  };
  return (x) => {
    const open = providerOf(x);
    if (!open) return undefined;
    const waiting = identify(x);
    return waiting ? waiting.then(() => judge(x, open)) : judge(x, open);
  };
}

/** True for a request by which a browser shows a page; a program could do nothing with a login. */
function isNavigation(x: Exchange): boolean {
  const mode = x.header('sec-fetch-mode') ?? 'navigate';
  const isRead = x.method === 'GET' || x.method === 'HEAD';
  return (
    isRead &&
    mode === 'navigate' &&
    /\btext\/html\b|\bapplication\/xhtml\+xml\b/i.test(x.header('accept') ?? '')
  );
}

/** No scheme is registered for sessions in cookies; RFC 9110, 11.6.1, demands a challenge. */
function unauthorized({ provider: { name, cookieName } }: OpenProvider): Denial {
  const challenge = `Cookie realm="${quotable(name)}", cookie-name="${quotable(cookieName)}"`;
  return { status: 401, headers: ['WWW-Authenticate', challenge] };
}
