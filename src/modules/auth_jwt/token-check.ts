import { type Build, compileAuthCounter } from '../../contract/index.ts';
import { type AccessCheck, type Exchange, HttpFault, logContext } from '../../http/index.ts';
import type { TokenReader, VerifiedToken } from '../../tokens/index.ts';
import { compileChallenge } from './challenge.ts';
import type { AuthJwtConfig, Protection } from './directives.ts';
import type { IssuerResources } from './location-issuers.ts';
import { type Fault, TokenJudge } from './token-judge.ts';

/** Compiles how the tokens of requests are read in a location. */
export function compileTokens(config: AuthJwtConfig, resources: IssuerResources, build: Build): TokenReader {
  const judge = new TokenJudge(config, resources, build);
  return {
    verified: (x) => judge.judgementOf(x).token,
    compileAccepted: () => {
      const faultOf = compileFault(config, judge, build);
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
export function compileAccess(config: AuthJwtConfig, judge: TokenJudge, build: Build): AccessCheck {
  const faultOf = compileFault(config, judge, build);
  const isOff = compileIsOff(config, build);
  const count = compileAuthCounter(build, 'jwt');
  return (x) => {
    if (isOff(x)) return undefined;
    const fault = faultOf(x);
    count(fault?.result ?? 'accepted');
    if (!fault) return 'allowed';
    build.log.write(fault.result === 'failed' ? 'error' : 'info', fault.message, logContext(x));
    return fault.denial;
  };
}

/** Compiles why a request is refused; `undefined` if its token has all that the location demands. */
function compileFault(
  config: AuthJwtConfig,
  judge: TokenJudge,
  build: Build,
): (x: Exchange) => Fault | undefined {
  const demand = compileDemands(config, build);
  return (x) => {
    const judgement = judge.judgementOf(x);
    const fault = judgement.token ? demand(x, judgement.token) : judgement.fault;
    judgement.isAccepted = !fault;
    return fault;
  };
}

/** A realm with variables may be `off`. */
function compileIsOff({ protection }: AuthJwtConfig, build: Build): (x: Exchange) => boolean {
  const { realm } = protection as Protection;
  if (realm.parts.every((part) => typeof part === 'string')) return () => false;
  const realmOf = build.value(realm);
  return (x) => realmOf(x) === 'off';
}

/** Compiles what else a verified token must have: scopes, then values that are neither empty nor `0`. */
function compileDemands(
  config: AuthJwtConfig,
  build: Build,
): (x: Exchange, token: VerifiedToken) => Fault | undefined {
  const { scopes = [], requirements = [] } = config;
  const challenge = compileChallenge(config, build);
  const compiled = requirements.map(({ values, status }) => ({
    values: values.map((value) => build.value(value)),
    status,
  }));
  return (x, token) => {
    const given = scopes.length > 0 ? scopesOf(token) : NO_SCOPES;
    const missing = scopes.find((scope) => !given.has(scope));
    if (missing !== undefined) {
      const denial = { status: 403, headers: challenge(x, 'insufficient_scope') };
      return { result: 'forbidden', message: `the token lacks the scope "${missing}"`, denial };
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

/** The scopes of a token: words of `scope` (RFC 8693, 4.2), or `scp`, an array or words. */
function scopesOf({ claims: { members } }: VerifiedToken): ReadonlySet<string> {
  const given = ['scope', 'scp'].flatMap((name): unknown[] => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    return typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  });
  return new Set(given.filter((scope) => typeof scope === 'string'));
}
