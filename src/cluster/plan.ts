import { createHash } from 'node:crypto';
import type { SharedTextDeclaration } from '../zone/index.ts';
import { type Backend, backendLabel } from './stores/index.ts';

/** How rate limits are shared. */
export interface SharedLimits {
  /** How long requests that a gateway has taken ahead can be used. */
  readonly leaseMs: number;
  /** How long a request waits for the store. */
  readonly waitMs: number;
  /** The rule without the store: the limit for this gateway alone, its share of it, no limit, or refusal. */
  readonly fallback: 'local' | 'share' | 'open' | 'closed';
}

/** A `cluster` block: gateways that share their state through one store. */
export interface ClusterPlan {
  readonly name: string;
  readonly backend: Backend;
  /** The name of the node. Absent: the host's name and a random part, kept in `statePath`. */
  readonly nodeId: string | undefined;
  /** Separates the clusters of one store. */
  readonly namespace: string;
  /** The key by which entries are signed. */
  readonly secret: string;
  /** About how many entries of a stream the store keeps. */
  readonly retain: number;
  /** Maximum bytes of entries that wait for the store. */
  readonly bufferBytes: number;
  /** The pause after a read that gave entries; it bounds the number of reads. */
  readonly batchMs: number;
  readonly heartbeatMs: number;
  /** How long the store may take to respond. */
  readonly timeoutMs: number;
  readonly limits: SharedLimits;
  /** The absolute path of the directory for state that outlives the process. */
  readonly statePath: string;
  /** The gateway is not ready while the store cannot be reached. */
  readonly required: boolean;
}

const STATUS_BYTES = 256 * 1024;

/** Declares the shared memory for the status of the node, and for the seat of the worker that runs it. */
export function clusterZone({ name }: Pick<ClusterPlan, 'name'>): SharedTextDeclaration {
  return { name: `cluster ${name}`, kind: 'shared text', bytes: STATUS_BYTES };
}

/** Returns a number of 48 bits, from 1, that separates streams of one name in different stores or namespaces. */
export function storeNumber({ backend, namespace }: ClusterPlan): number {
  const digest = createHash('sha256')
    .update(`${backendLabel(backend)} ${namespace}`)
    .digest();
  return digest.readUIntBE(0, 6) + 1;
}
