import { EVENT_LIMITS } from './ring/layout.ts';
import type { RingDeclaration } from './declaration.ts';
import type { Ring } from './ring/ring.ts';

/** The zone with the last lines of the logs; used only if a location shows them. */
export const LOG_TAIL: RingDeclaration = { name: 'gw log tail', kind: 'ring', capacity: 512 };

/** Adds a line of an error log: the channel is `error`, the type its level. */
export function keepErrorLine(tail: Ring, level: string, text: string): void {
  tail.publish({ channel: 'error', type: level, payload: cut(text) });
}

/** Adds a request: the channel is `request`, the type its status. */
export function keepRequestLine(tail: Ring, status: number, text: string): void {
  tail.publish({ channel: 'request', type: String(status), payload: cut(text) });
}

/** Cuts a text to the size of an event, never inside a character. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= EVENT_LIMITS.payloadBytes) return text;
  let end = EVENT_LIMITS.payloadBytes - 3;
  while (((bytes[end] as number) & 0xc0) === 0x80) end--;
  return `${bytes.toString('utf8', 0, end)}…`;
}
