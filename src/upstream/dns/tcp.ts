import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { encodeQuery, type Question, readResponse } from './message.ts';
import type { Attempt, Listener, ServerAddress } from './udp.ts';

/** Number of connections to one server. */
const MAX_CONNECTIONS = 64;
/** Number of turns of the server for which a connection may last. */
const MAX_TURNS = 2;
/** A message follows its length in two bytes (RFC 1035, 4.2.2). */
const LENGTH_BYTES = 2;

/** The TCP connections to one server, one for each query (RFC 7766). */
export class TcpConnections {
  readonly #server: ServerAddress;
  #open = 0;

  constructor(server: ServerAddress) {
    this.#server = server;
  }

  /** Sends a query. The listener is called later, never at once. Returns `undefined` if there are too many. */
  send(question: Question, listener: Pick<Listener, 'responded' | 'failed'>): Attempt | undefined {
    if (this.#open >= MAX_CONNECTIONS) return undefined;
    const query = { id: randomInt(0x1_0000), question };
    const socket = connect({ host: this.#server.ip, port: this.#server.port });
    this.#open++;
    let turns = 1;
    let isOver = false;
    const end = (tell?: () => void): void => {
      if (isOver) return;
      isOver = true;
      this.#open--;
      socket.destroy();
      tell?.();
    };
    const read = messageReader((message) => {
      const response = readResponse(message, query);
      end(() => (typeof response === 'object' ? listener.responded(response) : listener.failed()));
    });
    socket.on('connect', () => socket.write(withLength(encodeQuery(query.id, question))));
    socket.on('data', read);
    socket.on('error', () => end(() => listener.failed()));
    socket.on('close', () => end(() => listener.failed()));
    const again = (): boolean => {
      if (++turns > MAX_TURNS) end();
      return !isOver;
    };
    return { again, close: () => end() };
  }
}

/** Puts the chunks of one message together. */
function messageReader(read: (message: Buffer) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let wanted = LENGTH_BYTES;
  const joined = (): Buffer => {
    const all = Buffer.concat(chunks);
    chunks = [all];
    return all;
  };
  return (chunk) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (wanted === LENGTH_BYTES && bytes >= wanted) wanted += joined().readUInt16BE(0);
    if (wanted > LENGTH_BYTES && bytes >= wanted) read(joined().subarray(LENGTH_BYTES, wanted));
  };
}

function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}
