import type { Conflict, Member } from '../stores/index.ts';
import type { MemberStatus } from './status.ts';

/** Maximum conflicts that are shown of a node; its log has all of them. */
const MOST_CONFLICTS = 20;
/** Maximum characters of a text that a node tells. */
const LONGEST_TEXT = 64;

/** The facts that a node tells the others with its heartbeat. */
export interface NodeFacts {
  readonly version: string;
  /** Identifies the configuration that the node serves; equal configurations have equal texts. */
  readonly configuration: string;
  /** How long the node has served it. */
  readonly loadedAgeMs: number;
}

/** A node and the facts that it tells the others. */
export interface KnownMember extends Pick<Member, 'nodeId' | 'ageMs'>, NodeFacts {
  /** Streams whose parameters differ from those of another node; the store tells only one of the two nodes. */
  readonly differs: readonly string[];
}

/** Returns the JSON that a node sends with its heartbeat. */
export function factsText(facts: NodeFacts, conflicts: readonly Conflict[]): string {
  const differs = conflicts.slice(0, MOST_CONFLICTS).map(({ stream }) => stream);
  return JSON.stringify({ ...facts, differs });
}

/** Reads a member from the store. Anybody may have written its facts, which are checked. */
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

/** Returns the status of a member that was read `readAgoMs` ago. */
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
  /** The conflicts that the store has told this node. */
  readonly own: readonly Conflict[];
  readonly members: readonly KnownMember[];
  /** The names of all that the node shares, with a stream or without. */
  readonly shared: ReadonlySet<string>;
}

/** Returns the conflicts between a node and others, whichever of them was told by the store. */
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
