import type { Build } from '../../contract/index.ts';
import { type Decrypter, readObject, type TokenVerifier } from '../../tokens/index.ts';
import type { RevocationLists } from './comparisons.ts';
import type { AuthJwtConfig } from './directives.ts';
import type { Introspector } from './introspector.ts';
import type { TokenIssuer } from './issuer-directives.ts';
import { compileOrigins, issuerOrigins, type KeySources } from './key-sources.ts';
import { KeyRing } from './key-ring.ts';
import { TokenOpening } from './opening.ts';

/** Who issues tokens that a location accepts: a `token_issuer`, or whoever has the keys that the location names. */
export interface LocationIssuer {
  /** The block; absent: the location's own keys. */
  readonly block?: TokenIssuer;
  readonly keys: KeyRing;
  readonly introspector?: Introspector | undefined;
}

/** What locations of a worker share of issuers. */
export interface IssuerResources extends KeySources {
  readonly verifier: TokenVerifier;
  readonly revoked: RevocationLists;
  /** Nobody is asked: requests are explained. */
  readonly isExplained?: true;
  /** By the name of the issuer. */
  readonly introspectors: ReadonlyMap<string, Introspector>;
  /** Absent where tokens are not encrypted. */
  readonly decrypter: Decrypter | undefined;
}

/** The blocks that a location names with `auth_jwt_issuer`. */
export function issuersOf({ issuers = [], issuerNames = [] }: AuthJwtConfig): readonly TokenIssuer[] {
  return issuers.filter(({ name }) => issuerNames.includes(name));
}

/** True for a token in the compact form of a signed or of an encrypted one (RFC 7515, 7.1; RFC 7516, 7.1). */
export function isJwt(token: string): boolean {
  const parts = token.split('.', 6).length;
  return parts === 3 || parts === 5;
}

/** The issuers of the tokens that a location accepts. */
export class LocationIssuers {
  /** Opens the tokens of a location where they are encrypted. */
  readonly opening: TokenOpening | undefined;
  readonly #verifier: TokenVerifier;
  readonly #own: LocationIssuer | undefined;
  readonly #byName: ReadonlyMap<unknown, LocationIssuer>;
  readonly #asked: LocationIssuer | undefined;

  constructor(
    config: AuthJwtConfig,
    { verifier, introspectors, decrypter, ...sources }: IssuerResources,
    build: Build,
  ) {
    this.#verifier = verifier;
    const named = issuersOf(config).map((block) => ({
      block,
      keys: new KeyRing(config, issuerOrigins(block, sources)),
      introspector: introspectors.get(block.name),
    }));
    this.#byName = new Map(
      named.flatMap((issuer) => (issuer.block.issuer === undefined ? [] : [[issuer.block.issuer, issuer]])),
    );
    this.#asked = named.find(({ block }) => block.introspection);
    const origins = compileOrigins(config, sources, build);
    // Without any source of keys, requests are told that there is none.
    if (decrypter)
      this.opening = new TokenOpening(new KeyRing(config, origins), decrypter, {
        isNested: config.type === 'nested',
      });
    if (origins.length > 0 || named.length === 0) this.#own = { keys: new KeyRing(config, origins) };
  }

  /** True if something may have to be waited for. */
  get asks(): boolean {
    const all = [this.#own, ...this.#byName.values()];
    return this.#asked !== undefined || all.some((issuer) => issuer?.keys.asks === true);
  }

  /** The issuer that a token names in `iss`, which is not verified yet, or else whoever has the location's keys. */
  of(token: string): LocationIssuer | undefined {
    if (this.#asked && !isJwt(token)) return this.#asked;
    if (this.#byName.size === 0) return this.#own;
    const claims = this.#verifier.known(token)?.claims ?? payloadOf(token);
    const members = claims?.members ?? {};
    const issuer = Object.hasOwn(members, 'iss') ? this.#byName.get(members['iss']) : undefined;
    return issuer ?? this.#own;
  }
}

/** The claims of a signed token, whether or not it is genuine. */
function payloadOf(token: string): ReturnType<typeof readObject> {
  const [, payload = ''] = token.split('.', 2);
  return readObject(Buffer.from(payload, 'base64url'));
}
