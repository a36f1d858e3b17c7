import type { Conflict, Member } from './store.ts';

/** Of a node; all of them are in its log. */
const MOST_CONFLICTS = 20;
/** Characters of what a node says. */
const LONGEST_TEXT = 64;

/** A node with what it tells the others. */
export interface KnownMember extends Pick<Member, 'nodeId' | 'ageMs'> {
  readonly version: string;
  /** What it shares with other parameters than another node: of the two only one hears of that from the store. */
  readonly differs: readonly string[];
}

/** Writes what a node tells the others with its sign of life. */
export function factsText(version: string, conflicts: readonly Conflict[]): string {
  return JSON.stringify({ version, differs: conflicts.slice(0, MOST_CONFLICTS).map(({ stream }) => stream) });
}

/** Reads what a node has told; anybody may have written it. */
export function knownMember({ nodeId, ageMs, facts }: Member): KnownMember {
  const { version, differs } = parsed(facts);
  const names: readonly unknown[] = Array.isArray(differs) ? differs.slice(0, MOST_CONFLICTS) : [];
  return {
    nodeId: nodeId.slice(0, LONGEST_TEXT),
    ageMs,
    version: typeof version === 'string' ? version.slice(0, LONGEST_TEXT) : '',
    differs: names.filter((name) => typeof name === 'string'),
  };
}

interface ConflictSources {
  readonly nodeId: string;
  /** What the node has heard from the store. */
  readonly own: readonly Conflict[];
  readonly members: readonly KnownMember[];
  /** The names of what the node shares. */
  readonly shared: ReadonlySet<string>;
}

/** The differences between the parameters of a node and those of others, whichever of them has heard of it. */
export function conflictsOf({ nodeId, own, members, shared }: ConflictSources): readonly Conflict[] {
  const known = new Set(own.map(({ stream }) => stream));
  const others = members
    .filter((member) => member.nodeId !== nodeId)
    .flatMap((member) => member.differs.map((stream) => ({ stream, nodeId: member.nodeId })))
    .filter(({ stream }) => shared.has(stream) && !known.has(stream));
  return [...own, ...others].slice(0, MOST_CONFLICTS);
}

function parsed(facts: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(facts) ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
