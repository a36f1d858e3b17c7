/** What a node tells of itself and of the others; the JSON of `control_api cluster`, and the text of the shared memory. */
export interface ClusterStatus {
  readonly node_id: string;
  /** The address of the store, without the login. */
  readonly backend: string;
  /** `starting`: it has not been reached yet. */
  readonly state: 'starting' | 'up' | 'down';
  /** Why it cannot be used. */
  readonly reason?: string;
  /** Live nodes, this one included; those that are shown are fewer in a large cluster. */
  readonly members_total: number;
  readonly members: readonly MemberStatus[];
  readonly streams: readonly StreamStatus[];
  /** What this node shares with other parameters than another node; empty again once it is the same. */
  readonly conflicts: readonly { readonly stream: string; readonly node_id: string }[];
  /** What else an operator has to mend: a store that may evict streams, two nodes of one name. */
  readonly warnings: readonly string[];
  readonly buffer_bytes: number;
}

export interface MemberStatus {
  readonly node_id: string;
  readonly version: string;
  /** Identifies the configuration that it serves; nodes with the same one tell the same. Empty: it has not told. */
  readonly configuration: string;
  /** Milliseconds since it serves that. */
  readonly loaded_age_ms: number;
  /** Milliseconds since its last heartbeat, by the clock of the store. */
  readonly age_ms: number;
}

interface StreamStatus {
  readonly stream: string;
  /** The counter up to which this node has the stream. */
  readonly position: number;
  readonly lag_ms: number;
  /** How often entries were missing since this worker looks after the stream. */
  readonly gaps: number;
}

/** The text in shared memory: the status, and the names of the nodes whose entries are in rings. */
export interface ClusterRecord {
  readonly status: ClusterStatus;
  /** By the number of a ring's entry, from 1. */
  readonly origins: readonly string[];
}

/** What stands for the secret among what nodes must have the same. */
export const SECRET = 'secret';

const SUBJECTS: Readonly<Record<string, string>> = {
  di: 'dictionary',
  ev: 'events of',
  li: 'limit',
  [SECRET]: 'the secret',
  pu: 'purges',
  st: 'sessions of',
  up: 'peers of upstreams',
};

/** What a stream, or a name in a conflict, is about: `events of bus`. */
export function subjectText(stream: string): string {
  const [kind = '', ...name] = stream.split(':');
  const words = SUBJECTS[kind];
  return words === undefined ? stream : [words, name.join(':')].join(' ').trimEnd();
}

/** Tells a conflict, as a sentence without an end. */
export function conflictText(stream: string, node: string): string {
  if (stream === SECRET) return `node ${node} has another secret: each ignores what the other sends`;
  return `${subjectText(stream)} has other parameters on node ${node}`;
}
