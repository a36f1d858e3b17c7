import { EVENT_LIMITS, type RingEntry } from './layout.ts';

/** Returns an event as names and values, which alternate, for another process. */
export function eventFields({
  channel,
  type,
  payload,
  timestampMs,
}: Pick<RingEntry, 'channel' | 'type' | 'payload' | 'timestampMs'>): readonly string[] {
  const fields = ['channel', channel, 'type', type, 'time', String(timestampMs)];
  return payload === null ? fields : [...fields, 'payload', payload];
}

/** An event of another process. */
interface ForeignEvent {
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  readonly timestampMs: number;
}

/** Reads an event from such fields. Returns `undefined` if it is malformed, or beyond limits. */
export function readEventFields(fields: readonly string[]): ForeignEvent | undefined {
  const given = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) given.set(fields[i] as string, fields[i + 1] as string);
  const channel = given.get('channel') ?? '';
  const type = given.get('type') ?? '';
  const payload = given.get('payload') ?? null;
  const time = given.get('time') ?? '';
  const fits =
    fitsIn(channel, EVENT_LIMITS.channelBytes) &&
    fitsIn(type, EVENT_LIMITS.typeBytes) &&
    Buffer.byteLength(payload ?? '') <= EVENT_LIMITS.payloadBytes;
  if (!fits || !/^\d{1,15}$/.test(time)) return undefined;
  return { channel, type, payload, timestampMs: Number(time) };
}

function fitsIn(text: string, bytes: number): boolean {
  return text !== '' && Buffer.byteLength(text) <= bytes;
}
