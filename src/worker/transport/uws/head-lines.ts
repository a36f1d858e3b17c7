import type { HttpResponse } from 'uWebSockets.js';

/** Limits of the cached lines, because types and server tokens may contain parts of requests. */
const MAX_TYPES = 64;
const MAX_TOKENS = 16;

/** The first header lines of a response as one header: its name, and everything after it. */
interface HeadLine {
  readonly name: string | undefined;
  readonly value: string;
}

const NO_LINE: HeadLine = { name: undefined, value: '' };

/**
 * Caches the first header lines of responses, combined into the value of one header. uWebSockets.js writes values
 * unchanged, so that both lines take one native call instead of two.
 */
export class HeadLines {
  readonly #lines = new Map<string, Map<string, HeadLine>>();

  /** Returns `Server` and `Content-Type` as one header. An empty type or token sends no such header. */
  serverAnd(contentType: string, serverToken: string): HeadLine {
    let ofToken = this.#lines.get(serverToken);
    if (!ofToken) {
      ofToken = new Map();
      if (this.#lines.size < MAX_TOKENS) this.#lines.set(serverToken, ofToken);
    }
    let line = ofToken.get(contentType);
    if (line === undefined) {
      line = joined(contentType, serverToken);
      if (ofToken.size < MAX_TYPES) ofToken.set(contentType, line);
    }
    return line;
  }
}

function joined(contentType: string, serverToken: string): HeadLine {
  if (serverToken === '')
    return { name: contentType === '' ? undefined : 'Content-Type', value: contentType };
  const type = contentType === '' ? '' : `\r\nContent-Type: ${contentType}`;
  return { name: 'Server', value: serverToken + type };
}

/**
 * Writes `first`, then the headers (name, value, …) except `Date`: uWebSockets.js sends its own. They form the value of
 * one header, because a native call takes longer than joining the texts.
 */
export function writeHeaders(res: HttpResponse, headers: readonly string[], first = NO_LINE): void {
  let { name, value } = first;
  for (let index = 0; index < headers.length; index += 2) {
    const next = headers[index] as string;
    if (next.length === 4 && next.toLowerCase() === 'date') continue;
    if (name === undefined) {
      name = next;
      value = headers[index + 1] as string;
    } else value += `\r\n${next}: ${headers[index + 1] as string}`;
  }
  if (name !== undefined) res.writeHeader(name, value);
}
