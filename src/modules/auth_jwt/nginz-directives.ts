import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  defines,
  pathFrom,
  readers,
  type ReadScope,
  type Rows,
} from '../../config/index.ts';
import { type NamedMember, type Requirement, requirement } from './demands.ts';

/** `jwt_secret`: a secret, where the token is, or that nothing is required. */
type SecretConfig = 'off' | { readonly secret?: string; readonly token?: ComplexValue };

/** `jwt_key_file`, `jwt_key_request`: keys that also switch the check on. */
interface NginzKeys {
  readonly source: { readonly path: string } | { readonly uri: ComplexValue };
  /** `keyval`: an object of secrets and PEM keys by key id. */
  readonly format: 'jwks' | 'keyval';
}

const OPERATORS = ['eq', '!eq', 'gt', 'ge', 'lt', 'le'] as const;

/** A demand on a claim, or on a parameter of the header. */
export interface Comparison {
  readonly of: NamedMember['of'];
  readonly path: readonly string[];
  readonly operator: (typeof OPERATORS)[number];
  readonly value: ComplexValue;
}

/** A file with subjects or key ids that count no more. */
interface Revocations {
  readonly of: 'sub' | 'kid';
  readonly path: string;
}

/** What the directives of nginz's module set. */
export interface NginzFields {
  readonly secret?: SecretConfig;
  readonly nginzKeys?: readonly NginzKeys[];
  readonly comparisons?: readonly Comparison[];
  readonly revocations?: readonly Revocations[];
  /** `preaccess`: whatever `satisfy` says. */
  readonly phase?: 'access' | 'preaccess';
  /** False: tokens are taken after their end. */
  readonly checksTimes?: boolean;
  /** False: anybody can make tokens. */
  readonly checksSignature?: boolean;
}

const secret: ArgReader<SecretConfig> = readers.words(
  { syntax: 'secret [token=$value] | token=$value | off', min: 1, max: 2 },
  (words, { report, complexValue }) => {
    let read: { secret?: string; token?: ComplexValue } = {};
    for (const word of words) {
      const token = /^token=(\$.+)$/s.exec(word.value)?.[1];
      if (token !== undefined) read = { ...read, token: complexValue({ ...word, value: token }) };
      else if (read.secret !== undefined) {
        report.emerg(`invalid parameter "${word.value}"`, word.span);
        return undefined;
      } else read = { ...read, secret: word.value };
    }
    return words.length === 1 && read.secret === 'off' ? 'off' : read;
  },
);

/** Reads the optional second word of a source of keys. */
function formatOf(word: Word | undefined, usual: NginzKeys['format'], { report }: ReadScope) {
  if (!word) return usual;
  if (word.value === 'jwks' || word.value === 'keyval') return word.value;
  report.emerg(`invalid parameter "${word.value}"`, word.span, 'expected jwks or keyval');
  return undefined;
}

const keyFile: ArgReader<NginzKeys> = readers.words(
  { syntax: 'file [jwks | keyval]', min: 1, max: 2 },
  ([file, more], scope) => {
    const format = formatOf(more, 'keyval', scope);
    return format && { source: { path: resolve(scope.confDir, (file as Word).value) }, format };
  },
);

const keyRequest: ArgReader<NginzKeys> = readers.words(
  { syntax: 'uri [jwks | keyval]', min: 1, max: 2 },
  ([uri, more], scope) => {
    const format = formatOf(more, 'jwks', scope);
    return format && { source: { uri: scope.complexValue(uri as Word) }, format };
  },
);

/** Reads a path: `a.b.0`, `.a.b[0]`. */
function pathOf(text: string): readonly string[] {
  return text
    .replace(/^\$?\./, '')
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.');
}

const member = (of: NamedMember['of']): ArgReader<NamedMember> =>
  readers.words({ syntax: '$variable name', min: 2, max: 2 }, ([variable, path], scope) => {
    const name = readers.readVariableName(variable as Word, scope);
    return name === undefined ? undefined : { variable: name, of, path: pathOf((path as Word).value) };
  });

const comparison = (of: NamedMember['of']): ArgReader<Comparison> =>
  readers.words(
    { syntax: `name ${OPERATORS.join(' | ')} value`, min: 3, max: 3 },
    (words, { report, complexValue }) => {
      const [path, by, value] = words as [Word, Word, Word];
      const operator = OPERATORS.find((one) => one === by.value);
      if (operator) return { of, path: pathOf(path.value), operator, value: complexValue(value) };
      report.emerg(`invalid operator "${by.value}"`, by.span, `expected ${OPERATORS.join(', ')}`);
      return undefined;
    },
  );

/** A claim with one value. */
const claimIs = (name: string): ArgReader<Comparison> =>
  readers.oneWord('value', (word, scope) => ({
    of: 'claims',
    path: [name],
    operator: 'eq',
    value: scope.complexValue(word),
  }));

const revocations = (of: Revocations['of']): ArgReader<Revocations> =>
  readers.oneWord('file', ({ value }, { confDir }) => ({ of, path: resolve(confDir, value) }));

const LEVEL = { contexts: ['http', 'server', 'location'], source: 'nginz jwt' } as const;
const LIST = { ...LEVEL, repeat: 'append' } as const;

/** The own values, then the inherited ones: nginz adds up such lists. */
function added<T>(own: readonly T[], above: readonly T[]): readonly T[] {
  return [...own, ...above];
}

interface Fields extends NginzFields {
  readonly members?: readonly NamedMember[];
  readonly requirements?: readonly Requirement[];
  readonly leewayMs: number;
  readonly strictKid?: boolean;
}

/** The directives of nginz's module for tokens. */
export const nginzDirectives = {
  jwt_secret: {
    ...LEVEL,
    args: secret,
    into: 'secret',
    secret: 'whole',
    completedBy: (own, above) => (own === 'off' || above === 'off' ? own : { ...above, ...own }),
    summary:
      'Requires a token that is signed with a secret (HS256, HS384, HS512), unless `jwt_key_file` or `jwt_key_request` give keys.',
  },
  jwt_key_file: {
    ...LIST,
    args: keyFile,
    into: 'nginzKeys',
    summary: 'Requires a token that a key of a file verifies: secrets and PEM keys by key id, or a JWK set.',
    roles: pathFrom('confDir'),
  },
  jwt_key_request: {
    ...LIST,
    args: keyRequest,
    into: 'nginzKeys',
    summary: 'Requires a token that a key in the response of a subrequest verifies.',
  },
  jwt_claim: {
    ...LIST,
    args: member('claims'),
    into: 'members',
    completedBy: added,
    summary: 'A variable with the value of a claim.',
    roles: defines('variable', AT.variable),
  },
  jwt_header: {
    ...LIST,
    args: member('header'),
    into: 'members',
    completedBy: added,
    summary: 'A variable with the value of a parameter in the header of the token.',
    roles: defines('variable', AT.variable),
  },
  jwt_require_claim: {
    ...LIST,
    args: comparison('claims'),
    into: 'comparisons',
    summary: 'What a claim must be; of `aud`, one must be it. A claim that is absent is `!eq` to anything.',
  },
  jwt_require_header: {
    ...LIST,
    args: comparison('header'),
    into: 'comparisons',
    summary: 'What a parameter in the header of the token must be.',
  },
  jwt_issuer: { ...LIST, args: claimIs('iss'), into: 'comparisons', summary: 'The issuer of the tokens.' },
  jwt_audience: {
    ...LIST,
    args: claimIs('aud'),
    into: 'comparisons',
    summary: 'The audience that tokens must name.',
  },
  jwt_require: {
    ...LIST,
    args: requirement,
    into: 'requirements',
    summary: 'Refuses a request if one of the values is empty or `0`.',
  },
  jwt_leeway: {
    ...LEVEL,
    args: readers.time,
    into: 'leewayMs',
    default: 0,
    summary: 'By how much the clock of the issuer may differ.',
  },
  jwt_strict_kid: {
    ...LEVEL,
    args: readers.flag,
    into: 'strictKid',
    defaultText: 'on',
    summary: 'Whether a token must name its key where there are several.',
  },
  jwt_revocation_list_sub: {
    ...LIST,
    args: revocations('sub'),
    into: 'revocations',
    summary: 'JSON file with the subjects whose tokens count no more. A changed file is read again.',
    roles: pathFrom('confDir'),
  },
  jwt_revocation_list_kid: {
    ...LIST,
    args: revocations('kid'),
    into: 'revocations',
    summary: 'JSON file with the ids of keys whose tokens count no more; tokens must then name their key.',
    roles: pathFrom('confDir'),
  },
  jwt_validate_exp: {
    ...LEVEL,
    args: readers.flag,
    into: 'checksTimes',
    default: true,
    summary: 'Whether tokens end and begin.',
  },
  jwt_validate_sig: {
    ...LEVEL,
    args: readers.flag,
    into: 'checksSignature',
    default: true,
    summary:
      'Whether signatures are verified. `off`: anybody can make tokens, and dbrest does not take them.',
  },
  jwt_phase: {
    ...LEVEL,
    args: readers.oneOf('access', 'preaccess'),
    into: 'phase',
    default: 'access',
    summary:
      'When requests are refused: with the other access checks (`satisfy`), or before them in any case.',
  },
} as const satisfies Rows<Fields>;
