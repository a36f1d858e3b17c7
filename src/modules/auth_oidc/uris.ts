import type { Build } from '../../contract/index.ts';
import { type Exchange, type Handler, logContext } from '../../http/index.ts';
import { compileTaking, sessionValues } from './cookies.ts';
import { endUncached, Logins } from './login.ts';
import { logOut, logOutBehind, logOutInFront } from './logout.ts';
import type { OpenProvider } from './open-provider.ts';
import { StoreFault } from './sessions.ts';
import { compileSite, type Site } from './site.ts';

/** A provider in one server. */
interface ServedProvider {
  readonly open: OpenProvider;
  readonly logins: Logins;
  readonly siteOf: (x: Exchange) => Site;
}

type Kind = 'callback' | 'logout' | 'front' | 'back';

/** A URI that the module serves itself. Providers may share one. */
interface ServedUri {
  readonly kind: Kind;
  readonly providers: ServedProvider[];
}

/** Compiles the step before locations: takes the cookies of the module, and serves its URIs. */
export function compileUris(providers: readonly OpenProvider[], build: Build): Handler {
  const take = compileTaking(
    providers.map(({ provider }) => provider.cookieName),
    build,
  );
  const uris = new Map<string, ServedUri>();
  for (const open of providers) {
    const served = {
      open,
      logins: new Logins(open, build.log),
      siteOf: compileSite(open.provider.redirectUri, build),
    };
    for (const [uri, kind] of urisOf(open)) {
      const known = uris.get(uri);
      if (known?.kind === kind) known.providers.push(served);
      else if (!known) uris.set(uri, { kind, providers: [served] });
    }
  }
  return (x) => {
    take(x);
    const uri = uris.get(x.uri);
    if (!uri) return undefined;
    // The log needs it when the response has been waited for.
    x.wire.keepPeer();
    return serve(x, uri, build).catch((error: unknown) => {
      if (!(error instanceof StoreFault)) throw error;
      build.log.write('error', error.message, logContext(x));
      endUncached(x, 503);
    });
  };
}

function urisOf({ provider }: OpenProvider): readonly (readonly [string, Kind])[] {
  const { redirectUri, logoutUri, frontchannelLogoutUri, backchannelLogoutUri } = provider;
  const all: readonly (readonly [string | undefined, Kind])[] = [
    [redirectUri.startsWith('/') ? redirectUri : new URL(redirectUri).pathname, 'callback'],
    [logoutUri, 'logout'],
    [frontchannelLogoutUri, 'front'],
    [backchannelLogoutUri, 'back'],
  ];
  return all.flatMap(([uri, kind]) => (uri === undefined ? [] : [[uri, kind] as const]));
}

async function serve(x: Exchange, { kind, providers }: ServedUri, build: Build): Promise<void> {
  const isRead = x.method === 'GET' || x.method === 'HEAD';
  if (kind === 'back' ? x.method !== 'POST' : !isRead) {
    x.response.setHeader('Allow', kind === 'back' ? 'POST' : 'GET, HEAD');
    return endUncached(x, 405);
  }
  if (kind === 'callback') return callBack(x, withoutArguments(x), { providers, build });
  if (kind === 'back')
    return logOutBehind(
      x,
      providers.map(({ open }) => open),
      build.log,
    );
  for (const [index, { open, siteOf }] of providers.entries()) {
    const isLast = index === providers.length - 1;
    if (!isLast && !isFor(x, open, kind)) continue;
    return (kind === 'logout' ? logOut : logOutInFront)(x, open, siteOf(x));
  }
}

/** True if a logout is one at this provider. */
function isFor(x: Exchange, { provider, sessions }: OpenProvider, kind: Kind): boolean {
  const iss = new URLSearchParams(x.args).get('iss');
  if (kind === 'front' && iss !== null) return iss === provider.issuer;
  return sessionValues(x, provider.cookieName).some((value) => sessions.find(value) !== undefined);
}

/** Takes the arguments out of a request, so that no log has the code, and returns them. */
function withoutArguments(x: Exchange): URLSearchParams {
  const args = new URLSearchParams(x.args);
  const [requestUri = ''] = x.request.requestUri.split('?', 1);
  x.request = { ...x.request, line: undefined, requestUri, args: '' };
  x.args = '';
  return args;
}

function callBack(
  x: Exchange,
  args: URLSearchParams,
  { providers, build }: { readonly providers: readonly ServedProvider[]; readonly build: Build },
): Promise<void> | void {
  const states = args.getAll('state');
  const [state = ''] = states;
  for (const { logins, siteOf } of states.length === 1 ? providers : []) {
    const found = logins.find(x, state);
    if (found) return logins.finish(x, args, { ...found, site: siteOf(x) });
  }
  build.log.write(
    'info',
    'a client comes back from a login that it has not begun here, or not lately',
    logContext(x),
  );
  endUncached(x, 400);
}
