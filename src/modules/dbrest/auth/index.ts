import type { Exchange } from '../../../http/index.ts';
import {
  anonymousDisabled,
  DbrestFault,
  noRole,
  noSecret,
  roleNotPermitted,
  undecodableToken,
} from '../fault/index.ts';
import { isObject } from '../json.ts';
import type { CacheMetrics } from '../metrics.ts';
import { type KeySource, openKeys } from './keys.ts';
import { checkClaims, type Claims, TokenVerifier } from './token-verifier.ts';

export { checkClaims, TokenVerifier } from './token-verifier.ts';
export {
  LEAST_SECRET_BYTES,
  readKeySource,
  shortestSecretBytes,
  type KeySource,
  algorithmsOf,
  openKeys,
  type Key,
} from './keys.ts';

/** Comparison operators of a role filter. */
const COMPARISONS = {
  '==': (text: string, word: string) => text === word,
  '!=': (text: string, word: string) => text !== word,
  '^==': (text: string, word: string) => text.startsWith(word),
  '==^': (text: string, word: string) => text.endsWith(word),
  '*==': (text: string, word: string) => text.includes(word),
};

/** Selects the first string of an array for which the comparison with `word` holds. */
interface RoleFilter {
  readonly comparison: keyof typeof COMPARISONS;
  readonly word: string;
}

/** The path of the role in a token's claims: member names, array indexes, and optionally a filter at the end. */
export type RolePath = readonly (string | number | RoleFilter)[];

const TEXT = String.raw`"((?:[^"\\]|\\.)*)"`;
const STEP = new RegExp(
  String.raw`\.(?:${TEXT}|([\p{L}\p{N}_$@-]+))|\[(\d{1,6})\]|\[\?\(@ *(==\^|[*^]==|[!=]=) *${TEXT}\)\]$`,
  'suy',
);

/**
 * Parses `role`, or a path such as `.app."https://x/roles"[0]` or `.roles[?(@ ^== "app_")]` (PostgREST,
 * `jwt-role-claim-key`). Returns `undefined` when the path is malformed.
 */
export function readRolePath(text: string): RolePath | undefined {
  if (text === '') return undefined;
  if (!/^[.[]/.test(text)) return [text];
  const path: RolePath[number][] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const [, quoted, name, position, comparison, word = ''] = STEP.exec(text) ?? [];
    if (position !== undefined) path.push(Number(position));
    else if (quoted !== undefined) path.push(unescaped(quoted));
    else if (name !== undefined) path.push(name);
    else if (comparison !== undefined) path.push({ comparison, word: unescaped(word) } as RoleFilter);
    else return undefined;
  }
  return path;
}

/** The value at a path, or `undefined`. Inherited members are ignored. */
export function claimAt(claims: unknown, path: RolePath): unknown {
  let found = claims;
  for (const step of path) {
    if (typeof step === 'object') return firstMatch(found, step);
    const fits = typeof step === 'number' ? Array.isArray(found) : isObject(found);
    if (!fits || !Object.hasOwn(found as object, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

function unescaped(quoted: string): string {
  return quoted.replace(/\\(.)/gs, '$1');
}

function firstMatch(list: unknown, { comparison, word }: RoleFilter): string | undefined {
  if (!Array.isArray(list)) return undefined;
  const fits = COMPARISONS[comparison];
  return list.find((one): one is string => typeof one === 'string' && fits(one, word));
}

const LONGEST_ROLE_BYTES = 63;

/** The role of a request, and the token data that is passed to the database. */
export interface Identity {
  readonly role: string;
  /** The raw token; '' when there is none or it was rejected. */
  readonly jwt: string;
  /** The claims as JSON text, unchanged from the token; `{"role": …}` without a token. */
  readonly claims: string;
  /** The token was rejected; it must not be passed to the database. */
  readonly rejected: boolean;
}

/** The authentication settings of a location. */
interface AuthRules {
  /** Absent when no secret is configured; tokens are then passed on unverified. */
  readonly verifier: TokenVerifier | undefined;
  readonly anonRole: string | undefined;
  readonly rolePath: RolePath;
  readonly audience: string | undefined;
  readonly invalid: 'anon' | 'reject';
  /** The login role of `dbrest_pass`. A token must not select it; where nothing tells requests apart, they run as it. */
  readonly loginRole: string;
}

/** Determines the identity of a request from its `Authorization` headers. */
export class Authenticator {
  readonly #rules: AuthRules;
  readonly #anonymous: Identity | undefined;

  constructor(rules: AuthRules) {
    this.#rules = rules;
    const role = rules.anonRole ?? (rules.verifier ? undefined : rules.loginRole);
    this.#anonymous =
      role === undefined ? undefined : { role, jwt: '', claims: JSON.stringify({ role }), rejected: false };
  }

  /** Returns a promise only when a token has to be verified for the first time. Throws or rejects with a `DbrestFault`. */
  identify(authorization: readonly string[]): Identity | Promise<Identity> {
    if (authorization.length > 1) throw undecodableToken('More than one Authorization header is sent');
    const token = bearerToken(authorization[0]);
    if (token === undefined) return this.#anonymously('');
    const { verifier, invalid } = this.#rules;
    if (!verifier) {
      if (invalid === 'reject') throw noSecret();
      return this.#anonymously(token);
    }
    try {
      const claims = verifier.verify(token);
      if (!(claims instanceof Promise)) return this.#identityOf(token, claims, verifier);
      return claims
        .then((fresh) => this.#identityOf(token, fresh, verifier))
        .catch((error) => this.#rejected(error));
    } catch (error) {
      return this.#rejected(error);
    }
  }

  #identityOf(token: string, claims: Claims, verifier: TokenVerifier): Identity {
    try {
      checkClaims(claims, Date.now(), this.#rules.audience);
    } catch (error) {
      verifier.forget(token);
      throw error;
    }
    const role = this.#roleOf(claims) ?? this.#anonymously('').role;
    return { role, jwt: token, claims: claims.text, rejected: false };
  }

  /** The claimed role, or `undefined`. Rejects roles that would undo the role switch. */
  #roleOf({ members }: Claims): string | undefined {
    const { rolePath, anonRole, loginRole } = this.#rules;
    const role = claimAt(members, rolePath);
    if (role === undefined) return undefined;
    if (typeof role !== 'string') throw noRole(JSON.stringify(role));
    // `set role none` switches back to the login role.
    if (role === '' || role === 'none' || role.includes('\0')) throw noRole(role);
    if (Buffer.byteLength(role) > LONGEST_ROLE_BYTES) throw noRole(role);
    if (role === loginRole && role !== anonRole) throw roleNotPermitted(role);
    return role;
  }

  #rejected(error: unknown): Identity {
    const badToken = error instanceof DbrestFault && /^PGRST30[13]$/.test(error.code);
    if (!badToken || this.#rules.invalid === 'reject') throw error;
    return { ...this.#anonymously(''), rejected: true };
  }

  #anonymously(jwt: string): Identity {
    if (!this.#anonymous) throw anonymousDisabled();
    return jwt === '' ? this.#anonymous : { ...this.#anonymous, jwt };
  }
}

/** The values of all `Authorization` headers of a request. */
export function authorizationOf({ request: { headers } }: Exchange): readonly string[] {
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === 'authorization');
}

/** The bearer token; `undefined` for any other scheme. The scheme is case-insensitive. */
function bearerToken(authorization = ''): string | undefined {
  const found = /^bearer(?:[ \t]+(.*))?$/is.exec(authorization);
  return found ? (found[1] ?? '').trim() : undefined;
}

/** Opens the keys of a location. Loads jose only where there are keys. */
export async function openAuthenticator(
  source: KeySource | undefined,
  { metrics, ...rules }: Omit<AuthRules, 'verifier'> & { readonly metrics: CacheMetrics },
): Promise<Authenticator> {
  const verifier = source && new TokenVerifier(await import('jose'), openKeys(source), metrics);
  return new Authenticator({ ...rules, verifier });
}
