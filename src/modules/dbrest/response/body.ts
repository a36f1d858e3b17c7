import type { Exchange, ResponseStream } from '../../../http/index.ts';
import { notAcceptable, notSingular } from '../fault/index.ts';
import type { RowForm, RowShape, RowTail } from '../plan/index.ts';
import { isBodyless, type Media } from '../request/index.ts';
import type { Column, Results, Row, RowSink } from '../session/index.ts';
import { ELEMENT_SEPARATOR } from '../sql/index.ts';
import type { Tagging, WholeBody } from './tagging.ts';
import { csvWriter, fieldBytes, type RowWriter, xmlWriter } from './writer.ts';

/** Responses up to this size are sent at once with `Content-Length`; larger ones are streamed. */
const WHOLE_CHARACTERS = 262_144;
const PIECE_CHARACTERS = 65_536;
/** Characters that may be buffered for a slow client. A medium-sized response then frees its connection early. */
const AHEAD_CHARACTERS = 524_288;

/** The counts and settings that the database returns with the rows. */
export interface RowCounts {
  readonly rows: number;
  /** The number of rows without limit and offset. */
  readonly total?: number | undefined;
  /** `response.headers` and `response.status`. */
  readonly response?: readonly [headers: string | null, status: string | null] | undefined;
  /** The version of the one row. */
  readonly version?: string | undefined;
}

/** The status and type of a response. */
export interface ResponseStart {
  readonly status: number;
  /** Overrides the type of the rows. */
  readonly contentType?: string | undefined;
}

/** The parameters of a body. */
interface BodyParts {
  readonly writer: RowWriter;
  readonly contentType: string;
  /** Sets the headers. May throw the fault that replaces the response. */
  readonly head: (counts: RowCounts, results: Results) => ResponseStart;
  /** The additional columns at the end of each row. */
  readonly tail?: RowTail | undefined;
  /** Nothing is sent before the transaction has ended. */
  readonly held?: boolean | undefined;
  readonly tagging?: Tagging | undefined;
  /** Throws if the rows do not fit the response. */
  readonly check?: (columns: readonly Column[], counts: RowCounts) => void;
}

/** A text body. A small one is sent when it is complete, a large one is streamed. */
class RowsBody implements RowSink {
  readonly #x: Exchange;
  readonly #parts: BodyParts;
  #results: Results = [];
  #columns: readonly Column[] = [];
  #text = '';
  #rows = 0;
  #counts: RowCounts = { rows: 0 };
  #stream: ResponseStream | undefined;
  readonly #pieces: Buffer[] = [];
  /** Characters written since the client's buffer was last empty. */
  #ahead = 0;

  constructor(x: Exchange, parts: BodyParts) {
    this.#x = x;
    this.#parts = parts;
  }

  /** Drops the rows of an earlier run of the batch. */
  begin(results: Results): void {
    this.#results = results;
    this.#text = this.#parts.writer.open([]);
    this.#pieces.length = 0;
    this.#rows = 0;
    this.#counts = { rows: 0 };
  }

  columns(columns: readonly Column[]): void {
    this.#columns = ownColumns(columns, this.#parts.tail);
    this.#text = this.#parts.writer.open(this.#columns);
  }

  row(fields: Row): Promise<void> | undefined {
    const { writer, tail, check, held } = this.#parts;
    if (this.#rows === 0) {
      this.#counts = countsOf(fields, tail);
      if (tail?.padded && this.#counts.rows === 0) return undefined;
      check?.(this.#columns, this.#counts);
    } else this.#text += writer.between;
    this.#text += writer.row(fields);
    this.#rows += 1;
    if (this.#text.length < (this.#stream || this.#pieces.length > 0 ? PIECE_CHARACTERS : WHOLE_CHARACTERS))
      return undefined;
    return held ? this.#keep() : this.#flush();
  }

  /** The counts of the rows. */
  get counts(): RowCounts {
    return this.#counts;
  }

  /** Checks the rows after the last one. Throws if they do not fit the response. */
  judge(): void {
    if (this.#rows === 0) this.#parts.check?.(this.#columns, this.#counts);
  }

  /** Sends the rest after the transaction has ended successfully. Throws as `judge` does. */
  end(): void | Promise<void> {
    const { writer, contentType, head } = this.#parts;
    this.judge();
    const text = this.#text + (this.#rows === 0 ? (writer.none ?? '') : '') + writer.close;
    // A fault of the head is thrown here, not by a promise: a verdict may depend on it.
    if (this.#pieces.length > 0) return this.#sendPieces(head(this.#counts, this.#results), text);
    if (this.#stream) {
      this.#stream.write(text);
      this.#stream.end();
    } else if (!this.#x.done) {
      const start = head(this.#counts, this.#results);
      const type = start.contentType ?? contentType;
      const { version } = this.#counts;
      // The body was not made, so its length is not known, and it has no tag.
      if (isBodyless(this.#x)) this.#openStream(start.status, type);
      else sendBody(this.#x, { status: start.status, contentType: type, body: text, version }, this.#parts);
    }
  }

  async #sendPieces(start: ResponseStart, last: string): Promise<void> {
    const { contentType } = this.#parts;
    const stream = this.#openStream(start.status, start.contentType ?? contentType);
    for (const piece of this.#pieces) if (stream?.write(piece) === false) await stream.drained();
    stream?.write(last);
    stream?.end();
  }

  /** A buffer needs half the memory of the string, and is sent without a copy. */
  #keep(): undefined {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }

  #openStream(status: number, contentType: string): ResponseStream | undefined {
    this.#parts.tagging?.stream(this.#x);
    return this.#x.stream(status, contentType);
  }

  #flush(): Promise<void> | undefined {
    if (!this.#x.done) {
      const { status, contentType = this.#parts.contentType } = this.#parts.head(this.#counts, this.#results);
      this.#stream = this.#openStream(status, contentType);
    }
    const text = this.#text;
    this.#text = '';
    if (!this.#stream) return undefined;
    this.#ahead = this.#stream.write(text) ? 0 : this.#ahead + text.length;
    if (this.#ahead < AHEAD_CHARACTERS) return undefined;
    this.#ahead = 0;
    return this.#stream.drained();
  }
}

/** A body of one field as bytes; `check` ensures that there is only one. */
class BytesBody implements RowSink {
  readonly #x: Exchange;
  readonly #parts: Omit<BodyParts, 'writer'>;
  #results: Results = [];
  #columns: readonly Column[] = [];
  #row: Row | undefined;

  constructor(x: Exchange, parts: Omit<BodyParts, 'writer'>) {
    this.#x = x;
    this.#parts = parts;
  }

  begin(results: Results): void {
    this.#results = results;
    this.#row = undefined;
  }

  columns(columns: readonly Column[]): void {
    this.#columns = ownColumns(columns, this.#parts.tail);
  }

  row(fields: Row): undefined {
    this.#row ??= fields;
  }

  get counts(): RowCounts {
    return this.#row ? countsOf(this.#row, this.#parts.tail) : { rows: 0 };
  }

  /** Throws if the rows do not fit the response. */
  judge(): void {
    this.#parts.check?.(this.#columns, this.counts);
  }

  end(): void {
    const { contentType, head } = this.#parts;
    this.judge();
    const body = fieldBytes(this.#row?.[0] ?? null, this.#columns[0] as Column);
    const start = head(this.counts, this.#results);
    const { version } = this.counts;
    const whole = { status: start.status, contentType: start.contentType ?? contentType, body, version };
    sendBody(this.#x, whole, this.#parts);
  }
}

function sendBody(x: Exchange, whole: WholeBody, { tagging }: Pick<BodyParts, 'tagging'>): void {
  if (tagging) tagging.send(x, whole);
  else x.send(whole.status, whole.contentType, whole.body);
}

/** A response without a body. */
export class EmptyBody implements RowSink {
  readonly #x: Exchange;
  readonly #parts: Pick<BodyParts, 'head' | 'tail'>;
  #results: Results = [];
  counts: RowCounts = { rows: 0 };

  constructor(x: Exchange, parts: Pick<BodyParts, 'head' | 'tail'>) {
    this.#x = x;
    this.#parts = parts;
  }

  begin(results: Results): void {
    this.#results = results;
  }

  row(fields: Row): undefined {
    this.counts = countsOf(fields, this.#parts.tail);
  }

  columns(): void {}
  judge(): void {}

  end(): void {
    const { status, contentType = '' } = this.#parts.head(this.counts, this.#results);
    this.#x.send(status, contentType, '');
  }
}

/** Options of a body. */
interface BodyOptions extends Pick<BodyParts, 'head' | 'held' | 'tagging'> {
  /** Throws if the number of rows is not acceptable. */
  readonly guard?: (counts: RowCounts) => void;
}

/** Opens the body for rows of a form. */
export function openBody(
  x: Exchange,
  form: RowForm,
  { head, held, tagging, guard }: BodyOptions,
): RowsBody | BytesBody {
  const { media, shape, tail } = form;
  const check = checkOf(media, guard);
  const writer = writerOf(media, shape);
  const parts = { writer, contentType: contentType(media), head, check, tail, held, tagging };
  return media.format === 'binary' || media.format === 'custom'
    ? new BytesBody(x, parts)
    : new RowsBody(x, parts);
}

const JSON_NAMES: ReadonlySet<string> = new Set(['application/json', 'application/geo+json']);

/** The `Content-Type` of a response. Types of the database go out as declared, except for those of JSON. */
export function contentType({ format, name }: Media): string {
  const isBare = format === 'binary' || (format === 'custom' && !JSON_NAMES.has(name.toLowerCase()));
  return isBare ? name : `${name}; charset=utf-8`;
}

/** Rows that are already texts. */
function joined(open: string, between: string, close: string): RowWriter {
  return { open: () => open, row: ([text]) => text ?? '', between, close };
}

const LINES = joined('', '\n', '');
const BARE = joined('', '', '');
const JSON_LIST = joined('[', ELEMENT_SEPARATOR, ']');
const JSON_VALUE: RowWriter = { ...BARE, none: 'null' };
const FEATURES = joined('{"type" : "FeatureCollection", "features" : [', ELEMENT_SEPARATOR, ']}');

function writerOf({ format }: Media, shape: RowShape): RowWriter {
  switch (format) {
    case 'csv':
      return csvWriter();
    case 'xml':
      return xmlWriter();
    case 'geojson':
      return FEATURES;
    case 'plan':
    case 'text':
      return LINES;
    case 'binary':
    case 'custom':
      return BARE;
    case 'json':
    case 'object':
      return shape === 'rows' ? JSON_LIST : JSON_VALUE;
  }
}

function checkOf({ format, name }: Media, guard?: BodyOptions['guard']): NonNullable<BodyParts['check']> {
  return (columns, counts) => {
    const { rows } = counts;
    if (format === 'object' && rows !== 1) throw notSingular(rows);
    const single = format === 'binary' ? rows === 1 && columns.length === 1 : columns.length === 1;
    if ((format === 'binary' || format === 'text') && !single) throw notAcceptable([name]);
    guard?.(counts);
  };
}

function widthOf({ response, total, version }: RowTail): number {
  return (version === undefined ? 0 : 1) + (response ? 2 : 0) + (total ? 1 : 0) + 1;
}

function ownColumns(columns: readonly Column[], tail: RowTail | undefined): readonly Column[] {
  return tail ? columns.slice(0, columns.length - widthOf(tail)) : columns;
}

function countsOf(fields: Row, tail: RowTail | undefined): RowCounts {
  if (!tail) return { rows: 0 };
  const rows = Number(fields.at(-1));
  let at = fields.length - widthOf(tail);
  const version = tail.version === undefined ? null : fields[at++];
  return {
    rows,
    version: rows === 1 ? (version ?? undefined) : undefined,
    total: tail.total ? Number(fields.at(-2)) : undefined,
    response: tail.response ? [fields[at] ?? null, fields[at + 1] ?? null] : undefined,
  };
}
