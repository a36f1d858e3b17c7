import type { HttpResponse } from 'uWebSockets.js';

/** Types and server names that a configuration or an upstream makes up from a request must not fill the memory. */
const MAX_TYPES = 64;
const MAX_TOKENS = 16;

/** The first header lines of an answer in one: its first name, and what stands behind that. */
interface HeadLine {
  readonly name: 'Server' | 'Content-Type' | undefined;
  readonly value: string;
}

/**
 * The first header lines of an answer as the value of one header. uWebSockets.js writes values as they are, so both lines
 * go in with one call into native code instead of two.
 */
export class HeadLines {
  private readonly lines = new Map<string, Map<string, HeadLine>>();

  /** '' as type or token sends no such header. */
  serverAnd(contentType: string, serverToken: string): HeadLine {
    let ofToken = this.lines.get(serverToken);
    if (!ofToken) {
      ofToken = new Map();
      if (this.lines.size < MAX_TOKENS) this.lines.set(serverToken, ofToken);
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

/** Writes headers (name, value, …), without a `Date`: uWebSockets.js has one of its own, and would send both. */
export function writeHeaders(res: HttpResponse, headers: readonly string[]): void {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'date') continue;
    res.writeHeader(name, headers[index + 1] as string);
  }
}
