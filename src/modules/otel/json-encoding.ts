import type { AttributeValue, Span } from '../../http/index.ts';
import type { Exemplar, MetricFamily, MetricSample } from '../../zone/index.ts';
import type { Signal } from './endpoint.ts';
import type { RecordBatch } from './record-batch.ts';
import {
  type Attribute,
  type BodyValue,
  CUMULATIVE,
  type Encoding,
  fitting,
  KINDS,
  type LogRecord,
  MOST_ATTRIBUTES,
  nanoseconds,
  NOTHING_REJECTED,
  type Origin,
  type Period,
  type Rejection,
  SAMPLED_FLAGS,
  SCOPE,
  STATUS_ERROR,
  wellFormed,
} from './records.ts';

/** The names of the lists in a message of each signal, and of the count in its response. */
const NAMES: Readonly<Record<Signal, readonly [resources: string, scopes: string, records: string]>> = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
};
const REJECTED: Readonly<Record<Signal, string>> = {
  traces: 'rejectedSpans',
  metrics: 'rejectedDataPoints',
  logs: 'rejectedLogRecords',
};

/** OTLP as JSON (OTLP specification, "JSON Protobuf Encoding"): ids in hexadecimal, numbers of 64 bits as strings. */
export class JsonEncoding implements Encoding {
  readonly contentType = 'application/json';
  readonly #origin: Origin;
  /** The last value of each attribute: most are equal to those of the span before. Their names are few. */
  readonly #attributes = new Map<string, { value: AttributeValue; text: string }>();

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  /** Written by hand: an object of objects would take several times as long, and there are many spans. */
  span(span: Span, batch: RecordBatch): void {
    const { attributes, trace } = span;
    const dropped = attributes.length / 2 - MOST_ATTRIBUTES;
    const state = trace.state === '' ? '' : `,"traceState":${quoted(wellFormed(trace.state))}`;
    const parent = span.parentId === '' ? '' : `,"parentSpanId":"${span.parentId}"`;
    const times = `"startTimeUnixNano":"${nanoseconds(span.startedMs)}","endTimeUnixNano":"${nanoseconds(span.endedMs)}"`;
    const more = dropped > 0 ? `,"droppedAttributesCount":${dropped}` : '';
    const status = span.isError ? `{"code":${STATUS_ERROR}}` : '{}';
    append(
      batch,
      `{"traceId":"${trace.traceId}","spanId":"${span.spanId ?? trace.spanId}"${state}${parent},"flags":${SAMPLED_FLAGS},"name":${fittingQuoted(span.name)},"kind":${KINDS[span.kind]},${times},"attributes":[${this.#attributeTexts(attributes)}]${more},"status":${status}}`,
    );
  }

  /** Returns the first attributes of a span as the elements of a list. */
  #attributeTexts(attributes: readonly AttributeValue[]): string {
    const length = 2 * Math.min(attributes.length / 2, MOST_ATTRIBUTES);
    let text = '';
    for (let index = 0; index < length; index += 2) {
      const attribute = this.#attributeText(attributes[index] as string, attributes[index + 1]!);
      text += index === 0 ? attribute : `,${attribute}`;
    }
    return text;
  }

  #attributeText(name: string, value: AttributeValue): string {
    const last = this.#attributes.get(name);
    if (last?.value === value) return last.text;
    const text = attributeText(name, value);
    this.#attributes.set(name, { value, text });
    return text;
  }

  log(record: LogRecord, batch: RecordBatch): void {
    const { body, timeMs, traceId } = record;
    appendObject(batch, {
      timeUnixNano: nanoseconds(timeMs),
      observedTimeUnixNano: nanoseconds(timeMs),
      severityNumber: record.severity,
      severityText: record.level,
      body: typeof body === 'string' ? { stringValue: fitting(body) } : { kvlistValue: mapOf(body) },
      ...(traceId !== '' && { traceId, spanId: record.spanId, flags: SAMPLED_FLAGS }),
    });
  }

  metric({ name, help, kind, samples }: MetricFamily, period: Period, batch: RecordBatch): void {
    const points = samples.map((sample) => pointOf(sample, period));
    const counted = { dataPoints: points, aggregationTemporality: CUMULATIVE };
    const shape =
      kind === 'histogram'
        ? { histogram: counted }
        : kind === 'counter' || kind === 'untyped'
          ? { sum: { ...counted, isMonotonic: true } }
          : { gauge: { dataPoints: points } };
    appendObject(batch, { name, description: help, ...shape });
  }

  message(signal: Signal, { content }: RecordBatch): Uint8Array {
    const [resources, scopes, list] = NAMES[signal];
    const { resource, version } = this.#origin;
    const head = `{"${resources}":[{"resource":${JSON.stringify({ attributes: attributesOf(resource) })},"${scopes}":[{"scope":${JSON.stringify({ name: SCOPE, version })},"${list}":[`;
    return Buffer.concat([Buffer.from(head), content, END]);
  }

  rejection(signal: Signal, body: Uint8Array): Rejection {
    const partial = memberOf(parsed(body), 'partialSuccess');
    const count = Number(memberOf(partial, REJECTED[signal]) ?? 0);
    const message = memberOf(partial, 'errorMessage');
    if (!Number.isSafeInteger(count) || count < 0) return NOTHING_REJECTED;
    return { count, message: typeof message === 'string' ? message : '' };
  }
}

/** Texts that JSON has as they are, and that surely fit. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]{0,1024}$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function fittingQuoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(fitting(text));
}

function attributeText(name: string, value: AttributeValue): string {
  return `{"key":${fittingQuoted(name)},"value":${valueText(value)}}`;
}

function valueText(value: AttributeValue): string {
  if (typeof value === 'string') return `{"stringValue":${fittingQuoted(value)}}`;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return `{"intValue":"${value}"}`;
  return JSON.stringify(valueOf(value));
}

const END = Buffer.from(']}]}]}');

function append(batch: RecordBatch, text: string): void {
  batch.appendText(batch.count === 0 ? text : `,${text}`);
}

function appendObject(batch: RecordBatch, message: object): void {
  append(batch, JSON.stringify(message));
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function attributesOf(attributes: readonly Attribute[]): readonly object[] {
  return attributes.map(([key, value]) => ({ key: fitting(key), value: valueOf(value) }));
}

function valueOf(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: fitting(value) };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return numberOf(value);
  return { arrayValue: { values: value.map((one) => ({ stringValue: fitting(one) })) } };
}

function numberOf(value: number): object {
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** A value without a type is null. */
function mapOf(body: readonly (readonly [name: string, value: BodyValue])[]): object {
  return {
    values: body.map(([key, value]) => ({
      key,
      value:
        value === null ? {} : typeof value === 'number' ? numberOf(value) : { stringValue: fitting(value) },
    })),
  };
}

function pointOf(
  { labels, value, buckets, bounds = [], exemplars = [] }: MetricSample,
  period: Period,
): object {
  const common = {
    attributes: attributesOf(Object.entries(labels)),
    startTimeUnixNano: nanoseconds(period.sinceMs),
    timeUnixNano: nanoseconds(period.untilMs),
  };
  if (!buckets) return { ...common, asDouble: value };
  return {
    ...common,
    count: String(buckets.reduce((sum, count) => sum + count, 0)),
    sum: value,
    bucketCounts: buckets.map(String),
    explicitBounds: bounds,
    ...(exemplars.some(Boolean) && { exemplars: exemplars.flatMap((one) => (one ? exemplarOf(one) : [])) }),
  };
}

function exemplarOf({ traceId, spanId, value, timeMs }: Exemplar): object {
  return { timeUnixNano: nanoseconds(timeMs), asDouble: value, spanId, traceId };
}
