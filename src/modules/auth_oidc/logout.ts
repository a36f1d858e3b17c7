import { type Exchange, logContext } from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import { isObject } from '../../json.ts';
import { noCookieText, sessionValues, takenCookies } from './cookies.ts';
import { endUncached } from './login.ts';
import type { OpenProvider } from './open-provider.ts';
import { type Metadata, ProviderFault } from './provider-client.ts';
import type { Session } from './sessions.ts';
import { absoluteUrl, type Site } from './site.ts';

/** `events` of a logout token has this member (OpenID Connect Back-Channel Logout 1.0, 2.4). */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** For how long a logout token cannot be used again. */
const KEPT_MS = 3_600_000;
/** Longest body with a logout token. */
const MOST_BYTES = 65_536;

const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Logged out</title></head>
<body><h1>Logged out</h1><p>You have been logged out.</p></body></html>
`;

/** Ends the sessions that the cookies of a request have, and removes the cookie. Returns the last of them. */
function endOwn(x: Exchange, { provider, sessions }: OpenProvider, isSecure: boolean): Session | undefined {
  let ended: Session | undefined;
  for (const value of sessionValues(x, provider.cookieName)) {
    ended = sessions.find(value) ?? ended;
    sessions.end(value);
  }
  removeCookie(x, provider.cookieName, isSecure);
  return ended;
}

/** A page of another site that asks without the cookie does not get it removed either. */
function removeCookie(x: Exchange, cookieName: string, isSecure: boolean): void {
  if (takenCookies(x).some(({ name }) => name === cookieName))
    x.response.setHeader('Set-Cookie', noCookieText(cookieName, isSecure));
}

/** `logout_uri`: ends the session here, then at the provider (OpenID Connect RP-Initiated Logout 1.0). */
export async function logOut(x: Exchange, open: OpenProvider, site: Site): Promise<void> {
  const session = endOwn(x, open, site.isSecure);
  const after = await afterLogout(open, { session, site });
  if (x.done) return;
  if (after === undefined) {
    x.response.replaceHeader('Cache-Control', 'no-store');
    return x.send(200, 'text/html', x.method === 'HEAD' ? '' : PAGE);
  }
  x.response.replaceHeader('Location', after);
  endUncached(x, 302);
}

/** Where a client goes after a logout: to the provider, to the configured page, or nowhere. */
async function afterLogout(
  { provider, client }: OpenProvider,
  { session, site }: { readonly session: Session | undefined; readonly site: Site },
): Promise<string | undefined> {
  const { postLogoutUri, clientId, logoutTokenHint } = provider;
  const end = await client.metadata().then(
    ({ end_session_endpoint: endpoint }: Metadata) => endpoint,
    () => undefined,
  );
  if (end === undefined) return postLogoutUri;
  const url = new URL(end);
  url.searchParams.set('client_id', clientId);
  if (postLogoutUri !== undefined)
    url.searchParams.set('post_logout_redirect_uri', absoluteUrl(postLogoutUri, site));
  if (logoutTokenHint && session) url.searchParams.set('id_token_hint', session.tokens.idToken);
  return url.href;
}

/** `frontchannel_logout_uri`: by the cookie, or by `iss` and `sid` (OpenID Connect Front-Channel Logout 1.0, 2). */
export function logOutInFront(x: Exchange, open: OpenProvider, site: Site): void {
  const args = new URLSearchParams(x.args);
  const [iss, sid] = [args.get('iss'), args.get('sid')];
  if (iss === null && sid === null) endOwn(x, open, site.isSecure);
  else if (iss !== open.provider.issuer || !sid) return endUncached(x, 400);
  else {
    open.sessions.endBySid(sid);
    removeCookie(x, open.provider.cookieName, site.isSecure);
  }
  x.response.replaceHeader('Cache-Control', 'no-store');
  x.send(200, 'text/html', '');
}

/** `backchannel_logout_uri`: by a logout token that the provider sends (OpenID Connect Back-Channel Logout 1.0, 2.5). */
export async function logOutBehind(
  x: Exchange,
  candidates: readonly OpenProvider[],
  log: ErrorLog,
): Promise<void> {
  const body = await x.readBody(MOST_BYTES);
  if (body === undefined) return;
  const token = new URLSearchParams(body.toString('latin1')).get('logout_token') ?? '';
  for (const [index, open] of candidates.entries()) {
    try {
      await endByToken(open, token);
      return endUncached(x, 200);
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error;
      // The token may be that of another provider with the same URI.
      if (index < candidates.length - 1) continue;
      const isAway = error.kind === 'away';
      log.write(isAway ? 'error' : 'info', `a logout is refused: ${error.message}`, logContext(x));
      return endUncached(x, isAway ? 503 : 400);
    }
  }
}

async function endByToken({ client, sessions }: OpenProvider, text: string): Promise<void> {
  const { claims } = await client.verify(text);
  const { events, nonce, jti, iat, sid, sub } = claims.members;
  const event = isObject(events) ? events[LOGOUT_EVENT] : undefined;
  const subject = {
    sid: typeof sid === 'string' ? sid : undefined,
    sub: typeof sub === 'string' ? sub : undefined,
  };
  const isLogout =
    isObject(event) &&
    nonce === undefined &&
    typeof jti === 'string' &&
    typeof iat === 'number' &&
    iat * 1_000 > Date.now() - KEPT_MS &&
    (subject.sid ?? subject.sub) !== undefined;
  if (!isLogout) throw new ProviderFault('refused', 'the token is no logout token');
  if (!sessions.isFirst('logout', jti, KEPT_MS))
    throw new ProviderFault('refused', 'the logout token was used before');
  await sessions.endAll(subject);
}
