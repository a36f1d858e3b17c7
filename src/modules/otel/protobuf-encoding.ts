import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
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
  type LogRecord,
  nanoseconds,
  NOTHING_REJECTED,
  type Origin,
  type Period,
  type Rejection,
  SAMPLED_FLAGS,
  SCOPE,
} from './records.ts';
import { SpanEncoder } from './span-encoder.ts';

const { Bit32, Bit64, LengthDelimited, Varint } = WireType;

/** OTLP as Protocol Buffers. The numbers of fields are those of opentelemetry-proto 1.x. */
export class ProtobufEncoding implements Encoding {
  readonly contentType = 'application/x-protobuf';
  readonly #resource: Uint8Array;
  readonly #scope: Uint8Array;
  readonly #spans = new SpanEncoder(attributeBytes);

  constructor({ resource, version }: Origin) {
    const attributes = new BinaryWriter();
    writeAttributes(attributes, 1, resource);
    this.#resource = attributes.finish();
    const scope = new BinaryWriter();
    text(scope, 1, SCOPE);
    text(scope, 2, version);
    this.#scope = scope.finish();
  }

  span(span: Span, batch: RecordBatch): void {
    this.#spans.write(span, batch);
  }

  log({ timeMs, severity, level, body, traceId, spanId }: LogRecord, batch: RecordBatch): void {
    const writer = new BinaryWriter();
    writer.tag(1, Bit64).fixed64(nanoseconds(timeMs));
    writer.tag(2, Varint).int32(severity);
    text(writer, 3, level);
    writer.tag(5, LengthDelimited).fork();
    if (typeof body === 'string') text(writer, 1, fitting(body));
    else writeMap(writer, body);
    writer.join();
    if (traceId !== '') {
      writer.tag(8, Bit32).fixed32(SAMPLED_FLAGS);
      bytes(writer, 9, Buffer.from(traceId, 'hex'));
      bytes(writer, 10, Buffer.from(spanId, 'hex'));
    }
    writer.tag(11, Bit64).fixed64(nanoseconds(timeMs));
    append(batch, writer);
  }

  metric({ name, help, kind, samples }: MetricFamily, period: Period, batch: RecordBatch): void {
    const writer = new BinaryWriter();
    const isCounter = kind === 'counter' || kind === 'untyped';
    text(writer, 1, name);
    text(writer, 2, help);
    writer.tag(kind === 'histogram' ? 9 : isCounter ? 7 : 5, LengthDelimited).fork();
    for (const sample of samples) {
      writer.tag(1, LengthDelimited).fork();
      if (kind === 'histogram') writeBuckets(writer, sample, period);
      else writeNumber(writer, sample, period);
      writer.join();
    }
    if (kind === 'histogram' || isCounter) writer.tag(2, Varint).int32(CUMULATIVE);
    if (isCounter) writer.tag(3, Varint).bool(true);
    writer.join();
    append(batch, writer);
  }

  /** The messages of all signals are alike: a resource, a scope, and the records as field 2. */
  message(_signal: Signal, { content }: RecordBatch): Uint8Array {
    const writer = new BinaryWriter();
    writer.tag(1, LengthDelimited).fork();
    bytes(writer, 1, this.#resource);
    writer.tag(2, LengthDelimited).fork();
    bytes(writer, 1, this.#scope);
    writer.raw(content);
    writer.join().join();
    return writer.finish();
  }

  /** The responses to all signals are alike, too. */
  rejection(_signal: Signal, body: Uint8Array): Rejection {
    try {
      return readResponse(new BinaryReader(body));
    } catch {
      return NOTHING_REJECTED;
    }
  }
}

/** Adds a record as a message has it. */
function append(batch: RecordBatch, record: BinaryWriter): void {
  batch.append(new BinaryWriter().tag(2, LengthDelimited).bytes(record.finish()).finish());
}

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, LengthDelimited).string(value);
}

function bytes(writer: BinaryWriter, field: number, value: Uint8Array): void {
  writer.tag(field, LengthDelimited).bytes(value);
}

function writeAttributes(writer: BinaryWriter, field: number, attributes: readonly Attribute[]): void {
  for (const attribute of attributes) {
    writer.tag(field, LengthDelimited).fork();
    writeAttribute(writer, attribute);
    writer.join();
  }
}

function writeAttribute(writer: BinaryWriter, [key, value]: Attribute): void {
  text(writer, 1, fitting(key));
  writer.tag(2, LengthDelimited).fork();
  writeValue(writer, value);
  writer.join();
}

function attributeBytes(name: string, value: AttributeValue): Uint8Array {
  const writer = new BinaryWriter();
  writeAttribute(writer, [name, value]);
  return writer.finish();
}

function writeValue(writer: BinaryWriter, value: AttributeValue): void {
  if (typeof value === 'string') text(writer, 1, fitting(value));
  else if (typeof value === 'boolean') writer.tag(2, Varint).bool(value);
  else if (typeof value === 'number') writeNumeric(writer, value);
  else {
    writer.tag(5, LengthDelimited).fork();
    for (const one of value) {
      writer.tag(1, LengthDelimited).fork();
      text(writer, 1, fitting(one));
      writer.join();
    }
    writer.join();
  }
}

function writeNumeric(writer: BinaryWriter, value: number): void {
  if (Number.isSafeInteger(value)) writer.tag(3, Varint).int64(value);
  else writer.tag(4, Bit64).double(value);
}

/** A value without a type is null. */
function writeMap(writer: BinaryWriter, body: readonly (readonly [name: string, value: BodyValue])[]): void {
  writer.tag(6, LengthDelimited).fork();
  for (const [key, value] of body) {
    writer.tag(1, LengthDelimited).fork();
    text(writer, 1, key);
    writer.tag(2, LengthDelimited).fork();
    if (value !== null) writeValue(writer, value);
    writer.join().join();
  }
  writer.join();
}

function writeNumber(writer: BinaryWriter, { labels, value }: MetricSample, period: Period): void {
  writePeriod(writer, period);
  writer.tag(4, Bit64).double(value);
  writeAttributes(writer, 7, Object.entries(labels));
}

function writeBuckets(
  writer: BinaryWriter,
  { labels, value, buckets = [], bounds = [], exemplars = [] }: MetricSample,
  period: Period,
): void {
  writePeriod(writer, period);
  writer.tag(4, Bit64).fixed64(String(buckets.reduce((sum, count) => sum + count, 0)));
  writer.tag(5, Bit64).double(value);
  writer.tag(6, LengthDelimited).fork();
  for (const count of buckets) writer.fixed64(String(count));
  writer.join();
  writer.tag(7, LengthDelimited).fork();
  for (const bound of bounds) writer.double(bound);
  writer.join();
  for (const exemplar of exemplars) if (exemplar) writeExemplar(writer, exemplar);
  writeAttributes(writer, 9, Object.entries(labels));
}

function writeExemplar(writer: BinaryWriter, { traceId, spanId, value, timeMs }: Exemplar): void {
  writer.tag(8, LengthDelimited).fork();
  writer.tag(2, Bit64).fixed64(nanoseconds(timeMs));
  writer.tag(3, Bit64).double(value);
  bytes(writer, 4, Buffer.from(spanId, 'hex'));
  bytes(writer, 5, Buffer.from(traceId, 'hex'));
  writer.join();
}

function writePeriod(writer: BinaryWriter, { sinceMs, untilMs }: Period): void {
  writer.tag(2, Bit64).fixed64(nanoseconds(sinceMs));
  writer.tag(3, Bit64).fixed64(nanoseconds(untilMs));
}

/** Reads `partial_success`: a count and a message. */
function readResponse(reader: BinaryReader): Rejection {
  let rejection = NOTHING_REJECTED;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1 && type === LengthDelimited) rejection = readPartialSuccess(reader, reader.uint32());
    else reader.skip(type);
  }
  return rejection;
}

function readPartialSuccess(reader: BinaryReader, length: number): Rejection {
  const end = reader.pos + length;
  let count = 0;
  let message = '';
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (field === 1) count = Number(reader.int64());
    else if (field === 2) message = reader.string();
    else reader.skip(type);
  }
  return Number.isSafeInteger(count) && count >= 0 ? { count, message } : NOTHING_REJECTED;
}
