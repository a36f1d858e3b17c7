import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { type DnsResponse, encodeQuery, messageId, type Question, readResponse } from './message.ts';

/** The address of a name server. */
export interface ServerAddress {
  readonly ip: string;
  readonly port: number;
}

/** Waits for the response to one query. Each query ends with the first of these calls, or with `close`. */
export interface Listener {
  responded(response: DnsResponse): void;
  /** The response is too long for UDP. */
  truncated(): void;
  /** The server cannot be reached. */
  failed(): void;
}

/** One query that one server was sent. */
export interface Attempt {
  /** Called when it is the server's turn again. Tells whether the attempt goes on. */
  again(): boolean;
  close(): void;
}

/**
 * Number of sockets for one server. Usually every query has a socket of its own, and so a port that nobody can guess
 * (RFC 5452); while a flood of names is asked for, queries share them.
 */
const MAX_SOCKETS = 64;

/** Longer messages are dropped (nginx: NGX_RESOLVER_UDP_SIZE). */
const MAX_MESSAGE_BYTES = 4096;

/** The UDP sockets for one server. */
export class UdpSockets {
  readonly #server: ServerAddress;
  readonly #open: UdpSocket[] = [];

  constructor(server: ServerAddress) {
    this.#server = server;
  }

  /** Sends a query. The listener is called later, never at once. */
  send(question: Question, listener: Listener): Attempt {
    return this.#take().send(question, listener);
  }

  #take(): UdpSocket {
    const shared = this.#open.length < MAX_SOCKETS ? undefined : this.#open[randomInt(this.#open.length)];
    if (shared) return shared;
    const socket: UdpSocket = new UdpSocket(this.#server, () => {
      const at = this.#open.indexOf(socket);
      if (at >= 0) this.#open.splice(at, 1);
    });
    this.#open.push(socket);
    return socket;
  }
}

interface Query {
  readonly id: number;
  readonly question: Question;
  readonly listener: Listener;
}

/** A socket that receives from one server only. It is closed with its last query. */
class UdpSocket {
  readonly #socket: Socket;
  readonly #queries = new Map<number, Query>();
  readonly #closed: () => void;
  #isConnected = false;
  #isClosed = false;

  constructor({ ip, port }: ServerAddress, closed: () => void) {
    this.#closed = closed;
    this.#socket = createSocket(isIPv6(ip) ? 'udp6' : 'udp4');
    this.#socket.on('error', () => this.#fail());
    this.#socket.on('message', (message) => this.#receive(message));
    this.#socket.once('connect', () => {
      this.#isConnected = true;
      for (const query of this.#queries.values()) this.#write(query);
    });
    this.#socket.connect(port, ip);
  }

  send(question: Question, listener: Listener): Attempt {
    const query = { id: this.#freeId(), question, listener };
    this.#queries.set(query.id, query);
    if (this.#isConnected) this.#write(query);
    return {
      again: () => {
        if (this.#isConnected) this.#write(query);
        return true;
      },
      close: () => this.#remove(query),
    };
  }

  #freeId(): number {
    for (;;) {
      const id = randomInt(0x1_0000);
      if (!this.#queries.has(id)) return id;
    }
  }

  #write({ id, question }: Query): void {
    if (!this.#isClosed) this.#socket.send(encodeQuery(id, question));
  }

  #receive(message: Buffer): void {
    const query = this.#queries.get(messageId(message) ?? -1);
    if (!query || message.length > MAX_MESSAGE_BYTES) return;
    const response = readResponse(message, query);
    if (!response) return;
    this.#remove(query);
    if (response === 'truncated') query.listener.truncated();
    else query.listener.responded(response);
  }

  #remove(query: Query): void {
    // Its id may be that of a later query by now.
    if (this.#queries.get(query.id) !== query) return;
    this.#queries.delete(query.id);
    if (this.#queries.size === 0) this.#close();
  }

  #fail(): void {
    const queries = [...this.#queries.values()];
    this.#queries.clear();
    this.#close();
    for (const { listener } of queries) listener.failed();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed();
    this.#socket.close();
  }
}
