/**
 * A gRPC server that responds to each call with the same message, as fast as this runtime can: what is measured is the
 * gateway in front of it. It reads the heads of frames only, and gives the window of requests back in large pieces.
 */
import { createServer, type Socket } from 'node:net';
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
} from '../../harness/http2-frames.ts';

/** Of the connection that clients may use, beyond the 64 KB that it has. */
const WINDOW_BYTES = 16_777_216;

const HEAD = fieldBlock([
  [':status', '200'],
  ['content-type', 'application/grpc'],
]);
const MESSAGE = Buffer.from('\0\0\0\0\x05hello');
const TRAILERS = fieldBlock([['grpc-status', '0']]);

const responseTo = (stream: number): readonly Buffer[] => [
  frame(FRAME.headers, { stream, flags: END_HEADERS, payload: HEAD }),
  frame(FRAME.data, { stream, payload: MESSAGE }),
  frame(FRAME.headers, { stream, flags: END_HEADERS | END_STREAM, payload: TRAILERS }),
];

class Session {
  readonly #frames = new FrameReader({ skippedBytes: PREFACE.length });
  /** Bytes of bodies since the window was given back. */
  #takenBytes = 0;

  /** The frames that respond to these bytes. */
  read(bytes: Buffer): Buffer {
    return Buffer.concat(this.#frames.read(bytes).flatMap((received) => this.#respond(received)));
  }

  #respond(received: ReceivedFrame): readonly Buffer[] {
    const { type, flags, stream, payload } = received;
    if (type !== FRAME.headers && type !== FRAME.data) {
      const acknowledged = acknowledgement(received);
      return acknowledged ? [acknowledged] : [];
    }
    const response = (flags & END_STREAM) === 0 ? [] : responseTo(stream);
    if (type === FRAME.data) this.#takenBytes += payload.length;
    if (this.#takenBytes < WINDOW_BYTES / 2) return response;
    const window = windowFrame(this.#takenBytes);
    this.#takenBytes = 0;
    return [window, ...response];
  }
}

const server = createServer({ noDelay: true }, (socket: Socket) => {
  const session = new Session();
  socket.write(Buffer.concat([frame(FRAME.settings), windowFrame(WINDOW_BYTES)]));
  socket.on('data', (bytes: Buffer) => {
    const responses = session.read(bytes);
    if (responses.length > 0) socket.write(responses);
  });
  socket.on('error', () => socket.destroy());
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
