import type { Exchange, ResponseStream } from '../../../http/index.ts';
import { notAcceptable, notSingular } from '../fault/index.ts';
import type { RowForm, RowShape, RowTail } from '../plan/index.ts';
import { contentType, type Media } from '../request/index.ts';
import type { Column, Results, Row, RowSink } from '../session/index.ts';
import { ELEMENT_SEPARATOR } from '../sql/index.ts';
import { csvWriter, fieldBytes, joined, type RowWriter, xmlWriter } from './writer.ts';

/** Responses up to here are sent whole, with their length; larger ones in pieces, as the database gives them. */
const WHOLE_CHARACTERS = 262_144;
const PIECE_CHARACTERS = 65_536;
/** So far the database may be ahead of a slow client: the end of a middling response frees its connection the sooner. */
const AHEAD_CHARACTERS = 524_288;

/** What rows come with: how many they are, and where it was asked for, more. */
export interface RowCounts {
  readonly rows: number;
  /** Without their range. */
  readonly total?: number;
  /** `response.headers` and `response.status`. */
  readonly response?: readonly [headers: string | null, status: string | null];
}

/** How a response begins. */
export interface ResponseStart {
  readonly status: number;
  /** Instead of that of the rows. */
  readonly contentType?: string | undefined;
}

/** What a body needs besides its rows. */
export interface BodyParts {
  readonly writer: RowWriter;
  readonly contentType: string;
  /** Sets the headers of a response. Throws what makes it a fault instead. */
  readonly head: (counts: RowCounts, results: Results) => ResponseStart;
  /** Beyond so many rows the body is not all here, and not wanted (HEAD). */
  readonly most?: number | undefined;
  /** The columns at the end of each row that are no part of it; absent: there are none. */
  readonly tail?: RowTail | undefined;
  /** Nothing is sent before all is over: only then is it known whether what was done stays done. */
  readonly held?: boolean | undefined;
  /** Throws what makes rows like these a fault. */
  readonly check?: (columns: readonly Column[], counts: RowCounts) => void;
}

/** Rows on their way to the client. A small response is sent when it is complete, a large one while it is read. */
export class RowsBody implements RowSink {
  readonly #x: Exchange;
  readonly #parts: BodyParts;
  #results: Results = [];
  #columns: readonly Column[] = [];
  #text = '';
  #rows = 0;
  #counts: RowCounts = { rows: 0 };
  #stream: ResponseStream | undefined;
  readonly #pieces: Buffer[] = [];
  /** Written since the client last took everything. */
  #ahead = 0;

  constructor(x: Exchange, parts: BodyParts) {
    this.#x = x;
    this.#parts = parts;
  }

  begin(results: Results): void {
    this.#results = results;
    this.#text = this.#parts.writer.open([]);
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

  /** How many rows there are. */
  get counts(): RowCounts {
    return this.#counts;
  }

  /** All rows are here. Throws what makes them a fault. */
  judge(): void {
    if (this.#rows === 0) this.#parts.check?.(this.#columns, this.#counts);
  }

  /** All is over, and was not undone: sends what is not sent yet. Throws as `judge` does. */
  end(): void | Promise<void> {
    const { writer, contentType, head, most = Infinity } = this.#parts;
    this.judge();
    const text = this.#text + (this.#rows === 0 ? (writer.none ?? '') : '') + writer.close;
    if (this.#pieces.length > 0) return this.#sendPieces(text);
    if (this.#stream) {
      this.#stream.write(text);
      this.#stream.end();
    } else if (!this.#x.done) {
      const start = head(this.#counts, this.#results);
      const type = start.contentType ?? contentType;
      if (this.#counts.rows > most) this.#x.stream(start.status, type);
      else this.#x.send(start.status, type, text);
    }
  }

  async #sendPieces(last: string): Promise<void> {
    const { head, contentType } = this.#parts;
    const start = head(this.#counts, this.#results);
    const stream = this.#x.stream(start.status, start.contentType ?? contentType);
    for (const piece of this.#pieces) if (stream?.write(piece) === false) await stream.drained();
    stream?.write(last);
    stream?.end();
  }

  /** As bytes a long response takes half the room, and is not copied again. */
  #keep(): undefined {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }

  #flush(): Promise<void> | undefined {
    if (!this.#x.done) {
      const { status, contentType = this.#parts.contentType } = this.#parts.head(this.#counts, this.#results);
      this.#stream = this.#x.stream(status, contentType);
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

/** One field as bytes; the parts' `check` sees to it that there is no more. */
export class BytesBody implements RowSink {
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

  /** Throws what makes the rows a fault. */
  judge(): void {
    this.#parts.check?.(this.#columns, this.counts);
  }

  end(): void {
    const { contentType, head } = this.#parts;
    this.judge();
    const bytes = fieldBytes(this.#row?.[0] ?? null, this.#columns[0] as Column);
    const start = head(this.counts, this.#results);
    this.#x.send(start.status, start.contentType ?? contentType, bytes);
  }
}

/** A head and nothing more, whatever the row. */
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

/** What takes the rows of a response, and sends it. */
export type ResponseBody = RowsBody | BytesBody | EmptyBody;

/** What makes a response more than its rows. */
interface BodyOptions extends Pick<BodyParts, 'head' | 'held'> {
  /** Throws when there are too many or too few rows. */
  readonly guard?: (counts: RowCounts) => void;
}

/** The body of a response, for rows in its form. */
export function openBody(
  x: Exchange,
  form: RowForm,
  { head, held, guard }: BodyOptions,
): RowsBody | BytesBody {
  const { media, shape, most, tail } = form;
  const check = checkOf(media, guard);
  const parts = { contentType: contentType(media), head, check, most, tail, held };
  if (media.format === 'binary' || media.format === 'custom') return new BytesBody(x, parts);
  return new RowsBody(x, { ...parts, writer: writerOf(media, shape) });
}

function writerOf({ format }: Media, shape: RowShape): RowWriter {
  switch (format) {
    case 'csv':
      return csvWriter();
    case 'xml':
      return xmlWriter();
    case 'geojson':
      return joined('{"type" : "FeatureCollection", "features" : [', ELEMENT_SEPARATOR, ']}');
    case 'plan':
      return joined('', '\n', '');
    case 'text':
    case 'binary':
    case 'custom':
      return joined('', '', '');
    case 'json':
    case 'object':
      return shape === 'rows' ? joined('[', ELEMENT_SEPARATOR, ']') : { ...joined('', '', ''), none: 'null' };
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

function widthOf({ response, total }: RowTail): number {
  return (response ? 2 : 0) + (total ? 1 : 0) + 1;
}

function ownColumns(columns: readonly Column[], tail: RowTail | undefined): readonly Column[] {
  return tail ? columns.slice(0, columns.length - widthOf(tail)) : columns;
}

function countsOf(fields: Row, tail: RowTail | undefined): RowCounts {
  if (!tail) return { rows: 0 };
  const [headers = null, status = null] = tail.response ? fields.slice(fields.length - widthOf(tail)) : [];
  return {
    rows: Number(fields.at(-1)),
    ...(tail.total && { total: Number(fields.at(-2)) }),
    ...(tail.response && { response: [headers, status] as const }),
  };
}
