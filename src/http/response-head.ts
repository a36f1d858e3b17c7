import { hasNoBody, isSafeHeaderName, isSafeHeaderValue } from '../http1/index.ts';
import { firstOf, joinedOf, removeAll } from './header-list.ts';
import { statusLine } from './status.ts';

/** Clients limit the length of the status line as they limit a header. */
const LONGEST_REASON = 1_000;

/** Receives a warning for each value that was dropped. */
interface WarningSink {
  writeLog(message: string): void;
}

/** A header that engines add to a response without one; uWebSockets.js always adds its own `Date`. */
type OwnHeader = 'server' | 'date';

/** The rate at which the body of a response is sent (nginx: `limit_rate`), as far as it is set. */
export interface ResponseRate {
  /** 0: no limit. */
  readonly bytesPerSecond?: number;
  /** Bytes that are sent before the limit applies. */
  readonly afterBytes?: number;
}

/** The head of a response until it is sent, and the rate of its body. */
export class ResponseHead {
  /** The reason phrase, if it is not the standard one. */
  reason: string | undefined = undefined;
  /** `Content-Type`; '' sends none. Filters may change it. */
  type = '';
  /** Length of the body for filters; -1 if it is not known yet. */
  lengthBytes = -1;
  /** Headers other than the fixed ones, as a flat list: name, value, name, value … */
  headers: string[] | undefined = undefined;
  /** Returns the trailer fields; called at the end of a chunked body. A response with trailers is chunked. */
  trailers: (() => readonly string[]) | undefined = undefined;
  /** Set before the body begins. */
  rate: ResponseRate | undefined = undefined;
  /** True when status and headers are final, so that the client will get this head. */
  isDecided = false;
  /** The head as sent, if the engine writes it itself. */
  sentText: string | undefined = undefined;
  readonly #owner: WarningSink;
  #omitted: Set<OwnHeader> | undefined = undefined;

  constructor(owner: WarningSink) {
    this.#owner = owner;
  }

  /** Sets the type, and makes the response final unless a filter fails. */
  decide(type: string): void {
    this.type = type;
    this.isDecided = true;
  }

  /** True if the body is sent at a limited rate. */
  get isThrottled(): boolean {
    return this.rate !== undefined && (this.rate.bytesPerSecond ?? 0) > 0;
  }

  /** Changes the rate of a response that has not begun. */
  changeRate(change: ResponseRate): void {
    this.rate = { ...this.rate, ...change };
  }

  /** Returns the first value of a header; names are compared without case. */
  header(name: string): string | undefined {
    return firstOf(this.headers, name);
  }

  /** Returns all values of a header, joined with commas. */
  joinedHeader(name: string): string | undefined {
    return joinedOf(this.headers, name);
  }

  /** Adds a header. A header with a control character is dropped, and that is logged. */
  setHeader(name: string, value: string): void {
    if (isSafeHeaderName(name) && isSafeHeaderValue(value)) (this.headers ??= []).push(name, value);
    else this.#owner.writeLog(`header "${name}" is dropped: control character in its value`);
  }

  /** Adds a header whose name and value are known to be safe because they are built from constants. */
  setKnownHeader(name: string, value: string): void {
    (this.headers ??= []).push(name, value);
  }

  /** Replaces all headers with this name. */
  replaceHeader(name: string, value: string): void {
    this.removeHeader(name);
    this.setHeader(name, value);
  }

  removeHeader(name: string): void {
    removeAll(this.headers, name);
  }

  /** Removes the headers for whose lower-case names `isMeant` returns true. */
  removeHeaders(isMeant: (name: string) => boolean): void {
    const { headers } = this;
    for (let index = (headers?.length ?? 0) - 2; headers && index >= 0; index -= 2)
      if (isMeant((headers[index] as string).toLowerCase())) headers.splice(index, 2);
  }

  /** Keeps the engine from adding a header of its own. */
  omit(name: OwnHeader): void {
    (this.#omitted ??= new Set()).add(name);
  }

  /** Tells whether the engine adds its own header. */
  adds(name: OwnHeader): boolean {
    return this.#omitted?.has(name) !== true && (!this.headers || this.header(name) === undefined);
  }

  /** Sets the reason phrase. A phrase that is too long or has a control character is dropped, and that is logged. */
  setReason(phrase: string): void {
    if (phrase.length <= LONGEST_REASON && isSafeHeaderValue(phrase)) this.reason = phrase;
    else this.#owner.writeLog('reason phrase is dropped: control character in it, or too long');
  }

  /** Returns the trailer fields: name, value … A failure gives none, because the head is already sent. */
  trailerFields(): readonly string[] {
    try {
      return this.trailers?.() ?? [];
    } catch (error) {
      this.#owner.writeLog(`the trailers of a response could not be made: ${String(error)}`);
      return [];
    }
  }

  /** Removes everything that configuration and modules have added to the head. */
  clear(): void {
    this.headers = this.reason = this.trailers = this.#omitted = undefined;
    this.isDecided = false;
  }
}

/** The parts of an exchange that its head is made of. */
export interface HeadedResponse {
  readonly status: number;
  readonly serverToken: string;
  readonly response: ResponseHead;
}

/** `HTTP/1.1 `, and the line ends of the status line and of the head. */
const FRAME_BYTES = 9 + 2 + 2;
/** The header that uWebSockets.js adds. */
const FIXED_BYTES = 'Date: Sat, 21 Nov 2026 00:00:00 GMT\r\n'.length;

/** Returns the size of a response's head. uWebSockets.js does not report it, so it is computed from its parts. */
export function headBytes(x: HeadedResponse): number {
  const { sentText } = x.response;
  return sentText === undefined ? computedBytes(x) : Buffer.byteLength(sentText);
}

function computedBytes(x: HeadedResponse): number {
  let bytes = FRAME_BYTES + FIXED_BYTES + statusLine(x.status, x.response.reason).length + lengthBytes(x);
  if (x.serverToken !== '') bytes += lineBytes('Server', x.serverToken);
  if (x.response.type !== '') bytes += lineBytes('Content-Type', x.response.type);
  const { headers = [] } = x.response;
  for (let index = 0; index < headers.length; index += 2)
    bytes += lineBytes(headers[index] as string, headers[index + 1] as string);
  return bytes;
}

/** Returns the size of the header line that frames the body. */
function lengthBytes({ status, response }: HeadedResponse): number {
  if (hasNoBody(status)) return 0;
  if (response.lengthBytes < 0) return lineBytes('Transfer-Encoding', 'chunked');
  return lineBytes('Content-Length', String(response.lengthBytes));
}

function lineBytes(name: string, value: string): number {
  return name.length + 2 + Buffer.byteLength(value) + 2;
}
