import type { Reply } from '../../../redis/index.ts';
import { ENTRY_VERSION } from '../entry.ts';
import type { Counted, Grant, Heard, KeysPart, Member, StoredEntry, StreamState } from '../store.ts';

/**
 * A reply that the command cannot have. Only their order assigns replies to commands: the connection is out of step.
 */
export class UnexpectedReply extends Error {}

type Item = Reply | Error;

/** Entries as XRANGE gives them, with the id of the last one. */
export interface Page {
  readonly entries: readonly StoredEntry[];
  readonly lastId: string | undefined;
  readonly hasMore: boolean;
}

/** The names with which an entry begins, each before its value. */
const HEAD = ['v', 'origin', 'incarnation', 'sequence', 'mac'] as const;
const SEQUENCE = /^[1-9]\d{0,15}$/;
const SLOTS = 16_384;
const ENTRY_ID = /^(\d{1,20})-(\d{1,20})$/;

export function readText(item: Item | undefined): string {
  if (Buffer.isBuffer(item)) return item.toString();
  if (typeof item === 'string') return item;
  throw new UnexpectedReply();
}

function readList(item: Item | undefined): readonly Item[] {
  if (!Array.isArray(item)) throw new UnexpectedReply();
  return item as readonly Item[];
}

/** Reads a number. Numbers that are not safe integers become the largest one. */
function readNumber(item: Item | undefined): number {
  const text = readText(item);
  if (!/^\d{1,20}$/.test(text)) throw new UnexpectedReply();
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export function readCounters(reply: Reply): readonly number[] {
  return readList(reply).map(readNumber);
}

/** Reads the reply to XREAD: lists of entries by key; nil if there are no entries. */
export function readStreams(reply: Reply): ReadonlyMap<string, readonly StoredEntry[]> {
  const streams = reply === null ? [] : readList(reply);
  return new Map(
    streams.map((item) => {
      const [key, entries] = readList(item);
      return [readText(key), readEntries(entries)];
    }),
  );
}

/** Reads the reply to XRANGE with a limit of `count` entries. Leaves out the first entry if its id is `known`. */
export function readRange(
  reply: Reply,
  { count, known }: { count: number; known?: string | undefined },
): Page {
  const items = readList(reply);
  const isKnown = items.length > 0 && idOf(items[0]) === known;
  return pageOf(isKnown ? items.slice(1) : items, items.length === count);
}

/** Reads the reply of the script `PAGE`. */
export function readPage(reply: Reply): Page {
  const [items, more] = readList(reply);
  return pageOf(readList(items), readNumber(more) === 1);
}

function pageOf(items: readonly Item[], hasMore: boolean): Page {
  const last = items.at(-1);
  return { entries: items.map(readEntry), lastId: last === undefined ? undefined : idOf(last), hasMore };
}

function readEntries(item: Item | undefined): readonly StoredEntry[] {
  return readList(item).map(readEntry);
}

const idOf = (item: Item | undefined): string => readText(readList(item)[0]);

function readEntry(item: Item): StoredEntry {
  const [id, fields] = readList(item);
  const [, number, rest] = ENTRY_ID.exec(readText(id)) ?? [];
  const counter = readNumber(number);
  const texts = readList(fields).map(readText);
  const [, version, , origin = '', , incarnation = '', , sequence = '', , mac = ''] = texts;
  const isOfNode = HEAD.every((name, nth) => texts[2 * nth] === name);
  if (!isOfNode || version !== ENTRY_VERSION || rest !== '0' || !SEQUENCE.test(sequence))
    return { counter, origin: '', incarnation: '', sequence: 0, fields: texts, mac: '' };
  const [at, storedMs = ''] = texts.slice(2 * HEAD.length);
  const isKeyed = at === 'at' && /^\d{1,15}$/.test(storedMs);
  return {
    counter,
    origin,
    incarnation,
    sequence: Number(sequence),
    fields: texts.slice(2 * HEAD.length + (isKeyed ? 2 : 0)),
    mac,
    ...(isKeyed && { storedMs: Number(storedMs) }),
  };
}

export function readState(reply: Reply): StreamState {
  const [newest, oldest, last, mac, now, birth] = readList(reply);
  const counter = readNumber(newest);
  return {
    counter,
    oldest: oldest === null ? counter + 1 : readNumber(/^\d*/.exec(readText(oldest))?.[0]),
    mac: mac === null ? undefined : readText(mac),
    lastSequence: readNumber(last),
    nowMs: readNumber(now),
    birth: readNumber(birth),
  };
}

export function readHeard(reply: Reply): Heard {
  const [members, taken, ...rest] = readList(reply);
  return {
    members: readNumber(members),
    isTaken: readNumber(taken) === 1,
    conflicts: inGroups(rest, 2).map(([stream, nodeId]) => ({
      stream: readText(stream),
      nodeId: readText(nodeId),
    })),
  };
}

export function readMembers(reply: Reply): readonly Member[] {
  const members = inGroups(readList(reply), 3).map(([age, nodeId, said]) => {
    const [, incarnation = '', facts = ''] = /^(\S*) (.*)$/s.exec(readText(said)) ?? [];
    return { nodeId: readText(nodeId), incarnation, facts, ageMs: readNumber(age) };
  });
  return members.sort((one, other) => (one.nodeId < other.nodeId ? -1 : 1));
}

/** Reads the reply of the script `ADMIT`. */
export function readGrant(reply: Reply): Grant {
  const [requests, first] = readList(reply);
  return { requests: readNumber(requests), excess: readNumber(first) };
}

export function readCounted(reply: Reply): Counted {
  const [requests, used] = readList(reply);
  return { requests: readNumber(requests), used: readNumber(used) };
}

/** Reads the reply of the script `SCAN_KEYS`. */
export function readKeys(reply: Reply): KeysPart {
  const [cursor, ...items] = readList(reply);
  const next = readText(cursor);
  return { entries: items.map(readEntry), next: next === '0' ? undefined : next };
}

export function readLease(reply: Reply): boolean {
  return readNumber(reply) === 1;
}

/** The host and port of a server, as another server gives them. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns the address made of two texts; `undefined` if they are malformed. */
export function serverAddress(host: string, port: string): ServerAddress | undefined {
  const isValid = /^[\w.:-]{1,255}$/.test(host) && /^\d{1,5}$/.test(port);
  return isValid && Number(port) > 0 && Number(port) < 65_536 ? { host, port: Number(port) } : undefined;
}

/** Slots of one server, both ends included. */
export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly address: ServerAddress;
}

/**
 * Reads the reply to CLUSTER SLOTS: ranges, each with its server and replicas. A server that does not know its own host
 * gives none: `asked` is the host that was asked.
 */
export function readSlots(reply: Reply, asked: string): readonly SlotRange[] {
  return readList(reply).map((item) => {
    const [from, to, primary] = readList(item);
    const [host, port] = readList(primary);
    const isNameless = host === null || ['', '?'].includes(readText(host));
    const address = serverAddress(isNameless ? asked : readText(host), readText(port));
    if (!address || readNumber(to) >= SLOTS) throw new UnexpectedReply();
    return { from: readNumber(from), to: readNumber(to), address };
  });
}

/** Reads the role in the reply to ROLE: `master`, `slave` or `sentinel`. */
export function readRole(reply: Reply): string {
  return readText(readList(reply)[0]);
}

/** Reads `maxmemory_policy` in the reply to INFO. */
export function readPolicy(reply: Reply): string | undefined {
  return /^maxmemory_policy:(\S+)/m.exec(readText(reply))?.[1];
}

function inGroups(items: readonly Item[], size: number): (readonly Item[])[] {
  if (items.length % size !== 0) throw new UnexpectedReply();
  return Array.from({ length: items.length / size }, (_, nth) => items.slice(nth * size, (nth + 1) * size));
}
