import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Owner } from './owner.ts';
import type { Script } from './scripted-upstream.ts';

/** The protocols of programs, besides HTTP. */
export type ProgramProtocol = 'fastcgi' | 'uwsgi' | 'scgi' | 'memcached';

/** A request as a program gets it. */
export interface ProgramRequest {
  /** In the order in which they were sent; for memcached the command alone. */
  readonly params: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** The program may leave the connection open (FastCGI). */
  readonly keeps: boolean;
}

interface Taken {
  readonly request: ProgramRequest;
  readonly length: number;
}

/** A server of programs that send what their scripts say, and records its requests. */
export interface ScriptedProgram {
  readonly port: number;
  /** The requests since the last call. */
  heard(): ProgramRequest[];
  /** Number of connections so far. */
  connections(): number;
  /** Number of connections that are open. */
  open(): number;
}

/**
 * Returns the script for a request. In FastCGI a text is a record of STDOUT; one that begins with `!` is a record of
 * STDERR, and one that begins with `=` is sent unchanged, in latin1. `<close>` closes the connection instead.
 */
export type Respond = (request: ProgramRequest) => Script;

/** Listens on a port of 127.0.0.1 until its owner ends. */
export async function startProgram(
  t: Owner,
  protocol: ProgramProtocol,
  respond: Respond,
): Promise<ScriptedProgram> {
  const heard: ProgramRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    connections++;
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    serve(socket, protocol, (request) => {
      heard.push(request);
      return respond(request);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await once(server.close(), 'close');
  });
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => heard.splice(0),
    connections: () => connections,
    open: () => sockets.size,
  };
}

/** Responds to one request after the other. The end of the connection is noticed while a program works. */
function serve(socket: Socket, protocol: ProgramProtocol, respond: Respond): void {
  let bytes: Buffer = Buffer.alloc(0);
  let working = Promise.resolve();
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let taken = TAKERS[protocol](bytes); taken; taken = TAKERS[protocol](bytes)) {
      const { request, length } = taken;
      bytes = bytes.subarray(length);
      working = working
        .then(() => act(socket, protocol, { script: respond(request), keeps: request.keeps }))
        .catch(() => undefined);
    }
  });
}

const TAKERS: Readonly<Record<ProgramProtocol, (bytes: Buffer) => Taken | undefined>> = {
  fastcgi: takeFastcgi,
  uwsgi: takeUwsgi,
  scgi: takeScgi,
  memcached: takeCommand,
};

const [BEGIN, END, PARAMS, STDIN, STDOUT, STDERR] = [1, 3, 4, 5, 6, 7];

/** A whole FastCGI request: the records up to the one that ends STDIN. */
function takeFastcgi(bytes: Buffer): Taken | undefined {
  const params: Buffer[] = [];
  const body: Buffer[] = [];
  let keeps = false;
  for (let at = 0; at + 8 <= bytes.length;) {
    const length = bytes.readUInt16BE(at + 4);
    const next = at + 8 + length + (bytes[at + 6] as number);
    if (next > bytes.length) return undefined;
    const content = bytes.subarray(at + 8, at + 8 + length);
    const type = bytes[at + 1];
    if (type === BEGIN) keeps = content[2] === 1;
    else if (type === PARAMS) params.push(content);
    else if (type === STDIN && length > 0) body.push(content);
    else if (type === STDIN) {
      const request = { params: fastcgiParams(Buffer.concat(params)), body: Buffer.concat(body), keeps };
      return { request, length: next };
    }
    at = next;
  }
  return undefined;
}

function fastcgiParams(bytes: Buffer): [string, string][] {
  const params: [string, string][] = [];
  let at = 0;
  const readLength = (): number => {
    const isLong = (bytes[at] as number) >= 128;
    const length = isLong ? bytes.readUInt32BE(at) - 2 ** 31 : (bytes[at] as number);
    at += isLong ? 4 : 1;
    return length;
  };
  const readText = (length: number): string => bytes.toString('utf8', at, (at += length));
  while (at < bytes.length) {
    const [nameLength, valueLength] = [readLength(), readLength()];
    params.push([readText(nameLength), readText(valueLength)]);
  }
  return params;
}

function withBody(params: [string, string][], bytes: Buffer, from: number): Taken | undefined {
  const length = Number(params.find(([name]) => /^(?:CONTENT|BODY)_LENGTH$/.test(name))?.[1] ?? 0);
  if (bytes.length < from + length) return undefined;
  const body = bytes.subarray(from, from + length);
  return { request: { params, body, keeps: false }, length: from + length };
}

function takeUwsgi(bytes: Buffer): Taken | undefined {
  if (bytes.length < 4 || bytes.length < 4 + bytes.readUInt16LE(1)) return undefined;
  const end = 4 + bytes.readUInt16LE(1);
  const params: [string, string][] = [];
  let at = 4;
  const readText = (): string => {
    const length = bytes.readUInt16LE(at);
    return bytes.toString('utf8', at + 2, (at += 2 + length));
  };
  while (at < end) params.push([readText(), readText()]);
  return withBody(params, bytes, end);
}

function takeScgi(bytes: Buffer): Taken | undefined {
  const colon = bytes.indexOf(':');
  const end = colon < 0 ? Infinity : colon + 1 + Number(bytes.toString('latin1', 0, colon));
  if (bytes.length < end + 1) return undefined;
  const texts = bytes.toString('utf8', colon + 1, end).split('\0');
  const params = texts.flatMap((text, index): [string, string][] =>
    index % 2 === 0 && index + 1 < texts.length ? [[text, texts[index + 1] as string]] : [],
  );
  return withBody(params, bytes, end + 1);
}

function takeCommand(bytes: Buffer): Taken | undefined {
  const end = bytes.indexOf('\n');
  if (end < 0) return undefined;
  const command = bytes.toString('utf8', 0, end).trimEnd();
  return { request: { params: [['', command]], body: Buffer.alloc(0), keeps: true }, length: end + 1 };
}

interface Acting {
  readonly script: Script;
  readonly keeps: boolean;
}

async function act(socket: Socket, protocol: ProgramProtocol, { script, keeps }: Acting): Promise<void> {
  const isFastcgi = protocol === 'fastcgi';
  for (const step of script) {
    if (step === '<close>') return void socket.end();
    if (step === '<reset>') return void socket.resetAndDestroy();
    if (step === '<stall>') return void (await once(socket, 'close'));
    if (step === '<pause>') await sleep(30);
    else if (!isFastcgi) socket.write(step, 'latin1');
    else if (step.startsWith('=')) socket.write(step.slice(1), 'latin1');
    else if (step.startsWith('!')) socket.write(record(STDERR as number, step.slice(1)));
    else socket.write(record(STDOUT as number, step));
  }
  if (isFastcgi)
    socket.write(Buffer.concat([record(STDOUT as number, ''), record(END as number, '\0'.repeat(8))]));
  if (!keeps) socket.end();
}

/** One FastCGI record, padded as FastCGI programs do. */
export function record(type: number, content: string): Buffer {
  const bytes = Buffer.from(content, 'latin1');
  const padding = (8 - (bytes.length % 8)) % 8;
  const header = Buffer.from([1, type, 0, 1, bytes.length >> 8, bytes.length & 0xff, padding, 0]);
  return Buffer.concat([header, bytes, Buffer.alloc(padding)]);
}
