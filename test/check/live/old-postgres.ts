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
  if (chunk.toString('latin1', 0, 1) === 'Q')
    return void socket.write(Buffer.concat([message('C', Buffer.from('SET\0')), READY]));
  if (text !== undefined && chunk.includes(Buffer.from('S\0\0\0\u0004'))) {
    const column = Buffer.concat([
      Buffer.from('facts\0'),
      int32(0),
      int16(0),
      int32(25),
      int16(-1),
      int32(-1),
      int16(0),
    ]);
    const value = Buffer.from(text);
    socket.write(
      Buffer.concat([
        message('1'),
        message('2'),
        message('T', Buffer.concat([int16(1), column])),
        message('D', Buffer.concat([int16(1), int32(value.length), value])),
        message('C', Buffer.from('SELECT 1\0')),
        READY,
      ]),
    );
  }
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
