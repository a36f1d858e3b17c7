import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Owner } from './owner.ts';

/** The actions of an upstream for a request: texts to send, and `<close>`, `<reset>`, `<stall>`, `<pause>`. */
export type Script = readonly string[];

/** An upstream that sends the bytes of its scripts, and records its requests. */
export interface ScriptedUpstream {
  readonly port: number;
  /** One line for each request since the last call. */
  heard(): string[];
  /** Number of connections so far. */
  connections(): number;
}

/** `name: "text" <close>` lines; a request whose target holds `~name` is handled by that script, others get an echo. */
export function readScripts(text: string): ReadonlyMap<string, Script> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const [, name = '', steps = ''] = /^([\w-]+): (.*)$/.exec(line) ?? [];
        return [name, steps.match(/"(?:[^"\\]|\\.)*"|<\w+>/g)?.map(stepOf) ?? []] as const;
      }),
  );
}

function stepOf(word: string): string {
  return word.startsWith('<') ? word : (JSON.parse(word) as string);
}

/** Listens on a port of 127.0.0.1 until its owner ends; `greeting` is sent on each connection. */
export async function startScriptedUpstream(
  t: Owner,
  scripts: ReadonlyMap<string, Script>,
  greeting = '',
): Promise<ScriptedUpstream> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    connections++;
    if (greeting !== '') socket.write(greeting);
    socket.on('close', () => sockets.delete(socket));
    void serve(socket, scripts, heard).catch(() => undefined);
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
  };
}

async function serve(socket: Socket, scripts: ReadonlyMap<string, Script>, heard: string[]): Promise<void> {
  let text = '';
  socket.setEncoding('latin1').on('error', () => undefined);
  for await (const chunk of socket as AsyncIterable<string>) {
    text += chunk;
    for (let request = takeRequest(text); request; request = takeRequest(text)) {
      text = text.slice(request.length);
      heard.push(request.line);
      const [, name = ''] = /~([\w-]+)/.exec(request.target) ?? [];
      await act(socket, scripts.get(name) ?? [echo(request)]);
    }
  }
  socket.end();
}

interface Heard {
  readonly length: number;
  readonly target: string;
  readonly line: string;
}

/** The first request in the received bytes; `undefined` while it is incomplete. */
function takeRequest(text: string): Heard | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...headers] = text.slice(0, end).split('\r\n');
  const length = Number(/^content-length: *(\d+)$/im.exec(text.slice(0, end))?.[1] ?? 0);
  const isChunked = /^transfer-encoding: *chunked$/im.test(text.slice(0, end));
  const rest = text.slice(end + 4);
  const chunked = isChunked ? /^[^]*?\r\n0\r\n\r\n|^0\r\n\r\n/.exec(rest)?.[0] : rest.slice(0, length);
  if (chunked === undefined || (!isChunked && chunked.length < length)) return undefined;
  const body = isChunked
    ? chunked.replaceAll(/[\da-f]+\r\n([^\r]*)\r\n/gi, '$1').replace(/0\r\n\r\n$|\r\n$/, '')
    : chunked;
  const lines = headers.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()));
  const shown = body === '' ? '' : ` << ${JSON.stringify(body.slice(0, 60)).slice(1, -1)}`;
  return {
    length: end + 4 + chunked.length,
    target: first.split(' ')[1] ?? '',
    line: [first, ...lines].join(' | ') + shown,
  };
}

function echo({ line }: Heard): string {
  const body = line.split(' | ', 1)[0]?.split(' ', 2).join(' ') ?? '';
  const content = line.startsWith('HEAD') ? '' : body;
  return `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${content}`;
}

async function act(socket: Socket, script: Script): Promise<void> {
  for (const step of script) {
    if (step === '<close>') socket.end();
    else if (step === '<reset>') socket.resetAndDestroy();
    else if (step === '<stall>') await once(socket, 'close');
    else if (step === '<pause>') await sleep(30);
    else socket.write(step, 'latin1');
  }
}
