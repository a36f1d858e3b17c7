import { withoutBlanks } from './field.ts';

const LF = 10;
const CR = 13;

/**
 * What stands before the colon of a header line: neither blanks nor control bytes. RFC 9110, 5.1 is narrower; who reads the
 * head decides about the names that are no tokens.
 */
const NAME = /^[\x21-\x39\x3b-\x7e\x80-\xff]+$/;

/** Who takes the header lines of a head. */
export interface LineReceiver {
  /**
   * Whether a line without a colon is a name without a value. Clients may not send one: another server could take it for a part
   * of the line before. nginx takes it from upstreams, and there are some.
   */
  readonly takesBareNames: boolean;
  /** `value` has one character per byte, and no blanks around it. False refuses the line. */
  field(name: string, value: string): boolean;
}

/**
 * Where the head ends whose lines go on at `from`: behind its first empty line; -1 while that did not come. Lines end with CRLF
 * or with LF alone (RFC 9112, 2.2), and a CR that comes alone ends nothing. What was looked at before need not be looked at
 * again, but for its last two bytes.
 */
export function headEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1];
    if (next === LF) return at + 2;
    if (next === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

/** Length of the empty line at a place; 0 where there is none. */
export function emptyLineAt(bytes: Buffer, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}

/** The line of `text` from `from` to the line feed at `newline`, or to the end that came so far: without the CR before it. */
export function lineOf(text: string, from: number, newline: number): string {
  return text.slice(from, text.charCodeAt(newline - 1) === CR ? newline - 1 : newline);
}

/**
 * Reads the header lines of a head from `from` on, up to its empty line; `text` has one character per byte. Gives the first line
 * that is no header: a folded one, one with a blank in its name or before its colon. Those are what two parsers read
 * differently.
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

/** One header line. */
export function headerLine(name: string, value: string | number): string {
  return `${name}: ${value}\r\n`;
}

/** The lines of headers that come as name, value, name, value … */
export function headerLines(fields: readonly string[]): string {
  let text = '';
  for (let index = 0; index < fields.length; index += 2) {
    text += `${fields[index] as string}: ${fields[index + 1] as string}\r\n`;
  }
  return text;
}
