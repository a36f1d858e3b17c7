import {
  type ArgReader,
  type ComplexValue,
  constantText,
  defines,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';
import { loadedFile } from '../../forwarding/index.ts';
import { nginzDirectives, type NginzFields, nginzProvider } from './nginz-directives.ts';
import { DEFAULTS, type Provider, type ProviderFields } from './provider.ts';
import { cookieName, notEmpty, path, pathOrUrl, providerUrl, scopes } from './readers.ts';

/** The configuration of one location. */
export interface AuthOidcConfig extends ProviderFields, NginzFields {
  readonly providers?: readonly Provider[];
  /** The name of a provider, or `off`. */
  readonly protection?: ComplexValue;
  /** On server level: the providers whose URIs the server serves. */
  readonly served?: readonly Provider[];
}

/** The name of the provider that a location always asks; `undefined` if the name has variables. */
export function fixedName(config: AuthOidcConfig): string | undefined {
  const { oidc, protection } = config;
  return oidc === true ? nginzProvider(config)?.name : protection && constantText(protection);
}

/** True where a login may be required. */
export function isRequired(config: AuthOidcConfig): boolean {
  return config.oidc === true || (config.protection !== undefined && fixedName(config) !== 'off');
}

/** The providers that a location may ask. */
export function askedProviders(config: AuthOidcConfig): readonly Provider[] {
  if (!isRequired(config)) return [];
  if (config.oidc === true) return [nginzProvider(config) ?? []].flat();
  const fixed = fixedName(config);
  return (config.providers ?? []).filter(({ name }) => fixed === undefined || name === fixed);
}

function entry(name: string, fields: ProviderFields, { report, span }: ReadScope): Provider | undefined {
  const { issuer, clientId } = fields;
  for (const [directive, value] of [
    ['issuer', issuer],
    ['client_id', clientId],
  ] as const)
    if (value === undefined)
      report.emerg(`no "${directive}" is defined for the "oidc_provider" block "${name}"`, span);
  if (!issuer || !clientId) return undefined;
  return { ...DEFAULTS, ...fields, issuer, clientId, name };
}

const PROVIDER = { contexts: ['oidc_provider'], inherit: false } as const;
const PLUS = 'nginx ngx_http_oidc_module';

/** Also gives a text for what is reported: its block is not reported as one that lacks it. */
const reported = (reader: ArgReader<string>): ArgReader<string> => ({
  ...reader,
  read: (words, scope) => reader.read(words, scope) ?? '',
});

const NAME = /^[\w-]{1,64}$/;

const providerName = readers.oneWord('name', ({ value, span }, { report }) => {
  if (NAME.test(value) && value !== 'off') return value;
  report.emerg(`invalid provider name "${value}"`, span, 'expected 1 to 64 letters, digits, "_" and "-"');
  return undefined;
});

/** The arguments of a login that only gw may decide. */
const RESERVED: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'response_mode',
  'response_type',
  'request',
  'request_uri',
  'scope',
  'state',
]);

const extraArgs = readers.oneWord('string', ({ value, span }, { directive, report }) => {
  const names = [...new URLSearchParams(value).keys()];
  const reserved = names.find((name) => RESERVED.has(name));
  if (reserved !== undefined)
    report.emerg(`"${directive}" cannot set "${reserved}"`, span, 'gw decides it for each login');
  else if (!/^[\w\-.~!$&'()*+,;=:@/?%]+$/.test(value))
    report.emerg(`invalid arguments in "${directive}" directive`, span, 'expected name=value&name=value');
  else return value;
  return undefined;
});

const LEAST_MS = 1_000;
const MOST_MS = 20 * 86_400_000;

const sessionTime = readers.oneWord('time', (word, scope) => {
  const ms = readers.time.read([word], scope);
  if (ms === undefined || (ms >= LEAST_MS && ms <= MOST_MS)) return ms;
  scope.report.emerg(`"${scope.directive}" must be between 1s and 20d`, word.span);
  return undefined;
});

export const directives = directivesFor<AuthOidcConfig>()({
  ...nginzDirectives,
  oidc_provider: {
    contexts: ['http'],
    args: providerName,
    opens: 'oidc_provider',
    into: 'providers',
    repeat: 'append',
    entry,
    roles: defines('OpenID provider'),
    summary: 'An OpenID Provider, where clients of `auth_oidc` log in.',
    source: `${PLUS}#oidc_provider`,
  },
  auth_oidc: {
    contexts: ['http', 'server', 'location'],
    args: { ...readers.value, syntax: 'name | off' },
    into: 'protection',
    defaultText: 'off',
    roles: uses('OpenID provider'),
    summary:
      'Requires a login at the provider of this name. Browsers that show a page are sent there; other requests get 401.',
    source: `${PLUS}#auth_oidc`,
  },
  issuer: {
    ...PROVIDER,
    args: reported(providerUrl),
    into: 'issuer',
    summary: 'The URL of the provider, exactly as its metadata and its tokens have it.',
    source: `${PLUS}#issuer`,
  },
  client_id: {
    ...PROVIDER,
    args: reported(notEmpty),
    into: 'clientId',
    summary: 'The id under which the provider knows the gateway.',
    source: `${PLUS}#client_id`,
  },
  client_secret: {
    ...PROVIDER,
    args: notEmpty,
    into: 'clientSecret',
    secret: 'whole',
    summary:
      'The secret of that client, sent as the provider takes it: `client_secret_basic`, else `client_secret_post`. Without one, PKCE alone protects a login.',
    source: `${PLUS}#client_secret`,
  },
  config_url: {
    ...PROVIDER,
    args: providerUrl,
    into: 'configUrl',
    defaultText: 'issuer/.well-known/openid-configuration',
    summary: 'The URL of the metadata of the provider.',
    source: `${PLUS}#config_url`,
  },
  cookie_name: {
    ...PROVIDER,
    args: cookieName,
    into: 'cookieName',
    defaultText: 'NGX_OIDC_SESSION',
    summary:
      'The name of the session cookie. With the prefix `__Host-`, browsers take it from this host over HTTPS only. Upstreams do not get it.',
    source: `${PLUS}#cookie_name`,
  },
  extra_auth_args: {
    ...PROVIDER,
    args: extraArgs,
    into: 'extraAuthArgs',
    summary: 'Further arguments for the page where clients log in, such as `prompt=login&ui_locales=de`.',
    source: `${PLUS}#extra_auth_args`,
  },
  frontchannel_logout_uri: {
    ...PROVIDER,
    args: path,
    into: 'frontchannelLogoutUri',
    summary:
      'The path that the pages of the provider open in the browser to end a session: by its cookie, or by the arguments `iss` and `sid`.',
    source: `${PLUS}#frontchannel_logout_uri`,
  },
  backchannel_logout_uri: {
    ...PROVIDER,
    args: path,
    into: 'backchannelLogoutUri',
    summary: 'The path that the provider itself asks to end sessions, with a logout token.',
    source: 'gw',
  },
  pkce: {
    ...PROVIDER,
    args: readers.flag,
    into: 'pkce',
    defaultText: 'on, if the provider lists S256',
    summary: 'Whether logins use PKCE (RFC 7636), always with S256.',
    source: `${PLUS}#pkce`,
  },
  redirect_uri: {
    ...PROVIDER,
    args: pathOrUrl,
    into: 'redirectUri',
    defaultText: '/oidc_callback',
    summary:
      'The path to which the provider sends clients back, or its URL, where gw is behind another server that speaks HTTPS.',
    source: `${PLUS}#redirect_uri`,
  },
  logout_uri: {
    ...PROVIDER,
    args: path,
    into: 'logoutUri',
    summary: 'The path that ends the session of the client, here and at the provider.',
    source: `${PLUS}#logout_uri`,
  },
  post_logout_uri: {
    ...PROVIDER,
    args: pathOrUrl,
    into: 'postLogoutUri',
    defaultText: 'a page of gw',
    summary: 'The path or URL where clients end up after a logout.',
    source: `${PLUS}#post_logout_uri`,
  },
  logout_token_hint: {
    ...PROVIDER,
    args: readers.flag,
    into: 'logoutTokenHint',
    defaultText: 'off',
    summary: 'Whether the provider gets the ID token at a logout.',
    source: `${PLUS}#logout_token_hint`,
  },
  scope: {
    ...PROVIDER,
    args: scopes,
    into: 'scopes',
    defaultText: 'openid',
    summary: 'The scopes that a login asks for. `openid` is always among them.',
    source: `${PLUS}#scope`,
  },
  session_store: {
    ...PROVIDER,
    args: notEmpty,
    into: 'sessionStore',
    defaultText: '8 MiB of its own',
    summary:
      'The dictionary that holds the sessions (`shared_dict_zone`). One that a cluster shares makes sessions known to all gateways. With `evict`, a full one forgets the session that has not been used for longest; without, logins get 503. A `keyval_zone` does, too; whoever may use its API can write sessions.',
    roles: uses('dictionary'),
    source: `${PLUS}#session_store`,
  },
  session_timeout: {
    ...PROVIDER,
    args: sessionTime,
    into: 'sessionTimeoutMs',
    defaultText: '8h',
    summary: 'How long a session lasts after its login, or after its last refresh.',
    source: `${PLUS}#session_timeout`,
  },
  ssl_crl: {
    ...PROVIDER,
    args: loadedFile('CRL'),
    into: 'crl',
    summary: 'PEM file with the certificates that have been revoked.',
    roles: pathFrom('confDir'),
    source: `${PLUS}#ssl_crl`,
  },
  ssl_trusted_certificate: {
    ...PROVIDER,
    args: loadedFile('certificate'),
    into: 'trusted',
    defaultText: 'the authorities that Node.js knows',
    summary: "PEM file with the CA certificates that the provider's certificate is verified with.",
    roles: pathFrom('confDir'),
    source: `${PLUS}#ssl_trusted_certificate`,
  },
  userinfo: {
    ...PROVIDER,
    args: readers.flag,
    into: 'userinfo',
    defaultText: 'off',
    summary: 'Whether a login fetches what the provider knows of the client; its members become claims.',
    source: `${PLUS}#userinfo`,
  },
  refresh: {
    ...PROVIDER,
    args: readers.flag,
    into: 'refresh',
    defaultText: 'on',
    summary:
      'Whether tokens are renewed before the access token ends, if the provider gave a refresh token. If the provider refuses, the session ends.',
    source: 'gw',
  },
});
