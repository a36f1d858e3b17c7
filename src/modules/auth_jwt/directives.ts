import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  constantText,
  defines,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';
import { namedFile, type NamedFile } from '../../http/index.ts';
import { issuerUrlFault } from '../../issuer/index.ts';
import { ALGORITHMS } from '../../tokens/index.ts';
import type { Binding } from './bound.ts';
import { type NamedMember, type Requirement, requirement } from './demands.ts';
import { nginzDirectives, type NginzFields } from './nginz-directives.ts';
import { type ProtectedResource, protectedResource, type ResourceConfig } from './resource-directive.ts';
import { issuerDirectives, type IssuerFields, type TokenIssuer } from './issuer-directives.ts';

/** `auth_jwt realm [token=$variable]`. */
export interface Protection {
  /** `off`: no token is required. */
  readonly realm: ComplexValue;
  /** The value that is the token; absent: that of `Authorization: Bearer`. */
  readonly token?: ComplexValue;
}

/** A JWK set: the absolute path of its file, or a name with variables. */
type KeyFile = { readonly path: string } | NamedFile;

/** `auth_jwt_key_request`: the URL of a JWK set, or the URI of a subrequest whose response is one. */
type KeyRequest = { readonly url: string } | { readonly uri: ComplexValue };

/** The configuration of one location. */
export interface AuthJwtConfig extends IssuerFields, NginzFields {
  readonly issuers?: readonly TokenIssuer[];
  /** The issuers whose tokens count. */
  readonly issuerNames?: readonly string[];
  readonly protection?: Protection;
  readonly keyFiles?: readonly KeyFile[];
  readonly keyRequests?: readonly KeyRequest[];
  readonly keyCacheMs: number;
  readonly leewayMs: number;
  readonly type: 'signed' | 'encrypted' | 'nested';
  readonly requirements?: readonly Requirement[];
  readonly members?: readonly NamedMember[];
  readonly audiences?: readonly string[];
  readonly resource?: ResourceConfig;
  /** Set where the metadata of a resource are served. */
  readonly metadataOf?: ProtectedResource;
  readonly scopes?: readonly string[];
  readonly bound: Binding;
  /** The certificate of the client that a trusted proxy forwards. */
  readonly clientCertificate?: ComplexValue;
  readonly strictKid?: boolean;
  readonly maxBytes: number;
  readonly algorithms?: readonly string[];
}

/** True for `auth_jwt off`. */
export function isOff({ realm }: Protection): boolean {
  return constantText(realm) === 'off';
}

const NO_REALM: ComplexValue = { parts: [] };

/** True for a location that is protected by the directives of nginz's module. */
export function isOfNginz({ secret, nginzKeys }: NginzFields): boolean {
  return secret !== 'off' && (secret !== undefined || nginzKeys !== undefined);
}

/** What protects a location, in either family of names. */
export function protectionOf(config: AuthJwtConfig): Protection | undefined {
  const { protection, secret } = config;
  if (protection || !isOfNginz(config)) return protection;
  return { realm: NO_REALM, ...(secret && secret !== 'off' && secret.token && { token: secret.token }) };
}

const CONTEXTS = ['http', 'server', 'location', 'limit_except'] as const;
const PLUS = 'nginx ngx_http_auth_jwt_module';

const protection: ArgReader<Protection> = readers.words(
  { syntax: 'realm | off [token=$value]', min: 1, max: 2 },
  ([realm, parameter], scope) => {
    const protects = { realm: scope.complexValue(realm as Word) };
    if (!parameter) return protects;
    if (!/^token=\$./.test(parameter.value)) return invalidParameter(parameter, scope);
    return { ...protects, token: scope.complexValue(behind(parameter, 'token=')) };
  },
);

/** The word without its first characters. */
function behind(word: Word, prefix: string): Word {
  return { ...word, value: word.value.slice(prefix.length) };
}

function invalidParameter({ value, span }: Word, { report }: ReadScope): undefined {
  report.emerg(`invalid parameter "${value}"`, span);
}

const keyFile = readers.oneWord<KeyFile>('file', (word, scope) => {
  const name = scope.complexValue(word);
  return namedFile(name, scope.confDir) ?? { path: resolve(scope.confDir, constantText(name) ?? '') };
});

const keyRequest = readers.oneWord<KeyRequest>('uri | https URL', (word, scope) => {
  if (!/^https?:/i.test(word.value)) return { uri: scope.complexValue(word) };
  const fault = issuerUrlFault(word.value);
  if (fault === undefined) return { url: new URL(word.value).href };
  scope.report.emerg(`invalid URL "${word.value}" in "${scope.directive}" directive`, word.span, fault);
  return undefined;
});

const member = (of: NamedMember['of']): ArgReader<NamedMember> =>
  readers.words({ syntax: '$variable name ...', min: 2, max: Infinity }, ([variable, ...path], scope) => {
    const name = readers.readVariableName(variable as Word, scope);
    return name === undefined ? undefined : { variable: name, of, path: path.map(({ value }) => value) };
  });

export const directives = directivesFor<AuthJwtConfig>()({
  ...issuerDirectives,
  ...nginzDirectives,
  auth_jwt: {
    contexts: CONTEXTS,
    args: protection,
    into: 'protection',
    defaultText: 'off',
    summary:
      'Requires a JSON Web Token; the text names the protected area. The token is that of `Authorization: Bearer`, or the value of a variable. `off token=$value` refuses nothing: the claims of a token that the keys verify are there, and else no claims.',
    source: `${PLUS}#auth_jwt`,
  },
  auth_jwt_key_file: {
    contexts: CONTEXTS,
    args: keyFile,
    into: 'keyFiles',
    repeat: 'append',
    summary:
      'JWK set with keys that verify tokens, relative to the directory of the configuration file; several files are possible. A changed file is read again.',
    roles: pathFrom('confDir'),
    source: `${PLUS}#auth_jwt_key_file`,
  },
  auth_jwt_key_request: {
    contexts: CONTEXTS,
    args: keyRequest,
    into: 'keyRequests',
    repeat: 'append',
    summary:
      'JWK set with keys that verify tokens: the response of a subrequest, or a URL, which is fetched once for all workers, and again before its keys are stale or when a token names an unknown key.',
    source: `${PLUS}#auth_jwt_key_request`,
  },
  auth_jwt_key_cache: {
    contexts: CONTEXTS,
    args: readers.time,
    into: 'keyCacheMs',
    default: 0,
    summary:
      'For how long a key file is not looked at again, at least one second, and for how long the response of a subrequest is kept.',
    source: `${PLUS}#auth_jwt_key_cache`,
  },
  auth_jwt_leeway: {
    contexts: CONTEXTS,
    args: readers.time,
    into: 'leewayMs',
    default: 0,
    summary: 'By how much the clock of the issuer may differ, for `exp` and `nbf`.',
    source: `${PLUS}#auth_jwt_leeway`,
  },
  auth_jwt_type: {
    contexts: CONTEXTS,
    args: readers.oneOf('signed', 'encrypted', 'nested'),
    into: 'type',
    default: 'signed',
    summary:
      'Kind of the tokens. `nested`: signed tokens inside encrypted ones. `encrypted`: claims that are encrypted and not signed; with RSA keys whoever has the public key can make them. The keys of the location open them.',
    source: `${PLUS}#auth_jwt_type`,
  },
  auth_jwt_require: {
    contexts: CONTEXTS,
    args: requirement,
    into: 'requirements',
    repeat: 'append',
    summary: 'Refuses a request if one of the values is empty or `0`.',
    source: `${PLUS}#auth_jwt_require`,
  },
  auth_jwt_claim_set: {
    contexts: ['http'],
    args: member('claims'),
    into: 'members',
    repeat: 'append',
    summary:
      'A variable with the value of a claim, also of one in objects: one name for each level. Elements of arrays are joined by commas; objects are JSON.',
    roles: defines('variable', AT.variable),
    source: `${PLUS}#auth_jwt_claim_set`,
  },
  auth_jwt_header_set: {
    contexts: ['http'],
    args: member('header'),
    into: 'members',
    repeat: 'append',
    summary: 'A variable with the value of a parameter in the header of the token.',
    roles: defines('variable', AT.variable),
    source: `${PLUS}#auth_jwt_header_set`,
  },
  auth_jwt_issuer: {
    contexts: CONTEXTS,
    args: readers.texts,
    into: 'issuerNames',
    summary:
      'The `token_issuer` blocks whose tokens count; `iss` selects one of them. Tokens of others are verified with the keys of `auth_jwt_key_file` and `auth_jwt_key_request`, if there are any.',
    roles: uses('token issuer', { word: 'any' }),
    source: 'gw',
  },
  auth_jwt_audience: {
    contexts: CONTEXTS,
    args: readers.texts,
    into: 'audiences',
    summary:
      'The audiences one of which a token must name in `aud`. The word `resource` stands for the URL of `auth_jwt_resource`.',
    source: 'gw',
  },
  auth_jwt_resource: {
    contexts: ['server', 'location'],
    args: protectedResource,
    into: 'resource',
    defaultText: 'on for the tools of dbrest_mcp behind tokens of auth_jwt_issuer, else off',
    summary:
      'Tells clients where they get tokens (RFC 9728): metadata of the resource below `/.well-known/oauth-protected-resource`, to which refused requests are pointed. `on`: the URL of the resource has the scheme and the port of the request, a name of the server and the path of the block. Behind another proxy, give the URL that clients know.',
    source: 'gw',
  },
  auth_jwt_scope: {
    contexts: CONTEXTS,
    args: readers.texts,
    into: 'scopes',
    summary: 'The scopes that a token must have, all of them, in `scope` or `scp`. Without one: 403.',
    source: 'gw',
  },
  auth_jwt_bound: {
    contexts: CONTEXTS,
    args: readers.oneOf('auto', 'required', 'off'),
    into: 'bound',
    default: 'auto',
    summary:
      'Whether a token that is bound to a client certificate (`cnf`, RFC 8705) counts only on a connection with that certificate: `required` refuses tokens without such a binding, `off` ignores it.',
    source: 'gw',
  },
  auth_jwt_client_certificate: {
    contexts: CONTEXTS,
    args: readers.value,
    into: 'clientCertificate',
    summary:
      'The certificate of the client for `auth_jwt_bound` where a proxy in front ends TLS: in the form of RFC 9440 (`$http_client_cert`), or as escaped PEM. It counts only from addresses of `set_real_ip_from`.',
    source: 'gw',
  },
  auth_jwt_strict_kid: {
    contexts: CONTEXTS,
    args: readers.flag,
    into: 'strictKid',
    defaultText: 'off',
    summary:
      'Whether a token must name its key where there are several. Otherwise up to eight keys are tried.',
    source: 'gw',
  },
  auth_jwt_max_size: {
    contexts: CONTEXTS,
    args: readers.size,
    into: 'maxBytes',
    default: 8_192,
    defaultText: '8k',
    summary: 'Largest token.',
    source: 'gw',
  },
  auth_jwt_algs: {
    contexts: CONTEXTS,
    args: { ...readers.someOf([...ALGORITHMS]), syntax: 'algorithm ...' },
    into: 'algorithms',
    defaultText: 'those of the keys',
    summary: 'The algorithms that tokens may be signed with, if fewer than the keys allow.',
    source: 'gw',
  },
});
