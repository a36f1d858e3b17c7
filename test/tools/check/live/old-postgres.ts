import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A server that claims to be an old PostgreSQL, and responds to every query with `facts`, or never. */
export async function oldPostgres(
  t: { onTestFinished(stop: () => void): void },
  facts?: object,
): Promise<{ readonly port: number; readonly connections: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => answer(socket, chunk, facts && JSON.stringify(facts)));
    socket.on('error', () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => sockets.size };
}

const SSL_REQUEST = 80_877_103;
const READY = message('Z', Buffer.from('I'));

/** PostgreSQL's protocol, version 3 (documentation, 55.7), as far as a client needs it here. */
function answer(socket: Socket, chunk: Buffer, text: string | undefined): void {
  if (chunk.length === 8 && chunk.readInt32BE(4) === SSL_REQUEST) return void socket.write('N');
  if (chunk[0] === 0) return void socket.write(Buffer.concat([message('R', int32(0)), READY]));
  for (let at = 0; at < chunk.length; at += 1 + chunk.readInt32BE(at + 1)) {
    const reply = replyTo(chunk.toString('latin1', at, at + 1), text);
    if (reply) socket.write(reply);
  }
}

/** What a message of the client gets, by its type. */
function replyTo(type: string, text: string | undefined): Buffer | undefined {
  if (type === 'Q') return Buffer.concat([message('C', Buffer.from('SET\0')), READY]);
  if (text === undefined) return undefined;
  if (type === 'P') return message('1');
  if (type === 'B') return message('2');
  if (type === 'C') return message('3');
  if (type === 'D') return message('T', Buffer.concat([int16(1), COLUMN]));
  if (type === 'S') return READY;
  if (type !== 'E') return undefined;
  const value = Buffer.from(text);
  const row = message('D', Buffer.concat([int16(1), int32(value.length), value]));
  return Buffer.concat([row, message('C', Buffer.from('SELECT 1\0'))]);
}

function message(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

const COLUMN = Buffer.concat([
  Buffer.from('facts\0'),
  int32(0),
  int16(0),
  int32(25),
  int16(-1),
  int32(-1),
  int16(0),
]);
