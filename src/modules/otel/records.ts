import type { AttributeValue, Span } from '../../http/index.ts';
import type { MetricFamily } from '../../zone/index.ts';
import type { Signal } from './endpoint.ts';
import type { RecordBatch } from './record-batch.ts';

/** A name and a value. */
export type Attribute = readonly [name: string, value: AttributeValue];

/** A value of a log record's body. `null` means that there is none. */
export type BodyValue = string | number | null;

/** A log line as a record. */
export interface LogRecord {
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  /** OpenTelemetry's number: 1 to 24. */
  readonly severity: number;
  /** The name of the level in gw. */
  readonly level: string;
  /** A text, or names and values. */
  readonly body: string | readonly (readonly [name: string, value: BodyValue])[];
  /** '' if it belongs to no trace. */
  readonly traceId: string;
  readonly spanId: string;
}

/** The times between which a metric has counted, in milliseconds since the epoch. */
export interface Period {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The service that all records come from. */
export interface Origin {
  readonly resource: readonly Attribute[];
  /** The version of gw. */
  readonly version: string;
}

/** What a collector has not accepted of a request that it has taken. */
export interface Rejection {
  readonly count: number;
  readonly message: string;
}

/** Records as bytes. They are added to a batch one by one, so that sending it takes little time of its own from requests. */
export interface Encoding {
  readonly contentType: string;
  span(span: Span, batch: RecordBatch): void;
  log(record: LogRecord, batch: RecordBatch): void;
  metric(family: MetricFamily, period: Period, batch: RecordBatch): void;
  /** Returns the body of a request with the records of one signal, as a copy. */
  message(signal: Signal, batch: RecordBatch): Uint8Array;
  /** Reads the body of a response. Anything that is not understood rejects nothing. */
  rejection(signal: Signal, body: Uint8Array): Rejection;
}

export const NOTHING_REJECTED: Rejection = { count: 0, message: '' };

export const SCOPE = 'gw';

/** Limits of a span: longer values are cut, further attributes are counted only. */
const MOST_VALUE_BYTES = 4_096;
export const MOST_ATTRIBUTES = 64;
/** A text of so many UTF-16 units fits: each takes three bytes at most. */
export const SURELY_SHORT = Math.floor(MOST_VALUE_BYTES / 3);

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Returns a text as valid Unicode: half a pair of surrogates becomes U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, '\ufffd');
}

/** Returns a text as valid Unicode of at most 4 KB in UTF-8. */
export function fitting(text: string): string {
  const whole = wellFormed(text);
  if (whole.length <= SURELY_SHORT) return whole;
  const bytes = Buffer.from(whole);
  if (bytes.length <= MOST_VALUE_BYTES) return whole;
  let end = MOST_VALUE_BYTES;
  // Never inside a character.
  while (((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** The numbers of `SpanKind`. */
export const KINDS: Readonly<Record<Span['kind'], number>> = { internal: 1, server: 2, client: 3 };

/** The number of `STATUS_CODE_ERROR`. */
export const STATUS_ERROR = 2;

/** The number of `AGGREGATION_TEMPORALITY_CUMULATIVE`. */
export const CUMULATIVE = 2;

/** Returns a time in nanoseconds since the epoch, in decimal digits: it has more of them than a number can hold. */
export function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}

/** The flags of a span: the lowest bit says that it was sampled. */
export const SAMPLED_FLAGS = 1;
