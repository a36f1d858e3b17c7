import { methodRefusal, parseHost } from '../../http/index.ts';
import { Framing, isSafeHeaderValue } from '../../http1/index.ts';
import type { PortHandler, RequestNeeds } from '../../compile/index.ts';

/** uWebSockets.js stops at 100 headers; a request that comes near is refused before it is cut. */
const MAX_HEADERS = 98;

/** A header name that every program reads alike; names come in lower case. */
const PLAIN_NAME = /^[a-z0-9-]+$/;
const UNDERSCORED_NAME = /^[a-z0-9_-]+$/;

/** Where the error log says that a request was refused. */
export const IN_HEADERS = 'while reading client request headers';
export const IN_LINE = 'while reading client request line';

const NO_HEADERS: string[] = [];

/**
 * One pass over the headers of a request: what framing and routing need, and the headers that the build asked for.
 * uWebSockets.js takes the first of two lengths, any Transfer-Encoding as chunked and control bytes in values: whatever
 * two parsers could read differently is refused here. One object serves a port; `start` clears it for each request.
 */
export class HeadScan {
  host: string | undefined = undefined;
  /** -1 for a chunked body. */
  contentLength = 0;
  hasLength = false;
  headers: string[] = NO_HEADERS;
  headBytes = 0;
  referrer: string | undefined = undefined;
  /** Why a request is refused, in nginx's words. */
  complaint = '';
  #otherHost = '';
  #hosts = 0;
  readonly #framing = new Framing();
  #count = 0;
  #longest = 0;
  #forbidden = false;
  readonly #needs: RequestNeeds;
  readonly #limits: PortHandler['head'];
  readonly #mostHeaders: number;
  /** Without it nothing is kept, and no name is looked up. */
  readonly #keepsHeaders: boolean;
  /** Lengths of the names that were asked for: most headers are told apart by that alone. */
  readonly #lengthsAsked: boolean[] = [];
  /** Clients of a port mostly send the same Host: the last one and its name, once it was found good. */
  #lastHost = '';
  #lastName: string | undefined = undefined;

  /** `mostHeaders`: how many the engine can take. */
  constructor({ needs, head }: Pick<PortHandler, 'needs' | 'head'>, mostHeaders = MAX_HEADERS) {
    this.#needs = needs;
    this.#limits = head;
    this.#mostHeaders = mostHeaders;
    this.#keepsHeaders = needs.allHeaders || needs.headers.size > 0;
    for (const name of needs.headers) this.#lengthsAsked[name.length] = true;
  }

  start(): void {
    this.host = this.referrer = undefined;
    this.contentLength = 0;
    this.hasLength = false;
    this.headers = NO_HEADERS;
    this.headBytes = 0;
    this.#hosts = this.#count = this.#longest = 0;
    this.#framing.start();
    this.#forbidden = false;
  }

  /** For `req.forEach`; names come in lower case. */
  readonly visit = (name: string, value: string): void => {
    const size = name.length + value.length;
    this.#count++;
    this.headBytes += size + 4;
    if (size > this.#longest) this.#longest = size;
    if (name === '' || !isSafeHeaderValue(value)) this.#forbidden = true;
    if (name === 'host') {
      if (this.#hosts++ === 0) this.host = value;
      else this.#otherHost = value;
    } else if (name === 'content-length') this.#framing.takeLength(value);
    else if (name === 'transfer-encoding') this.#framing.takeEncoding(value);
    else if (name === 'referer') this.referrer = value;
    if (!this.#keepsHeaders || !this.#wants(name)) return;
    // Many requests have none of those that are asked for.
    if (this.headers === NO_HEADERS) this.headers = [name, value];
    else this.headers.push(name, value);
  };

  /** Whether somebody asked for a header, and its name is one that may count. */
  #wants(name: string): boolean {
    if (!this.#needs.allHeaders && this.#lengthsAsked[name.length] !== true) return false;
    if (PLAIN_NAME.test(name)) return this.#needs.allHeaders || this.#needs.headers.has(name);
    const { underscores, ignoresInvalid } = this.#limits;
    const counts = UNDERSCORED_NAME.test(name) ? underscores || !ignoresInvalid : !ignoresInvalid;
    return counts && (this.#needs.allHeaders || this.#needs.headers.has(name.replaceAll('_', '-')));
  }

  /** The name in the Host header; `undefined` when it is malformed. */
  hostName(): string | undefined {
    const host = this.host ?? '';
    if (host !== this.#lastHost) [this.#lastHost, this.#lastName] = [host, parseHost(host)];
    return this.#lastName;
  }

  /** 0 when the request may go on, else the status that refuses it. */
  refusal(method: string, isHttp11 = true): number {
    const { lineBytes, bytes, maxHeaders } = this.#limits;
    const refused = methodRefusal(method, this.#needs.anyMethod);
    if (refused === 405) return this.refuse(405, `client sent ${method} method ${IN_HEADERS}`);
    if (refused === 400) return this.refuse(400, `client sent invalid method ${IN_LINE}`);
    if (this.#forbidden) return this.refuse(400, `client sent invalid header line ${IN_HEADERS}`);
    if (this.#hosts > 1) {
      const hosts = `"Host: ${this.#otherHost}", previous value: "Host: ${this.host}"`;
      return this.refuse(400, `client sent duplicate host header: ${hosts} ${IN_HEADERS}`);
    }
    if (this.#count > this.#mostHeaders)
      return this.refuse(431, `client sent too many headers ${IN_HEADERS}`);
    if (this.#count > maxHeaders) return this.refuse(494, `client sent too many headers ${IN_HEADERS}`);
    if (this.#longest > lineBytes || this.headBytes > bytes)
      return this.refuse(494, `client sent too long header line ${IN_HEADERS}`);
    return this.#framingRefusal(isHttp11);
  }

  /** Notes why, for the log. */
  refuse(status: number, complaint: string): number {
    this.complaint = complaint;
    return status;
  }

  #framingRefusal(isHttp11: boolean): number {
    const framing = this.#framing;
    // Most requests have no body; `start` has noted that.
    if (framing.isSilent) return 0;
    const refusal = framing.refusalOfRequest(isHttp11);
    if (refusal) return this.refuse(refusal.status, `client sent ${refusal.what} ${IN_HEADERS}`);
    this.hasLength = true;
    this.contentLength = framing.bodyBytes;
    return 0;
  }
}
