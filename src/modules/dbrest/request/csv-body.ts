import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CsvError } from 'csv-parse';
import { invalidBody, tooLarge, unequalLines } from '../fault/index.ts';
import { JsonWriter } from './json-writer.ts';

/** Lines of a CSV as an array of JSON objects, each member called by its place: `{"1":"a","2":null}`. */
export interface CsvRows {
  readonly json: readonly Buffer[];
  /** The names in the first line. */
  readonly names: readonly string[];
}

/** Between two pieces of this size others have their turn. */
const PIECE_BYTES = 32_768;
const LONG_FIELD = 65_536;
const MOST_FIELDS = 1_600;
/** As PostgREST: the word stands for no value. */
const NO_VALUE = 'NULL';

/** A CSV body (RFC 4180) with a line of names in front. Throws PGRST102. */
export async function readCsv(bytes: Buffer): Promise<CsvRows> {
  if (!isUtf8(bytes)) throw invalidCsv();
  const csv = await import('csv-parse');
  const parser = csv.parse({ bom: true, skip_empty_lines: true });
  const lines = Readable.from(piecesOf(bytes)).pipe(parser) as AsyncIterable<readonly string[]>;
  const writer = new JsonWriter();
  let names: readonly string[] | undefined;
  let rows = 0;
  try {
    for await (const line of lines) {
      if (!names) names = namesIn(line);
      else {
        writer.write(rows === 0 ? '[{' : '},{');
        rows += 1;
        for (const [i, field] of line.entries()) {
          writer.write(`${i === 0 ? '' : ','}"${i + 1}":`);
          if (field.length > LONG_FIELD) await writer.writeLong(field);
          else writer.write(field === NO_VALUE ? 'null' : JSON.stringify(field));
        }
      }
    }
  } catch (error) {
    throw error instanceof csv.CsvError ? faultOf(error) : error;
  }
  if (!names) throw invalidCsv();
  writer.write(rows === 0 ? '[]' : '}]');
  return { json: writer.finish(), names };
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield bytes.subarray(from, from + PIECE_BYTES);
    await nextTurn();
  }
}

function namesIn(line: readonly string[]): readonly string[] {
  if (line.length > MOST_FIELDS) throw tooLarge(`a row has at most ${MOST_FIELDS} columns`);
  return line;
}

function invalidCsv(line?: unknown): Error {
  return invalidBody(`Empty or invalid csv${typeof line === 'number' ? ` at line ${line}` : ''}`);
}

/** What the parser says holds parts of the body, so it is not passed on. */
function faultOf({ code, lines }: CsvError): Error {
  return code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH' ? unequalLines() : invalidCsv(lines);
}
