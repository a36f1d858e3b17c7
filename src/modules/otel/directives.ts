import type { Word } from '../../../grammar/index.ts';
import type { LoadedFile } from '../../client/index.ts';
import {
  type ArgReader,
  type ComplexValue,
  constantText,
  directivesFor,
  isLocal,
  pathFrom,
  readers,
  type ReadScope,
} from '../../config/index.ts';
import { loadedFile } from '../../forwarding/index.ts';
import { isSafeHeaderName, isSafeHeaderValue } from '../../http/index.ts';
import { type Endpoint, type OtlpProtocol, parseEndpoint, PROTOCOLS, usualProtocol } from './endpoint.ts';

/** `otel_exporter`: where records are sent, and how many wait. */
export interface ExporterConfig {
  readonly endpoint: Endpoint;
  readonly protocol: OtlpProtocol;
  readonly isCompressed: boolean;
  readonly intervalMs: number;
  /** Records that one request to the collector has at most. */
  readonly batchSize: number;
  /** Batches of records that may wait in a worker. */
  readonly batchCount: number;
  /** Bytes of records that may wait in a worker. */
  readonly queueBytes: number;
  /** The CA certificates of the collector; absent: the authorities that Node.js knows. */
  readonly trusted?: LoadedFile | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** A name and a text. */
type Attribute = readonly [name: string, value: string];

/** `otel_span_attr name value`. */
interface SpanAttribute {
  readonly name: string;
  readonly value: ComplexValue;
}

/** How a request's context is taken from the client's headers, and passed on in those to upstreams. */
type ContextUse = 'ignore' | 'extract' | 'inject' | 'propagate';

/** The config of a location. */
export interface OtelConfig {
  /** Has one element at most. */
  readonly exporters?: readonly ExporterConfig[];
  readonly serviceName: string;
  readonly resourceAttributes?: readonly Attribute[];
  readonly trace?: ComplexValue;
  readonly contextUse: ContextUse;
  readonly spanName?: ComplexValue;
  readonly spanAttributes?: readonly SpanAttribute[];
  readonly childSpans: boolean;
  readonly semconv: 'nginx' | 'stable';
  readonly metrics: boolean;
  readonly logs: 'off' | 'error' | 'access' | 'both';
}

/** What the directives in an `otel_exporter` block set. */
interface ExporterFields {
  /** `faulty`: the fault is reported already. */
  readonly endpoint?: Endpoint | 'faulty';
  readonly exporterHeaders?: readonly Attribute[];
  readonly trusted?: LoadedFile;
  readonly intervalMs?: number;
  readonly batchSize?: number;
  readonly batchCount?: number;
  readonly protocol?: OtlpProtocol;
  readonly compression?: 'gzip' | 'off';
  readonly queueBytes?: number;
}

const endpoint: ArgReader<Endpoint | 'faulty'> = readers.oneWord('host:port | URL', (word, { report }) => {
  const read = parseEndpoint(word.value);
  if (typeof read !== 'string') return read;
  report.emerg(`"endpoint" ${read}`, word.span, 'expected 127.0.0.1:4317 or http://127.0.0.1:4318');
  return 'faulty';
});

/** Headers that gw writes by itself. */
const OWN_HEADERS =
  /^(host|connection|content-(length|type|encoding)|transfer-encoding|te|upgrade|grpc-\w+)$/;

const header: ArgReader<Attribute> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  (words, { report }) => {
    const [name, value] = words as [Word, Word];
    // Names of HTTP/2 have no capitals; nobody is to be forced to know that (nginx-otel).
    const lowerCase = name.value.toLowerCase();
    const isName = isSafeHeaderName(lowerCase) && !OWN_HEADERS.test(lowerCase);
    if (!isName) report.emerg(`"header" has invalid header name "${name.value}"`, name.span);
    else if (isSafeHeaderValue(value.value)) return [lowerCase, value.value];
    else report.emerg('"header" has invalid header value', value.span);
    return undefined;
  },
);

const attribute: ArgReader<Attribute> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value]) => [(name as Word).value, (value as Word).value],
);

const spanAttribute: ArgReader<SpanAttribute> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value], scope) => ({
    name: (name as Word).value,
    value: scope.complexValue(value as Word),
  }),
);

const PERCENTAGE = /^(\d{1,3}(?:\.\d{1,4})?)%$/;
const ALL_PERCENT = 100;

/** Reads a share of the requests, such as `10%`: 0 to 1. `undefined` for any other text. */
export function shareOf(text: string): number | undefined {
  const percent = Number(PERCENTAGE.exec(text)?.[1] ?? Number.NaN);
  return percent <= ALL_PERCENT ? percent / ALL_PERCENT : undefined;
}

/** Reads the value of `otel_trace`, in which a percentage must be one. */
const sampling: ArgReader<ComplexValue> = readers.oneWord('on | off | number% | value', (word, scope) => {
  const value = scope.complexValue(word);
  const fixed = constantText(value);
  if (fixed?.endsWith('%') && shareOf(fixed) === undefined) {
    scope.report.emerg(
      `invalid percent value "${word.value}"`,
      word.span,
      'expected a percentage such as 0.5%',
    );
    return undefined;
  }
  return value;
});

/** Reads a time that is not shorter than a millisecond. */
const interval: ArgReader<number> = readers.oneWord('time', (word, scope) => {
  const ms = readers.time.read([word], scope);
  if (ms !== 0) return ms;
  scope.report.emerg(`"${scope.directive}" directive invalid value`, word.span);
  return undefined;
});

const QUEUE_BYTES = 8 * 1024 * 1024;
const LEAST_QUEUE_BYTES = 64 * 1024;

const queue: ArgReader<number> = readers.oneWord('size', (word, scope) => {
  const bytes = readers.size.read([word], scope);
  if (bytes === undefined || bytes >= LEAST_QUEUE_BYTES) return bytes;
  scope.report.emerg(`"${scope.directive}" must be at least 64k`, word.span);
  return undefined;
});

function exporterOf(_name: string, fields: ExporterFields, scope: ReadScope): ExporterConfig | undefined {
  const { endpoint: to } = fields;
  if (to === 'faulty') return undefined;
  if (!to) {
    scope.report.emerg('"otel_exporter" requires "endpoint"', scope.span);
    return undefined;
  }
  const usual = isLocal(to.host || 'unix:') ? 'off' : 'gzip';
  return {
    endpoint: to,
    protocol: fields.protocol ?? usualProtocol(to),
    isCompressed: (fields.compression ?? usual) === 'gzip',
    intervalMs: fields.intervalMs ?? 5_000,
    batchSize: fields.batchSize ?? 512,
    batchCount: fields.batchCount ?? 4,
    queueBytes: fields.queueBytes ?? QUEUE_BYTES,
    trusted: fields.trusted,
    headers: fields.exporterHeaders ?? [],
  };
}

const HTTP = ['http'] as const;
const HSL = ['http', 'server', 'location'] as const;
const INSIDE = { contexts: ['otel_exporter'], inherit: false } as const;
const EXPORTER_SOURCE = 'nginx ngx_otel_module#otel_exporter';

/** The directives of nginx-otel, and those of gw. */
export const directives = directivesFor<OtelConfig & ExporterFields>()({
  otel_exporter: {
    contexts: HTTP,
    args: { syntax: '', min: 0, max: 0, read: () => '' },
    opens: 'otel_exporter',
    entry: exporterOf,
    into: 'exporters',
    repeat: 'append',
    summary: 'Where traces, and with `otel_metrics` and `otel_logs` metrics and log lines, are sent (OTLP).',
    source: EXPORTER_SOURCE,
  },
  endpoint: {
    ...INSIDE,
    args: endpoint,
    into: 'endpoint',
    secret: 'password',
    summary:
      'Address of the collector; with `https://`, its certificate is verified. `/v1/traces`, `/v1/metrics` and `/v1/logs` are added to a URL without a path. A path that ends in `/v1/traces` is that of traces, and the others follow from it; any other path is used for all.',
    source: EXPORTER_SOURCE,
  },
  header: {
    ...INSIDE,
    args: header,
    into: 'exporterHeaders',
    repeat: 'append',
    secret: 'value',
    summary: 'A header that each request to the collector has, for example `Authorization`.',
    source: EXPORTER_SOURCE,
  },
  trusted_certificate: {
    ...INSIDE,
    args: loadedFile('certificate'),
    into: 'trusted',
    defaultText: 'the authorities that Node.js knows',
    summary: "PEM file with the CA certificates that the collector's certificate is verified with.",
    roles: pathFrom('confDir'),
    source: EXPORTER_SOURCE,
  },
  interval: {
    ...INSIDE,
    args: interval,
    into: 'intervalMs',
    defaultText: '5s',
    summary: 'Longest time for which a record waits for a full batch.',
    source: EXPORTER_SOURCE,
  },
  batch_size: {
    ...INSIDE,
    args: readers.integer({ min: 1, max: 65_536 }),
    into: 'batchSize',
    defaultText: '512',
    summary: 'Most records of one request to the collector.',
    source: EXPORTER_SOURCE,
  },
  batch_count: {
    ...INSIDE,
    args: readers.integer({ min: 1, max: 65_536 }),
    into: 'batchCount',
    defaultText: '4',
    summary:
      'Most batches that wait in a worker, for each signal. What comes beyond that is dropped and counted.',
    source: EXPORTER_SOURCE,
  },
  protocol: {
    ...INSIDE,
    args: readers.oneOf(...PROTOCOLS),
    into: 'protocol',
    defaultText: 'http/json for port 4318 or a URL with a path, else grpc',
    summary: 'How records are sent.',
    source: 'gw',
  },
  compression: {
    ...INSIDE,
    args: readers.oneOf('gzip', 'off'),
    into: 'compression',
    defaultText: 'off for a collector on the same machine, else gzip',
    summary: 'Whether what is sent is compressed.',
    source: 'gw',
  },
  queue: {
    ...INSIDE,
    args: queue,
    into: 'queueBytes',
    defaultText: '8m',
    summary: 'Most bytes of records that wait in a worker, for each signal, beside `batch_count`.',
    source: 'gw',
  },
  otel_service_name: {
    contexts: HTTP,
    args: readers.text,
    into: 'serviceName',
    default: 'unknown_service:nginx',
    summary: 'The name of the service that all records name as their origin (`service.name`).',
    source: 'nginx ngx_otel_module#otel_service_name',
  },
  otel_resource_attr: {
    contexts: HTTP,
    args: attribute,
    into: 'resourceAttributes',
    repeat: 'append',
    secret: 'named',
    summary:
      'An attribute of the service, such as `deployment.environment`. The last of the same name counts.',
    source: 'nginx ngx_otel_module#otel_resource_attr',
  },
  otel_trace: {
    contexts: HSL,
    args: sampling,
    into: 'trace',
    defaultText: 'off',
    summary:
      'Whether the span of a request is exported: where the value is `on` or `1`, or for a percentage of the requests. With `otel_trace_context extract` or `propagate`, the percentage is taken of the requests whose client has no trace; for the others, the client has decided. The first location of a request decides.',
    tells: true,
    source: 'nginx ngx_otel_module#otel_trace',
  },
  otel_trace_context: {
    contexts: HSL,
    args: readers.oneOf('extract', 'inject', 'propagate', 'ignore'),
    into: 'contextUse',
    default: 'ignore',
    summary:
      'How the headers `traceparent` and `tracestate` are used: `extract` continues the trace of the client, `inject` tells upstreams of the trace, `propagate` does both.',
    source: 'nginx ngx_otel_module#otel_trace_context',
  },
  otel_span_name: {
    contexts: HSL,
    args: readers.value,
    into: 'spanName',
    defaultText: 'the name of the location',
    summary: 'The name of the span of a request.',
    tells: true,
    source: 'nginx ngx_otel_module#otel_span_name',
  },
  otel_span_attr: {
    contexts: HSL,
    args: spanAttribute,
    into: 'spanAttributes',
    repeat: 'append',
    secret: 'named',
    summary:
      'An attribute of the span of a request. Those that begin with `http.request.header.` or `http.response.header.` are lists. Secrets are masked as in logs.',
    tells: true,
    source: 'nginx ngx_otel_module#otel_span_attr',
  },
  otel_child_spans: {
    contexts: HSL,
    args: readers.flag,
    into: 'childSpans',
    default: false,
    summary:
      'Whether exported requests have spans of their own for each try of an upstream, authorization subrequests, and commands to databases.',
    source: 'gw',
  },
  otel_semconv: {
    contexts: HTTP,
    args: readers.oneOf('nginx', 'stable'),
    into: 'semconv',
    default: 'nginx',
    summary:
      "The names of the attributes of spans: those of nginx's module (`http.method`), or those that OpenTelemetry has declared stable since (`http.request.method`).",
    source: 'gw',
  },
  otel_metrics: {
    contexts: HTTP,
    args: readers.flag,
    into: 'metrics',
    default: false,
    summary:
      'Whether the metrics of `control_api metrics` are sent to the collector, by one worker, every `interval` but at most every ten seconds.',
    source: 'gw',
  },
  otel_logs: {
    contexts: HTTP,
    args: readers.oneOf('error', 'access', 'both', 'off'),
    into: 'logs',
    default: 'off',
    summary:
      'Which log lines are sent to the collector as well: those of error logs, one for each request, or both.',
    source: 'gw',
  },
});
