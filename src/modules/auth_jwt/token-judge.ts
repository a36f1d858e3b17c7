import type { Build } from '../../contract/index.ts';
import { type Denial, type Exchange, stateKey } from '../../http/index.ts';
import {
  bearerToken,
  type ClaimRules,
  claimsFault,
  isRefusal,
  type TokenRefusal,
  type TokenVerifier,
  type VerifiedToken,
} from '../../tokens/index.ts';
import { type Challenge, compileChallenge } from './challenge.ts';
import type { AuthJwtConfig, Protection } from './directives.ts';
import type { KeyFiles } from './key-files.ts';
import { compileKeyRing, type KeyRing } from './key-ring.ts';

/** What the locations of a worker share. */
export interface TokenResources {
  readonly files: KeyFiles;
  readonly verifier: TokenVerifier;
}

/** What a location found out about the token of a request. */
interface Judgement {
  /** The config of the location: after an internal redirect, another one judges again. */
  readonly by: AuthJwtConfig;
  readonly token?: VerifiedToken;
  /** Why there is none, for the log. */
  readonly fault?: Fault;
  /** Whether the location accepts the token; absent until that is asked. */
  isAccepted?: boolean;
}

/** Why a request is refused. */
export interface Fault {
  readonly message: string;
  readonly denial: Denial;
}

const JUDGEMENT = stateKey<Judgement>('auth_jwt');

/** The verified token of a request, in a location that does not verify tokens itself. */
export function lastToken({ main }: Exchange): VerifiedToken | undefined {
  return main.state(JUDGEMENT)?.token;
}

/** Reads and verifies the tokens of a location's requests, each once: signature, times, audience. */
export class TokenJudge {
  readonly #config: AuthJwtConfig;
  readonly #verifier: TokenVerifier;
  readonly #rules: ClaimRules;
  readonly #tokenOf: (x: Exchange) => string | undefined;
  readonly #ringOf: (x: Exchange, nowMs: number) => KeyRing;
  readonly #challenge: Challenge;

  constructor(config: AuthJwtConfig, { files, verifier }: TokenResources, build: Build) {
    this.#config = config;
    this.#verifier = verifier;
    this.#tokenOf = compileTokenOf(config, build);
    this.#ringOf = compileKeyRing(config, files, build);
    this.#challenge = compileChallenge(config, build);
    this.#rules = {
      leewaySeconds: config.leewayMs / 1_000,
      checksIssue: false,
      audiences: config.audiences,
      needsAudience: config.audiences !== undefined,
    };
  }

  judgementOf({ main }: Exchange): Judgement {
    const known = main.state(JUDGEMENT);
    if (known?.by === this.#config) return known;
    const judgement = { by: this.#config, ...this.#find(main) };
    main.setState(JUDGEMENT, judgement);
    return judgement;
  }

  #find(x: Exchange): Pick<Judgement, 'token' | 'fault'> {
    const text = this.#tokenOf(x);
    if (text === undefined)
      return { fault: { message: NONE, denial: { status: 401, headers: this.#challenge(x) } } };
    const nowMs = Date.now();
    const ring = this.#ringOf(x, nowMs);
    const token = this.#verify(text, ring, nowMs);
    if (!isRefusal(token)) return { token };
    if (token.refused === 'keys') return { fault: { message: ring.faults.join('; '), denial: NO_KEYS } };
    const denial = { status: 401, headers: this.#challenge(x, 'invalid_token') };
    return { fault: { message: `the token is refused: ${wordsOf(token)}`, denial } };
  }

  #verify(text: string, { keys, faults }: KeyRing, nowMs: number): VerifiedToken | TokenRefusal {
    if (text.length > this.#config.maxBytes) return { refused: 'size' };
    const token = this.#verifier.verify(text, keys);
    // Another source may have the key, once it can be read.
    if (isRefusal(token)) return faults.length > 0 && token.refused === 'key' ? { refused: 'keys' } : token;
    const refusal = claimsFault(token.claims, this.#rules, nowMs);
    if (refusal?.refused === 'expired') this.#verifier.forget(text, keys);
    return refusal ?? token;
  }
}

const NONE = 'no token was provided';
const NO_KEYS: Denial = { status: 500, headers: ['Retry-After', '5'] };

function compileTokenOf({ protection }: AuthJwtConfig, build: Build): (x: Exchange) => string | undefined {
  const { token } = protection as Protection;
  if (token) {
    const valueOf = build.value(token);
    return (x) => valueOf(x) || undefined;
  }
  build.needHeader('authorization');
  return (x) => bearerToken(x.header('authorization'));
}

function wordsOf({ refused, subject = '' }: TokenRefusal): string {
  return WORDS[refused](subject);
}

const say = (words: string) => (): string => words;

const WORDS: Readonly<Record<TokenRefusal['refused'], (subject: string) => string>> = {
  empty: say('it is empty'),
  size: say('it is larger than "auth_jwt_max_size"'),
  parts: (count) => `it has ${count} parts instead of 3`,
  malformed: say('it is malformed'),
  encrypted: say('it is encrypted'),
  unsecured: say('it has no signature'),
  algorithm: say('its algorithm is not supported'),
  critical: say('it has critical extensions'),
  'key id': say('it does not name one of several keys'),
  keys: say('keys cannot be read'),
  key: say('no key verifies its signature'),
  claims: say('its claims are malformed'),
  number: (claim) => `its claim "${claim}" is not a number`,
  expired: say('it has expired'),
  'not yet valid': say('it is not valid yet'),
  'from the future': say('it was issued in the future'),
  'audience type': say('its audience is neither a text nor a list of texts'),
  audience: say('it is meant for another audience'),
};
