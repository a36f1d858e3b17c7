import { ACK, FRAME, type RawHttp2, type ReceivedFrame } from '../../harness/http2-frames.ts';

/** Names of error codes (RFC 9113, 7). */
const CODES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
];

/** Statuses in the static table of HPACK (RFC 7541, appendix A). */
const STATUSES = new Map([
  [0x88, 200],
  [0x89, 204],
  [0x8a, 206],
  [0x8b, 304],
  [0x8c, 400],
  [0x8d, 404],
  [0x8e, 500],
]);

/** What the last ping of a case says. */
export const END = Buffer.from('the end!');

/**
 * Describes what came: `1: 200` is a head on stream 1, `1: "text"` a piece of its body. Nothing is said of window updates, of
 * the first settings, of a GOAWAY without an error, and of what follows one with an error: when the connection is closed then
 * is not compared.
 */
export function outcomeOf({ frames, isClosed }: Pick<RawHttp2, 'frames' | 'isClosed'>): string {
  const parts: string[] = [];
  let settings = 0;
  for (const received of frames) {
    const { type, flags } = received;
    if (type === FRAME.settings && (flags & ACK) !== 0 && settings++ === 0) continue;
    const part = describe(received);
    if (part !== '') parts.push(part);
    if (part !== '' && type === FRAME.goaway) return parts.join(', ');
  }
  return [...parts, ...(isClosed ? ['closed'] : [])].join(', ');
}

function describe({ type, flags, stream, payload }: ReceivedFrame): string {
  switch (type) {
    case FRAME.headers:
      return `${stream}: ${STATUSES.get(payload[0] ?? 0) ?? 'another status'}`;
    case FRAME.data:
      if (payload.length === 0) return '';
      return `${stream}: ${payload.includes('<html>') ? 'a page' : JSON.stringify(String(payload))}`;
    case FRAME.reset:
      return `${stream}: ${CODES[payload.readUInt32BE(0)]}`;
    case FRAME.settings:
      return flags === ACK ? 'settings' : '';
    case FRAME.ping:
      return payload.equals(END) ? '' : `pong ${String(payload)}`;
    case FRAME.goaway: {
      const code = payload.readUInt32BE(4);
      return code === 0 ? '' : `connection: ${CODES[code]}`;
    }
    default:
      return '';
  }
}
