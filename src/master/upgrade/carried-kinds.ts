import { carriedMembers, restoredMembers } from '../../upstream/index.ts';
import {
  eventFields,
  openDictionary,
  openRing,
  readEventFields,
  readValueText,
  SharedText,
  valueText,
  type ZoneDeclaration,
} from '../../zone/index.ts';

/** How the content of some zones comes into the program of an upgrade. A kind whose format changes gets another name. */
interface CarriedKind {
  /** Returns the content of a zone in pieces of JSON. What a cluster shares is not carried: its store has it. */
  pieces(buffer: SharedArrayBuffer): Iterable<unknown>;
  /**
   * Returns the function that adds pieces to a zone, in the order in which they were given. It throws if one is
   * malformed or has no room.
   */
  restorer(buffer: SharedArrayBuffer): (piece: unknown) => void;
}

/** Thread id of the master in shared zones. */
const MASTER_THREAD = 0;
/** Number of last events of a ring that are carried. */
const MOST_EVENTS = 1_000;
const OWN = { counter: 0, sequence: 0, origin: 0 } as const;

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
      if (typeof key !== 'string' || value === undefined || typeof ttlMs !== 'number' || !(ttlMs >= 0))
        throw new Error('an entry is malformed');
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
      const event = readEventFields(listOf(fields).map(String));
      if (!event || !isGeneration(generation)) throw new Error('an event is malformed');
      const isFirst = ring.beginAt(generation);
      if (!isFirst && ring.range()?.newest !== generation - 1) throw new Error('an event is missing');
      ring.receive([{ ...event, ...OWN }]);
    };
  },
};

const members: CarriedKind = {
  *pieces(buffer) {
    const carried = carriedMembers(new SharedText(buffer, MASTER_THREAD).read()?.text ?? '');
    if (carried !== undefined) yield carried;
  },
  restorer(buffer) {
    const shared = new SharedText(buffer, MASTER_THREAD);
    return (piece) => {
      const text = restoredMembers(String(piece));
      if (shared.change(() => text) !== 'changed') throw new Error('the members have no room');
    };
  },
};

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function isGeneration(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

const KINDS = { dictionary, events, members } as const;

/** Tells whether this program knows a kind by its name. */
export function isCarriedKind(name: string): name is keyof typeof KINDS {
  return Object.hasOwn(KINDS, name);
}

/** Returns the kind of a zone, and its name; `undefined` for a zone that begins anew. */
export function carriedKindOf(
  declaration: ZoneDeclaration,
): (CarriedKind & { readonly name: string }) | undefined {
  const name = kindNameOf(declaration);
  return name && { name, ...KINDS[name] };
}

function kindNameOf(declaration: ZoneDeclaration): keyof typeof KINDS | undefined {
  if (declaration.kind === 'dictionary') return 'dictionary';
  if (declaration.kind === 'ring') return declaration.isCarried === true ? 'events' : undefined;
  return declaration.kind === 'shared text' ? declaration.carried : undefined;
}
