import { invalidJson, unreadableBody } from '../fault/index.ts';
import { readCsv } from './csv-body.ts';
import { readForm } from './form-body.ts';
import { scanJson } from './json-scan.ts';
import type { Turn } from './turn.ts';

/** The body of a request, whole, and how it is read. */
export interface ReceivedBody {
  /** Media type in lower case, without parameters. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly turn: Turn;
}

/** Rows to be written, as one JSON text. */
export interface WrittenBody {
  readonly json: Buffer | readonly Buffer[];
  /** A single row, or an array of rows. */
  readonly kind: 'object' | 'array';
  /** The columns that the rows have; empty where the request names them itself. */
  readonly keys: readonly string[];
  /** The members of the JSON are not called by their column but by its place among the keys: `1`, `2` … */
  readonly byPlace?: true;
  /** All values are texts as the database writes them, JSON as well. */
  readonly isText?: true;
}

/** Media types of JSON bodies. */
export const JSON_TYPE = /^application\/(?:json|vnd\.(?:pgrst|dbrest)\.(?:object|array)(?:\+json)?)$/;

/** The rows of a body by its media type. `named`: the request says which columns count. Throws PGRST102. */
export async function readWritten({ type, bytes, turn }: ReceivedBody, named: boolean): Promise<WrittenBody> {
  switch (type) {
    case 'text/csv': {
      const { json, names } = await readCsv(bytes, turn);
      return { json, kind: 'array', keys: names, byPlace: true, isText: true };
    }
    case 'application/x-www-form-urlencoded': {
      const { json, names } = await readForm(bytes, turn);
      return { json, kind: 'object', keys: names, isText: true };
    }
  }
  if (!JSON_TYPE.test(type)) throw unreadableBody(type);
  const { kind, keys } = await scanJson(bytes, named ? 'any' : 'same', turn);
  if (kind === 'scalar') throw invalidJson();
  return { json: bytes, kind, keys };
}
