import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';
import { isSafeHeaderName } from '../../http/index.ts';
import { AddressFault, parseRedisAddress, type RedisAddress } from '../../redis/index.ts';

/** `auth_api_key realm [header=name] [arg=name]`. */
export interface Protection {
  /** `off`: no key is required. */
  readonly realm: string;
  /** In lower case. */
  readonly header: string;
  readonly arg?: string;
}

/** `auth_api_key_redis address prefix`: a hash for each key, whose name ends in the digest of the key. */
interface RedisHashes {
  readonly address: RedisAddress;
  readonly prefix: string;
}

/** The configuration of one location. */
export interface AuthApiKeyConfig {
  readonly protection?: Protection;
  /** Absolute paths. */
  readonly files?: readonly string[];
  /** The dictionary that has keys: by digest, `id[:expires[:name=value,…]]`. */
  readonly dictionary?: string;
  readonly redis?: RedisHashes;
  /** How long what the store has said of a key counts. */
  readonly cacheMs: number;
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

const redis: ArgReader<RedisHashes> = readers.words(
  { syntax: 'address prefix', min: 2, max: 2 },
  ([where, prefix], { report, directive }) => {
    const { value, span } = where as Word;
    const address = parseRedisAddress(value);
    if (!(address instanceof AddressFault)) return { address, prefix: (prefix as Word).value };
    report.emerg(
      `"${directive}" ${address.predicate}`,
      span,
      'expected host:port, unix:/path, redis://host or an upstream name',
    );
    return undefined;
  },
);

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
  auth_api_key_dict: {
    contexts: CONTEXTS,
    args: readers.text,
    into: 'dictionary',
    summary:
      'A dictionary (`keyval_zone`, `shared_dict_zone`) with keys that are accepted: the SHA-256 of each, in lower-case hexadecimal digits, with the value `id[:expires[:name=value,...]]`. It is asked after the files.',
    roles: uses('dictionary'),
    source: 'gw',
  },
  auth_api_key_redis: {
    contexts: CONTEXTS,
    args: redis,
    into: 'redis',
    summary:
      'A Redis or Valkey, as in kv_pass, with keys that are accepted: a hash for each, whose name is the prefix and the SHA-256 of the key in lower-case hexadecimal digits. Its field `id` is required, `expires` is a time as in files, and others are attributes. It is asked last; the `kv_ssl_*` directives do not apply.',
    secret: 'password',
    roles: uses('upstream', { behind: ['redis://', 'rediss://', ''], until: ':/?' }),
    source: 'gw',
  },
  auth_api_key_cache: {
    contexts: CONTEXTS,
    args: readers.time,
    into: 'cacheMs',
    default: 60_000,
    defaultText: '60s',
    summary:
      'How long a key that the store has accepted is not looked up again. While the store is away, such keys are accepted for five minutes more.',
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
