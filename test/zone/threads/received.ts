import type { ReceivedEvent, RingEntry } from '../../../src/zone/index.ts';
import { payloadOf } from './payload.ts';

/** The event that another process has at this place of the stream; three processes take turns. */
export function receivedAt(counter: number): ReceivedEvent {
  const origin = 1 + (counter % 3);
  return {
    channel: `origin.${origin}`,
    type: 't',
    payload: payloadOf(origin, counter),
    timestampMs: 1_000 * counter,
    counter,
    origin,
    sequence: 7 * counter,
  };
}

/** Tells whether the fields of an entry belong to its channel: that of such an event, or of a publisher of this process. */
export function hasRightFields({ generation, channel, payload, ...fields }: RingEntry): boolean {
  const { timestampMs, position, counter, sequence, origin } = fields;
  if (channel.startsWith('writer.')) return counter === 0 && sequence === generation && origin === 0;
  const wanted = receivedAt(counter);
  return (
    channel === wanted.channel &&
    payload === wanted.payload &&
    timestampMs === wanted.timestampMs &&
    position === counter &&
    sequence === wanted.sequence &&
    origin === wanted.origin
  );
}
