import { expect, test } from 'vitest';
import { ClusterPurges } from '../../../src/cluster/subjects/cluster-purges.ts';
import type { Sharing } from '../../../src/cluster/subjects/sharing.ts';
import { CallLost } from '../../../src/cluster/subjects/worker-calls.ts';
import type { Build, WorkerScope } from '../../../src/contract/index.ts';
import { type Handler, requestId } from '../../../src/http/index.ts';
import type { ErrorLog, Level, LogContext } from '../../../src/log/index.ts';
import { compilePurgeApi } from '../../../src/modules/cache_purge/api.ts';
import type { CachePurgeConfig } from '../../../src/modules/cache_purge/directives.ts';
import { openPurgeEvents } from '../../../src/modules/cache_purge/events.ts';
import type { Targets } from '../../../src/modules/cache_purge/targets.ts';
import { createZone, openRing } from '../../../src/zone/index.ts';
import { TestWire } from '../../harness/test-wire.ts';

const LOCK_WORD = 4;

/** A purge of which neither the ring nor the cluster can be told. */
function compileUntold(log: ErrorLog): Handler {
  const ring = createZone({ name: 'bus', kind: 'ring', capacity: 4 });
  openRing(ring, 2);
  new Int32Array(ring)[LOCK_WORD] = 3;
  const sharing = {
    log,
    plan: { name: 'shop' },
    answer: () => undefined,
    ask: () => Promise.reject(new CallLost()),
  } as unknown as Sharing;
  const purged = { name: 'pages', purgeAll: () => Promise.resolve([1]) };
  const targets = { stores: [purged], kind: 'key', others: new ClusterPurges(sharing) } as unknown as Targets;
  const config = {
    match: 'exact',
    authorize: 'off',
    maxKeys: 9,
    eventsMode: 'summary',
    eventsZone: { name: 'bus' },
    eventsChannel: 'c',
  } as unknown as CachePurgeConfig;
  const worker = { zone: () => ring, workerId: 1, log } as unknown as WorkerScope;
  const publish = openPurgeEvents(config, worker);
  const scope = { zone: 'pages', targets, publish, knowsHost: () => true };
  return compilePurgeApi(config, scope, { needHeader: () => undefined } as unknown as Build);
}

test('what the error log tells of a purge belongs to its request', async () => {
  const lines: { text: string; id: string | undefined }[] = [];
  const write = (_: Level, text: string, context?: LogContext): void =>
    void lines.push({ text, id: context?.about?.requestId });
  const handler = compileUntold({ write } as ErrorLog);
  const wire = new TestWire('POST /', {
    headers: { 'content-type': 'application/json' },
    body: '{"targets":["/a"]}',
  });
  await handler(wire.x);
  expect(wire.sent?.status).toBe(200);
  const id = requestId(wire.x);
  await expect.poll(() => lines).toHaveLength(2);
  expect(lines).toEqual(
    expect.arrayContaining([
      { text: '1 events of a purge were not published on "c": the ring is busy', id },
      {
        text: 'cluster "shop": a purge could not be handed to the node; other gateways do not know of it',
        id,
      },
    ]),
  );
});
