import type { Word } from '../../../grammar/index.ts';
import {
  type ComplexValue,
  constantText,
  directivesFor,
  nearest,
  readers,
  type ReadScope,
  renaming,
  uses,
} from '../../config/index.ts';
import { AddressFault } from '../../redis/index.ts';
import { type AllowedHost, allowedHosts } from '../../upstream/index.ts';
import { type KvAddress, parseAddress } from './address.ts';
import { cacheDirectives, type KvCacheConfig } from './cache-directives.ts';
import { COMMAND_NAMES, type CommandName } from './commands.ts';
import { type KvTlsConfig, tlsDirectives } from './tls.ts';

/** A store that the configuration names, or one that each request names. */
type KvPass = KvAddress | { readonly kind: 'variable'; readonly value: ComplexValue };

/** `kv_*` of one location. */
export interface KvConfig extends StoreSettings, KvTlsConfig, KvCacheConfig {
  readonly pass?: KvPass;
  /**
   * Hosts that variables in `pass` may name. Absent: any host, but if the client chooses it, none of this machine's own
   * addresses.
   */
  readonly allowHosts?: readonly (readonly AllowedHost[])[];
  /** Absent: the URI without its leading slash. */
  readonly key?: ComplexValue;
  readonly command: CommandName;
}

/** Settings of the connections to a store; locations with the same settings share stores. */
export interface StoreSettings {
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Number of connections per worker and address. */
  readonly connections: number;
  /** False: one command in flight per connection. */
  readonly pipelining: boolean;
  /** Maximum bytes of a request body, or of the values in a reply. */
  readonly maxValueBytes: number;
}

const LEVELS = ['http', 'server', 'location'] as const;

const commands = directivesFor<KvConfig>()({
  kv_pass: {
    contexts: ['location', 'location if'],
    args: readers.oneWord('address', readPass),
    into: 'pass',
    inherit: 'nameless',
    secret: 'password',
    summary: 'Runs one command of a key-value store per request.',
    roles: uses('upstream', { behind: ['redis://', 'rediss://', ''], until: ':/?' }),
    source: 'gw',
  },
  kv_allow_hosts: {
    contexts: LEVELS,
    args: allowedHosts,
    into: 'allowHosts',
    repeat: 'append',
    defaultText:
      'any host; if the client chooses it, none with a special-purpose address outside private networks',
    summary:
      'Hosts that variables in `kv_pass` may name, or networks that all addresses of a name must belong to; others get 403. Names of `upstream` blocks are always allowed.',
    source: 'gw',
  },
  kv_key: {
    contexts: ['location'],
    args: readers.value,
    into: 'key',
    defaultText: 'the URI without its leading slash',
    summary: 'The key that the command works on.',
    source: 'gw',
  },
  kv_command: {
    contexts: ['location'],
    args: { ...readers.oneWord(COMMAND_NAMES.join(' | '), readCommand), choices: COMMAND_NAMES },
    into: 'command',
    default: 'get',
    summary: 'The command that this location runs.',
    source: 'gw',
  },
  kv_timeout: {
    contexts: LEVELS,
    args: readers.time,
    into: 'timeoutMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'Timeout from a request to the reply of the store.',
    source: 'gw',
  },
  kv_connect_timeout: {
    contexts: LEVELS,
    args: readers.time,
    into: 'connectTimeoutMs',
    default: 1_000,
    defaultText: '1s',
    summary: 'Timeout for connecting to the store, and again for its first reply.',
    source: 'gw',
  },
  kv_connections: {
    contexts: LEVELS,
    args: readers.integer({ min: 1, max: 64 }),
    into: 'connections',
    default: 1,
    summary: 'Number of connections per worker and address, 1 to 64; all requests share them.',
    source: 'gw',
  },
  kv_pipelining: {
    contexts: LEVELS,
    args: readers.flag,
    into: 'pipelining',
    default: true,
    defaultText: 'on',
    summary:
      'Whether a command is sent before the replies to earlier ones have come; off: one at a time per connection.',
    source: 'gw',
  },
  kv_max_value_size: {
    contexts: LEVELS,
    args: readers.size,
    into: 'maxValueBytes',
    default: 1024 ** 2,
    defaultText: '1m',
    summary: 'Maximum size of a request body and of a reply.',
    source: 'gw',
  },
});

/** The directives of the module. */
export const directives = { ...commands, ...tlsDirectives, ...cacheDirectives };

function readCommand(word: Word, { report }: ReadScope): CommandName | undefined {
  const known = COMMAND_NAMES.find((name) => name === word.value);
  if (known === undefined) {
    const near = nearest(word.value, COMMAND_NAMES);
    const more =
      near === undefined
        ? `expected one of ${COMMAND_NAMES.join(', ')}`
        : { hint: `did you mean "${near}"?`, fix: renaming(word.span, near) };
    if (OF_THE_STORE.has(word.value.toLowerCase()))
      report.emerg(`"${word.value}" concerns the whole store and is not offered`, word.span, {
        rule: 'kv-dangerous',
      });
    else report.emerg(`unknown command "${word.value}"`, word.span, more);
  }
  return known;
}

/** Commands of Redis that gw does not offer: they empty, stop, block or reconfigure a store. */
const OF_THE_STORE: ReadonlySet<string> = new Set(
  `acl bgsave cluster config debug eval evalsha failover fcall flushall flushdb function keys migrate module monitor
  replicaof restore save scan script shutdown slaveof swapdb`.split(/\s+/),
);

function readPass(word: Word, scope: ReadScope): KvPass | undefined {
  const value = scope.complexValue(word);
  const text = constantText(value);
  const read = text === undefined ? readVariablePass(value) : parseAddress(text);
  if (!(read instanceof AddressFault)) return read;
  scope.report.emerg(
    `"${scope.directive}" ${read.predicate}`,
    word.span,
    text === undefined ? undefined : EXPECTED,
  );
  return undefined;
}

const EXPECTED = 'expected host:port, unix:/path, redis://host, an upstream name or embedded[:dir]';

/**
 * Reads a `kv_pass` with variables. Requests must not select a socket, a data directory, or where the configured password is
 * sent.
 */
function readVariablePass(value: ComplexValue): KvPass | AddressFault {
  const written = value.parts.map((part) => (typeof part === 'string' ? part : '$')).join('');
  if (/^(?:unix|embedded):/.test(written))
    return new AddressFault('takes no variables after "unix:" and "embedded:"');
  if (written.includes('@')) return new AddressFault('takes no variables in a URL with a login');
  return { kind: 'variable', value };
}
