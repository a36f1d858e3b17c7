import { randomBytes } from 'node:crypto';
import type { PortHandler } from '../../../compile/index.ts';
import { isValidQuery, normalizePath, type RequestFacts, splitTarget } from '../../../http/index.ts';
import { HeadScan, headRulesOf, IN_HEADERS, IN_LINE } from '../head-scan.ts';

/** The head of a request on an HTTP/2 stream, and the properties derived from it. */
export interface StreamHead {
  readonly facts: Omit<RequestFacts, 'serial' | 'port' | 'connection' | 'headers'>;
  readonly headers: readonly string[];
  /** Length of its fields, uncompressed. */
  readonly bytes: number;
  /** The status that refuses the request, or 0. */
  readonly refusal: number;
  /** The reason in nginx's words. */
  readonly complaint: string;
  /** The protocol of an extended CONNECT (RFC 8441): `websocket`. */
  readonly protocol: string | undefined;
  readonly expectsContinue: boolean;
}

/** The pseudo-header fields of a request. */
interface Pseudo {
  method: string;
  path: string;
  authority: string | undefined;
  protocol: string | undefined;
}

const EIGHT_BIT = /[\x80-\xff]/;
/** All characters but blanks and control characters. */
const PATH = /^\/[^\0-\x20\x7f]*$/;

/**
 * Reads the fields of HTTP/2 requests, after nghttp2 has checked their syntax. A request to open a WebSocket is shown
 * to handlers as on HTTP/1.1, so that the same configuration serves both.
 */
export class StreamHeadReader {
  readonly #scan: HeadScan;
  readonly #port: PortHandler;
  /** The rules for the path: those of the server if `:authority` came before the path. */
  #pathRules: PortHandler['head'];
  #cookie = '';
  #expect = '';
  /** Bytes of the names and values of all fields. */
  #fieldsBytes = 0;
  #isTooLarge = false;

  constructor(port: PortHandler) {
    this.#port = port;
    this.#pathRules = port.head;
    this.#scan = new HeadScan(port, Infinity);
  }

  /**
   * `fields`: name, value, name, value …, one character per byte. `isWhole`: no body follows. `serverName` is the one
   * in the handshake.
   */
  read(fields: readonly string[], isWhole: boolean, serverName = ''): StreamHead {
    this.#scan.start(headRulesOf(this.#port, serverName));
    this.#pathRules = this.#scan.rules;
    this.#cookie = this.#expect = '';
    this.#fieldsBytes = 0;
    this.#isTooLarge = false;
    const pseudo: Pseudo = { method: '', path: '', authority: undefined, protocol: undefined };
    for (let at = 0; at < fields.length; at += 2)
      this.#take(fields[at] as string, fields[at + 1] as string, pseudo);
    this.#complete(pseudo);
    return this.#head(pseudo, isWhole);
  }

  #take(name: string, raw: string, pseudo: Pseudo): void {
    const sizeBytes = name.length + raw.length;
    this.#fieldsBytes += sizeBytes;
    const { fieldBytes, fieldsBytes } = this.#scan.rules;
    if (sizeBytes > fieldBytes || this.#fieldsBytes > fieldsBytes) this.#isTooLarge = true;
    const value = EIGHT_BIT.test(raw) ? Buffer.from(raw, 'latin1').toString() : raw;
    if (name === ':method') pseudo.method = value;
    else if (name === ':path') {
      pseudo.path = value;
      this.#pathRules = this.#scan.rules;
    } else if (name === ':authority') {
      pseudo.authority = value;
      this.#scan.name(value);
    } else if (name === ':protocol') pseudo.protocol = value;
    else if (name === ':scheme') return;
    // Clients split this field because it then compresses better (RFC 9113, 8.2.3).
    else if (name === 'cookie') this.#cookie += this.#cookie === '' ? value : `; ${value}`;
    else {
      if (name === 'expect') this.#expect = value;
      this.#scan.visit(name, value);
    }
  }

  /** Adds the fields that have another form in HTTP/1.1. */
  #complete({ authority, protocol }: Pseudo): void {
    const scan = this.#scan;
    if (this.#cookie !== '') scan.visit('cookie', this.#cookie);
    // A second `Host` with another name is refused as a duplicate (RFC 9113, 8.3.1).
    if (authority !== undefined && authority !== scan.host) scan.visitUncounted('host', authority);
    if (protocol === undefined) return;
    scan.visitUncounted('connection', 'upgrade');
    scan.visitUncounted('upgrade', protocol);
    scan.visitUncounted('sec-websocket-key', randomBytes(16).toString('base64'));
  }

  #head({ method: sent, path: pathAndQuery, protocol }: Pseudo, isWhole: boolean): StreamHead {
    const method = sent === 'CONNECT' && protocol !== undefined ? 'GET' : sent;
    const { path, args } = splitTarget(pathAndQuery);
    const uri = PATH.test(pathAndQuery) ? normalizePath(path, this.#pathRules.mergeSlashes) : undefined;
    const scan = this.#scan;
    const host = scan.host === undefined ? '' : scan.hostName();
    const refusal = this.#refusal({ method, pathAndQuery, args, uri, host });
    const hasBody = refusal === 0 && protocol === undefined && !isWhole;
    return {
      facts: {
        method,
        requestUri: pathAndQuery,
        uri: uri ?? '',
        args,
        host: host ?? '',
        hostHeader: scan.host,
        referrer: scan.referrer,
        contentLength: !hasBody ? 0 : scan.hasLength ? scan.contentLength : -1,
        httpVersion: '2.0',
      },
      headers: scan.headers,
      bytes: scan.headBytes + sent.length + pathAndQuery.length,
      refusal,
      complaint: scan.complaint,
      protocol,
      expectsContinue: hasBody && this.#expect.toLowerCase() === '100-continue',
    };
  }

  #refusal(head: {
    readonly method: string;
    readonly pathAndQuery: string;
    readonly args: string;
    readonly uri: string | undefined;
    readonly host: string | undefined;
  }): number {
    const scan = this.#scan;
    const refused = scan.refusal(head.method);
    if (refused !== 0) return refused;
    if (head.pathAndQuery.length > this.#pathRules.lineBytes)
      return scan.refuse(414, `client sent too long URI ${IN_LINE}`);
    if (this.#isTooLarge) return scan.refuse(494, `client sent too large header ${IN_HEADERS}`);
    if (head.uri === undefined || !isValidQuery(head.args))
      return scan.refuse(400, `client sent invalid request ${IN_LINE}`);
    if (head.host === undefined) return scan.refuse(400, `client sent invalid host header ${IN_HEADERS}`);
    if (head.host === '' && scan.host === undefined)
      return scan.refuse(400, `client sent neither ":authority" nor "host" header ${IN_HEADERS}`);
    return 0;
  }
}
