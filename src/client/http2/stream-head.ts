import { isUtf8 } from 'node:buffer';
import { hasNoBody, HTTP2_CODES, statusLine } from '../../http/index.ts';
import { CHUNKED } from '../../http1/index.ts';
import { invalidResponse, type Stage, systemFault, UpstreamFault } from '../fault.ts';
import type { ResponseHead } from '../response-head.ts';

/** A block of header fields as it arrives: name, value … in latin1. */
type FieldBlock = readonly string[];

const NOT_PLAIN = /[^\t\x20-\x7e]/;
const LENGTH = /^\d{1,15}$/;

/** Returns the head of a response from its header fields. `isBare`: no body follows. Throws an `UpstreamFault`. */
export function readStreamHead(
  block: FieldBlock,
  { method, isBare }: { readonly method: string; readonly isBare: boolean },
): ResponseHead {
  const status = Number(block[block.indexOf(':status') + 1]);
  const headers = readFields(block);
  const length = lengthOf(headers);
  const hasNone = isBare || method === 'HEAD' || hasNoBody(status);
  return {
    status,
    reason: statusLine(status).slice(4),
    headers,
    isPlain: headers.every((text) => !NOT_PLAIN.test(text)),
    // A body without a length may have trailers after it, like a chunked one.
    bodyBytes: hasNone ? 0 : length < 0 ? CHUNKED : length,
    announcedBytes: isBare ? Math.max(length, 0) : length,
    keepsAlive: true,
    mayHaveTrailers: !hasNone,
  };
}

/** Returns the fields of a block without its pseudo-headers; values that are UTF-8 are decoded. */
export function readFields(block: FieldBlock): readonly string[] {
  const fields: string[] = [];
  for (let index = 0; index < block.length; index += 2) {
    const name = block[index] as string;
    if (!name.startsWith(':')) fields.push(name, decoded(block[index + 1] as string));
  }
  return fields;
}

function decoded(text: string): string {
  if (!NOT_PLAIN.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : text;
}

/** Returns the size of a block, as if it were the lines of HTTP/1. Throws an `UpstreamFault` if it is too large. */
export function measured(block: FieldBlock, mostBytes: number, stage: Stage): number {
  let bytes = 0;
  for (const text of block) bytes += text.length + 2;
  if (bytes <= mostBytes) return bytes;
  const what = stage === 'reading upstream' ? 'trailers' : 'header';
  throw invalidResponse(`upstream sent too big ${what}`, stage);
}

/** -1: the response has no valid length. nghttp2 has compared it with the body that arrived. */
function lengthOf(headers: readonly string[]): number {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name === 'content-length');
  const value = headers[at + 1] ?? '';
  return at >= 0 && LENGTH.test(value) ? Number(value) : -1;
}

/** Returns the fault for an error of the operating system or of nghttp2 that ends a connection. */
export function connectionFault(error: Error & { readonly code?: string }, stage: Stage): UpstreamFault {
  if (error.code?.startsWith('ERR_') !== true) return systemFault(error, stage);
  return new UpstreamFault('error', `upstream violated HTTP/2: ${error.message} while ${stage}`);
}

/** Names of error codes (RFC 9113, 7), for the log. */
export function errorName(code: number): string {
  const found = Object.entries(HTTP2_CODES).find(([, value]) => value === code);
  return found ? `${code} (${found[0]})` : String(code);
}
