import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { WorkerScope } from '../../contract/index.ts';
import { openRequestRates, type RequestRates, StateFile, stateZone, zoneIdentity } from '../../zone/index.ts';
import type { QuotaConfig, QuotaSharing, QuotaZone } from './directives.ts';
import { keptCounts } from './kept-counts.ts';
import type { SharedQuota } from './take-shared.ts';

/** A zone that is open in this worker. */
export interface OpenZone extends QuotaZone {
  readonly rates: RequestRates;
  readonly shared?: SharedQuota;
  /** Tells, not too often, that keys were dropped whose windows are not over. */
  readonly dropped: () => void;
}

export type OpenZones = ReadonlyMap<string, OpenZone>;

/** A change is in the file after this time. */
const STATE_LATE_MS = 10_000;
const DROPPED_TOLD_MS = 60_000;

/** `limit_req_zone` may have a zone of the same name. */
export function memoryName(zone: string): string {
  return `quota: ${zone}`;
}

/** The shared memory for the file of a zone, as declared; `undefined` without a file. */
export function stateOf({ name, sizeBytes, state }: QuotaZone): ReturnType<typeof stateZone> | undefined {
  return state === undefined ? undefined : stateZone({ name: memoryName(name), sizeBytes, state });
}

/** Opens the zones that the quotas of a location count in, with the counts that files keep. */
export async function openZones(
  { zones = [], quotas = [] }: QuotaConfig,
  worker: WorkerScope,
): Promise<OpenZones> {
  const opened = new Map<string, OpenZone>();
  for (const zone of zones) {
    if (quotas.some((quota) => quota.zone === zone.name)) opened.set(zone.name, await openZone(zone, worker));
  }
  return opened;
}

async function openZone(zone: QuotaZone, worker: WorkerScope): Promise<OpenZone> {
  const { name, sharing } = zone;
  const buffer = worker.zone(memoryName(name));
  const { rates, dropped } = worker.share(
    `quota ${name} ${zoneIdentity(buffer)}`,
    () => ({ rates: openRequestRates(buffer, worker.workerId), dropped: droppedIn(name, worker) }),
    () => undefined,
  );
  await keepState({ zone, memory: buffer }, worker);
  const shared = sharing && shareZone(zone, sharing, worker);
  return { ...zone, rates, dropped, ...(shared && { shared }) };
}

function droppedIn(name: string, { log }: WorkerScope): () => void {
  let toldMs = -Infinity;
  return () => {
    const nowMs = performance.now();
    if (nowMs - toldMs < DROPPED_TOLD_MS) return;
    toldMs = nowMs;
    log.write('warn', `quota zone "${name}" is full: keys are forgotten, and their quotas are whole again`);
  };
}

async function keepState(
  { zone, memory }: { zone: QuotaZone; memory: SharedArrayBuffer },
  worker: WorkerScope,
): Promise<void> {
  const { name, sizeBytes, state = '', window } = zone;
  const declared = stateOf(zone);
  if (!declared) return;
  const path = resolve(worker.prefix, state);
  const file = worker.share(
    `quota state ${path} ${zoneIdentity(memory)}`,
    () => {
      // With a lock of its own: the other one may hold a key between two calls.
      const entries = keptCounts(openRequestRates(memory, worker.workerId), window);
      const agreement = worker.zone(declared.name);
      const kept = { path, what: `quota zone "${name}"`, sizeBytes, entries, memory, agreement };
      return new StateFile({ ...kept, lateMs: STATE_LATE_MS }, worker);
    },
    (opened) => opened.close(),
  );
  await file.ready;
}

/** Shares a zone with the other gateways of its cluster. An explanation opens no cluster. */
function shareZone(
  { name, keyText, limit, window }: QuotaZone,
  { cluster: named, isExact }: QuotaSharing,
  worker: WorkerScope,
): SharedQuota | undefined {
  const cluster = worker.clusters.get(named);
  if (!cluster) return undefined;
  const digest = createHash('sha256').update(`${limit} ${window} ${keyText}`).digest('base64url');
  worker.share(
    `quota ${cluster.key} ${name} ${digest}`,
    () => cluster.quotas.share(name, digest),
    (end) => end(),
  );
  return { cluster, isExact };
}
