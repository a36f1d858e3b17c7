import { ENTRY_VERSION } from '../entry.ts';
import type { Heard, KeysPart, Member, StoredEntry, StreamState } from '../store.ts';

/** A row as the server writes it. */
export type Row = readonly (string | null)[];

/** Rows that do not belong to the statement: the server is not a store. */
export class UnexpectedRows extends Error {}

const SEQUENCE = /^[1-9]\d{0,15}$/;
const LONGEST_MAC = 99;

function readText(value: string | null | undefined): string {
  if (typeof value !== 'string') throw new UnexpectedRows();
  return value;
}

/** Reads a number. Numbers that are not safe integers become the nearest one, negative ones 0. */
function readNumber(value: string | null | undefined): number {
  const text = readText(value);
  if (!/^-?\d{1,20}$/.test(text)) throw new UnexpectedRows();
  return Math.min(Math.max(Number(text), 0), Number.MAX_SAFE_INTEGER);
}

export function readCounters(rows: readonly Row[], count: number): readonly number[] {
  if (rows.length !== count) throw new UnexpectedRows();
  return rows.map(([counter]) => readNumber(counter));
}

/** Reads the entries of streams; rows name a stream by its index, from 1. */
export function readEntries(
  rows: readonly Row[],
  streams: readonly string[],
): ReadonlyMap<string, readonly StoredEntry[]> {
  const found = new Map<string, StoredEntry[]>();
  for (const [nth, ...entry] of rows) {
    const stream = streams[readNumber(nth) - 1];
    if (stream === undefined) throw new UnexpectedRows();
    const entries = found.get(stream) ?? [];
    found.set(stream, entries);
    entries.push(readEntry(entry));
  }
  return found;
}

function readEntry([number, version, origin, incarnation, sequence, mac, list, stored]: Row): StoredEntry {
  const counter = readNumber(number);
  const fields = textsIn(list);
  // An entry that is too large comes without texts.
  const isOfNode = version === ENTRY_VERSION && SEQUENCE.test(sequence ?? '') && fields !== undefined;
  if (!isOfNode) return { counter, origin: '', incarnation: '', sequence: 0, fields: fields ?? [], mac: '' };
  return {
    counter,
    origin: readText(origin),
    incarnation: readText(incarnation),
    sequence: Number(sequence),
    fields,
    mac: readText(mac),
    ...(stored !== null && { storedMs: readNumber(stored) }),
  };
}

/** Reads the rows of `keys`. Only a part without rows is the last one. */
export function readKeys(rows: readonly Row[]): KeysPart {
  const last = rows.at(-1)?.[0];
  return {
    entries: rows.map(([, ...entry]) => readEntry(entry)),
    next: rows.length === 0 ? undefined : readText(last),
  };
}

export function readLease(rows: readonly Row[]): boolean {
  return readText(onlyRow(rows)[0]) === 't';
}

/** Writes texts as a JSON list in ASCII, which databases of any encoding can store. */
export function listOf(texts: readonly string[]): string {
  const list = JSON.stringify(texts.map((text) => Buffer.from(text).toString()));
  return list.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function textsIn(list: string | null | undefined): readonly string[] | undefined {
  try {
    const texts: unknown = JSON.parse(list ?? '');
    const isList = Array.isArray(texts) && texts.every((text) => typeof text === 'string');
    return isList ? texts : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the row of `look`. */
export function readState(rows: readonly Row[]): StreamState {
  const [newest, oldest, last, version, mac, now, birth] = onlyRow(rows);
  const counter = readNumber(newest);
  const isOfNode = version === ENTRY_VERSION && (mac ?? '').length <= LONGEST_MAC;
  return {
    counter,
    oldest: oldest === null ? counter + 1 : readNumber(oldest),
    mac: mac === null ? undefined : isOfNode ? readText(mac) : '',
    lastSequence: last === null ? 0 : readNumber(last),
    nowMs: readNumber(now),
    birth: birth === null ? 0 : readNumber(birth),
  };
}

/** Reads the row of `tail`: the newest counter, and the counter that precedes the entries asked for. */
export function readTail(rows: readonly Row[]): { readonly counter: number; readonly behind: number } {
  const [newest, behind] = onlyRow(rows);
  const counter = readNumber(newest);
  return { counter, behind: behind === null ? counter : readNumber(behind) };
}

/** Reads the rows of `beat`: the first is about this node, the others are conflicts. */
export function readHeard([own = [], ...conflicts]: readonly Row[]): Heard {
  const [members, isTaken] = own;
  return {
    members: readNumber(members),
    isTaken: readText(isTaken) === 't',
    conflicts: conflicts.map(([, , stream, nodeId]) => ({
      stream: readText(stream),
      nodeId: readText(nodeId),
    })),
  };
}

export function readMembers(rows: readonly Row[]): readonly Member[] {
  const members = rows.map(([nodeId, incarnation, facts, age]) => ({
    nodeId: readText(nodeId),
    incarnation: readText(incarnation),
    facts: readText(facts),
    ageMs: readNumber(age),
  }));
  return members.sort((one, other) => (one.nodeId < other.nodeId ? -1 : 1));
}

function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows;
  if (!row || rows.length !== 1) throw new UnexpectedRows();
  return row;
}
