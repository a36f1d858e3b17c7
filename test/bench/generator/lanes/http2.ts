import type { Socket } from 'node:net';
import {
  acknowledgement,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  FRAME,
  FrameReader,
  PREFACE,
  type ReceivedFrame,
  windowFrame,
} from '../../../harness/http2-frames.ts';
import type { HttpRequest } from '../../target.ts';
import { type Lane, type LaneEvents, type OpenLanes, openSocket } from './lane.ts';

/** As many as `h2load` gets in the rows of the throughput. */
const STREAMS_OF_CONNECTION = 8;
/** Added to the window of a connection at its start, and whenever half of it is used. */
const WINDOW_BYTES = 1_073_741_824;
/** `:status: 200` as an entry of the static table (RFC 7541, appendix A). */
const OK = 0x88;
/** True for a new size of the dynamic table (RFC 7541, 6.3). */
const isTableSize = (byte: number): boolean => byte >> 5 === 1;

/** One stream for each request, several lanes on a connection that is kept, without TLS: frames made beforehand. */
export const openStreamLanes: OpenLanes = ({ port, requests, lanes }, events) => {
  const blocks = requests.map(blocksOf);
  for (let first = 0; first < lanes; first += STREAMS_OF_CONNECTION) {
    const socket = openSocket(port, events, () => {
      const session = new Session(socket, blocks, events);
      const count = Math.min(STREAMS_OF_CONNECTION, lanes - first);
      for (let lane = 0; lane < count; lane++) events.opened(session);
    });
  }
};

interface Blocks {
  readonly head: Buffer;
  readonly body: Buffer | undefined;
}

function blocksOf({ method = 'GET', path, headers = {}, body }: HttpRequest): Blocks {
  const head = fieldBlock([
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', '127.0.0.1'],
    ...Object.entries(headers),
  ]);
  return { head, body: body === undefined ? undefined : Buffer.from(body, 'latin1') };
}

/** A connection: a lane that takes another request while one is under way. */
class Session implements Lane {
  readonly #socket: Socket;
  readonly #blocks: readonly Blocks[];
  readonly #fail: LaneEvents['failed'];
  readonly #frames = new FrameReader();
  readonly #underWay = new Map<number, { readonly onResponse: () => void; hasHead: boolean }>();
  #nextStream = 1;
  /** Of the window, since it was given back. */
  #usedBytes = 0;

  constructor(socket: Socket, blocks: readonly Blocks[], { failed }: LaneEvents) {
    this.#socket = socket;
    this.#blocks = blocks;
    this.#fail = failed;
    socket.on('data', (bytes: Buffer) => {
      for (const received of this.#frames.read(bytes)) this.#take(received);
    });
    socket.write(Buffer.concat([PREFACE, frame(FRAME.settings), windowFrame(WINDOW_BYTES)]));
  }

  send(turn: number, onResponse: () => void): void {
    const { head, body } = this.#blocks[turn % this.#blocks.length] as Blocks;
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#underWay.set(stream, { onResponse, hasHead: false });
    const flags = body === undefined ? END_HEADERS | END_STREAM : END_HEADERS;
    const frames = [frame(FRAME.headers, { stream, flags, payload: head })];
    if (body !== undefined) frames.push(frame(FRAME.data, { stream, flags: END_STREAM, payload: body }));
    this.#socket.write(Buffer.concat(frames));
  }

  #take(received: ReceivedFrame): void {
    const { type, flags, stream, payload } = received;
    if (type === FRAME.reset || type === FRAME.goaway) this.#fail(`a frame of type ${type}`);
    const acknowledged = acknowledgement(received);
    if (acknowledged) this.#socket.write(acknowledged);
    if (type === FRAME.data) this.#use(payload.length);
    const request = this.#underWay.get(stream);
    if (request === undefined || (type !== FRAME.headers && type !== FRAME.data)) return;
    // The second block of fields is that of trailers.
    if (!request.hasHead) this.#checkStatus(payload);
    request.hasHead = true;
    if ((flags & END_STREAM) === 0) return;
    this.#underWay.delete(stream);
    request.onResponse();
  }

  #checkStatus(block: Buffer): void {
    const [first = 0, second = 0, third = 0] = block;
    const status = !isTableSize(first) ? first : !isTableSize(second) ? second : third;
    if (status !== OK) this.#fail('a response with another status than 200');
  }

  #use(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes < WINDOW_BYTES / 2) return;
    this.#socket.write(windowFrame(this.#usedBytes));
    this.#usedBytes = 0;
  }
}
