import { once } from 'node:events';
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  fieldBlock,
  frame,
  FrameReader,
  PREFACE,
  type ReceivedFrame,
  words,
} from './http2-frames.ts';
import type { Owner } from './owner.ts';

/** A real HTTP/2 server, by Node's own implementation. */
export interface Http2Upstream {
  readonly port: number;
  /** The sessions of all connections so far, in their order. */
  readonly sessions: readonly ServerHttp2Session[];
  /** Number of open connections. */
  open(): number;
  /** Header fields of the requests so far. */
  readonly heard: IncomingHttpHeaders[];
}

interface Http2Options {
  readonly settings?: Settings;
  readonly tls?: SecureServerOptions;
  /** A Unix socket instead of a port of 127.0.0.1. */
  readonly path?: string;
}

type Respond = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

function sayOk(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 });
  stream.end('ok');
}

/** Listens until its owner ends. */
export async function startHttp2(
  t: Owner,
  respond: Respond = sayOk,
  { settings = {}, tls, path }: Http2Options = {},
): Promise<Http2Upstream> {
  const server: Http2Server = tls ? createSecureServer({ settings, ...tls }) : createServer({ settings });
  const sessions: ServerHttp2Session[] = [];
  const heard: IncomingHttpHeaders[] = [];
  server.on('session', (session: ServerHttp2Session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    heard.push(headers);
    stream.on('error', () => undefined);
    respond(stream, headers);
  });
  await once(path === undefined ? server.listen(0, '127.0.0.1') : server.listen(path), 'listening');
  t.onTestFinished(async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: path === undefined ? (server.address() as AddressInfo).port : 0,
    sessions,
    open: () => sessions.filter(({ destroyed }) => !destroyed).length,
    heard,
  };
}

/** An HTTP/2 server that sends the frames of a test, whatever the protocol says. */
export interface RawPeer {
  readonly port: number;
  /** All frames so far. */
  readonly frames: ReceivedFrame[];
  connections(): number;
  open(): number;
}

/** Listens until its owner ends. `react` is called for each frame with its connection, of which 0 is the first. */
export async function startRawHttp2(
  t: Owner,
  react: (socket: Socket, received: ReceivedFrame, connection: number) => void,
  greeting: Uint8Array = frame(FRAME.settings),
): Promise<RawPeer> {
  const frames: ReceivedFrame[] = [];
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    const nth = count++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.write(greeting);
    const reader = new FrameReader({ skippedBytes: PREFACE.length });
    socket.on('data', (bytes: Buffer) => {
      for (const one of reader.read(bytes)) {
        frames.push(one);
        react(socket, one, nth);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await once(server.close(), 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { port, frames, connections: () => count, open: () => sockets.size };
}

/** A field block of one field. */
export const field = (name: string, value: string): Buffer => fieldBlock([[name, value]]);
/** A `:status` of 200. */
export const OK_STATUS = field(':status', '200');

/** Reacts to a frame; `connection` 0 is the first one. */
export type React = (socket: Socket, received: ReceivedFrame, connection: number) => void;

/** Reacts to the heads of requests. */
export const toRequests =
  (...bytes: ((id: number) => Uint8Array)[]): React =>
  (socket, { type, stream: id }) => {
    if (type !== FRAME.headers) return;
    for (const make of bytes) socket.write(make(id));
  };

/** The head of a response on a stream, for `toRequests`, as are the frames below. */
export const head =
  (...fields: Uint8Array[]) =>
  (id: number) =>
    frame(FRAME.headers, { flags: END_HEADERS, stream: id, payload: Buffer.concat([OK_STATUS, ...fields]) });
/** A piece of a body. */
export const part =
  (text: string, flags = 0) =>
  (id: number) =>
    frame(FRAME.data, { flags, stream: id, payload: Buffer.from(text) });
/** The end of a stream with an error. */
export const reset = (code: number) => (id: number) =>
  frame(FRAME.reset, { stream: id, payload: words(code) });
/** Trailers, which end a stream. */
export const trailersOf = (fields: readonly Uint8Array[]) => (id: number) =>
  frame(FRAME.headers, { flags: END_HEADERS + END_STREAM, stream: id, payload: Buffer.concat(fields) });
/** The end of a connection after its stream `lastId`. */
export const goaway = (lastId: number, code: number) => () =>
  frame(FRAME.goaway, { payload: words(lastId, code) });
