import { withoutBlanks } from './field.ts';

const LF = 10;
const CR = 13;

/**
 * A field name: neither blanks nor control bytes. RFC 9110, 5.1 allows fewer characters; the receiver decides about
 * names that are no tokens.
 */
const NAME = /^[\x21-\x39\x3b-\x7e\x80-\xff]+$/;

/** Receives the header lines of a head. */
export interface LineReceiver {
  /**
   * True to accept a line without a colon as a name without a value. Clients may not send such a line, since another
   * server could read it as a part of the line before. nginx accepts it from upstreams, and some send it.
   */
  readonly takesBareNames: boolean;
  /** `value` has one character per byte and no surrounding blanks. Returning false refuses the line. */
  field(name: string, value: string): boolean;
}

/**
 * Returns the position after the first empty line at or after `from`, which ends a head; -1 if there is none yet. Lines
 * end with CRLF or a bare LF (RFC 9112, 2.2); a bare CR does not end a line. A search that continues may start two
 * bytes before the end of the bytes searched before.
 */
export function headEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1];
    if (next === LF) return at + 2;
    if (next === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

/** Returns the length of the empty line at a position; 0 if there is none. */
export function emptyLineAt(bytes: Buffer, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}

/**
 * Returns the line of `text` from `from` to the line feed at `newline` (or the end of the text so far), without its CR.
 */
export function lineOf(text: string, from: number, newline: number): string {
  return text.slice(from, text.charCodeAt(newline - 1) === CR ? newline - 1 : newline);
}

/**
 * Reads the header lines of a head from `from` up to its empty line; `text` has one character per byte. Returns the
 * first invalid line: a folded line, or one with a blank in its name or before its colon. Parsers disagree about these.
 */
export function readHeaderLines(text: string, from: number, receiver: LineReceiver): string | undefined {
  let at = from;
  for (let newline = text.indexOf('\n', at); newline >= 0; newline = text.indexOf('\n', at)) {
    const line = lineOf(text, at, newline);
    at = newline + 1;
    if (line === '') return undefined;
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : withoutBlanks(line, colon + 1);
    if (colon < 0 && !receiver.takesBareNames) return line;
    if (!NAME.test(name) || !receiver.field(name, value)) return line;
  }
  return undefined;
}

/** Returns one header line. */
export function headerLine(name: string, value: string | number): string {
  return `${name}: ${value}\r\n`;
}

/** Returns the header lines for a flat list: name, value, name, value … */
export function headerLines(fields: readonly string[]): string {
  let text = '';
  for (let index = 0; index < fields.length; index += 2) {
    text += `${fields[index] as string}: ${fields[index + 1] as string}\r\n`;
  }
  return text;
}
