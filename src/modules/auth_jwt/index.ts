import {
  type Build,
  moduleFor,
  type VariableDefinition,
  type VariableFamily,
  type WorkerScope,
} from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { IssuerDocuments, issuerZone } from '../../issuer/index.ts';
import { SharedText } from '../../zone/index.ts';
import { claimText, memberAt, TokenVerifier, type VerifiedToken } from '../../tokens/index.ts';
import { type AuthJwtConfig, directives, isOff, type NamedMember } from './directives.ts';
import { openKeyFiles, readKeys } from './key-files.ts';
import { keptResponses } from './key-request.ts';
import { compileAccess, compileTokens } from './token-check.ts';
import { lastToken, TokenJudge, type TokenResources } from './token-judge.ts';

/** Verified tokens that a worker keeps. */
const MOST_TOKENS = 10_000;
/** Headers of requests are smaller, and a variable may hold no more than `auth_jwt_max_size` allows. */
const MOST_BYTES = 65_536;

/** True also for `off token=$variable`, where a token is read and none is required. */
function verifiesTokens({ protection }: AuthJwtConfig): boolean {
  return protection !== undefined && (!isOff(protection) || protection.token !== undefined);
}

function requiresToken({ protection }: AuthJwtConfig): boolean {
  return protection !== undefined && !isOff(protection);
}

/** The URLs that keys are fetched from, with the index of their directives. */
function urlsOf(config: AuthJwtConfig): readonly { readonly url: string; readonly index: number }[] {
  if (!verifiesTokens(config)) return [];
  return (config.keyRequests ?? []).flatMap((request, index) =>
    'url' in request ? [{ url: request.url, index }] : [],
  );
}

function openFiles(worker: WorkerScope): Omit<TokenResources, 'urls' | 'responses'> {
  const shared = worker.share(
    'auth_jwt',
    () => ({
      files: openKeyFiles((fault) => worker.log.write('error', fault)),
      verifier: new TokenVerifier({ mostTokens: MOST_TOKENS, mostBytes: MOST_BYTES }),
    }),
    () => undefined,
  );
  // A reload reads changed files at once.
  shared.files.expire();
  return shared;
}

function openUrl(url: string, worker: WorkerScope): IssuerDocuments {
  const source = { keysUrl: url };
  const zone = issuerZone(source).name;
  return worker.share(
    zone,
    () =>
      new IssuerDocuments({
        source,
        shared: new SharedText(worker.zone(zone), worker.workerId),
        tell: (result, fault) => {
          worker.metrics.counter(FETCHES, { result }).add();
          if (result === 'failed') worker.log.write('error', fault);
        },
      }),
    (opened) => opened.close(),
  );
}

const FETCHES = { name: 'gw_jwks_fetches_total', help: 'Fetches of the keys of issuers.' };

type TokenOf = (x: Exchange) => VerifiedToken | undefined;

/** Compiles the verified token of a request: that of this location, or else that of the last one that verified it. */
function compileVerified({ token }: Build): TokenOf {
  return token ? (x) => token.verified(x) : lastToken;
}

function family(of: NamedMember['of'], summary: string): VariableFamily {
  return {
    summary,
    compile: (name, build) => {
      const verified = compileVerified(build);
      const path = [name];
      return (x) => memberText(verified(x), { of, path });
    },
  };
}

function memberText(
  token: VerifiedToken | undefined,
  { of, path }: Pick<NamedMember, 'of' | 'path'>,
): string | undefined {
  return token && claimText(memberAt(token[of].exact, path));
}

const payload: VariableDefinition = {
  summary: 'The claims of the verified token, as JSON.',
  compile: (build) => {
    const verified = compileVerified(build);
    return (x) => verified(x)?.claims.text;
  },
};

/** Access by JSON Web Tokens (nginx ngx_http_auth_jwt_module). */
export const authJwt = moduleFor<AuthJwtConfig>()<TokenResources>({
  name: 'auth_jwt',
  summary: 'Access by JSON Web Tokens, and their claims as variables.',
  directives,
  variables: {
    jwt_payload: payload,
    jwt_claims: payload,
    jwt_nowtime: {
      summary: 'The time in seconds since the epoch.',
      live: true,
      compile: () => () => String(Math.floor(Date.now() / 1_000)),
    },
  },
  families: {
    jwt_claim_: family(
      'claims',
      'A claim of the verified token. Elements of arrays are joined by commas; objects are JSON.',
    ),
    jwt_header_: family('header', 'A parameter in the header of the verified token.'),
  },
  enabled: (config) => verifiesTokens(config) || config.members !== undefined,
  verifiesTokens,
  strangers: (config) => (requiresToken(config) ? 'denied' : undefined),
  validate(config, report) {
    if (!verifiesTokens(config)) return;
    for (const [index, file] of (config.keyFiles ?? []).entries()) {
      const keys = 'path' in file ? readKeys(file.path) : undefined;
      if (keys && 'fault' in keys) report.phrase('keyFiles', keys.fault, { index });
    }
  },
  zones: (config) =>
    urlsOf(config).map(({ url, index }) => ({
      zone: issuerZone({ keysUrl: url }),
      field: 'keyRequests',
      index,
    })),
  provision(config, worker) {
    const urls = urlsOf(config).map(({ url }) => [url, openUrl(url, worker)] as const);
    return { ...openFiles(worker), urls: new Map(urls), responses: keptResponses(config.keyCacheMs) };
  },
  defines: ({ members = [] }) =>
    Object.fromEntries(
      members.map((member) => [
        member.variable,
        {
          summary: '',
          volatile: true,
          compile: (build) => {
            const verified = compileVerified(build);
            return (x) => memberText(verified(x), member);
          },
        },
      ]),
    ),
  tokens: compileTokens,
  compile(config, resources, build) {
    if (!verifiesTokens(config)) return {};
    const judge = new TokenJudge(config, resources, build);
    const { waits: identify } = judge;
    const access = requiresToken(config) ? compileAccess(config, judge, build) : undefined;
    return { ...(identify && { identify }), ...(access && { access }) };
  },
  // Without a running gateway, no keys are fetched.
  explanation: {
    runs: true,
    provision: (_config, scope) => ({ ...openFiles(scope), urls: new Map(), responses: undefined }),
  },
  rules: () => import('./rules.ts'),
});
