import { carriedMembers, MemberFault, restoredMembers } from '../../upstream/index.ts';
import {
  type CarriedMembers,
  DictionaryFault,
  eventFields,
  openDictionary,
  openRequestRates,
  openRing,
  readEventFields,
  readValueText,
  SharedText,
  type SharedTextDeclaration,
  valueText,
  type ZoneDeclaration,
} from '../../zone/index.ts';

/** How the content of some zones comes into the program of an upgrade. A kind whose format changes gets another name. */
interface CarriedKind {
  /** Returns the content of a zone in pieces of JSON. What a cluster shares is not carried: its store has it. */
  pieces(buffer: SharedArrayBuffer): Iterable<unknown>;
  /**
   * Returns the function that adds pieces to a zone, in the order in which they were given. It throws what
   * `refusalOf` knows if one is malformed or has no room.
   */
  restorer(buffer: SharedArrayBuffer): (piece: unknown) => void;
}

/** Thread id of the master in shared zones. */
const MASTER_THREAD = 0;
/** Number of last events of a ring that are carried. */
const MOST_EVENTS = 1_000;
/** The highest generation of an event that is taken over. The ring can count on for ever. */
const MOST_GENERATION = 2 ** 52;
/** The longest lifetime of an entry: milliseconds of 15 digits, as in a cluster. */
const MOST_TTL_MS = 999_999_999_999_999;
/** The longest key of a zone. */
const MOST_KEY_BYTES = 65_535;
const OWN = { counter: 0, sequence: 0, origin: 0 } as const;

/** The error of a piece that is refused. Its message contains nothing of the piece, which may be secret. */
class PieceFault extends Error {}

/** Returns why a piece was refused, without its content. */
export function refusalOf(error: unknown): string {
  if (error instanceof PieceFault) return error.message;
  if (error instanceof DictionaryFault) return `an entry is refused: ${error.refusal}`;
  if (error instanceof MemberFault) return `the members are refused, code ${error.code}`;
  return 'a piece is malformed';
}

/** Key, value as text, and the time that is left. The order of use begins anew. */
const dictionary: CarriedKind = {
  *pieces(buffer) {
    const entries = openDictionary(buffer, MASTER_THREAD);
    if (entries.shared.isShared) return;
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const part = entries.scan(cursor);
      for (const { key, value, ttlMs } of part.entries) yield [key, valueText(value), ttlMs];
      cursor = part.next;
    }
  },
  restorer(buffer) {
    const entries = openDictionary(buffer, MASTER_THREAD);
    return (piece) => {
      const [key, text, ttlMs] = listOf(piece);
      const value = typeof text === 'string' ? readValueText(text) : undefined;
      if (typeof key !== 'string' || value === undefined || !isTtl(ttlMs))
        throw new PieceFault('an entry is malformed');
      entries.set(key, value, ttlMs);
    };
  },
};

/** The generation of an event and its fields. Generations go on, so that clients can go on where they were. */
const events: CarriedKind = {
  *pieces(buffer) {
    const ring = openRing(buffer, MASTER_THREAD);
    if (ring.sharedFrom !== 0) return;
    const since = Math.max(0, (ring.range()?.newest ?? 0) - MOST_EVENTS);
    for (const event of ring.snapshot({ since })?.entries ?? []) yield [event.generation, eventFields(event)];
  },
  restorer(buffer) {
    const ring = openRing(buffer, MASTER_THREAD);
    return (piece) => {
      const [generation, fields] = listOf(piece);
      const event = readEventFields(textsOf(fields));
      if (!event || !isGeneration(generation)) throw new PieceFault('an event is malformed');
      const isFirst = ring.beginAt(generation);
      if (!isFirst && ring.range()?.newest !== generation - 1) throw new PieceFault('an event is missing');
      ring.receive([{ ...event, ...OWN }]);
    };
  },
};

/** Keys with their counts, and when these were written. */
const counts: CarriedKind = {
  *pieces(buffer) {
    const rates = openRequestRates(buffer, MASTER_THREAD);
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      if (!rates.acquire()) return;
      const part: ReturnType<typeof rates.scan> = rates.scan(cursor);
      rates.release();
      // A key that was refused at its first request was never written.
      for (const { key, number, writtenMs } of part.counts) if (writtenMs > 0) yield [key, number, writtenMs];
      cursor = part.next;
    }
  },
  restorer(buffer) {
    const rates = openRequestRates(buffer, MASTER_THREAD);
    return (piece) => {
      const [key, number, writtenMs] = listOf(piece);
      const isKey = typeof key === 'string' && key !== '' && Buffer.byteLength(key) <= MOST_KEY_BYTES;
      if (!isKey || !isCount(number) || !isCount(writtenMs)) throw new PieceFault('a count is malformed');
      rates.choose(key);
      if (!rates.acquire()) throw new PieceFault('a zone is busy');
      const hasRoom = rates.find(-Infinity);
      if (hasRoom) {
        rates.number = number;
        rates.writtenMs = writtenMs;
      }
      rates.release();
      if (!hasRoom) throw new PieceFault('a count has no room');
    };
  },
};

/** The members of a group, within the limits of its configuration. */
const membersOf = ({
  bytes,
  ...limits
}: CarriedMembers & Pick<SharedTextDeclaration, 'bytes'>): CarriedKind => ({
  *pieces(buffer) {
    const carried = carriedMembers(new SharedText(buffer, MASTER_THREAD).read()?.text ?? '');
    if (carried !== undefined) yield carried;
  },
  restorer(buffer) {
    const shared = new SharedText(buffer, MASTER_THREAD);
    return (piece) => {
      if (typeof piece !== 'string') throw new PieceFault('the members are malformed');
      // Without its default values, a set is shorter than in the memory. One that is too long is not read.
      const text = piece.length <= bytes ? restoredMembers(piece, limits) : '';
      if (text === '' || shared.change(() => text) !== 'changed')
        throw new PieceFault('the members have no room');
    };
  },
});

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** Returns a list of texts; an empty one if it contains anything else. */
function textsOf(value: unknown): readonly string[] {
  const list = listOf(value);
  return list.every((text) => typeof text === 'string') ? list : [];
}

function isGeneration(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_GENERATION;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTtl(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MOST_TTL_MS;
}

const NAMES = ['dictionary', 'events', 'members', 'counts'] as const;
type KindName = (typeof NAMES)[number];

/** Tells whether this program knows a kind by its name. */
export function isCarriedKind(name: unknown): name is KindName {
  return NAMES.some((known) => known === name);
}

/**
 * Returns the kind of a zone, and its name; `undefined` for a zone that begins anew. One that gateways share does: what is
 * added to it would go to all of them.
 */
export function carriedKindOf(
  declaration: ZoneDeclaration,
): (CarriedKind & { readonly name: KindName }) | undefined {
  if (declaration.kind === 'dictionary')
    return declaration.isShared ? undefined : { name: 'dictionary', ...dictionary };
  if (declaration.kind === 'ring') return declaration.isCarried ? { name: 'events', ...events } : undefined;
  if (declaration.kind === 'request limit')
    return declaration.isCarried ? { name: 'counts', ...counts } : undefined;
  if (declaration.kind !== 'shared text' || !declaration.carried) return undefined;
  const { carried, bytes } = declaration;
  return { name: 'members', ...membersOf({ ...carried, bytes }) };
}
