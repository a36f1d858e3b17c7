import { type Build, compileAuthCounter } from '../../contract/index.ts';
import {
  type Denial,
  type Exchange,
  type Handler,
  HttpFault,
  logContext,
  sendDenial,
} from '../../http/index.ts';
import type { TokenReader, VerifiedToken } from '../../tokens/index.ts';
import { compileChallenge } from './challenge.ts';
import { compileComparisons } from './comparisons.ts';
import { type AuthJwtConfig, type Protection, protectionOf } from './directives.ts';
import type { IssuerResources } from './location-issuers.ts';
import { type Fault, TokenJudge } from './token-judge.ts';

/** What the checks of a location are made of. */
interface CheckParts {
  readonly config: AuthJwtConfig;
  readonly resources: IssuerResources;
  readonly judge: TokenJudge;
  readonly build: Build;
}

/** Compiles how the tokens of requests are read in a location. */
export function compileTokens(config: AuthJwtConfig, resources: IssuerResources, build: Build): TokenReader {
  const judge = new TokenJudge(config, resources, build);
  return {
    verified: (x) => judge.judgementOf(x).token,
    compileAccepted: () => {
      const faultOf = compileFault({ config, resources, judge, build });
      return (x) => {
        const { isAccepted = !faultOf(x), token, fault } = judge.judgementOf(x);
        // Without keys, nobody knows who asks: that is not a request without a token.
        if (fault?.result === 'failed') throw new HttpFault(fault.denial.status, fault.message);
        return isAccepted ? token : undefined;
      };
    },
  };
}

/** Compiles the access check, which logs refused requests. */
export function compileAccess(parts: CheckParts): (x: Exchange) => Denial | 'allowed' | undefined {
  const { config, resources, build } = parts;
  const faultOf = compileFault(parts);
  const isOff = compileIsOff(config, build);
  const count = compileAuthCounter(build, 'jwt');
  return (x) => {
    if (isOff(x)) return undefined;
    const fault = faultOf(x);
    if (fault?.result === 'failed' && resources.isExplained) return undefined;
    count(fault?.result ?? 'accepted');
    if (!fault) return 'allowed';
    build.log.write(fault.result === 'failed' ? 'error' : 'info', fault.message, logContext(x));
    return fault.denial;
  };
}

/** Compiles an access check as a handler that refuses by itself, whatever other checks say. */
export function compileRefusal(check: (x: Exchange) => Denial | 'allowed' | undefined): Handler {
  return (x) => {
    const verdict = check(x);
    if (verdict !== undefined && verdict !== 'allowed') sendDenial(verdict, x);
  };
}

/** Compiles why a request is refused; `undefined` if its token has all that the location demands. */
function compileFault({ config, resources, judge, build }: CheckParts): (x: Exchange) => Fault | undefined {
  const demand = compileDemands(config, resources, build);
  return (x) => {
    const judgement = judge.judgementOf(x);
    const fault = judgement.token ? demand(x, judgement.token) : judgement.fault;
    judgement.isAccepted = !fault;
    return fault;
  };
}

/** A realm with variables may be `off`. */
function compileIsOff(config: AuthJwtConfig, build: Build): (x: Exchange) => boolean {
  const { realm } = protectionOf(config) as Protection;
  if (realm.parts.every((part) => typeof part === 'string')) return () => false;
  const realmOf = build.value(realm);
  return (x) => realmOf(x) === 'off';
}

/** Compiles what else a verified token must have: scopes, then values that are neither empty nor `0`. */
function compileDemands(
  config: AuthJwtConfig,
  { revoked }: IssuerResources,
  build: Build,
): (x: Exchange, token: VerifiedToken) => Fault | undefined {
  const { scopes = [], requirements = [] } = config;
  const challenge = compileChallenge(config, build);
  const compare = compileComparisons(config, revoked, build);
  const compiled = requirements.map(({ values, status }) => ({
    values: values.map((value) => build.value(value)),
    status,
  }));
  if (scopes.length === 0 && compiled.length === 0 && !compare) return () => undefined;
  return (x, token) => {
    const given = scopes.length > 0 ? scopesOf(token) : NO_SCOPES;
    const missing = scopes.find((scope) => !given.has(scope));
    if (missing !== undefined) {
      const denial = { status: 403, headers: challenge(x, 'insufficient_scope') };
      return { result: 'forbidden', message: `the token lacks the scope "${missing}"`, denial };
    }
    const different = compare?.(x, token);
    if (different !== undefined) {
      const denial = { status: 401, headers: challenge(x, 'invalid_token') };
      return { result: 'refused', message: `the token is refused: ${different}`, denial };
    }
    const failed = compiled.find(({ values }) => !values.every((valueOf) => isTrue(valueOf(x))));
    if (!failed) return undefined;
    const { status } = failed;
    const denial = status === 401 ? { status, headers: challenge(x, 'invalid_token') } : { status };
    const result = status === 401 ? 'refused' : 'forbidden';
    return { result, message: 'a value of "auth_jwt_require" is empty or 0', denial };
  };
}

/** True for a value that lets a request pass. */
function isTrue(value: string): boolean {
  return value !== '' && value !== '0';
}

const NO_SCOPES: ReadonlySet<string> = new Set();

/** The scopes of tokens that are kept. */
const SCOPES = new WeakMap<VerifiedToken, ReadonlySet<string>>();

function scopesOf(token: VerifiedToken): ReadonlySet<string> {
  const known = SCOPES.get(token) ?? readScopes(token);
  SCOPES.set(token, known);
  return known;
}

/** The scopes of a token: words of `scope` (RFC 8693, 4.2), or `scp`, an array or words. */
function readScopes({ claims: { members } }: VerifiedToken): ReadonlySet<string> {
  const given = ['scope', 'scp'].flatMap((name): unknown[] => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    return typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  });
  return new Set(given.filter((scope) => typeof scope === 'string'));
}
