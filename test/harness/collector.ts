import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createSecureServer,
  createServer as createHttp2Server,
  type Http2Server,
  type IncomingHttpHeaders as Http2Headers,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { checkJson, decodeProtobuf, encodeResponse } from './otlp-messages.ts';
import type { Owner } from './owner.ts';

/** How the collector responds. */
export interface Reply {
  /** `hang`: not at all. */
  readonly status?: number | 'hang';
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of 0. */
  readonly grpcStatus?: number;
  readonly rejected?: number;
  readonly message?: string;
}

type Signal = 'traces' | 'metrics' | 'logs';

/** One export that has arrived, in the form of OTLP's JSON. */
export interface Export {
  readonly signal: Signal;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly isCompressed: boolean;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- its shape was checked against the protocol
  readonly message: any;
}

/** A span as it has arrived, with its attributes by name. */
export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly droppedAttributesCount?: number;
  readonly status?: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** An OpenTelemetry collector that speaks OTLP in its three protocols, and checks every message. */
export interface Collector {
  readonly port: number;
  readonly exports: Export[];
  /** Messages that violate the protocol. */
  readonly faults: string[];
  /** Called for each export; default: all is taken. */
  reply: (signal: Signal, nth: number) => Reply;
  spans(): readonly ReceivedSpan[];
  /** Resolves with all spans when there are so many. */
  waitForSpans(count: number): Promise<readonly ReceivedSpan[]>;
  waitFor(isDone: () => boolean, what: string): Promise<void>;
  /** Resets all connections and stops listening. */
  stop(): Promise<void>;
  /** Listens on its port again. */
  resume(): Promise<void>;
}

interface CollectorOptions {
  readonly protocol?: 'grpc' | 'http';
  readonly tls?: { readonly cert: string; readonly key: string };
}

const WAIT_MS = 10_000;
const POLL_MS = 10;
const REQUESTS: Readonly<Record<Signal, string>> = {
  traces: 'ExportTraceServiceRequest',
  metrics: 'ExportMetricsServiceRequest',
  logs: 'ExportLogsServiceRequest',
};

/** Starts a collector on a free port of 127.0.0.1. The test fails if it gets a message that violates OTLP. */
export async function startCollector(
  t: Owner,
  { protocol = 'http', tls }: CollectorOptions = {},
): Promise<Collector> {
  const state = new State();
  const sockets = new Set<Socket>();
  const server: Server | Http2Server = protocol === 'grpc' ? grpcServer(state, tls) : httpServer(state, tls);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  t.onTestFinished(async () => {
    await stop();
    if (state.faults.length > 0) throw new Error(`the collector got: ${state.faults.join('; ')}`);
  });
  return Object.assign(state, { port, stop, resume: () => listen(server, port) });
}

class State {
  readonly exports: Export[] = [];
  readonly faults: string[] = [];
  reply: Collector['reply'] = () => ({});
  #replies = 0;

  spans(): readonly ReceivedSpan[] {
    return this.exports
      .filter(({ signal }) => signal === 'traces')
      .flatMap(({ message }) => message.resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .map((span) => ({ ...span, attributes: attributesOf(span.attributes) }));
  }

  async waitForSpans(count: number): Promise<readonly ReceivedSpan[]> {
    await this.waitFor(() => this.spans().length >= count, `${count} spans`);
    return this.spans();
  }

  async waitFor(isDone: () => boolean, what: string): Promise<void> {
    const deadline = Date.now() + WAIT_MS;
    while (!isDone()) {
      if (Date.now() > deadline)
        throw new Error(`no ${what}: ${JSON.stringify(this.exports).slice(0, 2_000)}`);
      await sleep(POLL_MS);
    }
  }

  next(signal: Signal): Reply {
    return this.reply(signal, this.#replies++);
  }

  /** Takes an export if the reply is a success, as a collector would. */
  keep(taken: Export, { status = 200, grpcStatus = 0 }: Reply): void {
    if (status === 200 && grpcStatus === 0) this.exports.push(taken);
  }
}

/** The attributes of a list, as plain values. */
export function attributesOf(
  list: readonly { key: string; value: Record<string, unknown> }[] = [],
): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: Record<string, unknown> = {}): unknown {
  const { intValue, arrayValue, kvlistValue } = value as {
    intValue?: string;
    arrayValue?: { values: Record<string, unknown>[] };
    kvlistValue?: { values: { key: string; value: Record<string, unknown> }[] };
  };
  if (intValue !== undefined) return Number(intValue);
  if (arrayValue) return arrayValue.values.map(plain);
  return kvlistValue ? attributesOf(kvlistValue.values) : Object.values(value)[0];
}

async function listen(server: Server | Http2Server, port: number): Promise<void> {
  const listening = once(server, 'listening');
  server.listen(port, '127.0.0.1');
  await listening;
}

function httpServer(state: State, tls: CollectorOptions['tls']): Server {
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => respondHttp(state, request, { response, body: Buffer.concat(pieces) }));
  };
  return tls ? createTlsServer(tls, serve) : createServer(serve);
}

function respondHttp(
  state: State,
  { url = '', headers }: IncomingMessage,
  { response, body }: { readonly response: ServerResponse; readonly body: Buffer },
): void {
  const signal = (/(traces|metrics|logs)$/.exec(url)?.[1] ?? 'traces') as Signal;
  const reply = state.next(signal);
  const isJson = headers['content-type'] === 'application/json';
  const isCompressed = headers['content-encoding'] === 'gzip';
  const message = read(state, signal, { isJson, body: isCompressed ? gunzipSync(body) : body });
  const { status = 200, rejected = 0, message: errorMessage = '' } = reply;
  if (status === 'hang') return;
  state.keep({ signal, path: url, headers, isCompressed, message }, reply);
  const names = { traces: 'rejectedSpans', metrics: 'rejectedDataPoints', logs: 'rejectedLogRecords' };
  const partial = { partialSuccess: { [names[signal]]: String(rejected), errorMessage } };
  response.writeHead(status, { 'Content-Type': headers['content-type'], ...reply.headers });
  response.end(
    isJson
      ? JSON.stringify(rejected > 0 || errorMessage ? partial : {})
      : encodeResponse(rejected, errorMessage),
  );
}

function read(state: State, signal: Signal, { isJson, body }: { isJson: boolean; body: Buffer }): unknown {
  const name = REQUESTS[signal];
  try {
    if (!isJson) return decodeProtobuf(name, body);
    const message: unknown = JSON.parse(body.toString());
    checkJson(name, message);
    return message;
  } catch (error) {
    state.faults.push(String(error));
    return {};
  }
}

const SIGNALS: Readonly<Record<string, Signal>> = {
  'trace.v1.TraceService': 'traces',
  'metrics.v1.MetricsService': 'metrics',
  'logs.v1.LogsService': 'logs',
};

function grpcServer(state: State, tls: CollectorOptions['tls']): Http2Server {
  const server = tls ? createSecureServer(tls) : createHttp2Server();
  server.on('stream', (stream: ServerHttp2Stream, headers: Http2Headers) => {
    const pieces: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => respondGrpc(state, headers, { stream, body: Buffer.concat(pieces) }));
  });
  return server as Http2Server;
}

function respondGrpc(
  state: State,
  headers: Http2Headers,
  { stream, body }: { readonly stream: ServerHttp2Stream; readonly body: Buffer },
): void {
  const path = headers[':path'] ?? '';
  const service = /^\/opentelemetry\.proto\.collector\.(.+)\/Export$/.exec(path)?.[1] ?? '';
  const signal = SIGNALS[service] ?? 'traces';
  const reply = state.next(signal);
  const isCompressed = body[0] === 1;
  const rest = body.subarray(5);
  if (
    headers['te'] !== 'trailers' ||
    headers['content-type'] !== 'application/grpc' ||
    body.readUInt32BE(1) !== rest.length
  )
    state.faults.push('a malformed call');
  const message = read(state, signal, { isJson: false, body: isCompressed ? gunzipSync(rest) : rest });
  const { status = 200, grpcStatus = 0, rejected = 0, message: said = '' } = reply;
  if (status === 'hang') return;
  state.keep({ signal, path, headers: headers as IncomingHttpHeaders, isCompressed, message }, reply);
  const head = { ':status': status, 'content-type': 'application/grpc', ...reply.headers };
  if (status !== 200 || grpcStatus !== 0)
    return stream.respond(
      { ...head, 'grpc-status': String(grpcStatus), 'grpc-message': said },
      { endStream: true },
    );
  const encoded = Buffer.from(encodeResponse(rejected, said));
  stream.respond(head, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(encoded.length, 1);
  stream.end(Buffer.concat([prefix, encoded]));
}
