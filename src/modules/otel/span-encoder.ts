import type { AttributeValue, Span } from '../../http/index.ts';
import { ByteWriter, varintLength } from './byte-writer.ts';
import { writeDigits } from './random-id.ts';
import type { RecordBatch } from './record-batch.ts';
import {
  fitting,
  KINDS,
  MOST_ATTRIBUTES,
  SAMPLED_FLAGS,
  STATUS_ERROR,
  SURELY_SHORT,
  wellFormed,
} from './records.ts';

/** Where a message has its records. */
const RECORD = 0x12;
/** The fields of a span with their wire types (opentelemetry-proto 1.x, `Span`). */
const TRACE_ID = 0x0a;
const SPAN_ID = 0x12;
const STATE = 0x1a;
const PARENT_ID = 0x22;
const NAME = 0x2a;
const KIND = 0x30;
const START = 0x39;
const END = 0x41;
const ATTRIBUTE = 0x4a;
const DROPPED = 0x50;
const STATUS = 0x7a;
const STATUS_CODE = 0x18;
/** Its number is above 15, so it takes two bytes. */
const FLAGS = [0x85, 0x01] as const;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const ID_FIELD_BYTES = 2 + SPAN_ID_BYTES;
/** What every span has: the ids of trace and span, kind, two times, a status, flags. */
const LEAST_BYTES = 2 + TRACE_ID_BYTES + ID_FIELD_BYTES + 2 + 9 + 9 + 2 + 6;
const NONE = new Uint8Array(0);

/** The fields of an attribute, and those of its value (`KeyValue`, `AnyValue`). */
const KEY = 0x0a;
const VALUE = 0x12;
const TEXT = 0x0a;
const INTEGER = 0x18;
/** Larger numbers are encoded by `EncodeAny`. */
const MOST_INTEGER = 0x7fff_ffff;
/** Longer texts are measured and written by calls of Node's, which are faster for them. */
const SHORT_TEXT = 16;
const LONGEST_VARINT = 5;

/** Encodes an attribute of any type as a message of its own. */
type EncodeAny = (name: string, value: AttributeValue) => Uint8Array;

/** Encodes spans as Protocol Buffers, straight into the batch. */
export class SpanEncoder {
  readonly #writer = new ByteWriter();
  readonly #attributes: AttributeRun;
  #name = { text: '', field: textField(NAME, '') };

  constructor(encodeAny: EncodeAny) {
    this.#attributes = new AttributeRun(encodeAny);
  }

  write(span: Span, batch: RecordBatch): void {
    const { trace, spanId, attributes, parentId, isError } = span;
    const encoded = this.#attributes.encode(attributes);
    const name = this.#nameField(span.name);
    const state = trace.state === '' ? NONE : textField(STATE, wellFormed(trace.state));
    const dropped = Math.max(0, attributes.length / 2 - MOST_ATTRIBUTES);
    const length =
      LEAST_BYTES +
      (parentId === '' ? 0 : ID_FIELD_BYTES) +
      (dropped === 0 ? 0 : 1 + varintLength(dropped)) +
      (isError ? 2 : 0) +
      (state.length + name.length + encoded.length);
    const begin = batch.add(1 + varintLength(length) + length);
    const { bytes } = batch;
    const writer = this.#writer.begin(bytes, begin).byte(RECORD).varint(length);
    trace.writeTraceId(bytes, writer.byte(TRACE_ID).byte(TRACE_ID_BYTES).at);
    writer.skip(TRACE_ID_BYTES).byte(SPAN_ID).byte(SPAN_ID_BYTES);
    if (spanId === undefined) trace.writeSpanId(bytes, writer.at);
    else writeDigits(spanId, bytes, writer.at);
    writer.skip(SPAN_ID_BYTES).all(state);
    if (parentId !== '') {
      writeDigits(parentId, bytes, writer.byte(PARENT_ID).byte(SPAN_ID_BYTES).at);
      writer.skip(SPAN_ID_BYTES);
    }
    writer.all(name).byte(KIND).byte(KINDS[span.kind]);
    writer.byte(START).nanoseconds(span.startedMs).byte(END).nanoseconds(span.endedMs);
    writer.all(encoded);
    if (dropped > 0) writer.byte(DROPPED).varint(dropped);
    writer.byte(STATUS).byte(isError ? 2 : 0);
    if (isError) writer.byte(STATUS_CODE).byte(STATUS_ERROR);
    writer.byte(FLAGS[0]).byte(FLAGS[1]).fixed32(SAMPLED_FLAGS);
  }

  /** Most spans have the name of the one before. */
  #nameField(text: string): Uint8Array {
    if (this.#name.text !== text) this.#name = { text, field: textField(NAME, fitting(text)) };
    return this.#name.field;
  }
}

function textField(tag: number, text: string): Uint8Array {
  const content = Buffer.from(text);
  const bytes = Buffer.allocUnsafe(1 + varintLength(content.length) + content.length);
  new ByteWriter().begin(bytes, 0).byte(tag).varint(content.length).all(content);
  return bytes;
}

const FIRST_BYTES = 4_096;

/**
 * The encoded attributes of the last span. The next one mostly begins with the same: what it has in common stays, and is
 * not encoded again.
 */
class AttributeRun {
  readonly #encodeAny: EncodeAny;
  readonly #writer = new ByteWriter();
  /** The encoded names: those that the program and the configuration have, so they are few. */
  readonly #keys = new Map<string, Uint8Array>();
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #last: readonly AttributeValue[] = [];
  /** Where each attribute of the last span ends. */
  #ends: number[] = [];

  constructor(encodeAny: EncodeAny) {
    this.#encodeAny = encodeAny;
  }

  /** Encodes a list of names and values. The bytes are valid until the next call. */
  encode(attributes: readonly AttributeValue[]): Uint8Array {
    const count = Math.min(attributes.length / 2, MOST_ATTRIBUTES);
    let index = this.#sharedWith(attributes, count);
    this.#last = attributes;
    this.#ends.length = index;
    let end = index === 0 ? 0 : (this.#ends[index - 1] as number);
    for (; index < count; index++) {
      end = this.#add(end, attributes[2 * index] as string, attributes[2 * index + 1] as AttributeValue);
      this.#ends.push(end);
    }
    return this.#bytes.subarray(0, end);
  }

  /** How many of the first attributes are those of the last span. */
  #sharedWith(attributes: readonly AttributeValue[], count: number): number {
    const most = Math.min(count, this.#ends.length);
    let index = 0;
    while (
      index < most &&
      attributes[2 * index] === this.#last[2 * index] &&
      attributes[2 * index + 1] === this.#last[2 * index + 1]
    )
      index++;
    return index;
  }

  /** Returns where the attribute ends. */
  #add(begin: number, name: string, value: AttributeValue): number {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_INTEGER) {
      const length = 1 + varintLength(value);
      return this.#open(begin, name, length).byte(INTEGER).varint(value).at;
    }
    if (typeof value !== 'string') return this.#addAny(begin, this.#encodeAny(name, value));
    if (value.length <= SHORT_TEXT && isAscii(value))
      return this.#text(begin, name, value.length).ascii(value).at;
    // `write` itself makes text valid.
    const text = value.length <= SURELY_SHORT ? value : fitting(value);
    const length = Buffer.byteLength(text);
    return this.#text(begin, name, length).utf8(text, length).at;
  }

  #text(begin: number, name: string, length: number): ByteWriter {
    return this.#open(begin, name, 1 + varintLength(length) + length)
      .byte(TEXT)
      .varint(length);
  }

  /** Begins an attribute whose value takes so many bytes. */
  #open(begin: number, name: string, valueLength: number): ByteWriter {
    const key = this.#keyOf(name);
    const length = key.length + 1 + varintLength(valueLength) + valueLength;
    this.#reserve(begin + 1 + LONGEST_VARINT + length);
    const writer = this.#writer.begin(this.#bytes, begin).byte(ATTRIBUTE).varint(length);
    return writer.all(key).byte(VALUE).varint(valueLength);
  }

  #addAny(begin: number, encoded: Uint8Array): number {
    this.#reserve(begin + 1 + LONGEST_VARINT + encoded.length);
    return this.#writer.begin(this.#bytes, begin).byte(ATTRIBUTE).varint(encoded.length).all(encoded).at;
  }

  #keyOf(name: string): Uint8Array {
    const known = this.#keys.get(name);
    if (known) return known;
    const key = textField(KEY, fitting(name));
    this.#keys.set(name, key);
    return key;
  }

  #reserve(needed: number): void {
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

function isAscii(text: string): boolean {
  let bits = 0;
  for (let index = 0; index < text.length; index++) bits |= text.charCodeAt(index);
  return bits < 0x80;
}
