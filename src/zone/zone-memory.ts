import { randomFillSync } from 'node:crypto';
import { cacheKind } from './cache/kind.ts';
import type { ZoneDeclaration, ZoneKind } from './declaration.ts';
import { dictionaryKind } from './dictionary/kind.ts';
import { IDENTITY_WORD, MAGIC_WORD, memoryOf } from './header.ts';
import { connectionLimitKind, requestLimitKind } from './limits/kinds.ts';
import { clearAlive, setAlive, ZoneLock } from './lock.ts';
import { peersKind } from './peers/kind.ts';
import { ringKind } from './ring/kind.ts';
import { sharedTextKind } from './shared-text/kind.ts';

type Kinds = {
  readonly [K in ZoneDeclaration['kind']]: ZoneKind<Extract<ZoneDeclaration, { kind: K }>>;
};

const KINDS: Kinds = {
  ring: ringKind,
  dictionary: dictionaryKind,
  'request limit': requestLimitKind,
  'connection limit': connectionLimitKind,
  peers: peersKind,
  'shared text': sharedTextKind,
  cache: cacheKind,
};

/** Returns the kind of a declaration. */
function kindOf({ kind }: ZoneDeclaration): ZoneKind<ZoneDeclaration> {
  return KINDS[kind];
}

/** Returns the kind of a zone's memory. Throws if the memory is not a zone. */
function kindIn(buffer: SharedArrayBuffer): ZoneKind<ZoneDeclaration> {
  const magic = new Uint32Array(buffer, 0, 1)[MAGIC_WORD];
  const found = Object.values(KINDS).find((kind) => kind.magic === magic);
  if (!found) throw new TypeError('the shared memory holds no zone');
  return found as ZoneKind<ZoneDeclaration>;
}

/** The master's thread id in a zone; workers count from 1. */
const MASTER_ID = 0;

/** Returns the size of a zone in bytes. */
export function zoneBytes(declaration: ZoneDeclaration): number {
  return kindOf(declaration).bytes(declaration);
}

/**
 * Returns why this zone cannot be created, as a complete message that states the bytes needed; `undefined` if it can.
 */
export function zoneFault(declaration: ZoneDeclaration): string | undefined {
  return kindOf(declaration).fault(declaration);
}

/** Returns why `later` cannot share the zone that `earlier` declared under the same name; `undefined` if it can. */
export function zoneConflict(later: ZoneDeclaration, earlier: ZoneDeclaration): string | undefined {
  if (later.name !== earlier.name) return undefined;
  if (later.kind !== earlier.kind) return `zone "${later.name}" is already declared as a ${earlier.kind}`;
  return kindOf(later).conflict(later, earlier);
}

/** Allocates an empty zone, once, in the master. Workers get the buffer and open it. */
export function createZone(declaration: ZoneDeclaration): SharedArrayBuffer {
  const kind = kindOf(declaration);
  const buffer = new SharedArrayBuffer(kind.bytes(declaration));
  const { u32, i32, bytes } = memoryOf(buffer);
  u32[MAGIC_WORD] = kind.magic;
  bytes.set(randomFillSync(new Uint8Array(8)), IDENTITY_WORD * 4);
  kind.format(buffer, declaration);
  setAlive(i32, MASTER_ID);
  return buffer;
}

/** Returns whether a reload can keep this memory, with its content, for a zone of the same name. */
export function keepsZone(buffer: SharedArrayBuffer, declaration: ZoneDeclaration): boolean {
  const kind = kindOf(declaration);
  return (
    kindIn(buffer).magic === kind.magic &&
    buffer.byteLength === kind.bytes(declaration) &&
    kind.keeps(buffer, declaration)
  );
}

/** Returns a text that identifies this memory, even among zones that have or had the same name and size. */
export function zoneIdentity(buffer: SharedArrayBuffer): string {
  return Buffer.from(buffer, IDENTITY_WORD * 4, 8).toString('hex');
}

/**
 * Called by the master after a worker thread has exited and before its id is reused: releases a lock that the thread
 * held, repairs the content, and removes what belonged to the thread.
 */
export function markDead(buffer: SharedArrayBuffer, threadId: number): void {
  const words = new Int32Array(buffer);
  const kind = kindIn(buffer);
  clearAlive(words, threadId);
  const lock = new ZoneLock(words, MASTER_ID, () => kind.repair(buffer));
  lock.takeOver(threadId);
  if (kind.leave) underLock(lock, () => kind.leave?.(buffer, threadId));
}

/** Runs `act` under the lock. The current holder is alive and will release it. */
function underLock(lock: ZoneLock, act: () => void): void {
  while (!lock.acquire());
  try {
    act();
  } finally {
    lock.release();
  }
}
