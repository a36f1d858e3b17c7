import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, type TestContext } from 'vitest';
import { type EventSource, openEvents } from '../harness/event-source.ts';
import type { Gateway } from '../harness/gateway.ts';
import { redis } from '../harness/redis.ts';
import { perTier } from '../harness/tier.ts';
import { joined, startNode } from './gateways.ts';
import { postedJson } from './post.ts';

const EVENTS = perTier({ short: 1_000, long: 1_000_000 });
/** One gateway is killed so often, and at least so many times. */
const KILL_MS = perTier({ short: 500, long: 5_000 });
const KILLS = 3;
const LANES = 4;

/** What the model knows: who has published what, and what was answered with 200. */
interface Lane {
  readonly gw: Gateway;
  readonly name: string;
  readonly confirmed: string[];
}

/** Publishes one event after another until `isDone`. An event whose outcome is not known is not published again. */
async function publish({ gw, name, confirmed }: Lane, isDone: () => boolean): Promise<void> {
  for (let i = 0; !isDone(); i += 1) {
    const payload = `${name} ${i}`;
    try {
      const { status } = await postedJson(gw, '/events', { type: 'told', payload });
      if (status === 200) confirmed.push(payload);
    } catch {
      // The gateway was killed.
      await sleep(20);
    }
  }
}

/** The payloads that a client has got. */
function payloadsIn({ events }: EventSource): readonly string[] {
  return events
    .filter(({ event }) => event === 'told')
    .map(({ data }) => (JSON.parse(data) as { payload: string }).payload);
}

/** Kills a gateway and starts it again until `isDone`, which is given the number of times. */
async function torment(gw: Gateway, isDone: (kills: number) => boolean): Promise<void> {
  for (let kills = 0; !isDone(kills); kills += 1) {
    await sleep(KILL_MS);
    await gw.stop('SIGKILL');
    gw.start();
    await expect.poll(async () => (await gw.fetch('/ready')).status, { timeout: 30_000 }).toBe(200);
  }
}

async function startThree(t: TestContext): Promise<readonly [Gateway, Gateway, Gateway]> {
  const { url } = await redis('--databases', '20');
  const spec = { backend: url, shares: 'cluster=main:ack', ringSize: 8_192, more: 'timeout 5s;' };
  const three = await Promise.all([
    startNode(t, { id: 'a', ...spec }),
    startNode(t, { id: 'b', ...spec }),
    startNode(t, { id: 'c', ...spec, expectAlerts: true }),
  ]);
  await Promise.all(three.map(joined));
  return three;
}

test('while one of three gateways is killed again and again, no confirmed event is lost, none comes twice, and publishers keep their order', async (t) => {
  const [a, b, c] = await startThree(t);
  const clients = await Promise.all([a, b].map((gw) => openEvents(t, `${gw.url}/events?since=0&channel=`)));
  const lanes = [a, b, c].flatMap((gw, nth) =>
    Array.from({ length: LANES }, (_, i): Lane => ({ gw, name: `${'abc'[nth]}${i}`, confirmed: [] })),
  );
  let isOver = false;
  const isDone = (kills: number): boolean =>
    (isOver ||= kills >= KILLS && lanes.reduce((sum, { confirmed }) => sum + confirmed.length, 0) >= EVENTS);
  await Promise.all([torment(c, isDone), ...lanes.map((lane) => publish(lane, () => isOver))]);
  const confirmed = lanes.flatMap((lane) => lane.confirmed);
  for (const client of clients) {
    await expect
      .poll(
        () => {
          const got = new Set(payloadsIn(client));
          return confirmed.filter((payload) => !got.has(payload)).length;
        },
        { timeout: 30_000 },
      )
      .toBe(0);
    const got = payloadsIn(client);
    expect(new Set(got).size).toBe(got.length);
    for (const { name } of lanes) {
      const numbers = got
        .filter((payload) => payload.startsWith(`${name} `))
        .map((text) => Number(text.split(' ')[1]));
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    }
    expect(client.events.filter(({ event }) => event === 'dropped')).toEqual([]);
  }
}, 3_600_000);
