import type { Column, Row } from '../session/index.ts';

/** Converts rows to text. Fields beyond the announced columns are ignored. */
export interface RowWriter {
  /** The text before the first row. */
  open(columns: readonly Column[]): string;
  row(fields: Row): string;
  readonly between: string;
  readonly close: string;
  /** The text in place of an empty list of rows. */
  readonly none?: string;
}

/** CSV with a header line; fields with commas, quotes or line ends are quoted (RFC 4180). */
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

/**
 * Quotes a field, with parentheses as in the text of a row. `empty` is written for the empty text, so that it differs
 * from NULL.
 */
function quoteCsv(text: string, empty = ''): string {
  if (text === '') return empty;
  return /[",()\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const BOOLEAN = 16;
const BYTEA = 17;
const XML = 142;

/** XML with an element per row and per column; NULL columns are omitted. */
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

/** XML is copied, except for documents with a prologue, which cannot be nested. */
function xmlValue(type: number, field: string): string {
  if (type === BOOLEAN) return String(field === 't');
  return type === XML && !/^\s*<[?!](?!--)/.test(field) ? field : xmlText(field);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xd;' };

/** Escapes a text. Control characters are not allowed in XML 1.0, even escaped. */
function xmlText(text: string): string {
  return text.replace(/[&<>\p{Cc}\ufffe\uffff]/gu, (character) => {
    if (character === '\t' || character === '\n' || (character >= '\x7f' && character < '\ufffe'))
      return character;
    return ENTITIES[character] ?? '\ufffd';
  });
}

/** A column name as in SQL/XML: characters that are not allowed in a name become `_x0020_`. */
function xmlName(name: string): string {
  const escaped = Array.from(name, (character, i) => {
    const allowed = i === 0 ? /[\p{L}_]/u : /[\p{L}\p{N}\p{M}_.-]/u;
    if (allowed.test(character) && !name.startsWith('_x', i)) return character;
    const code = (character.codePointAt(0) as number).toString(16).toUpperCase();
    return `_x${code.padStart(4, '0')}_`;
  });
  return escaped.join('');
}

/** The bytes of a field: those of a bytea, otherwise those of its text. */
export function fieldBytes(field: string | null, { dataTypeID }: Column): Buffer {
  if (field === null) return Buffer.alloc(0);
  return dataTypeID === BYTEA && field.startsWith('\\x')
    ? Buffer.from(field.slice(2), 'hex')
    : Buffer.from(field);
}
