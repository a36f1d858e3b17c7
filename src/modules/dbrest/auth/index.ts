import type { Exchange } from '../../../http/index.ts';
import type { Build } from '../../../contract/index.ts';
import type { IssuerDocuments, KeysOrFault } from '../../../issuer/index.ts';
import { bearerToken, type VerifiedToken } from '../../../tokens/index.ts';
import {
  anonymousDisabled,
  DbrestFault,
  noRole,
  noSecret,
  roleNotPermitted,
  undecodableToken,
} from '../fault/index.ts';
import type { CacheMetrics } from '../metrics.ts';
import { compileClaim, type RolePath } from './role-path.ts';
import { LocationTokens, openSecret, type TokenKeys } from './location-tokens.ts';

export { readRolePath, compileClaim, type RolePath } from './role-path.ts';
export { LocationTokens, openSecret, type TokenKeys } from './location-tokens.ts';

const LONGEST_ROLE_BYTES = 63;

/** Returns whether a request can have a role of this name. `set role none` would switch back to the login role. */
export function isRoleName(name: string): boolean {
  const isName = name !== '' && name !== 'none' && !name.includes('\0');
  return isName && Buffer.byteLength(name) <= LONGEST_ROLE_BYTES;
}

const BAD_TOKEN: ReadonlySet<string> = new Set(['PGRST301', 'PGRST303']);
/** Codes of tokens whose role a request may not have. */
const BAD_ROLE: ReadonlySet<string> = new Set(['22023', '42501']);

/** Returns the line for the log that says why a token was rejected. It never contains the token. */
export function rejectionOf({ code, message, details }: DbrestFault): string {
  const more = typeof details === 'string' ? ` (${details})` : '';
  return `token rejected: ${code} ${message}${more}`;
}

/** Returns whether a fault that comes before the role of a request is known is about its token. */
export function isRejection({ code }: DbrestFault): boolean {
  return BAD_TOKEN.has(code) || BAD_ROLE.has(code);
}

/** The role of a request, and the token data that is passed to the database. */
export interface Identity {
  readonly role: string;
  /** The raw token; '' without one, or if it was rejected. */
  readonly jwt: string;
  /** The claims as JSON text, unchanged from the token; `{"role": …}` without a token. */
  readonly claims: string;
  /** The token was rejected; it must not be passed to the database. */
  readonly rejected: boolean;
  /** The reason, for the log. */
  readonly rejection?: string;
}

/** The authentication settings of a location. */
interface AuthRules {
  /** Absent when no secret is configured; tokens are then passed on unverified. */
  readonly tokens: LocationTokens | undefined;
  /** The keys at a URL, if that is where they are. */
  readonly documents?: IssuerDocuments | undefined;
  readonly anonRole: string | undefined;
  readonly rolePath: RolePath;
  readonly invalid: 'anon' | 'reject';
  /** The login role of `dbrest_pass`. A token must not select it; without a secret and an anonymous role it is used. */
  readonly loginRole: string;
}

/** Determines the identity of a request from its `Authorization` headers. */
export class Authenticator {
  readonly #rules: AuthRules;
  readonly #anonymous: Identity | undefined;
  readonly #claimedRole: (claims: unknown) => unknown;

  constructor(rules: AuthRules) {
    this.#rules = rules;
    this.#claimedRole = compileClaim(rules.rolePath);
    const role = rules.anonRole ?? (rules.tokens ? undefined : rules.loginRole);
    this.#anonymous =
      role === undefined ? undefined : { role, jwt: '', claims: JSON.stringify({ role }), rejected: false };
  }

  get fetchesKeys(): boolean {
    return this.#rules.documents !== undefined;
  }

  /** Waits for the keys that the token of a request needs; `undefined`: they are known, or cannot be fetched now. */
  keysFor(authorization: readonly string[]): Promise<void> | undefined {
    const { documents, tokens } = this.#rules;
    const token = documents && bearerToken(authorization[0]);
    if (!documents || !tokens || token === undefined) return undefined;
    const waiting = 'fault' in documents.keys() ? documents.ask('all') : undefined;
    const seekKey = (): Promise<void> | undefined =>
      tokens.lacksKey(token) ? documents.ask('one') : undefined;
    return waiting ? waiting.then(seekKey) : seekKey();
  }

  /** Throws a `DbrestFault`. */
  identify(authorization: readonly string[]): Identity {
    if (authorization.length > 1) throw undecodableToken('More than one Authorization header is sent');
    const token = bearerToken(authorization[0]);
    if (token === undefined) return this.#anonymously('');
    const { tokens, invalid } = this.#rules;
    if (!tokens) {
      if (invalid === 'reject') throw noSecret();
      return this.#anonymously(token);
    }
    try {
      return this.#identityOf(tokens.accept(token, Date.now()));
    } catch (error) {
      return this.#rejected(error);
    }
  }

  /** The identity of a request whose token, if it has one, another module has verified. Throws a `DbrestFault`. */
  identifyVerified(token: VerifiedToken | undefined): Identity {
    if (token) return this.#identityOf(token);
    // Never as the role that gw logs in with, although the location has no keys of its own.
    this.#roleWithoutClaim();
    return this.#anonymously('');
  }

  #identityOf({ text, claims }: VerifiedToken): Identity {
    const role = this.#roleOf(claims) ?? this.#roleWithoutClaim();
    return { role, jwt: text, claims: claims.text, rejected: false };
  }

  #roleWithoutClaim(): string {
    const { anonRole } = this.#rules;
    if (anonRole === undefined) throw anonymousDisabled();
    return anonRole;
  }

  /** The claimed role, or `undefined`. Rejects roles that would undo the role switch. */
  #roleOf({ members }: VerifiedToken['claims']): string | undefined {
    const { anonRole, loginRole } = this.#rules;
    const role = this.#claimedRole(members);
    if (role === undefined) return undefined;
    if (typeof role !== 'string') throw noRole(JSON.stringify(role));
    if (!isRoleName(role)) throw noRole(role);
    if (role === loginRole && role !== anonRole) throw roleNotPermitted(role);
    return role;
  }

  #rejected(error: unknown): Identity {
    const isBad = error instanceof DbrestFault && BAD_TOKEN.has(error.code);
    if (!isBad || this.#rules.invalid === 'reject') throw error;
    return { ...this.#anonymously(''), rejected: true, rejection: rejectionOf(error) };
  }

  #anonymously(jwt: string): Identity {
    if (!this.#anonymous) throw anonymousDisabled();
    return jwt === '' ? this.#anonymous : { ...this.#anonymous, jwt };
  }
}

/** Tells who makes the requests to a location. */
export interface Callers {
  /** Waits for keys. Absent where they are known from the start. */
  readonly ready?: ((x: Exchange) => Promise<void> | undefined) | undefined;
  /** Throws a `DbrestFault`. */
  of(x: Exchange): Identity;
  /** The identity of requests without a token. Throws a `DbrestFault`. */
  stranger(): Identity;
}

/** Compiles who makes requests: by the token that `auth_jwt` has verified, else by their `Authorization` headers. */
export function compileCallers(authenticator: Authenticator, { token }: Pick<Build, 'token'>): Callers {
  const accepted = token?.compileAccepted();
  return accepted
    ? {
        of: (x) => authenticator.identifyVerified(accepted(x)),
        stranger: () => authenticator.identifyVerified(undefined),
      }
    : {
        ready: authenticator.fetchesKeys ? (x) => authenticator.keysFor(authorizationOf(x)) : undefined,
        of: (x) => authenticator.identify(authorizationOf(x)),
        stranger: () => authenticator.identify([]),
      };
}

/** The values of all `Authorization` headers of a request. */
function authorizationOf({ request: { headers } }: Exchange): readonly string[] {
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === 'authorization');
}

interface AuthenticatorParts extends Omit<AuthRules, 'tokens'> {
  readonly audience: string | undefined;
  readonly metrics: CacheMetrics;
}

/** Opens the keys of a location. */
export function openAuthenticator(
  source: TokenKeys | undefined,
  { metrics, audience, ...rules }: AuthenticatorParts,
): Authenticator {
  const tokens = source && new LocationTokens(compileKeys(source, rules.documents), { audience, metrics });
  return new Authenticator({ ...rules, tokens });
}

function compileKeys(source: TokenKeys, documents: IssuerDocuments | undefined): () => KeysOrFault {
  if (source.kind === 'url')
    return () => documents?.keys() ?? { fault: `the keys at "${source.url}" are not fetched` };
  const keys = openSecret(source);
  return () => keys;
}
