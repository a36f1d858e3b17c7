import { isUtf8 } from 'node:buffer';
import {
  Framing,
  joinConnection,
  keepsAlive,
  lineOf,
  type LineReceiver,
  readHeaderLines,
  readStatusLine,
  UNSAID,
} from '../../../http1/index.ts';
import { invalidResponse } from './fault.ts';

/** Status line and headers of a peer's response. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** Name, value, name, value …, as received. */
  readonly headers: readonly string[];
  /** Bytes of the body, or `CHUNKED`, or `UNSAID`: it ends with its connection. */
  readonly bodyBytes: number;
  /** What `Content-Length` says, also where no body follows (HEAD); -1: nothing. */
  readonly announcedBytes: number;
  /** The peer leaves its connection open. */
  readonly keepsAlive: boolean;
}

/** Reads a complete head (`text` in latin1). Throws an `UpstreamFault` for whatever two parsers could read differently. */
export function readHead(text: string, { method }: { readonly method: string }): ResponseHead {
  const lineEnd = text.indexOf('\n');
  const line = readStatusLine(lineOf(text, 0, lineEnd));
  if (!line) throw invalidResponse('upstream sent no valid HTTP/1.0 header');
  const { status, reason, isHttp11 } = line;
  const reading = new HeaderReading();
  const invalid = readHeaderLines(text, lineEnd + 1, reading);
  if (invalid !== undefined) {
    throw invalidResponse(`upstream sent invalid header: "${printable(invalid)}\\x0d..."`);
  }
  const { bodyBytes } = reading.framing;
  const isBare = method === 'HEAD' || status === 204 || status === 304 || status < 200;
  return {
    status,
    reason: reason === 'OK' ? reason : decoded(reason),
    headers: reading.headers,
    bodyBytes: isBare ? 0 : bodyBytes,
    announcedBytes: Math.max(bodyBytes, -1),
    keepsAlive: (isBare || bodyBytes !== UNSAID) && keepsAlive(reading.connection, isHttp11),
  };
}

/** Bytes that are not ASCII are UTF-8 where they can be, so that they leave as they came. */
function decoded(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : text;
}

const NOT_ASCII = /[\x80-\xff]/;

/** The header lines of one head, and what they say of its body and connection. */
class HeaderReading implements LineReceiver {
  readonly takesBareNames = true;
  readonly headers: string[] = [];
  readonly framing = new Framing();
  connection = '';
  private lengthLine = '';

  field(name: string, value: string): boolean {
    // Other control bytes cost a response one header, not all of it.
    if (value.includes('\0')) return false;
    this.headers.push(name, decoded(value));
    // The names that frame a response have these lengths; no other name costs a lower-case copy.
    if (name.length === 14 || name.length === 17 || name.length === 10) this.frame(name, value);
    return true;
  }

  private frame(name: string, value: string): void {
    const lowerCase = name.toLowerCase();
    if (lowerCase === 'connection') this.connection = joinConnection(this.connection, value);
    else if (lowerCase === 'content-length') this.takeLength(`${name}: ${value}`, value);
    else if (lowerCase === 'transfer-encoding') this.takeEncoding(`${name}: ${value}`, value);
  }

  private takeLength(line: string, value: string): void {
    this.framing.takeLength(value);
    this.judge(line);
    this.lengthLine = line;
  }

  private takeEncoding(line: string, value: string): void {
    this.framing.takeEncoding(value);
    this.judge(line);
  }

  /** Each line when it comes: the log shows the first that is wrong. */
  private judge(line: string): void {
    const { fault } = this.framing;
    if (!fault) return;
    const said = `"${printable(line)}"`;
    const messages: Readonly<Record<typeof fault, string>> = {
      both: '"Content-Length" and "Transfer-Encoding" headers at the same time',
      encoding: `unknown "Transfer-Encoding": "${printable(this.framing.encoding)}"`,
      encodings: `duplicate header line: ${said}`,
      length: `invalid "Content-Length" header: ${said}`,
      lengths: `duplicate header line: ${said}, previous value: "${printable(this.lengthLine)}"`,
    };
    throw invalidResponse(`upstream sent ${messages[fault]}`);
  }
}

/** As the error log prints bytes of a stranger. */
function printable(text: string): string {
  return text
    .slice(0, 100)
    .replace(/[^\x20-\x7e]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
