import { once } from 'node:events';
import { createServer as createHttp1, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttp2, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import type { Owner } from '../../harness/owner.ts';

export type Protocol = 'http/json' | 'grpc';

/** `stopped`: its port is closed; `hung`: it accepts, and says nothing; `busy`: 429 with `Retry-After`. */
export type Mood = 'well' | 'stopped' | 'hung' | 'busy' | 'dripping';

export type Signal = 'traces' | 'logs' | 'metrics';

/** Time between two bytes of a response that drips: a response takes some seconds. */
const DRIP_MS = 70;
const HTTP1_RESPONSE =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}';
const GRPC_HEAD = { ':status': 200, 'content-type': 'application/grpc' };
/** Its only field is one that nobody knows: an empty message could not drip. */
const GRPC_RESPONSE = Buffer.concat([Buffer.from([0, 0, 0, 0, 82, 0x7a, 80]), Buffer.alloc(80)]);

/** A request that was read. Its records count as taken when the response is complete. */
interface Asked {
  readonly respond: () => void;
  readonly refuse: () => void;
  /** Sends one more byte of the response; false when that was the last one. */
  readonly drip: () => boolean;
}

/**
 * A collector that keeps of what it takes nothing but the number of records, and does not even read them: it shares the
 * processor with the gateway whose latencies are measured.
 */
export class TroubledCollector {
  readonly taken: Record<Signal, number> = { traces: 0, logs: 0, metrics: 0 };
  readonly #server: Server | Http2Server;
  readonly #sockets = new Set<Socket>();
  readonly #dripping = new Set<Asked>();
  #mood: Mood = 'well';
  #port = 0;

  private constructor(protocol: Protocol) {
    this.#server = protocol === 'grpc' ? this.#http2() : this.#http1();
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
    });
  }

  static async start(t: Owner, protocol: Protocol): Promise<TroubledCollector> {
    const collector = new TroubledCollector(protocol);
    await collector.#listen();
    const timer = setInterval(() => collector.#drip(), DRIP_MS);
    t.onTestFinished(async () => {
      clearInterval(timer);
      await collector.become('stopped');
    });
    return collector;
  }

  get port(): number {
    return this.#port;
  }

  /** Ends what the mood before has begun: connections that hang are reset, responses that drip are completed. */
  async become(mood: Mood): Promise<void> {
    const before = this.#mood;
    this.#mood = mood;
    for (const { drip } of this.#dripping) while (drip());
    this.#dripping.clear();
    if (before === 'hung') for (const socket of this.#sockets) socket.destroy();
    if (mood === 'stopped' && this.#server.listening) {
      const closed = once(this.#server, 'close');
      this.#server.close();
      for (const socket of this.#sockets) socket.destroy();
      await closed;
    }
    if (before === 'stopped' && mood !== 'stopped') await this.#listen();
  }

  async #listen(): Promise<void> {
    await once(this.#server.listen(this.#port, '127.0.0.1'), 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #drip(): void {
    for (const asked of this.#dripping) if (!asked.drip()) this.#dripping.delete(asked);
  }

  #serve(asked: Asked): void {
    if (this.#mood === 'well') asked.respond();
    else if (this.#mood === 'busy') asked.refuse();
    else if (this.#mood === 'dripping') this.#dripping.add(asked);
  }

  #http1(): Server {
    return createHttp1((request, response) => {
      const signal = signalIn(request.url);
      onBody(request, (body) => {
        const count = countInJson(signal, inflated(body));
        this.#serve(askedByHttp1(response, () => (this.taken[signal] += count)));
      });
    });
  }

  #http2(): Http2Server {
    return createHttp2().on('stream', (stream, headers) => {
      const signal = signalIn(headers[':path']);
      onBody(stream, (body) => {
        const count = countInProtobuf(inflated(body.subarray(5)));
        this.#serve(askedByHttp2(stream, () => (this.taken[signal] += count)));
      });
    });
  }
}

function askedByHttp1(response: ServerResponse, take: () => void): Asked {
  let sent = 0;
  return {
    respond: () => response.end('{}', take),
    refuse: () => response.writeHead(429, { 'Retry-After': '1' }).end(),
    drip: () => {
      const { socket } = response;
      if (!socket || socket.destroyed) return false;
      socket.write(HTTP1_RESPONSE[sent++] as string);
      if (sent < HTTP1_RESPONSE.length) return true;
      take();
      socket.end();
      return false;
    },
  };
}

function askedByHttp2(stream: ServerHttp2Stream, take: () => void): Asked {
  let sent = 0;
  const begin = (): void => {
    stream.respond(GRPC_HEAD, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  };
  return {
    respond: () => {
      begin();
      stream.end(GRPC_RESPONSE, take);
    },
    refuse: () => stream.respond({ ':status': 429, 'retry-after': '1' }, { endStream: true }),
    drip: () => {
      if (stream.destroyed) return false;
      if (sent === 0) begin();
      stream.write(GRPC_RESPONSE.subarray(sent, ++sent));
      if (sent < GRPC_RESPONSE.length) return true;
      stream.end(take);
      return false;
    },
  };
}

/** Of `/v1/traces` and `/opentelemetry.proto.collector.trace.v1.TraceService/Export`. */
function signalIn(path = ''): Signal {
  const [, name] = /(trace|log|metric)s?(?:$|\.v1)/.exec(path) ?? [];
  return name ? (`${name}s` as Signal) : 'metrics';
}

/** A request that is given up has no end. */
function onBody(readable: Readable, take: (body: Buffer) => void): void {
  const pieces: Buffer[] = [];
  readable
    .on('data', (piece: Buffer) => pieces.push(piece))
    .on('end', () => take(Buffer.concat(pieces)))
    .on('error', () => undefined);
}

/** Short messages are not compressed. */
function inflated(message: Buffer): Buffer {
  return message[0] === 0x1f && message[1] === 0x8b ? gunzipSync(message) : message;
}

/** What each record has once. */
const ONCE: Readonly<Record<Signal, string>> = {
  traces: '"endTimeUnixNano"',
  logs: '"severityNumber"',
  metrics: '"description"',
};

function countInJson(signal: Signal, message: Buffer): number {
  let count = 0;
  for (let at = -1; (at = message.indexOf(ONCE[signal], at + 1)) >= 0;) count++;
  return count;
}

/** A request has resources (field 1), a resource has scopes (2), and a scope has records (2). */
function countInProtobuf(bytes: Uint8Array, [field = 0, ...inner]: readonly number[] = [1, 2, 2]): number {
  const reader = protobuf.Reader.create(bytes);
  let count = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag !== ((field << 3) | 2)) reader.skipType(tag & 7);
    else if (inner.length > 0) count += countInProtobuf(reader.bytes(), inner);
    else {
      reader.skipType(2);
      count++;
    }
  }
  return count;
}
