import { Payload } from '../dictionary/payload.ts';
import { Table } from '../dictionary/table.ts';
import type { Memory } from '../layout.ts';
import { seedOf } from './layout.ts';

/*
 * A zone of connection limits has two entries for a key that is in use: how many requests of it there are in all, and how
 * many of them each thread has. What a thread had can so be taken back when it dies.
 */

const TOTAL = ':';
const SHARE = /^(\d+)(:.*)$/s;

/** Key of the entry that counts all requests of a key. */
export function totalOf(key: string): string {
  return TOTAL + key;
}

/** Key of the entry that counts one thread's requests of a key. */
export function shareOf(key: string, threadId: number): string {
  return `${threadId}${TOTAL}${key}`;
}

/** Takes back what a thread that is gone had. The caller holds the lock. */
export function forgetThread(memory: Memory, threadId: number): void {
  const table = new Table(memory);
  for (const entry of entriesOf(table)) {
    const [, thread] = SHARE.exec(table.key(entry)) ?? [];
    if (thread === String(threadId)) table.remove(entry);
  }
  recount(memory);
}

/** Makes every total what its shares come to. The caller holds the lock. */
export function recount(memory: Memory): void {
  const table = new Table(memory);
  const totals = new Map<string, number>();
  const entries = entriesOf(table);
  for (const entry of entries) {
    const [, , total] = SHARE.exec(table.key(entry)) ?? [];
    if (total !== undefined) totals.set(total, (totals.get(total) ?? 0) + table.number(entry));
  }
  for (const entry of entries) {
    const key = table.key(entry);
    if (!key.startsWith(TOTAL)) continue;
    const total = totals.get(key);
    totals.delete(key);
    if (total === undefined) table.remove(entry);
    else table.setNumber(entry, total);
  }
  // A writer that died between the two entries of a key has left the share alone.
  const payload = new Payload(seedOf(memory));
  for (const [key, value] of totals) {
    payload.encode(key);
    const hasRoom = table.reserve(payload.length, { replaced: 0, nowMs: -Infinity, evict: false });
    if (hasRoom) table.insert(payload, { value, expiresMs: 0 });
  }
}

function entriesOf(table: Table): number[] {
  const found: number[] = [];
  for (let entry = table.newest; entry !== 0; entry = table.older(entry)) found.push(entry);
  return found;
}
