import type { ErrorLog } from '../log/index.ts';
import { EVENT_LIMITS, openRing, type Ring } from '../zone/index.ts';
import type { Transition } from './group-checks.ts';
import type { EventTarget } from './plan.ts';

/** The part of a worker that publishing uses. */
interface EventScope {
  readonly workerId: number;
  readonly log: ErrorLog;
  zone(name: string): SharedArrayBuffer;
}

/** Publishes transitions as events of type `transition`. Best effort: an event is lost if its ring is busy. */
export class EventPublisher {
  readonly #targets: readonly { readonly ring: Ring; readonly channel: string }[];
  readonly #log: ErrorLog;

  constructor(targets: readonly EventTarget[], worker: EventScope) {
    this.#log = worker.log;
    this.#targets = targets.map(({ zone, channel }) => ({
      ring: openRing(worker.zone(zone), worker.workerId),
      channel,
    }));
  }

  publish(transition: Transition): void {
    if (this.#targets.length === 0) return;
    const payload = payloadOf(transition);
    for (const { ring, channel } of this.#targets) {
      const published = ring.publish({ channel, type: 'transition', payload });
      if (!published)
        this.#log.write('warn', `a health transition was not published on "${channel}": the ring is busy`);
    }
  }
}

/** The longest name that leaves room for the other fields. */
const NAME_BYTES = EVENT_LIMITS.payloadBytes - 128;

function payloadOf({ plan, upstream, peer, healthy, status, atMs }: Transition): string {
  const { scope } = plan;
  const name = scope === 'peer' ? `${upstream}/${peer}` : plan.name;
  return JSON.stringify({ scope, name: shortened(name), healthy, status, checked_at_msec: Math.trunc(atMs) });
}

/** Shortens a name until its JSON fits; most names are ASCII, and few of their characters are escaped. */
function shortened(name: string): string {
  let text = name;
  while (Buffer.byteLength(JSON.stringify(text)) > NAME_BYTES) text = text.slice(0, -16);
  return text;
}
