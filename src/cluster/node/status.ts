/** The status of a node and of the others: the JSON of `control_api cluster`, and a part of the shared text. */
export interface ClusterStatus {
  readonly node_id: string;
  /** The address of the store, without the login. */
  readonly backend: string;
  /** `starting`: the store was not reached yet, or its streams were not read yet. */
  readonly state: 'starting' | 'up' | 'down';
  /** Why the store cannot be used. */
  readonly reason?: string;
  /** The number of live nodes, this one included; `members` lists fewer of them in a large cluster. */
  readonly members_total: number;
  readonly members: readonly MemberStatus[];
  readonly streams: readonly StreamStatus[];
  /** Streams whose parameters differ from those of another node; empty again once they are the same. */
  readonly conflicts: readonly { readonly stream: string; readonly node_id: string }[];
  /** Other faults that an operator has to mend: a store that may evict streams, two nodes of one name. */
  readonly warnings: readonly string[];
  readonly buffer_bytes: number;
}

export interface MemberStatus {
  readonly node_id: string;
  readonly version: string;
  /** Identifies the configuration that the node serves; equal configurations have equal texts. Empty: not told. */
  readonly configuration: string;
  /** Milliseconds since the node began to serve it. */
  readonly loaded_age_ms: number;
  /** Milliseconds since its last heartbeat, by the clock of the store. */
  readonly age_ms: number;
}

interface StreamStatus {
  readonly stream: string;
  /** The counter up to which this node has the stream. */
  readonly position: number;
  readonly lag_ms: number;
  /** The number of gaps since this worker began to share the stream. */
  readonly gaps: number;
}

/** The text in shared memory: the status, and the names of the nodes whose entries are in rings. */
export interface ClusterRecord {
  readonly status: ClusterStatus;
  /** Names of nodes, by the origin of a ring's entry, from 1. */
  readonly origins: readonly string[];
}

/** The name of the secret among the parameters that must be the same on all nodes. */
export const SECRET = 'secret';

const SUBJECTS: Readonly<Record<string, string>> = {
  di: 'dictionary',
  ev: 'events of',
  li: 'limit',
  [SECRET]: 'the secret',
  pu: 'purges',
  qu: 'quota',
  st: 'sessions of',
  up: 'peers of upstreams',
};

/** Returns words for a stream, or for a name in a conflict: `events of bus`. */
export function subjectText(stream: string): string {
  const [kind = '', ...name] = stream.split(':');
  const words = SUBJECTS[kind];
  return words === undefined ? stream : [words, name.join(':')].join(' ').trimEnd();
}

/** Returns a conflict as a sentence without a full stop. */
export function conflictText(stream: string, node: string): string {
  if (stream === SECRET) return `node ${node} has another secret: each ignores what the other sends`;
  return `${subjectText(stream)} has other parameters on node ${node}`;
}
