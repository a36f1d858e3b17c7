import { directivesFor, readers } from '../../../config/index.ts';
import { namesFile } from './connection.ts';
import { issuerUrlFault } from '../../../issuer/index.ts';
import { readKeySource } from '../../../tokens/index.ts';
import { readRolePath, type RolePath, type TokenKeys } from '../auth/index.ts';

/** The configuration of roles and tokens. */
export interface TokensConfig {
  readonly anonRole?: string;
  readonly jwtKeys?: TokenKeys;
  readonly jwtRolePath: RolePath;
  readonly jwtAudience?: string;
  /** Treatment of an invalid token: the anonymous role, or 401. */
  readonly jwtInvalid: 'anon' | 'reject';
}

const EVERYWHERE = ['http', 'server', 'location'] as const;

/** Rejects `none`, which to PostgreSQL means that requests run as the login role. */
const role = readers.oneWord<string>('role', (word, { directive, report }) => {
  if (word.value !== '' && word.value !== 'none') return word.value;
  report.emerg(`invalid role in "${directive}" directive`, word.span, 'expected the name of a database role');
  return undefined;
});

/** Reads a secret, a JWK, a JWK set or the URL of one. */
const keySource = readers.oneWord<TokenKeys>('secret | JWK | JWK set | URL', (word, scope) => {
  if (namesFile(word, scope)) return undefined;
  const { directive, report } = scope;
  if (/^https?:\/\//i.test(word.value)) {
    const fault = issuerUrlFault(word.value);
    if (fault === undefined) return { kind: 'url', url: new URL(word.value).href };
    report.emerg(`invalid URL in "${directive}" directive`, word.span, fault);
    return undefined;
  }
  const source = readKeySource(word.value);
  if (!('fault' in source)) return source;
  report.emerg(`invalid value in "${directive}" directive, ${source.fault}`, word.span);
  return undefined;
});

/** Reads the path of the claim that names the role. */
const rolePath = readers.oneWord<RolePath>('name | .path | $.path', (word, { directive, report }) => {
  const path = readRolePath(word.value);
  if (!('fault' in path)) return path;
  report.emerg(`invalid path in "${directive}" directive, ${path.fault}`, word.span, PATHS);
  return undefined;
});

const PATHS = `expected a name, ".app.roles[0]", '.roles[?(@ == "author")]', or a JSONPath such as "$.app.roles[0]"`;

/** Roles and tokens. */
export const tokensDirectives = directivesFor<TokensConfig>()({
  dbrest_anon_role: {
    contexts: EVERYWHERE,
    args: role,
    into: 'anonRole',
    summary: 'Database role of unauthenticated requests.',
    source: 'gw',
  },
  dbrest_jwt_secret: {
    contexts: EVERYWHERE,
    args: keySource,
    into: 'jwtKeys',
    secret: 'whole',
    summary:
      'Verifies bearer tokens: the secret of HS256, a JSON Web Key, a set of them, or the URL of a set, which is fetched once for all workers.',
    source: 'gw',
  },
  dbrest_jwt_role_claim: {
    contexts: EVERYWHERE,
    args: rolePath,
    into: 'jwtRolePath',
    default: ['role'],
    defaultText: 'role',
    summary:
      'Claim of a token that names the database role: a name, a path as PostgREST writes it, or a JSONPath (RFC 9535).',
    source: 'gw',
  },
  dbrest_jwt_audience: {
    contexts: EVERYWHERE,
    args: readers.text,
    into: 'jwtAudience',
    summary: 'Audience that tokens with an "aud" claim must be meant for.',
    source: 'gw',
  },
  dbrest_jwt_invalid: {
    contexts: EVERYWHERE,
    args: readers.oneOf('anon', 'reject'),
    into: 'jwtInvalid',
    default: 'anon',
    summary: 'What a request with a bad token gets: the anonymous role, or 401.',
    source: 'gw',
  },
});
