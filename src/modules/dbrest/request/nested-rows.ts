import { tooLarge } from '../fault/index.ts';
import { type JsonSlice, OPEN_ARRAY, OPEN_OBJECT, slicesOf } from '../json.ts';

/** The objects that the rows of a body have in one member: one each, or lists of them. */
export interface NestedRows {
  readonly form: 'object' | 'array';
  /** The keys of the objects, in the order of the first one. */
  readonly keys: readonly string[];
  /** Some of them have other keys, or there are values other than objects. */
  readonly differs: boolean;
  readonly rows: number;
  /** The contents of the members of these objects. */
  readonly nested: NestedMembers;
}

/** The members of rows. */
export interface NestedMembers {
  /** Those that hold objects, by key. */
  readonly rows: ReadonlyMap<string, NestedRows>;
  /** Those that hold other values, but not only null. */
  readonly values: ReadonlySet<string>;
}

/** Levels of nested rows. Deeper objects are values of JSON columns. */
export const DEEPEST_ROWS = 4;
/** PostgreSQL's limit for the columns of a table. An object with more keys is the value of a JSON column. */
const MOST_KEYS = 1_600;
/** Most keys of a body that are kept. An object with further keys does not count as a row. */
const MOST_KEPT = 20_000;
/** A name and a hint of 63 bytes each and the mark between them, each byte written as `\uXXXX`, in quotes. */
const LONGEST_KEY_BYTES = (63 + 1 + 63) * 6 + 2;

/** A member of rows while they are read. */
class MemberDraft {
  form: NestedRows['form'] | undefined;
  differs = false;
  rows = 0;
  readonly keys = new Set<string>();
  readonly members = new Map<string, MemberDraft>();

  get nested(): NestedMembers {
    const found = Array.from(this.members, ([key, draft]) => [key, draft.finished] as const);
    const values = [...this.members].filter(([, { form, differs }]) => !form && differs);
    return {
      rows: new Map(found.flatMap(([key, rows]) => (rows ? [[key, rows] as const] : []))),
      values: new Set(values.map(([key]) => key)),
    };
  }

  get finished(): NestedRows | undefined {
    const { form, differs, rows, nested } = this;
    return form && { form, keys: [...this.keys], differs, rows, nested };
  }
}

/** Finds the objects below the rows of a body: valid JSON, an object or an array of objects. `undefined` is a pause. */
export function* nestedMembers(json: Buffer): Generator<undefined, NestedMembers> {
  const root = new MemberDraft();
  yield* addValue(root, json, { depth: 0, kept: { left: MOST_KEPT } });
  return root.nested;
}

/** The depth of a value, and the number of keys that may still be kept. */
interface ScanScope {
  readonly depth: number;
  readonly kept: { left: number };
}

/** Adds the objects that one row has in a member. */
function* addValue(draft: MemberDraft, value: Buffer, scope: ScanScope): Generator<undefined, void> {
  const first = firstByte(value);
  if (first === OPEN_OBJECT) {
    if (draft.form === 'array') draft.differs = true;
    draft.form ??= 'object';
    yield* addRow(draft, value, scope);
  } else if (first === OPEN_ARRAY) {
    if (draft.form === 'object') draft.differs = true;
    draft.form ??= 'array';
    for (const slice of slicesOf(value)) {
      if (!slice) yield undefined;
      else if (firstByte(slice.value) === OPEN_OBJECT) yield* addRow(draft, slice.value, scope);
      else draft.differs = true;
    }
  } else if (!isNull(value)) draft.differs = true;
}

function* addRow(draft: MemberDraft, row: Buffer, scope: ScanScope): Generator<undefined, void> {
  const own = new Set<string>();
  for (const slice of slicesOf(row)) {
    if (!slice) yield undefined;
    else if (own.size > MOST_KEYS || slice.key.length > LONGEST_KEY_BYTES) draft.differs = true;
    else yield* addMember(draft, slice, { own, ...scope });
  }
  if (draft.rows > 0 && own.size !== draft.keys.size) draft.differs = true;
  draft.rows += 1;
}

interface RowScope extends ScanScope {
  /** The keys of the row so far. */
  readonly own: Set<string>;
}

function* addMember(
  draft: MemberDraft,
  { key: quoted, value }: JsonSlice,
  { own, depth, kept }: RowScope,
): Generator<undefined, void> {
  const key = JSON.parse(quoted.toString()) as string;
  own.add(key);
  if (!draft.keys.has(key)) {
    if (draft.rows > 0) draft.differs = true;
    if (depth === 0) {
      // Rows in a member that is skipped would be lost.
      if (draft.keys.size === MOST_KEYS) throw tooLarge(`rows have at most ${MOST_KEYS} members`);
    } else if (draft.keys.size > MOST_KEYS || kept.left === 0) {
      draft.differs = true;
      return;
    } else kept.left -= 1;
    draft.keys.add(key);
  }
  if (depth === DEEPEST_ROWS) return;
  const member = draft.members.get(key) ?? new MemberDraft();
  draft.members.set(key, member);
  yield* addValue(member, value, { depth: depth + 1, kept });
}

function firstByte(json: Buffer): number | undefined {
  let at = 0;
  while ((json[at] ?? 0xff) <= 0x20) at += 1;
  return json[at];
}

function isNull(json: Buffer): boolean {
  return json.toString('latin1').trim() === 'null';
}
