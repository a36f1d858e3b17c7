import type { Conflict, Member } from '../stores/index.ts';
import type { MemberStatus } from './status.ts';

/** Of a node; all of them are in its log. */
const MOST_CONFLICTS = 20;
/** Characters of what a node says. */
const LONGEST_TEXT = 64;

/** What a node tells the others of itself. */
export interface NodeFacts {
  readonly version: string;
  /** Identifies the configuration that it serves; nodes with the same one tell the same. */
  readonly configuration: string;
  /** How long it has served that. */
  readonly loadedAgeMs: number;
}

/** A node with what it tells the others. */
export interface KnownMember extends Pick<Member, 'nodeId' | 'ageMs'>, NodeFacts {
  /** What it shares with other parameters than another node: of the two only one hears of that from the store. */
  readonly differs: readonly string[];
}

/** Writes what a node tells the others with its sign of life. */
export function factsText(facts: NodeFacts, conflicts: readonly Conflict[]): string {
  const differs = conflicts.slice(0, MOST_CONFLICTS).map(({ stream }) => stream);
  return JSON.stringify({ ...facts, differs });
}

/** Reads what a node has told; anybody may have written it. */
export function knownMember({ nodeId, ageMs, facts }: Member): KnownMember {
  const { version, configuration, loadedAgeMs, differs } = parsed(facts);
  const names: readonly unknown[] = Array.isArray(differs) ? differs.slice(0, MOST_CONFLICTS) : [];
  return {
    nodeId: nodeId.slice(0, LONGEST_TEXT),
    ageMs,
    version: textOf(version),
    configuration: textOf(configuration),
    loadedAgeMs: typeof loadedAgeMs === 'number' ? loadedAgeMs : 0,
    differs: names.filter((name) => typeof name === 'string'),
  };
}

/** Gives the status of a member that was read some time ago. */
export function memberStatus(member: KnownMember, readAgoMs: number): MemberStatus {
  const ageMs = member.ageMs + readAgoMs;
  return {
    node_id: member.nodeId,
    version: member.version,
    age_ms: ageMs,
    configuration: member.configuration,
    loaded_age_ms: member.loadedAgeMs + ageMs,
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

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, LONGEST_TEXT) : '';
}

function parsed(facts: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(facts) ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
