import protobuf from 'protobufjs';

type Fields = Readonly<Record<string, readonly [number: number, type: string, rule?: 'repeated']>>;

/** The messages of opentelemetry-proto 1.x that a collector reads: names and numbers of fields. */
const MESSAGES: Readonly<Record<string, Fields>> = {
  AnyValue: {
    stringValue: [1, 'string'],
    boolValue: [2, 'bool'],
    intValue: [3, 'int64'],
    doubleValue: [4, 'double'],
    arrayValue: [5, 'ArrayValue'],
    kvlistValue: [6, 'KeyValueList'],
    bytesValue: [7, 'bytes'],
  },
  ArrayValue: { values: [1, 'AnyValue', 'repeated'] },
  KeyValueList: { values: [1, 'KeyValue', 'repeated'] },
  KeyValue: { key: [1, 'string'], value: [2, 'AnyValue'] },
  Resource: { attributes: [1, 'KeyValue', 'repeated'] },
  InstrumentationScope: { name: [1, 'string'], version: [2, 'string'] },
  ExportTraceServiceRequest: { resourceSpans: [1, 'ResourceSpans', 'repeated'] },
  ResourceSpans: { resource: [1, 'Resource'], scopeSpans: [2, 'ScopeSpans', 'repeated'] },
  ScopeSpans: { scope: [1, 'InstrumentationScope'], spans: [2, 'Span', 'repeated'] },
  Span: {
    traceId: [1, 'bytes'],
    spanId: [2, 'bytes'],
    traceState: [3, 'string'],
    parentSpanId: [4, 'bytes'],
    name: [5, 'string'],
    kind: [6, 'int32'],
    startTimeUnixNano: [7, 'fixed64'],
    endTimeUnixNano: [8, 'fixed64'],
    attributes: [9, 'KeyValue', 'repeated'],
    droppedAttributesCount: [10, 'uint32'],
    status: [15, 'Status'],
    flags: [16, 'fixed32'],
  },
  Status: { message: [2, 'string'], code: [3, 'int32'] },
  ExportLogsServiceRequest: { resourceLogs: [1, 'ResourceLogs', 'repeated'] },
  ResourceLogs: { resource: [1, 'Resource'], scopeLogs: [2, 'ScopeLogs', 'repeated'] },
  ScopeLogs: { scope: [1, 'InstrumentationScope'], logRecords: [2, 'LogRecord', 'repeated'] },
  LogRecord: {
    timeUnixNano: [1, 'fixed64'],
    severityNumber: [2, 'int32'],
    severityText: [3, 'string'],
    body: [5, 'AnyValue'],
    attributes: [6, 'KeyValue', 'repeated'],
    flags: [8, 'fixed32'],
    traceId: [9, 'bytes'],
    spanId: [10, 'bytes'],
    observedTimeUnixNano: [11, 'fixed64'],
  },
  ExportMetricsServiceRequest: { resourceMetrics: [1, 'ResourceMetrics', 'repeated'] },
  ResourceMetrics: { resource: [1, 'Resource'], scopeMetrics: [2, 'ScopeMetrics', 'repeated'] },
  ScopeMetrics: { scope: [1, 'InstrumentationScope'], metrics: [2, 'Metric', 'repeated'] },
  Metric: {
    name: [1, 'string'],
    description: [2, 'string'],
    unit: [3, 'string'],
    gauge: [5, 'Gauge'],
    sum: [7, 'Sum'],
    histogram: [9, 'Histogram'],
  },
  Gauge: { dataPoints: [1, 'NumberDataPoint', 'repeated'] },
  Sum: {
    dataPoints: [1, 'NumberDataPoint', 'repeated'],
    aggregationTemporality: [2, 'int32'],
    isMonotonic: [3, 'bool'],
  },
  Histogram: { dataPoints: [1, 'HistogramDataPoint', 'repeated'], aggregationTemporality: [2, 'int32'] },
  NumberDataPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    asDouble: [4, 'double'],
    exemplars: [5, 'Exemplar', 'repeated'],
    asInt: [6, 'sfixed64'],
    attributes: [7, 'KeyValue', 'repeated'],
  },
  HistogramDataPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    count: [4, 'fixed64'],
    sum: [5, 'double'],
    bucketCounts: [6, 'fixed64', 'repeated'],
    explicitBounds: [7, 'double', 'repeated'],
    exemplars: [8, 'Exemplar', 'repeated'],
    attributes: [9, 'KeyValue', 'repeated'],
  },
  Exemplar: {
    timeUnixNano: [2, 'fixed64'],
    asDouble: [3, 'double'],
    spanId: [4, 'bytes'],
    traceId: [5, 'bytes'],
  },
  PartialSuccess: { rejected: [1, 'int64'], errorMessage: [2, 'string'] },
  Response: { partialSuccess: [1, 'PartialSuccess'] },
};

const root = protobuf.Root.fromJSON({
  nested: Object.fromEntries(
    Object.entries(MESSAGES).map(([name, fields]) => [
      name,
      {
        fields: Object.fromEntries(
          Object.entries(fields).map(([field, [id, type, rule]]) => [
            field,
            { id, type, ...(rule && { rule }) },
          ]),
        ),
      },
    ]),
  ),
});

/** Ids are hexadecimal digits in JSON; everything else that is made of bytes is base64. */
const IDS: ReadonlySet<string> = new Set(['traceId', 'spanId', 'parentSpanId']);

/** Decodes a message into the form that JSON has. Throws if it has fields that are not in the tables. */
export function decodeProtobuf(name: string, bytes: Uint8Array): object {
  const type = root.lookupType(name);
  const message = type.decode(bytes);
  if (type.encode(message).finish().length !== bytes.length)
    throw new Error(`${name} has fields that the protocol does not know`);
  return withHexIds(
    type.toObject(message, { longs: String, enums: Number, bytes: Array, arrays: false, oneofs: false }),
  ) as object;
}

function withHexIds(value: unknown, field = ''): unknown {
  if (IDS.has(field)) return Buffer.from(value as number[]).toString('hex');
  if (Array.isArray(value)) return value.map((one) => withHexIds(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withHexIds(one, name)]));
}

/** Checks JSON against the tables: names, types, ids, and numbers of 64 bits as strings. Throws at the first fault. */
export function checkJson(name: string, value: unknown): void {
  const fields = MESSAGES[name];
  if (!fields || typeof value !== 'object' || value === null) throw new Error(`${name} is no object`);
  for (const [field, given] of Object.entries(value)) {
    const [, type = '', rule] = fields[field] ?? [];
    if (type === '') throw new Error(`${name} has no field "${field}"`);
    const all: readonly unknown[] = rule ? (given as unknown[]) : [given];
    for (const one of all) {
      if (MESSAGES[type]) checkJson(type, one);
      else if (!isOfType(type, field, one)) throw new Error(`${name}.${field} is ${JSON.stringify(one)}`);
    }
  }
}

function isOfType(type: string, field: string, value: unknown): boolean {
  if (type === 'bytes') return IDS.has(field) && /^([0-9a-f]{16}){1,2}$/.test(String(value));
  if (type.endsWith('64')) return typeof value === 'string' && /^-?\d+$/.test(value);
  if (type === 'string') return typeof value === 'string';
  return type === 'bool' ? typeof value === 'boolean' : typeof value === 'number';
}

/** Encodes the response to an export. */
export function encodeResponse(rejected: number, errorMessage: string): Uint8Array {
  const type = root.lookupType('Response');
  const isEmpty = rejected === 0 && errorMessage === '';
  return type.encode(type.fromObject(isEmpty ? {} : { partialSuccess: { rejected, errorMessage } })).finish();
}
