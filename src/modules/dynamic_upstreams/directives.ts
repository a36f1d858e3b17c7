import type { Word } from '../../../grammar/index.ts';
import { AddressFault, parseRedisAddress, type RedisAddress } from '../../redis/index.ts';
import {
  type ArgReader,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';

/** The source of the peers of a group. */
export type SourceKind = 'static' | 'file' | 'dns' | 'consul' | 'http' | 'redis';

/** `dynamic_upstreams_dns name[:port] [service=x];` */
interface DnsName {
  readonly host: string;
  readonly port: number;
  readonly service?: string;
}

/** `dynamic_upstreams_redis address key;` */
interface RedisKey {
  readonly address: RedisAddress;
  readonly key: string;
}

/** `dynamic_upstreams_*` of one location. */
export interface DynamicUpstreamsConfig {
  readonly api?: true;
  readonly target?: string;
  readonly source?: SourceKind;
  readonly sourceFile?: string;
  readonly refreshMs: number;
  readonly journal?: string;
  /** The cluster whose gateways have the same peers. */
  readonly cluster?: string;
  readonly empty?: 'keep' | 'accept';
  readonly dns?: DnsName;
  readonly consulAddress: string;
  readonly consulService?: string;
  readonly consulTag?: string;
  readonly consulToken?: string;
  readonly consulDatacenter?: string;
  readonly http?: string;
  readonly httpHeaders?: readonly (readonly [name: string, value: string])[];
  readonly redis?: RedisKey;
  readonly eventsZone?: string;
  readonly eventsChannel?: string;
}

/** Returns the source of a location. `dynamic_upstreams_source_file` alone makes it a file. */
export function sourceOf({ source, sourceFile }: DynamicUpstreamsConfig): SourceKind {
  if (source !== undefined && source !== 'static') return source;
  return sourceFile === undefined ? 'static' : 'file';
}

/** The field that each source requires, and its directive. */
export const NEEDED = {
  file: ['sourceFile', 'dynamic_upstreams_source_file'],
  dns: ['dns', 'dynamic_upstreams_dns'],
  consul: ['consulService', 'dynamic_upstreams_consul_service'],
  http: ['http', 'dynamic_upstreams_http'],
  redis: ['redis', 'dynamic_upstreams_redis'],
} as const;

/** A time whose numbers without a unit are milliseconds. */
const milliseconds: ArgReader<number> = readers.words(
  { syntax: 'time', min: 1, max: 1 },
  ([time], { report, directive }) => {
    const { value, span } = time as Word;
    const ms = /^\d{1,9}$/.test(value) ? Number(value) : readers.parseTimeMs(value);
    if (ms !== undefined && ms > 0 && ms <= 2 ** 31 - 1) return ms;
    report.emerg(
      `"${directive}" directive invalid value`,
      span,
      'expected a time such as 5s; a number counts milliseconds',
    );
    return undefined;
  },
);

const channel: ArgReader<string> = readers.words(
  { syntax: 'name', min: 1, max: 1 },
  ([name], { report, directive }) => {
    const { value, span } = name as Word;
    if (value !== '' && Buffer.byteLength(value) <= 64) return value;
    report.emerg(`"${directive}" must have 1 to 64 bytes`, span);
    return undefined;
  },
);

const dns: ArgReader<DnsName> = readers.words(
  { syntax: 'name[:port] [service=name]', min: 1, max: 2 },
  ([name, service], scope) => {
    const { value, span } = name as Word;
    const [, host = '', port = '80'] = /^([\w.-]+)(?::(\d{1,5}))?$/.exec(value) ?? [];
    if (host === '' || Number(port) < 1 || Number(port) > 65_535) return refuse(value, span, scope);
    if (!service) return { host, port: Number(port) };
    const [, records] = /^service=([\w.-]+)$/.exec(service.value) ?? [];
    if (records === undefined) return refuse(service.value, service.span, scope);
    return { host, port: Number(port), service: records };
  },
);

const url: ArgReader<string> = readers.words({ syntax: 'URL', min: 1, max: 1 }, ([text], scope) => {
  const { value, span } = text as Word;
  const parsed = URL.canParse(value) ? new URL(value) : undefined;
  if (parsed && /^https?:$/.test(parsed.protocol)) return value;
  return refuse(value, span, scope);
});

/** The HTTP API of Consul: a URL, or `host:port` as in nginz. */
const consulUrl: ArgReader<string> = readers.words(
  { syntax: 'URL | host:port', min: 1, max: 1 },
  ([text], scope) => {
    const { value, span } = text as Word;
    const whole = /^[^/:@\s]+:\d{1,5}$|^\[[\da-fA-F:.]+\]:\d{1,5}$/.test(value) ? `http://${value}` : value;
    const parsed = URL.canParse(whole) ? new URL(whole) : undefined;
    if (parsed && /^https?:$/.test(parsed.protocol)) return whole;
    return refuse(value, span, scope);
  },
);

const header: ArgReader<readonly [name: string, value: string]> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value], scope) => {
    const [first, second] = [name as Word, value as Word];
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(first.value)) return refuse(first.value, first.span, scope);
    // eslint-disable-next-line no-control-regex -- it looks for control bytes
    if (/[\u0000-\u001F\u007F]/.test(second.value)) return refuse(second.value, second.span, scope);
    return [first.value, second.value];
  },
);

const redis: ArgReader<RedisKey> = readers.words(
  { syntax: 'address key', min: 2, max: 2 },
  ([where, key], scope) => {
    const { value, span } = where as Word;
    const address = parseRedisAddress(value);
    if (!(address instanceof AddressFault)) return { address, key: (key as Word).value };
    const { report, directive } = scope;
    report.emerg(
      `"${directive}" ${address.predicate}`,
      span,
      'expected host:port, unix:/path, redis://host or an upstream name',
    );
    return undefined;
  },
);

function refuse(value: string, span: Word['span'], { report, directive }: ReadScope): undefined {
  report.emerg(`invalid value "${value}" in "${directive}" directive`, span);
  return undefined;
}

const HERE = { contexts: ['location'], inherit: 'nameless', source: 'gw' } as const;

/** Directives for groups whose peers change at run time. */
export const directives = directivesFor<DynamicUpstreamsConfig>()({
  dynamic_upstreams_api: {
    ...HERE,
    args: readers.present,
    into: 'api',
    summary:
      'Shows the peers of a managed group (GET), replaces them (PUT) and changes some of them (PATCH), as JSON. Who may call it is up to the location.',
  },
  dynamic_upstreams_target: {
    ...HERE,
    args: readers.text,
    into: 'target',
    roles: uses('upstream'),
    summary: 'The `upstream` that dynamic_upstreams_api shows and changes.',
  },
  dynamic_upstreams_source: {
    ...HERE,
    args: readers.oneOf('static', 'file', 'dns', 'consul', 'http', 'redis'),
    into: 'source',
    summary:
      'Where the peers come from: static (the API; the default), file (also if there is a dynamic_upstreams_source_file), dns, consul, http or redis.',
  },
  dynamic_upstreams_source_file: {
    ...HERE,
    args: readers.text,
    into: 'sourceFile',
    roles: pathFrom('prefix'),
    summary: 'The file that holds the peers as the body of PUT does.',
  },
  dynamic_upstreams_refresh: {
    ...HERE,
    args: milliseconds,
    into: 'refreshMs',
    default: 5000,
    defaultText: '5s',
    summary: 'How often the source is asked; a number without a unit counts milliseconds.',
  },
  dynamic_upstreams_journal: {
    ...HERE,
    args: readers.text,
    into: 'journal',
    roles: pathFrom('prefix'),
    summary: 'The file that keeps the peers for the next start.',
  },
  dynamic_upstreams_cluster: {
    ...HERE,
    args: readers.text,
    into: 'cluster',
    roles: uses('cluster'),
    summary:
      'The cluster whose gateways have the same peers: a change at one of them is made at all, and only one of them asks the source.',
  },
  dynamic_upstreams_empty: {
    ...HERE,
    args: readers.oneOf('keep', 'accept'),
    into: 'empty',
    summary:
      'What an empty list of a source does: it is kept out as a failure (default of file, http and redis), or it empties the group (dns and consul).',
  },
  dynamic_upstreams_dns: {
    ...HERE,
    args: dns,
    into: 'dns',
    summary:
      'The name whose addresses are the peers, asked from the `resolver`; with service=, its SRV records with their ports, weights, and a lower priority as backup.',
  },
  dynamic_upstreams_consul_address: {
    ...HERE,
    args: consulUrl,
    into: 'consulAddress',
    default: 'http://127.0.0.1:8500',
    summary: 'The HTTP API of Consul; `host:port` means `http://host:port`.',
  },
  dynamic_upstreams_consul_service: {
    ...HERE,
    args: readers.text,
    into: 'consulService',
    summary: 'The service whose passing instances are the peers.',
  },
  dynamic_upstreams_consul_tag: {
    ...HERE,
    args: readers.text,
    into: 'consulTag',
    summary: 'Only instances with this tag.',
  },
  dynamic_upstreams_consul_token: {
    ...HERE,
    args: readers.text,
    into: 'consulToken',
    secret: 'whole',
    summary: 'The token of Consul, best read from a file or the environment.',
  },
  dynamic_upstreams_consul_dc: {
    ...HERE,
    args: readers.text,
    into: 'consulDatacenter',
    summary: 'The data centre of Consul.',
  },
  dynamic_upstreams_http: {
    ...HERE,
    args: url,
    into: 'http',
    summary: 'The URL that gives the peers as the body of PUT does: 200, or 304 for those of the last ETag.',
  },
  dynamic_upstreams_http_header: {
    ...HERE,
    args: header,
    into: 'httpHeaders',
    repeat: 'append',
    secret: 'whole',
    summary: 'A header of the request for the peers.',
  },
  dynamic_upstreams_redis: {
    ...HERE,
    args: redis,
    into: 'redis',
    secret: 'password',
    roles: uses('upstream', { behind: ['redis://', 'rediss://', ''], until: ':/?' }),
    summary:
      'The Redis or Valkey, as in kv_pass, and the key of a string that holds the peers as the body of PUT does. With `rediss://` its certificate must be for the host of the address, and lead to an authority that Node.js knows; NODE_EXTRA_CA_CERTS names more. The `kv_ssl_*` directives do not apply.',
  },
  dynamic_upstreams_worker_events_zone: {
    ...HERE,
    args: readers.text,
    into: 'eventsZone',
    roles: uses('event ring'),
    summary: 'The ring that changes of the group are published into.',
  },
  dynamic_upstreams_worker_events_channel: {
    ...HERE,
    args: channel,
    into: 'eventsChannel',
    summary: 'The channel of these events.',
  },
});
