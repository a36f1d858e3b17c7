import type { AuthResult, Build } from '../../contract/index.ts';
import { type Denial, type Exchange, stateKey, timedSpan } from '../../http/index.ts';
import {
  bearerToken,
  type ClaimRules,
  claimsFault,
  isRefusal,
  type KeySet,
  type OpeningRefusal,
  readObject,
  readVerified,
  type TokenObject,
  type TokenVerifier,
  type VerifiedToken,
  vouchedToken,
} from '../../tokens/index.ts';
import { type BindingFault, compileBinding } from './bound.ts';
import { type Challenge, compileChallenge } from './challenge.ts';
import { compileRules } from './claim-rules.ts';
import { type AuthJwtConfig, isOff, type Protection, protectionOf } from './directives.ts';
import type { Introspected, Introspector } from './introspector.ts';
import type { TokenOpening } from './opening.ts';
import { isJwt, type IssuerResources, type LocationIssuer, LocationIssuers } from './location-issuers.ts';

/** What a location found out about the token of a request. */
interface Judgement {
  /** The config of the location: after an internal redirect, another one judges again. */
  readonly by: AuthJwtConfig;
  /** Whether the request is for the tools of the location, which demand more: a rewrite may change that. */
  readonly isForTools: boolean;
  readonly token?: VerifiedToken | undefined;
  /** The `token_issuer` that has issued it. */
  readonly issuer?: string | undefined;
  /** Why there is none, for the log. */
  readonly fault?: Fault | undefined;
  /** Set if the token names a key that is unknown: the keys that were known. */
  readonly lacking?: KeySet | undefined;
  /** Set if the issuer has to be asked about the token. */
  readonly asks?: Introspector | undefined;
  /** Whether the location accepts the token; absent until that is asked. */
  isAccepted?: boolean | undefined;
}

/** Why a request is refused. */
export interface Fault {
  readonly result: AuthResult;
  readonly message: string;
  readonly denial: Denial;
}

/** Why a token is refused; `subject` as in `TokenRefusal`. */
type Refusal =
  OpeningRefusal | { readonly refused: BindingFault | 'issuer' | 'inactive'; readonly subject?: undefined };

const JUDGEMENT = stateKey<Judgement>('auth_jwt');

/** What an issuer has said of the token of a request, if it counts for this request only. */
interface Asked {
  readonly of: string;
  /** Another location may ask another issuer. */
  readonly by: Introspector;
  readonly response: Introspected;
}

const INTROSPECTED = stateKey<Asked>('auth_jwt introspected');

/** The verified token of a request, in a location that does not verify tokens itself. */
export function lastToken({ main }: Exchange): VerifiedToken | undefined {
  return main.state(JUDGEMENT)?.token;
}

/** The name of the `token_issuer` whose token was verified last. */
export function lastIssuer({ main }: Exchange): string | undefined {
  return main.state(JUDGEMENT)?.issuer;
}

/** A token and the time at which it is judged. */
interface Case {
  readonly text: string;
  readonly issuer: LocationIssuer;
  readonly nowMs: number;
}

type Finding = Pick<Judgement, 'token' | 'issuer' | 'fault' | 'lacking' | 'asks'>;

/** Parts of requests that wait for an issuer. */
const KEYS = { name: 'jwks', kind: 'client' } as const;
const INTROSPECTION = { name: 'introspection', kind: 'client' } as const;

/** Reads and verifies the tokens of a location's requests, each once: signature, times, audience. */
export class TokenJudge {
  readonly #config: AuthJwtConfig;
  readonly #verifier: TokenVerifier;
  readonly #tokenOf: (x: Exchange) => string | undefined;
  readonly #issuers: LocationIssuers;
  readonly #opening: TokenOpening | undefined;
  readonly #challenge: Challenge;
  /** Where nothing is required, the claims of tokens that gw got from their issuer are there without keys. */
  readonly #acceptsVouched: boolean;
  readonly #toolsPath: string | undefined;
  readonly #bindingFault: (x: Exchange, claims: TokenObject) => BindingFault | undefined;
  readonly #rulesOf: (x: Exchange, issuer: LocationIssuer) => ClaimRules;

  constructor(config: AuthJwtConfig, resources: IssuerResources, build: Build) {
    this.#config = config;
    this.#verifier = resources.verifier;
    this.#tokenOf = compileTokenOf(config, build);
    this.#issuers = new LocationIssuers(config, resources, build);
    this.#opening = this.#issuers.opening;
    this.#challenge = compileChallenge(config, build);
    const { resource } = config;
    this.#toolsPath = resource && resource !== 'off' && resource.isTools ? resource.path : undefined;
    this.#acceptsVouched = isOff(protectionOf(config) as Protection);
    this.#bindingFault = compileBinding(config, build);
    this.#rulesOf = compileRules(config, build);
  }

  /** Waits for what judges a request: keys, or what issuers say. Absent if a location never has to wait. */
  get waits(): ((x: Exchange) => Promise<void> | undefined) | undefined {
    return this.#issuers.asks || this.#opening ? (x) => this.#wait(x) : undefined;
  }

  #wait(x: Exchange): Promise<void> | undefined {
    // A subrequest may be the one for the keys.
    if (x.main !== x || x.state(JUDGEMENT)?.by === this.#config) return undefined;
    const token = this.#tokenOf(x);
    const opening = token === undefined ? undefined : this.#opening?.wait(x, token);
    if (opening) return opening.then(() => (x.done ? undefined : this.#waitForKeys(x)));
    return this.#waitForKeys(x);
  }

  #waitForKeys(x: Exchange): Promise<void> | undefined {
    const token = this.#plainTokenOf(x);
    const isLarge = (token?.length ?? 0) > this.#config.maxBytes;
    const issuer = !token || isLarge ? undefined : this.#issuers.of(token);
    if (!issuer) return undefined;
    const waiting = timedSpan(x, KEYS, issuer.keys.ask(x, 'all', Date.now()));
    return waiting ? waiting.then(() => this.#seekKey(x, issuer)) : this.#seekKey(x, issuer);
  }

  /** Judges, and once more if the key that a token names can be fetched. */
  #seekKey(x: Exchange, issuer: LocationIssuer): Promise<void> | undefined {
    const { lacking } = this.judgementOf(x);
    if (x.done || !lacking) return this.#seekResponse(x);
    const nowMs = Date.now();
    const asking = timedSpan(x, KEYS, issuer.keys.ask(x, 'one', nowMs));
    if (asking)
      return asking.then(() => {
        this.#judge(x);
        return this.#seekResponse(x);
      });
    // Another worker may have fetched them meanwhile.
    if (issuer.keys.of(x, nowMs).keys !== lacking) this.#judge(x);
    return this.#seekResponse(x);
  }

  /** Judges once more if the issuer has to be asked. */
  #seekResponse(x: Exchange): Promise<void> | undefined {
    const { asks } = this.judgementOf(x);
    const text = asks && !x.done ? this.#plainTokenOf(x) : undefined;
    if (!asks || text === undefined) return undefined;
    return timedSpan(x, INTROSPECTION, asks.ask(text)).then((response) => {
      x.setState(INTROSPECTED, { of: text, by: asks, response });
      this.#judge(x);
    });
  }

  judgementOf({ main }: Exchange): Judgement {
    const known = main.state(JUDGEMENT);
    const isKnown = known?.by === this.#config && known.isForTools === this.#isForTools(main);
    return isKnown ? known : this.#judge(main);
  }

  #isForTools({ uri }: Exchange): boolean {
    return this.#toolsPath !== undefined && uri === this.#toolsPath;
  }

  #judge(main: Exchange): Judgement {
    const { token, issuer, fault, lacking, asks } = this.#find(main);
    const isForTools = this.#isForTools(main);
    const judgement = {
      by: this.#config,
      isForTools,
      token,
      issuer,
      fault,
      lacking,
      asks,
      isAccepted: undefined,
    };
    main.setState(JUDGEMENT, judgement);
    return judgement;
  }

  #find(x: Exchange): Finding {
    const text = this.#tokenOf(x);
    if (text === undefined)
      return {
        fault: { result: 'none', message: NONE, denial: { status: 401, headers: this.#challenge(x) } },
      };
    const vouched = this.#acceptsVouched ? vouchedToken(x, text) : undefined;
    if (vouched) return this.#findVouched(x, vouched);
    if (text === '') return this.#refused(x, { refused: 'empty' });
    if (text.length > this.#config.maxBytes) return this.#refused(x, { refused: 'size' });
    return this.#opening ? this.#findEncrypted(x, text, this.#opening) : this.#findPlain(x, text);
  }

  /** A token that gw got from its issuer itself. Its times are those of the session; its audience may be another one. */
  #findVouched(x: Exchange, token: VerifiedToken): Finding {
    const issuer = this.#opening?.sender ?? this.#issuers.of(token.text);
    const rules = issuer && this.#rulesOf(x, issuer);
    const refusal = rules && claimsFault(token.claims, { ...rules, leewaySeconds: Infinity }, Date.now());
    return refusal ? this.#refused(x, refusal) : { token };
  }

  /** What a location with encrypted tokens is sent. */
  #findEncrypted(x: Exchange, text: string, opening: TokenOpening): Finding {
    const opened = opening.of(x, text) ?? { fault: 'the token has not been opened' };
    if ('fault' in opened) return { fault: { result: 'failed', message: opened.fault, denial: NO_RESPONSE } };
    if ('refused' in opened) return this.#refused(x, opened);
    const { header, content } = opened;
    if (opening.isNested) return this.#findPlain(x, content.toString());
    const claims = readObject(content);
    if (!claims) return this.#refused(x, { refused: 'claims' });
    const token = { text, header, claims };
    const refusal = this.#claimsFault(x, token, { text, issuer: opening.sender, nowMs: Date.now() });
    return refusal ? this.#refused(x, refusal) : { token };
  }

  /** The token that counts: in an encrypted one, the signed one. */
  #plainTokenOf(x: Exchange): string | undefined {
    const text = this.#tokenOf(x);
    const opening = this.#opening;
    if (!opening || text === undefined) return text;
    const opened = opening.isNested ? opening.of(x, text) : undefined;
    return opened && 'content' in opened ? opened.content.toString() : undefined;
  }

  #findPlain(x: Exchange, text: string): Finding {
    const issuer = this.#issuers.of(text);
    if (!issuer) return this.#refused(x, { refused: 'issuer' });
    const found = { text, issuer, nowMs: Date.now() };
    return issuer.introspector && !isJwt(text) ? this.#findOpaque(x, found) : this.#findSigned(x, found);
  }

  #refused(x: Exchange, refusal: Refusal): Finding {
    const denial = { status: 401, headers: this.#challenge(x, 'invalid_token') };
    return { fault: { result: 'refused', message: `the token is refused: ${wordsOf(refusal)}`, denial } };
  }

  #findSigned(x: Exchange, found: Case): Finding {
    const { text, issuer, nowMs } = found;
    const { keys, faults } = issuer.keys.of(x, nowMs);
    const token = this.#unverified(text) ?? this.#verifier.verify(text, keys);
    if (isRefusal(token)) {
      const lacking = token.refused === 'key' && token.subject !== undefined && { lacking: keys };
      // A source that has no keys now may have the key of this token.
      if (token.refused === 'key' && faults.length > 0)
        return { ...lacking, fault: { result: 'failed', message: faults.join('; '), denial: NO_KEYS } };
      return { ...lacking, ...this.#refused(x, token) };
    }
    const refusal = this.#claimsFault(x, token, found);
    if (refusal?.refused === 'expired') this.#verifier.forget(text, keys);
    if (refusal) return this.#refused(x, refusal);
    if (issuer.block?.introspection?.asksOfSigned === true) {
      const response = this.#responseOf(x, found);
      if (!('members' in response)) return response;
    }
    return { token, issuer: issuer.block?.name };
  }

  /** A token as it was sent, where signatures do not count. */
  #unverified(text: string): VerifiedToken | undefined {
    return this.#config.checksSignature === false ? readVerified(text) : undefined;
  }

  /** A token that only its issuer understands: what the issuer says of it is its claims. */
  #findOpaque(x: Exchange, found: Case): Finding {
    const claims = this.#responseOf(x, found);
    if (!('members' in claims)) return claims;
    const token = { text: found.text, header: NO_HEADER, claims };
    const name = found.issuer.block?.issuer;
    const iss = Object.hasOwn(claims.members, 'iss') ? claims.members['iss'] : name;
    const refusal = iss === name || name === undefined ? this.#claimsFault(x, token, found) : FOREIGN;
    return refusal ? this.#refused(x, refusal) : { token, issuer: found.issuer.block?.name };
  }

  /** What the issuer says of a token; else what follows from it that it says nothing good. */
  #responseOf(x: Exchange, { text, issuer, nowMs }: Case): TokenObject | Finding {
    const asks = issuer.introspector;
    // Without a running gateway nobody is asked.
    if (!asks) return NOT_ASKED;
    const asked = x.state(INTROSPECTED);
    const isOfThis = asked?.of === text && asked.by === asks;
    const response = asks.known(text, nowMs) ?? (isOfThis ? asked.response : undefined);
    if (response === 'inactive') return this.#refused(x, { refused: 'inactive' });
    if (response && 'members' in response) return response;
    const message = response?.fault ?? 'the issuer has not been asked about the token';
    return { ...(!response && { asks }), fault: { result: 'failed', message, denial: NO_RESPONSE } };
  }

  #claimsFault(x: Exchange, { claims }: VerifiedToken, { issuer, nowMs }: Case): Refusal | undefined {
    const refusal = claimsFault(claims, this.#rulesOf(x, issuer), nowMs);
    if (refusal) return refusal;
    const unbound = this.#bindingFault(x, claims);
    return unbound && { refused: unbound };
  }
}

const NO_HEADER: TokenObject = { text: '{}', members: {}, exact: {} };
const FOREIGN: Refusal = { refused: 'issuer' };
const NO_RESPONSE: Denial = { status: 503, headers: ['Retry-After', '5'] };
const NOT_ASKED: Finding = {
  fault: { result: 'failed', message: 'the issuer is not asked about the token', denial: NO_RESPONSE },
};
const NONE = 'no token was provided';
const NO_KEYS: Denial = { status: 500, headers: ['Retry-After', '5'] };

function compileTokenOf(config: AuthJwtConfig, build: Build): (x: Exchange) => string | undefined {
  const { token } = protectionOf(config) as Protection;
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
  'not encrypted': say('it is not encrypted'),
  'not opened': say('no key opens it'),
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
  issuer: say('none of the issuers of this location has issued it'),
  inactive: say('its issuer says that it does not count'),
  'bound otherwise': say('it is bound to the client in a way that is not supported'),
};
