import type { AuthResult, Build } from '../../contract/index.ts';
import { type Denial, type Exchange, stateKey } from '../../http/index.ts';
import {
  bearerToken,
  type ClaimRules,
  claimsFault,
  isRefusal,
  type KeySet,
  type TokenRefusal,
  type TokenVerifier,
  type VerifiedToken,
} from '../../tokens/index.ts';
import { type BindingFault, bindingFault } from './bound.ts';
import { type Challenge, compileChallenge } from './challenge.ts';
import type { AuthJwtConfig, Protection } from './directives.ts';
import { KeyRing, type KeySources } from './key-ring.ts';

/** What the locations of a worker share. */
export interface TokenResources extends KeySources {
  readonly verifier: TokenVerifier;
}

/** What a location found out about the token of a request. */
interface Judgement {
  /** The config of the location: after an internal redirect, another one judges again. */
  readonly by: AuthJwtConfig;
  readonly token?: VerifiedToken;
  /** Why there is none, for the log. */
  readonly fault?: Fault;
  /** Set if the token names a key that is unknown: the keys that were known. */
  readonly lacking?: KeySet;
  /** Whether the location accepts the token; absent until that is asked. */
  isAccepted?: boolean;
}

/** Why a request is refused. */
export interface Fault {
  readonly result: AuthResult;
  readonly message: string;
  readonly denial: Denial;
}

/** Why a token is refused; `subject` as in `TokenRefusal`. */
type Refusal = TokenRefusal | { readonly refused: BindingFault; readonly subject?: undefined };

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
  readonly #ring: KeyRing;
  readonly #challenge: Challenge;

  constructor(config: AuthJwtConfig, { verifier, ...sources }: TokenResources, build: Build) {
    this.#config = config;
    this.#verifier = verifier;
    this.#tokenOf = compileTokenOf(config, build);
    this.#ring = new KeyRing(config, sources, build);
    this.#challenge = compileChallenge(config, build);
    this.#rules = {
      leewaySeconds: config.leewayMs / 1_000,
      checksIssue: false,
      audiences: config.audiences,
      needsAudience: config.audiences !== undefined,
    };
  }

  /** Waits for keys before a request is judged; absent if the location's keys never have to be waited for. */
  get waits(): ((x: Exchange) => Promise<void> | undefined) | undefined {
    return this.#ring.asks ? (x) => this.#wait(x) : undefined;
  }

  #wait(x: Exchange): Promise<void> | undefined {
    // A subrequest may be the one for the keys.
    if (x.main !== x || x.state(JUDGEMENT)?.by === this.#config || this.#tokenOf(x) === undefined)
      return undefined;
    const waiting = this.#ring.ask(x, 'all', Date.now());
    return waiting ? waiting.then(() => this.#seekKey(x)) : this.#seekKey(x);
  }

  /** Judges, and once more if the key that a token names can be fetched. */
  #seekKey(x: Exchange): Promise<void> | undefined {
    const { lacking } = this.judgementOf(x);
    if (x.done || !lacking) return undefined;
    const nowMs = Date.now();
    const asking = this.#ring.ask(x, 'one', nowMs);
    if (asking) return asking.then(() => this.#judge(x));
    // Another worker may have fetched them meanwhile.
    if (this.#ring.of(x, nowMs).keys !== lacking) this.#judge(x);
    return undefined;
  }

  judgementOf({ main }: Exchange): Judgement {
    const known = main.state(JUDGEMENT);
    if (known?.by === this.#config) return known;
    this.#judge(main);
    return main.state(JUDGEMENT) as Judgement;
  }

  #judge(main: Exchange): void {
    main.setState(JUDGEMENT, { by: this.#config, ...this.#find(main) });
  }

  #find(x: Exchange): Pick<Judgement, 'token' | 'fault' | 'lacking'> {
    const text = this.#tokenOf(x);
    if (text === undefined)
      return {
        fault: { result: 'none', message: NONE, denial: { status: 401, headers: this.#challenge(x) } },
      };
    const nowMs = Date.now();
    const { keys, faults } = this.#ring.of(x, nowMs);
    const token = this.#verify(x, text, { keys, nowMs });
    if (!('refused' in token)) return { token };
    const lacking = token.refused === 'key' && token.subject !== undefined && { lacking: keys };
    // A source that has no keys now may have the key of this token.
    if (token.refused === 'key' && faults.length > 0)
      return { ...lacking, fault: { result: 'failed', message: faults.join('; '), denial: NO_KEYS } };
    const denial = { status: 401, headers: this.#challenge(x, 'invalid_token') };
    const message = `the token is refused: ${wordsOf(token)}`;
    return { ...lacking, fault: { result: 'refused', message, denial } };
  }

  #verify(
    x: Exchange,
    text: string,
    { keys, nowMs }: { readonly keys: KeySet; readonly nowMs: number },
  ): VerifiedToken | Refusal {
    if (text.length > this.#config.maxBytes) return { refused: 'size' };
    const token = this.#verifier.verify(text, keys);
    if (isRefusal(token)) return token;
    const refusal = claimsFault(token.claims, this.#rules, nowMs);
    if (refusal?.refused === 'expired') this.#verifier.forget(text, keys);
    if (refusal) return refusal;
    const unbound = bindingFault(token.claims, this.#config.bound, x);
    return unbound ? { refused: unbound } : token;
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

function wordsOf({ refused, subject = '' }: Refusal): string {
  return WORDS[refused](subject);
}

const say = (words: string) => (): string => words;

const WORDS: Readonly<Record<Refusal['refused'], (subject: string) => string>> = {
  empty: say('it is empty'),
  size: say('it is larger than "auth_jwt_max_size"'),
  parts: (count) => `it has ${count} parts instead of 3`,
  malformed: say('it is malformed'),
  encrypted: say('it is encrypted'),
  unsecured: say('it has no signature'),
  algorithm: say('its algorithm is not supported'),
  critical: say('it has critical extensions'),
  'key id': say('it does not name one of several keys'),
  key: say('no key verifies its signature'),
  claims: say('its claims are malformed'),
  number: (claim) => `its claim "${claim}" is not a number`,
  expired: say('it has expired'),
  'not yet valid': say('it is not valid yet'),
  'from the future': say('it was issued in the future'),
  'audience type': say('its audience is neither a text nor a list of texts'),
  audience: say('it is meant for another audience'),
  'not bound': say('it is not bound to a client certificate'),
  'bound to another': say('it is bound to another client certificate'),
  'bound otherwise': say('it is bound to the client in a way that is not supported'),
};
