import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import {
  type Carriers,
  Connections,
  Connector,
  Http2Connections,
  type TlsSettings,
} from '../../client/index.ts';
import { headerLines, requestLine } from '../../http1/index.ts';
import { Call, type CallOutcome, type CallRequest, type CallResponse } from './call.ts';
import type { ExporterConfig } from './directives.ts';
import { grpcPathOf, httpPathOf, type Signal } from './endpoint.ts';
import { type GrpcStatus, grpcStatusOf, messageIn, framed } from './grpc.ts';

/** How a request to the collector ended. */
export type SendOutcome =
  /** `body` is the message of the response. */
  | { readonly kind: 'taken'; readonly body: Uint8Array }
  /** The collector may take the same records later; `afterMs` is the pause that it asks for. */
  | { readonly kind: 'later'; readonly reason: string; readonly afterMs?: number | undefined }
  | { readonly kind: 'refused'; readonly reason: string };

const KEEPALIVE = { connections: 2, requests: 10_000, timeMs: 3_600_000, timeoutMs: 60_000 } as const;
/** Longest chain of certificates. */
const VERIFY_DEPTH = 9;
/** Shorter messages are sent as they are. */
const LEAST_COMPRESSED_BYTES = 1_024;

/** The collector of an `otel_exporter`, as one worker reaches it. */
export class Collector {
  readonly #config: ExporterConfig;
  readonly #carriers: Carriers;
  readonly #userAgent: string;
  readonly #calls = new Set<Call>();

  constructor(config: ExporterConfig, version: string) {
    this.#config = config;
    this.#userAgent = `gw/${version}`;
    const { isTls } = config.endpoint;
    const isGrpc = config.protocol === 'grpc';
    const connector = new Connector({
      tcpKeepalive: true,
      ...(isTls && { tls: tlsOf(config) }),
      ...(isGrpc && { protocol: 'h2' as const }),
    });
    this.#carriers = isGrpc
      ? new Http2Connections(connector, KEEPALIVE)
      : new Connections(connector, KEEPALIVE);
  }

  /** Sends the message of a signal. Never rejects. */
  async send(signal: Signal, contentType: string, message: Uint8Array): Promise<SendOutcome> {
    const { isCompressed, protocol } = this.#config;
    const isGzip = isCompressed && message.length >= LEAST_COMPRESSED_BYTES;
    const body = isGzip ? await compressed(message) : message;
    const request =
      protocol === 'grpc'
        ? this.#grpcRequest(signal, body, isGzip)
        : this.#httpRequest(signal, { contentType, body, isGzip });
    const outcome = await this.#call(request);
    return protocol === 'grpc' ? judgeGrpc(outcome) : judgeHttp(outcome);
  }

  /** Ends all requests, and closes the connections. */
  close(reason = 'the gateway stops'): void {
    for (const call of this.#calls) call.cancel(reason);
    this.#carriers.close();
  }

  #call(request: CallRequest): Promise<CallOutcome> {
    const { address, host } = this.#config.endpoint;
    const name = host.replace(/^\[(.*)\]$/, '$1');
    return new Promise((resolve) => {
      const call: Call = new Call(this.#carriers, { to: { address, name }, request }, (outcome) => {
        this.#calls.delete(call);
        resolve(outcome);
      });
      this.#calls.add(call);
      call.begin();
    });
  }

  #httpRequest(
    signal: Signal,
    {
      contentType,
      body,
      isGzip,
    }: { readonly contentType: string; readonly body: Uint8Array; readonly isGzip: boolean },
  ): CallRequest {
    const { endpoint, headers } = this.#config;
    const lines = headerLines(
      [
        ['Host', endpoint.authority],
        ['User-Agent', this.#userAgent],
        ['Content-Type', contentType],
        isGzip ? ['Content-Encoding', 'gzip'] : [],
        ...headers,
        ['Content-Length', String(body.length)],
      ].flat(),
    );
    return { head: `${requestLine('POST', httpPathOf(endpoint, signal), '1.1')}${lines}\r\n`, body };
  }

  #grpcRequest(signal: Signal, body: Uint8Array, isGzip: boolean): CallRequest {
    const { endpoint, headers } = this.#config;
    const fields = [
      [':method', 'POST'],
      [':scheme', endpoint.isTls ? 'https' : 'http'],
      [':authority', endpoint.authority],
      [':path', grpcPathOf(signal)],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['user-agent', this.#userAgent],
      ['grpc-timeout', '10S'],
      isGzip ? ['grpc-encoding', 'gzip'] : [],
      ...headers,
    ].flat();
    return { head: '', fields, body: framed(body, isGzip) };
  }
}

function tlsOf({ trusted }: ExporterConfig): TlsSettings {
  return {
    verify: true,
    verifyDepth: VERIFY_DEPTH,
    reuseSessions: false,
    minVersion: 'TLSv1.2',
    ...(trusted && trusted.text !== '' && { ca: trusted.text }),
  };
}

/** The statuses after which the same request may be sent again (OTLP specification, "Retryable Response Codes"). */
const LATER: ReadonlySet<number> = new Set([429, 502, 503, 504]);

function judgeHttp(outcome: CallOutcome): SendOutcome {
  if (typeof outcome === 'string') return { kind: 'later', reason: outcome };
  const { status, body } = outcome;
  if (status >= 200 && status < 300) return { kind: 'taken', body };
  const reason = `the collector responded with status ${status}`;
  return LATER.has(status)
    ? { kind: 'later', reason, afterMs: retryAfterMs(outcome) }
    : { kind: 'refused', reason };
}

function judgeGrpc(outcome: CallOutcome): SendOutcome {
  if (typeof outcome === 'string') return { kind: 'later', reason: outcome };
  const status = grpcStatusOf(outcome.headers, outcome.trailers);
  if (!status) {
    if (outcome.status !== 200) return judgeHttp(outcome);
    return { kind: 'refused', reason: 'the collector sent no gRPC status' };
  }
  if (status.code === 0) return { kind: 'taken', body: messageIn(outcome.body) };
  const reason = reasonOf(status);
  return status.isTransient
    ? { kind: 'later', reason, afterMs: status.retryAfterMs ?? retryAfterMs(outcome) }
    : { kind: 'refused', reason };
}

/** Repeated names are most of a message: a higher level takes three times as long to save a little more. */
function compressed(message: Uint8Array): Promise<Buffer> {
  return promisify(gzip)(message, { level: constants.Z_BEST_SPEED });
}

function reasonOf({ code, message }: GrpcStatus): string {
  return `the collector responded with gRPC status ${code}${quotation(message)}`;
}

/** Characters of a text of the collector that a message quotes. */
const MOST_QUOTED = 200;

/** Returns what a collector has said, as the end of a message; the log shows no control characters of it. */
export function quotation(text: string): string {
  return text === '' ? '' : `: ${text.slice(0, MOST_QUOTED)}`;
}

/** Reads `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). */
function retryAfterMs({ headers }: CallResponse): number | undefined {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'retry-after');
  const value = at < 0 ? '' : (headers[at + 1] as string).trim();
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return value === '' || Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
