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
import type { TokenMetrics } from '../metrics.ts';
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

/** How the texts of an array are searched for the role. */
const COMPARISONS = {
  '==': (text: string, word: string) => text === word,
  '!=': (text: string, word: string) => text !== word,
  '^==': (text: string, word: string) => text.startsWith(word),
  '==^': (text: string, word: string) => text.endsWith(word),
  '*==': (text: string, word: string) => text.includes(word),
};

/** The first text of an array that compares so with `word`. */
interface RoleFilter {
  readonly comparison: keyof typeof COMPARISONS;
  readonly word: string;
}

/** Where in a token's claims the role stands: member names, array positions, at the end perhaps a filter. */
export type RolePath = readonly (string | number | RoleFilter)[];

const TEXT = String.raw`"((?:[^"\\]|\\.)*)"`;
const STEP = new RegExp(
  String.raw`\.(?:${TEXT}|([\p{L}\p{N}_$@-]+))|\[(\d{1,6})\]|\[\?\(@ *(==\^|[*^]==|[!=]=) *${TEXT}\)\]$`,
  'suy',
);

/**
 * `role`, or a path such as `.app."https://x/roles"[0]` or `.roles[?(@ ^== "app_")]` (PostgREST, `jwt-role-claim-key`);
 * `undefined` when it is neither.
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

/** What stands at a path; `undefined` when there is nothing. Only own members count. */
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

/** As whom a request acts, and what the database is told of its token. */
export interface Identity {
  readonly role: string;
  /** The raw token; '' when there is none, or it was rejected. */
  readonly jwt: string;
  /** A JSON object as the token had it; the role alone without a token. */
  readonly claims: string;
  /** The database never sees a token that was rejected. */
  readonly rejected: boolean;
}

/** How a location tells who asks. */
interface AuthRules {
  /** Absent: no secret is configured, tokens are passed on unread. */
  readonly verifier: TokenVerifier | undefined;
  readonly anonRole: string | undefined;
  readonly rolePath: RolePath;
  readonly audience: string | undefined;
  readonly invalid: 'anon' | 'reject';
  /** Whom `dbrest_pass` logs in as: a token must not make anybody that. */
  readonly loginRole: string;
}

/** Tells from the `Authorization` headers who asks (contract: "Authentication"). */
export class Authenticator {
  readonly #rules: AuthRules;
  readonly #anonymous: Identity | undefined;

  constructor(rules: AuthRules) {
    this.#rules = rules;
    const role = rules.anonRole;
    this.#anonymous =
      role === undefined ? undefined : { role, jwt: '', claims: JSON.stringify({ role }), rejected: false };
  }

  /** At once unless a new token is to be verified. Throws or rejects with a `DbrestFault`. */
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

  /** `undefined` when the token claims none. A role that would undo the role switch is refused, whatever else holds. */
  #roleOf({ members }: Claims): string | undefined {
    const { rolePath, anonRole, loginRole } = this.#rules;
    const role = claimAt(members, rolePath);
    if (role === undefined) return undefined;
    if (typeof role !== 'string') throw noRole(JSON.stringify(role));
    // `none` is no role to PostgreSQL, but the way back to the login role.
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

/** Each `Authorization` header of a request. */
export function authorizationOf({ request: { headers } }: Exchange): readonly string[] {
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === 'authorization');
}

/** The scheme in any case; other schemes are not ours to judge. */
function bearerToken(authorization = ''): string | undefined {
  const found = /^bearer(?:[ \t]+(.*))?$/is.exec(authorization);
  return found ? (found[1] ?? '').trim() : undefined;
}

/** Loads the keys of a location, and with them jose, which a location without keys has no need of. */
export async function openAuthenticator(
  source: KeySource | undefined,
  { metrics, ...rules }: Omit<AuthRules, 'verifier'> & { readonly metrics: TokenMetrics },
): Promise<Authenticator> {
  const verifier = source && new TokenVerifier(await import('jose'), openKeys(source), metrics);
  return new Authenticator({ ...rules, verifier });
}
