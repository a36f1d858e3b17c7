import { createHash } from 'node:crypto';
import { type ArgReader, readers, type Rows } from '../../config/index.ts';
import { DEFAULTS, type Provider } from './provider.ts';
import { cookieName, notEmpty, pathOrUrl, providerUrl, scopes } from './readers.ts';

/** The directives of nginz's module, which describe a provider in the location that asks it. */
export interface NginzFields {
  readonly oidc?: boolean;
  readonly oidcDiscovery?: string;
  readonly oidcClientId?: string;
  readonly oidcClientSecret?: string;
  readonly oidcRedirectUri?: string;
  readonly oidcScopes?: readonly string[];
  readonly oidcCookieName?: string;
  readonly oidcCookieSecret?: string;
  readonly oidcPkce?: boolean;
}

const METADATA = '/.well-known/openid-configuration';

const discovery = readers.oneWord('URL', (word, scope) => {
  const url = providerUrl.read([word], scope);
  if (url === undefined || url.endsWith(METADATA)) return url;
  scope.report.emerg(
    `invalid URL "${url}" in "${scope.directive}" directive`,
    word.span,
    `expected …${METADATA}`,
  );
  return undefined;
});

const cookieSecret: ArgReader<string> = readers.oneWord(
  'string',
  ({ value, span }, { directive, report }) => {
    if (/^[\da-f]{64}$/i.test(value)) return value.toLowerCase();
    report.emerg(
      `invalid value in "${directive}" directive`,
      span,
      'expected 64 hexadecimal digits: openssl rand -hex 32',
    );
    return undefined;
  },
);

/** Scopes in one text. */
const oneText: ArgReader<readonly string[]> = readers.oneWord('string', (word, scope) =>
  scopes.read(
    word.value
      .split(' ')
      .filter(Boolean)
      .map((value) => ({ ...word, value })),
    scope,
  ),
);

/** The provider that these directives describe; `undefined` if a part is missing, which `validate` reports. */
export function nginzProvider(fields: NginzFields): Provider | undefined {
  const { oidcDiscovery, oidcClientId, oidcRedirectUri, oidcCookieSecret } = fields;
  if (fields.oidc !== true || !oidcDiscovery || !oidcClientId || !oidcRedirectUri || !oidcCookieSecret)
    return undefined;
  const provider = {
    ...DEFAULTS,
    issuer: oidcDiscovery.slice(0, -METADATA.length),
    configUrl: oidcDiscovery,
    clientId: oidcClientId,
    ...(fields.oidcClientSecret !== undefined && { clientSecret: fields.oidcClientSecret }),
    redirectUri: oidcRedirectUri,
    scopes: fields.oidcScopes ?? ['openid', 'profile', 'email'],
    cookieName: fields.oidcCookieName ?? 'oidc_session',
    cookieSecret: oidcCookieSecret,
    pkce: fields.oidcPkce ?? true,
    // A new token could not replace the one in the cookie of a request that is on its way.
    refresh: false,
  };
  const digest = createHash('sha256').update(JSON.stringify(provider)).digest('hex');
  return { ...provider, name: `oidc-${digest.slice(0, 8)}` };
}

/** What `oidc on` requires besides. */
export const NEEDED = [
  ['oidcDiscovery', 'oidc_discovery'],
  ['oidcClientId', 'oidc_client_id'],
  ['oidcRedirectUri', 'oidc_redirect_uri'],
  ['oidcCookieSecret', 'oidc_cookie_secret'],
] as const satisfies readonly (readonly [keyof NginzFields, string])[];

const HSL = { contexts: ['http', 'server', 'location'] } as const;

/** The rows of these directives. */
export const nginzDirectives = {
  oidc: {
    ...HSL,
    args: readers.flag,
    into: 'oidc',
    defaultText: 'off',
    summary:
      'Requires a login at the provider that the other `oidc_*` directives describe. Its sessions are in the cookies of clients. New configurations name it with `auth_oidc`.',
    source: 'nginz oidc#oidc',
  },
  oidc_discovery: {
    ...HSL,
    args: discovery,
    into: 'oidcDiscovery',
    summary: 'The URL of the metadata of the provider; what is before `/.well-known` is its issuer.',
    source: 'nginz oidc#oidc_discovery',
  },
  oidc_client_id: {
    ...HSL,
    args: notEmpty,
    into: 'oidcClientId',
    summary: 'The id under which the provider knows the gateway.',
    source: 'nginz oidc#oidc_client_id',
  },
  oidc_client_secret: {
    ...HSL,
    args: notEmpty,
    into: 'oidcClientSecret',
    secret: 'whole',
    summary: 'The secret of that client.',
    source: 'nginz oidc#oidc_client_secret',
  },
  oidc_redirect_uri: {
    ...HSL,
    args: pathOrUrl,
    into: 'oidcRedirectUri',
    summary: 'The URL to which the provider sends clients back, or its path.',
    source: 'nginz oidc#oidc_redirect_uri',
  },
  oidc_scope: {
    ...HSL,
    args: oneText,
    into: 'oidcScopes',
    defaultText: '"openid profile email"',
    summary: 'The scopes that a login asks for, in one text.',
    source: 'nginz oidc#oidc_scope',
  },
  oidc_cookie_name: {
    ...HSL,
    args: cookieName,
    into: 'oidcCookieName',
    defaultText: 'oidc_session',
    summary: 'The name of the session cookie.',
    source: 'nginz oidc#oidc_cookie_name',
  },
  oidc_cookie_secret: {
    ...HSL,
    args: cookieSecret,
    into: 'oidcCookieSecret',
    secret: 'whole',
    summary:
      'The key that sessions in cookies are encrypted with, in 64 hexadecimal digits. A session of more than 4 KB is in up to four cookies.',
    source: 'nginz oidc#oidc_cookie_secret',
  },
  oidc_pkce: {
    ...HSL,
    args: readers.flag,
    into: 'oidcPkce',
    defaultText: 'on',
    summary: 'Whether logins use PKCE.',
    source: 'nginz oidc#oidc_pkce',
  },
  oidc_allow_insecure_http: {
    ...HSL,
    args: readers.flag,
    accepted: 'a provider is asked over plain HTTP on a loopback address only, with it and without it',
    summary: 'Has no effect.',
    source: 'nginz oidc#oidc_allow_insecure_http',
  },
} as const satisfies Rows<NginzFields>;
