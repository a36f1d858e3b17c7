import { isUtf8 } from 'node:buffer';
import { pipeline } from 'node:stream/promises';
import type { CsvError } from 'csv-parse';
import { invalidBody, tooLarge, unequalLines } from '../fault/index.ts';
import type { Turn } from '../event-loop.ts';

/** Longer texts are written in pieces, with yields to the event loop. */
const PIECE_CHARACTERS = 65_536;

/** Collects JSON text as pieces of UTF-8. */
class JsonWriter {
  readonly #pieces: Buffer[] = [];
  readonly #turn: Turn;
  #text = '';

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Adds text that is already JSON. */
  write(json: string): void {
    this.#text += json;
    if (this.#text.length >= PIECE_CHARACTERS) this.#flush();
  }

  /** Adds a text of any length as a JSON string. */
  async writeLong(text: string): Promise<void> {
    this.write('"');
    for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
      // A surrogate pair that is split here becomes two escapes, which form a pair again.
      this.write(JSON.stringify(text.slice(from, from + PIECE_CHARACTERS)).slice(1, -1));
      await this.#turn();
    }
    this.write('"');
  }

  /** The complete text. */
  finish(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

/** The lines of a CSV body as a JSON array of objects with numbered members: `{"1":"a","2":null}`. */
interface CsvRows {
  readonly json: readonly Buffer[];
  /** The column names of the first line. */
  readonly names: readonly string[];
  readonly rows: number;
}

/** Bytes parsed between two yields to the event loop. */
const PIECE_BYTES = 32_768;
const LONG_FIELD = 65_536;
const MOST_FIELDS = 1_600;
const LINE_ENDS = ['\r\n', '\n', '\r'];
/** A field that stands for SQL NULL, as in PostgREST. */
const NO_VALUE = 'NULL';

/** Reads a CSV body (RFC 4180) with a header line. Throws PGRST102. */
export async function readCsv(bytes: Buffer, turn: Turn): Promise<CsvRows> {
  if (!isUtf8(bytes)) throw invalidCsv();
  const csv = await import('csv-parse');
  const parser = csv.parse({ bom: true, skip_empty_lines: true, record_delimiter: LINE_ENDS });
  const writer = new JsonWriter(turn);
  let names: readonly string[] | undefined;
  let rows = 0;
  const write = async (lines: AsyncIterable<readonly string[]>): Promise<void> => {
    for await (const line of lines) {
      if (names) await writeRow(line, writer, rows++);
      else names = line;
    }
  };
  try {
    await pipeline(piecesOf(bytes, turn), parser, write);
  } catch (error) {
    throw error instanceof csv.CsvError ? faultOf(error) : error;
  }
  if (!names) throw invalidCsv();
  writer.write(rows === 0 ? '[]' : '}]');
  return { json: writer.finish(), names, rows };
}

async function writeRow(line: readonly string[], writer: JsonWriter, before: number): Promise<void> {
  writer.write(before === 0 ? '[{' : '},{');
  for (const [i, field] of line.entries()) {
    writer.write(`${i === 0 ? '' : ','}"${i + 1}":`);
    if (field.length > LONG_FIELD) await writer.writeLong(field);
    else writer.write(field === NO_VALUE ? 'null' : JSON.stringify(field));
  }
}

async function* piecesOf(bytes: Buffer, turn: Turn): AsyncGenerator<Buffer> {
  const width = new LineWidth();
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    const piece = bytes.subarray(from, from + PIECE_BYTES);
    width.add(piece);
    yield piece;
    await turn();
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Counts the fields of a line before the parser stores them: an empty field needs more memory than its comma. */
class LineWidth {
  #commas = 0;
  #isQuoted = false;

  /** Throws PGRST100 when a line has more fields than a table can have columns. */
  add(piece: Buffer): void {
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      else if (this.#isQuoted) continue;
      else if (byte === COMMA) {
        this.#commas += 1;
        if (this.#commas === MOST_FIELDS) throw tooLarge(`a row has at most ${MOST_FIELDS} columns`);
      } else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.#commas = 0;
    }
  }
}

function invalidCsv(line?: unknown): Error {
  return invalidBody(`Empty or invalid csv${typeof line === 'number' ? ` at line ${line}` : ''}`);
}

/** The parser's message contains parts of the body and is not passed on. */
function faultOf({ code, lines }: CsvError): Error {
  return code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH'
    ? unequalLines(typeof lines === 'number' ? lines : undefined)
    : invalidCsv(lines);
}
