import { createHash } from 'node:crypto';
import {
  type Credentials,
  type Build,
  compileCounter,
  moduleFor,
  openIssuerDocuments,
  type VariableDefinition,
  type VariableFamily,
  type WorkerScope,
} from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { type IssuerSource, issuerZone } from '../../issuer/index.ts';
import {
  claimText,
  type Decrypter,
  loadDecrypter,
  memberAt,
  TokenVerifier,
  type VerifiedToken,
} from '../../tokens/index.ts';
import { openRevocationLists } from './comparisons.ts';
import type { NamedMember } from './demands.ts';
import { type AuthJwtConfig, directives, isOff, protectionOf } from './directives.ts';
import { Introspector } from './introspector.ts';
import { sourceOf } from './issuer-directives.ts';
import { openKeyFiles, readKeys } from './key-files.ts';
import { keptResponses } from './key-request.ts';
import { type IssuerResources, issuersOf } from './location-issuers.ts';
import { compileMetadata, metadataLocations, settleResource } from './resource.ts';
import { compileAccess, compileRefusal, compileTokens } from './token-check.ts';
import { lastIssuer, lastToken, TokenJudge } from './token-judge.ts';
import { validateIssuers, validateNginz, validateResource } from './validate.ts';

/** Verified tokens that a worker keeps. */
const MOST_TOKENS = 10_000;
/** Headers of requests are smaller, and a variable may hold no more than `auth_jwt_max_size` allows. */
const MOST_BYTES = 65_536;

/** True also for `off token=$variable`, where a token is read and none is required. */
/** The argument or the header that a location takes its tokens from. */
function credentialsOf(config: AuthJwtConfig): Credentials {
  const [part, ...more] = protectionOf(config)?.token?.parts ?? [];
  const variable = typeof part === 'object' && more.length === 0 && 'variable' in part ? part.variable : '';
  const [, family, name = ''] = /^(arg|http)_(.+)$/.exec(variable) ?? [];
  if (family === undefined) return {};
  return family === 'arg' ? { arguments: [name] } : { headers: [name.replaceAll('_', '-')] };
}

function verifiesTokens(config: AuthJwtConfig): boolean {
  return readsTokens(config) && config.checksSignature !== false;
}

/** True also where tokens are read whose signature nobody verifies. */
function readsTokens(config: AuthJwtConfig): boolean {
  const protection = protectionOf(config);
  return protection !== undefined && (!isOff(protection) || protection.token !== undefined);
}

function requiresToken(config: AuthJwtConfig): boolean {
  const protection = protectionOf(config);
  return protection !== undefined && !isOff(protection);
}

/** What is fetched for a location, with the directive to blame. */
interface DocumentNeed {
  readonly source: IssuerSource;
  readonly field: 'keyRequests' | 'issuerNames';
  readonly index: number;
}

function documentsOf(config: AuthJwtConfig): readonly DocumentNeed[] {
  if (!readsTokens(config)) return [];
  return [
    ...(config.keyRequests ?? []).flatMap((request, index): DocumentNeed | [] =>
      'url' in request ? { source: { keysUrl: request.url }, field: 'keyRequests', index } : [],
    ),
    ...issuersOf(config).flatMap((issuer): DocumentNeed | [] => {
      const source = sourceOf(issuer);
      return source ? { source, field: 'issuerNames', index: 0 } : [];
    }),
  ];
}

function openFiles(worker: WorkerScope): Pick<IssuerResources, 'files' | 'verifier' | 'revoked'> {
  const shared = worker.share(
    'auth_jwt',
    () => ({
      files: openKeyFiles((fault) => worker.log.write('error', fault)),
      revoked: openRevocationLists((fault) => worker.log.write('error', fault)),
      verifier: new TokenVerifier({ mostTokens: MOST_TOKENS, mostBytes: MOST_BYTES }),
    }),
    () => undefined,
  );
  // A reload reads changed files at once.
  for (const files of [shared.files.jwks, shared.files.keyval, shared.revoked]) files.expire();
  return shared;
}

/** Opens what asks issuers about tokens. Their responses survive a reload that leaves the block as it is. */
function openIntrospectors(config: AuthJwtConfig, worker: WorkerScope): ReadonlyMap<string, Introspector> {
  const opened = issuersOf(config).flatMap((issuer) => {
    const { name, introspection, trusted } = issuer;
    if (!introspection) return [];
    const key = createHash('sha256').update(JSON.stringify(issuer)).digest('base64url');
    const introspector = worker.share(
      `introspection ${key}`,
      () =>
        new Introspector({
          name,
          introspection,
          trust: trusted && { ca: trusted.text },
          count: compileCounter(worker.metrics, INTROSPECTIONS, { issuer: name }),
        }),
      (each) => each.close(),
    );
    return [[name, introspector] as const];
  });
  return new Map(opened);
}

const INTROSPECTIONS = { name: 'gw_introspections_total', help: 'Questions to issuers about tokens.' };

async function openDecrypter(config: AuthJwtConfig, worker: WorkerScope): Promise<Decrypter | undefined> {
  if (config.type === 'signed' || !readsTokens(config)) return undefined;
  const decrypter = await loadDecrypter();
  return worker.share(
    'auth_jwt: encrypted tokens',
    () => decrypter,
    () => undefined,
  );
}

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

const UNASKED = {
  documents: new Map(),
  introspectors: new Map(),
  responses: undefined,
  isExplained: true,
} as const;

/** True if keys or claims come from a server that is asked. */
function asksOthers(config: AuthJwtConfig): boolean {
  const asks = issuersOf(config).some(({ introspection }) => introspection);
  return requiresToken(config) && (asks || documentsOf(config).length > 0);
}

/** Access by JSON Web Tokens (nginx ngx_http_auth_jwt_module). */
export const authJwt = moduleFor<AuthJwtConfig>()<IssuerResources>({
  name: 'auth_jwt',
  summary: 'Access by JSON Web Tokens, and their claims as variables.',
  directives,
  variables: {
    jwt_payload: payload,
    jwt_claims: payload,
    jwt_issuer: {
      summary: 'The name of the `token_issuer` block that has issued the verified token.',
      compile: (build) => {
        const verified = compileVerified(build);
        return (x) => (verified(x) ? lastIssuer(x) : undefined);
      },
    },
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
  enabled: (config) => readsTokens(config) || config.members !== undefined || config.metadataOf !== undefined,
  answers: ({ metadataOf }) => (metadataOf ? 'auth_jwt_resource' : undefined),
  settle: settleResource,
  ownLocations: metadataLocations,
  verifiesTokens,
  credentials: credentialsOf,
  strangers: (config) => (requiresToken(config) && config.checksSignature !== false ? 'denied' : undefined),
  validate(config, report, { serverNames }) {
    if (!readsTokens(config)) return;
    validateResource(config, report, serverNames);
    for (const [index, file] of (config.keyFiles ?? []).entries()) {
      const keys = 'path' in file ? readKeys(file.path) : undefined;
      if (keys && 'fault' in keys) report.phrase('keyFiles', keys.fault, { index });
      else if (keys?.value.keys.length === 0 && config.type === 'signed')
        report.on('keyFiles', 'names a file without a key that can verify a signature');
    }
    validateIssuers(config, report);
    validateNginz(config, report);
  },
  zones: (config) =>
    documentsOf(config).map(({ source, field, index }) => ({ zone: issuerZone(source), field, index })),
  async provision(config, worker) {
    const documents = documentsOf(config).map(
      ({ source }) => [issuerZone(source).name, openIssuerDocuments(source, worker)] as const,
    );
    return {
      ...openFiles(worker),
      documents: new Map(documents),
      introspectors: openIntrospectors(config, worker),
      decrypter: await openDecrypter(config, worker),
      responses: keptResponses(config.keyCacheMs),
    };
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
    const { metadataOf } = config;
    if (metadataOf) return { content: compileMetadata({ ...config, metadataOf }, build) };
    if (!readsTokens(config)) return {};
    const judge = new TokenJudge(config, resources, build);
    const { waits: identify } = judge;
    if (!requiresToken(config)) return { ...(identify && { identify }) };
    const access = compileAccess({ config, resources, judge, build });
    const check = config.phase === 'preaccess' ? { preaccess: compileRefusal(access) } : { access };
    return { ...(identify && { identify }), ...check };
  },
  // Without a running gateway, no keys are fetched and no issuer is asked.
  explanation: {
    runs: true,
    explain: (config) =>
      asksOthers(config)
        ? { access: () => ({ does: 'verifies the token', unknown: 'what its issuer says' }) }
        : {},
    provision: async (config, scope) => ({
      ...openFiles(scope),
      ...UNASKED,
      decrypter: await openDecrypter(config, scope),
    }),
  },
  rules: () => import('./rules.ts'),
});
