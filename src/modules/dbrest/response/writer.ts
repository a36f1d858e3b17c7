import type { Column, Row } from '../session/index.ts';

/** Turns rows into the text of a response. What a row has beyond its columns is no part of it. */
export interface RowWriter {
  /** What stands before the first row. */
  open(columns: readonly Column[]): string;
  row(fields: Row): string;
  readonly between: string;
  readonly close: string;
  /** What stands there instead of rows when there is none. */
  readonly none?: string;
}

/** Rows that are texts already. */
export function joined(open: string, between: string, close: string): RowWriter {
  return { open: () => open, row: ([text]) => text ?? '', between, close };
}

/** A header line and a line per row; what holds a comma, a quote or an end of line is quoted (RFC 4180). */
export function csvWriter(): RowWriter {
  let width = 0;
  return {
    open(columns) {
      width = columns.length;
      return `${columns.map(({ name }) => quoteCsv(name)).join(',')}\n`;
    },
    row: (fields) =>
      fields
        .slice(0, width)
        .map((field) => (field === null ? '' : quoteCsv(field, '""')))
        .join(','),
    between: '\n',
    close: '',
  };
}

/** `empty`: the empty text, as against nothing at all, which is NULL. */
function quoteCsv(text: string, empty = ''): string {
  if (text === '') return empty;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const BOOLEAN = 16;
const BYTEA = 17;
const XML = 142;

/** An element per column in one per row; a column that is NULL is left out. */
export function xmlWriter(): RowWriter {
  let tags: readonly (readonly [name: string, type: number])[] = [];
  return {
    open(columns) {
      tags = columns.map(({ name, dataTypeID }) => [xmlName(name), dataTypeID] as const);
      return '<?xml version="1.0" encoding="UTF-8"?><root>';
    },
    row: (fields) =>
      `<row>${tags.map(([name, type], i) => element(name, type, fields[i] ?? null)).join('')}</row>`,
    between: '',
    close: '</root>',
  };
}

function element(name: string, type: number, field: string | null): string {
  if (field === null) return '';
  return `<${name}>${xmlValue(type, field)}</${name}>`;
}

/** XML stays what it is, but for a whole document with a prologue: that cannot stand inside another. */
function xmlValue(type: number, field: string): string {
  if (type === BOOLEAN) return String(field === 't');
  return type === XML && !/^\s*<[?!](?!--)/.test(field) ? field : xmlText(field);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xd;' };

/** Control characters have no place in XML 1.0, not even escaped. */
function xmlText(text: string): string {
  return text.replace(/[&<>\p{Cc}\ufffe\uffff]/gu, (character) => {
    if (character === '\t' || character === '\n' || (character >= '\x7f' && character < '\ufffe'))
      return character;
    return ENTITIES[character] ?? '\ufffd';
  });
}

/** A column's name as PostgreSQL writes it (SQL/XML): what cannot stand in a name becomes `_x0020_`. */
export function xmlName(name: string): string {
  const escaped = Array.from(name, (character, i) => {
    const allowed = i === 0 ? /[\p{L}_]/u : /[\p{L}\p{N}\p{M}_.-]/u;
    if (allowed.test(character) && !name.startsWith('_x', i)) return character;
    const code = (character.codePointAt(0) as number).toString(16).toUpperCase();
    return `_x${code.padStart(4, '0')}_`;
  });
  return escaped.join('');
}

/** The bytes that a field is: those of a bytea, else those of its text. */
export function fieldBytes(field: string | null, { dataTypeID }: Column): Buffer {
  if (field === null) return Buffer.alloc(0);
  return dataTypeID === BYTEA && field.startsWith('\\x')
    ? Buffer.from(field.slice(2), 'hex')
    : Buffer.from(field);
}
