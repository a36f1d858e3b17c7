import type { PortHandler, RequestNeeds } from '../../compile/index.ts';
import {
  type ConnectionFacts,
  type Exchange,
  methodRefusal,
  parseHost,
  type PortFacts,
  type RequestFacts,
} from '../../http/index.ts';
import { Framing, isSafeHeaderValue } from '../../http1/index.ts';

/** uWebSockets.js drops headers after the first 100; requests with nearly as many are refused. */
const MAX_HEADERS = 98;

/** A lower-case header name that all programs interpret alike. */
const PLAIN_NAME = /^[a-z0-9-]+$/;
const UNDERSCORED_NAME = /^[a-z0-9_-]+$/;

/**
 * Headers that a request may have only once, even with equal values (nginx ngx_http_headers_in), each with its own bit.
 * One program may read the first of two, and the next program the last.
 */
const SINGLE: ReadonlyMap<string, number> = new Map(
  [
    'authorization',
    'content-range',
    'expect',
    'if-match',
    'if-modified-since',
    'if-none-match',
    'if-range',
    'if-unmodified-since',
  ].map((name, index) => [name, 1 << index]),
);

/** True at each length that one of these names has. Most other headers are excluded by their length. */
const SINGLE_LENGTHS: boolean[] = [];
for (const name of SINGLE.keys()) SINGLE_LENGTHS[name.length] = true;

/** The ends of nginx's log messages about refused requests. */
export const IN_HEADERS = 'while reading client request headers';
export const IN_LINE = 'while reading client request line';

/**
 * Enters the server that responds to a refused request, and logs the reason. If the request line is at fault, the host
 * is not known yet, so it is the default server (nginx).
 */
export function enterRefused(x: Exchange, port: PortHandler, complaint: string): void {
  if (complaint.endsWith(IN_LINE)) port.enterByLine(x);
  else port.enter(x);
  x.refusedBy = 'head';
  x.writeLog(complaint, 'info');
}

const NO_HEADERS: string[] = [];

/** The parts of a port that are needed to read heads. */
type HeadSettings = Pick<PortHandler, 'needs' | 'head' | 'headOf'>;

/** Returns the rules for heads on a connection. `serverName` is the one in the handshake, '' if it has none. */
export function headRulesOf(
  { head, headOf }: Pick<PortHandler, 'head' | 'headOf'>,
  serverName: string,
): PortHandler['head'] {
  return (serverName !== '' && headOf?.(serverName.toLowerCase())) || head;
}

/**
 * Reads the headers of a request in one pass: the values for framing and routing, and the headers that the build asked
 * for. uWebSockets.js accepts the first of two lengths, any Transfer-Encoding as chunked, and control bytes in values;
 * everything that two parsers could read differently is refused here. A port uses one object; `start` clears it for each
 * request.
 */
export class HeadScan {
  host: string | undefined = undefined;
  /** -1 for a chunked body. */
  contentLength = 0;
  hasLength = false;
  headers: string[] = NO_HEADERS;
  headBytes = 0;
  referrer: string | undefined = undefined;
  /** The values of `Connection`, for engines that do not read them by themselves. */
  connection = '';
  /** The reason of a refusal, in nginx's words. */
  complaint = '';
  #otherHost = '';
  #hosts = 0;
  readonly #framing = new Framing();
  #count = 0;
  #longest = 0;
  #forbidden = false;
  /** The bits of the headers in `SINGLE` that have been seen. */
  #singles = 0;
  /** A header that is repeated but must not be; '' if there is none. */
  #repeated = '';
  /** A limit of the previously known server was exceeded. */
  #exceeded = false;
  /** True when the server is known. */
  #isNamed = false;
  readonly #needs: RequestNeeds;
  readonly #port: HeadSettings;
  #rules: PortHandler['head'];
  readonly #mostHeaders: number;
  /** False if the build asked for no headers, so that no name is looked up. */
  readonly #keepsHeaders: boolean;
  /** True at each length that a requested name has. Most other headers are excluded by their length. */
  readonly #lengthsAsked: boolean[] = [];
  /** The last `Host` and its name, cached because most clients of a port send the same one. */
  #lastHost = '';
  #lastName: string | undefined = undefined;

  /** `mostHeaders` is the engine's limit. */
  constructor(port: HeadSettings, mostHeaders = MAX_HEADERS) {
    const { needs, head } = port;
    this.#port = port;
    this.#needs = needs;
    this.#rules = head;
    this.#mostHeaders = mostHeaders;
    this.#keepsHeaders = needs.allHeaders || needs.headers.size > 0;
    for (const name of needs.headers) this.#lengthsAsked[name.length] = true;
  }

  /** The rules of the server, or of the default server until it is known. */
  get rules(): PortHandler['head'] {
    return this.#rules;
  }

  /** `rules` are those of the server that the handshake named. */
  start(rules = this.#port.head): void {
    this.#rules = rules;
    this.#exceeded = this.#isNamed = false;
    this.host = this.referrer = undefined;
    this.contentLength = 0;
    this.hasLength = false;
    this.connection = '';
    this.headers = NO_HEADERS;
    this.headBytes = 0;
    this.#hosts = this.#count = this.#longest = 0;
    this.#framing.start();
    this.#forbidden = false;
    this.#singles = 0;
    this.#repeated = '';
  }

  /** Applies the rules of a host's server from now on (nginx ngx_http_process_request_headers). */
  name(host: string): void {
    const { headOf } = this.#port;
    if (!headOf || this.#isNamed) return;
    this.#isNamed = true;
    const name = parseHost(host);
    const rules = name === undefined ? undefined : headOf(name);
    if (!rules || rules === this.#rules) return;
    this.#exceeded ||= this.#exceeds;
    this.#longest = 0;
    this.#rules = rules;
  }

  get #exceeds(): boolean {
    const { lineBytes, bytes } = this.#rules;
    return this.#longest > lineBytes || this.headBytes > bytes;
  }

  /** Reads one header, as the callback of `req.forEach`; `name` is in lower case. */
  readonly visit = (name: string, value: string): void => {
    const size = name.length + value.length;
    this.#count++;
    this.headBytes += size + 4;
    if (size > this.#longest) this.#longest = size;
    if (name === '' || !isSafeHeaderValue(value)) this.#forbidden = true;
    if (name === 'host') {
      if (this.#hosts++ === 0) {
        this.host = value;
        this.name(value);
      } else this.#otherHost = value;
    } else if (name === 'content-length') this.#framing.takeLength(value);
    else if (name === 'transfer-encoding') this.#framing.takeEncoding(value);
    else if (name === 'referer') this.referrer = value;
    else if (name === 'connection') this.connection += this.connection === '' ? value : `, ${value}`;
    else if (SINGLE_LENGTHS[name.length] === true) this.#takeSingle(name);
    if (!this.#keepsHeaders || !this.#wants(name)) return;
    // Many requests have none of these headers and need no list.
    if (this.headers === NO_HEADERS) this.headers = [name, value];
    else this.headers.push(name, value);
  };

  /** Reads a header that stands for what HTTP/2 sends in another form: `max_headers` does not count it. */
  visitUncounted(name: string, value: string): void {
    this.visit(name, value);
    this.#count--;
  }

  #takeSingle(name: string): void {
    const bit = SINGLE.get(name) ?? 0;
    if ((this.#singles & bit) !== 0) this.#repeated = name;
    this.#singles |= bit;
  }

  /** Tells whether the build asked for a header and the rules for names (`underscores_in_headers` …) admit it. */
  #wants(name: string): boolean {
    if (!this.#needs.allHeaders && this.#lengthsAsked[name.length] !== true) return false;
    if (PLAIN_NAME.test(name)) return this.#needs.allHeaders || this.#needs.headers.has(name);
    const { underscores, ignoresInvalid } = this.#rules;
    const counts = UNDERSCORED_NAME.test(name) ? underscores || !ignoresInvalid : !ignoresInvalid;
    const { allHeaders, headers } = this.#needs;
    return counts && (allHeaders || headers.has(name) || headers.has(name.replaceAll('_', '-')));
  }

  /** Returns the name in the `Host` header; `undefined` if it is malformed. */
  hostName(): string | undefined {
    const host = this.host ?? '';
    if (host !== this.#lastHost) [this.#lastHost, this.#lastName] = [host, parseHost(host)];
    return this.#lastName;
  }

  /** Returns the status that refuses the request, or 0. */
  refusal(method: string, isHttp11 = true): number {
    const refused = methodRefusal(method);
    if (refused === 405) return this.refuse(405, `client sent ${method} method ${IN_HEADERS}`);
    if (refused === 400) return this.refuse(400, `client sent invalid method ${IN_LINE}`);
    if (this.#forbidden) return this.refuse(400, `client sent invalid header line ${IN_HEADERS}`);
    if (this.#hosts > 1) {
      const hosts = `"Host: ${this.#otherHost}", previous value: "Host: ${this.host}"`;
      return this.refuse(400, `client sent duplicate host header: ${hosts} ${IN_HEADERS}`);
    }
    if (this.#repeated !== '')
      return this.refuse(400, `client sent duplicate header line: "${this.#repeated}" ${IN_HEADERS}`);
    if (this.#count > this.#mostHeaders)
      return this.refuse(431, `client sent too many headers ${IN_HEADERS}`);
    if (this.#count > this.#rules.maxHeaders)
      return this.refuse(494, `client sent too many headers ${IN_HEADERS}`);
    if (this.#exceeded || this.#exceeds)
      return this.refuse(494, `client sent too long header line ${IN_HEADERS}`);
    return this.#framingRefusal(isHttp11);
  }

  /** Stores the reason for the log, and returns the status. */
  refuse(status: number, complaint: string): number {
    this.complaint = complaint;
    return status;
  }

  #framingRefusal(isHttp11: boolean): number {
    const framing = this.#framing;
    // Most requests have no body; `start` has set the fields accordingly.
    if (framing.isAbsent) return 0;
    const refusal = framing.refusalOfRequest(isHttp11);
    if (refusal) return this.refuse(refusal.status, `client sent ${refusal.what} ${IN_HEADERS}`);
    this.hasLength = true;
    this.contentLength = framing.bodyBytes;
    return 0;
  }
}

/** The parts of a head that make a request. */
interface ReadHead {
  readonly facts: Omit<RequestFacts, 'serial' | 'port' | 'connection' | 'headers'>;
  readonly headers: readonly string[];
}

/** The facts that a connection adds to a request. */
interface CarryingConnection {
  readonly serial: number;
  readonly port: PortFacts;
  readonly facts: ConnectionFacts;
}

/** Returns the request. Fields are copied one by one: a spread would take a fifth of the time of a small request. */
export function requestOf({ facts, headers }: ReadHead, connection: CarryingConnection): RequestFacts {
  return {
    line: facts.line,
    method: facts.method,
    requestUri: facts.requestUri,
    uri: facts.uri,
    args: facts.args,
    host: facts.host,
    authority: facts.authority ?? '',
    hostHeader: facts.hostHeader,
    referrer: facts.referrer,
    contentLength: facts.contentLength,
    httpVersion: facts.httpVersion,
    headers,
    serial: connection.serial,
    port: connection.port,
    connection: connection.facts,
  };
}
