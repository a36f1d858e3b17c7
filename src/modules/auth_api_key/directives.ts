import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, directivesFor, pathFrom, readers, type ReadScope } from '../../config/index.ts';
import { isSafeHeaderName } from '../../http/index.ts';

/** `auth_api_key realm [header=name] [arg=name]`. */
export interface Protection {
  /** `off`: no key is required. */
  readonly realm: string;
  /** In lower case. */
  readonly header: string;
  readonly arg?: string;
}

/** The configuration of one location. */
export interface AuthApiKeyConfig {
  readonly protection?: Protection;
  /** Absolute paths. */
  readonly files?: readonly string[];
  readonly passes: boolean;
}

const CONTEXTS = ['http', 'server', 'location', 'limit_except'] as const;
const USUAL_HEADER = 'x-api-key';

/** True where a key is required. */
export function isRequired({ protection }: AuthApiKeyConfig): boolean {
  return protection !== undefined && protection.realm !== 'off';
}

const protection: ArgReader<Protection> = readers.words(
  { syntax: 'realm [header=name] [arg=name] | off', min: 1, max: 3 },
  ([realm, ...parameters], scope) => {
    const read: { -readonly [K in keyof Protection]: Protection[K] } = {
      realm: (realm as Word).value,
      header: USUAL_HEADER,
    };
    for (const parameter of parameters) {
      const [, name, value = ''] = /^(header|arg)=(.+)$/.exec(parameter.value) ?? [];
      const isRight = name === 'header' ? isSafeHeaderName(value) : /^\w+$/.test(value);
      if (name === undefined || !isRight || read.realm === 'off') return invalid(parameter, scope);
      if (name === 'header') read.header = value.toLowerCase();
      else read.arg = value;
    }
    return read;
  },
);

function invalid({ value, span }: Word, { report }: ReadScope): undefined {
  report.emerg(`invalid parameter "${value}"`, span);
}

export const directives = directivesFor<AuthApiKeyConfig>()({
  auth_api_key: {
    contexts: CONTEXTS,
    args: protection,
    into: 'protection',
    defaultText: 'off',
    summary:
      'Requires an API key in a request header, `X-API-Key` unless another is named, or in an argument; the text names the protected area.',
    source: 'gw',
  },
  auth_api_key_file: {
    contexts: CONTEXTS,
    args: readers.oneWord('file', ({ value }, { confDir }) => resolve(confDir, value)),
    into: 'files',
    repeat: 'append',
    summary:
      'The keys that are accepted, relative to the directory of the configuration file: lines of `id:sha256[:expires[:name=value,...]]`, as `gw apikey new` writes them. A changed file is read again within a second.',
    roles: pathFrom('confDir'),
    source: 'gw',
  },
  auth_api_key_pass: {
    contexts: CONTEXTS,
    args: readers.flag,
    into: 'passes',
    default: false,
    summary: 'Whether upstreams get the key.',
    source: 'gw',
  },
});
