import type { Socket } from 'node:net';
import { type LaneEvents, type OpenLanes, openSocket } from './lane.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
/** Of a server's frame with a payload of less than 126 bytes (RFC 6455, 5.2). */
const FRAME_HEAD_BYTES = 2;
/** FIN and the opcode of text. */
const TEXT = 0x81;
const MASKED = 0x80;
const MASK = Buffer.from('mask');
/** Longer payloads have another head. */
const LONGEST_PAYLOAD = 125;

/**
 * One WebSocket for each lane. A request is a message with its body as text, its response a message of the same length:
 * the server sends back what it gets.
 */
export const openMessageLanes: OpenLanes = ({ port, requests, lanes }, { opened, failed }) => {
  const messages = requests.map(({ body = '' }) => ({
    frame: frameOf(body),
    backBytes: FRAME_HEAD_BYTES + body.length,
  }));
  const { path } = requests[0] as (typeof requests)[number];
  for (let lane = 0; lane < lanes; lane++) {
    const socket = openSocket(port, { failed });
    upgrade(socket, { path, failed }, () => {
      let awaitedBytes = 0;
      let onMessage: (() => void) | undefined;
      socket.on('data', (bytes: Buffer) => {
        awaitedBytes -= bytes.length;
        if (awaitedBytes < 0) failed('a message is longer than the one that was sent');
        if (awaitedBytes === 0) onMessage?.();
      });
      opened({
        send(turn, onResponse) {
          const { frame, backBytes } = messages[turn % messages.length] as (typeof messages)[number];
          awaitedBytes = backBytes;
          onMessage = onResponse;
          socket.write(frame);
        },
      });
    });
  }
};

function upgrade(
  socket: Socket,
  { path, failed }: { readonly path: string; readonly failed: LaneEvents['failed'] },
  opened: () => void,
): void {
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  let head = Buffer.alloc(0);
  socket.on('data', function read(bytes: Buffer) {
    head = Buffer.concat([head, bytes]);
    if (!head.includes(HEAD_END)) return;
    socket.off('data', read);
    if (head.toString('latin1').startsWith('HTTP/1.1 101 ')) opened();
    else failed(`a response: ${head.toString('latin1')}`);
  });
}

/** A frame as a client sends it: masked. */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length > LONGEST_PAYLOAD) throw new Error(`a message is longer than ${LONGEST_PAYLOAD} bytes`);
  const masked = payload.map((byte, index) => byte ^ (MASK[index % MASK.length] as number));
  return Buffer.concat([Buffer.of(TEXT, MASKED | payload.length), MASK, masked]);
}
