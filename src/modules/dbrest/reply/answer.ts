import type { Exchange, ResponseStream } from '../../../http/index.ts';
import type { Column, Results, Row, RowSink } from '../session/index.ts';
import { fieldBytes } from './row-writer.ts';
import type { RowWriter } from './row-writer.ts';

/** Answers up to here are sent whole, with their length; larger ones in pieces, as the database gives them. */
const WHOLE_CHARACTERS = 262_144;
const PIECE_CHARACTERS = 65_536;
/** So far the database may be ahead of a slow client: the end of a middling answer frees its connection the sooner. */
const AHEAD_CHARACTERS = 524_288;

/** What an answer needs besides its rows. */
export interface AnswerParts {
  readonly writer: RowWriter;
  readonly contentType: string;
  /** Status of an answer with so many rows; sets its headers. Throws what makes it a fault instead. */
  readonly head: (rows: number, results: Results) => number;
  /** Beyond so many rows the body is not all here, and not wanted (HEAD). */
  readonly most?: number | undefined;
  /** Rows carry their number in the last column; otherwise there is none. */
  readonly numbered: boolean;
  /** Nothing of it is sent before its end: what was written may yet be undone. */
  readonly kept?: boolean | undefined;
  readonly check?: (columns: readonly Column[], rows: number) => void;
}

/** Rows on their way to the client. A small answer is sent when it is complete, a large one while it is read. */
export class RowsAnswer implements RowSink {
  readonly #x: Exchange;
  readonly #parts: AnswerParts;
  #results: Results = [];
  #columns: readonly Column[] = [];
  #text = '';
  #rows = 0;
  #count = 0;
  #stream: ResponseStream | undefined;
  readonly #pieces: Buffer[] = [];
  /** Written since the client last took everything. */
  #ahead = 0;

  constructor(x: Exchange, parts: AnswerParts) {
    this.#x = x;
    this.#parts = parts;
  }

  begin(results: Results): void {
    this.#results = results;
    this.#text = this.#parts.writer.open([]);
    this.#rows = 0;
    this.#count = 0;
  }

  columns(columns: readonly Column[]): void {
    this.#columns = this.#parts.numbered ? columns.slice(0, -1) : columns;
    this.#text = this.#parts.writer.open(this.#columns);
  }

  row(fields: Row): Promise<void> | undefined {
    const { writer, numbered, check } = this.#parts;
    if (this.#rows === 0) {
      this.#count = numbered ? Number(fields.at(-1)) : 0;
      check?.(this.#columns, this.#count);
    } else this.#text += writer.between;
    this.#text += writer.row(fields);
    this.#rows += 1;
    if (this.#text.length < ((this.#stream ?? this.#pieces[0]) ? PIECE_CHARACTERS : WHOLE_CHARACTERS))
      return undefined;
    return this.#flush();
  }

  /** How many rows there are in all. */
  get count(): number {
    return this.#count;
  }

  /** All rows are here. Throws when they cannot be the answer. */
  verify(): void {
    if (this.#rows === 0) this.#parts.check?.(this.#columns, 0);
  }

  /** Sends what is not sent yet. Throws as `verify` does. */
  end(): void | Promise<void> {
    const { writer, contentType, head, most = Infinity } = this.#parts;
    this.verify();
    const text = this.#text + writer.close;
    if (this.#pieces.length > 0) return this.#sendPieces(text);
    if (this.#stream) {
      this.#stream.write(text);
      this.#stream.end();
    } else if (!this.#x.done) {
      const status = head(this.#count, this.#results);
      if (this.#count > most) this.#x.stream(status, contentType);
      else this.#x.send(status, contentType, text);
    }
  }

  async #sendPieces(last: string): Promise<void> {
    const { head, contentType } = this.#parts;
    const stream = this.#x.stream(head(this.#count, this.#results), contentType);
    for (const piece of this.#pieces) if (stream?.write(piece) === false) await stream.drained();
    stream?.write(last);
    stream?.end();
  }

  #flush(): Promise<void> | undefined {
    if (this.#parts.kept) {
      this.#pieces.push(Buffer.from(this.#text));
      this.#text = '';
      return undefined;
    }
    if (!this.#x.done) {
      const status = this.#parts.head(this.#count, this.#results);
      this.#stream = this.#x.stream(status, this.#parts.contentType);
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
export class BytesAnswer implements RowSink {
  readonly #x: Exchange;
  readonly #parts: Omit<AnswerParts, 'writer' | 'numbered'>;
  #results: Results = [];
  #columns: readonly Column[] = [];
  #row: Row | undefined;

  constructor(x: Exchange, parts: Omit<AnswerParts, 'writer' | 'numbered'>) {
    this.#x = x;
    this.#parts = parts;
  }

  begin(results: Results): void {
    this.#results = results;
    this.#row = undefined;
  }

  columns(columns: readonly Column[]): void {
    this.#columns = columns.slice(0, -1);
  }

  row(fields: Row): undefined {
    this.#row ??= fields;
  }

  get count(): number {
    return Number(this.#row?.at(-1) ?? 0);
  }

  /** Throws when what came cannot be the answer. */
  verify(): void {
    this.#parts.check?.(this.#columns, this.count);
  }

  end(): void {
    const { contentType, head } = this.#parts;
    this.verify();
    const bytes = fieldBytes(this.#row?.[0] ?? null, this.#columns[0] as Column);
    this.#x.send(head(this.count, this.#results), contentType, bytes);
  }
}
