import { createHash } from 'node:crypto';
import type { SharedTextDeclaration } from '../zone/index.ts';
import { type Backend, backendLabel } from './stores/index.ts';

/** How rate limits are shared. */
export interface SharedLimits {
  /** How long what a gateway has taken from a limit can be used. */
  readonly leaseMs: number;
  /** How long a request waits for the store. */
  readonly waitMs: number;
  /** What decides without the store: the limit of this gateway alone, its share of that, nobody; or requests are refused. */
  readonly fallback: 'local' | 'share' | 'open' | 'closed';
}

/** A `cluster` block: gateways that share what they know through one store. */
export interface ClusterPlan {
  readonly name: string;
  readonly backend: Backend;
  /** Absent: the host's name and a random part that is kept in `statePath`. */
  readonly nodeId: string | undefined;
  /** The clusters of one store are told apart by it. */
  readonly namespace: string;
  /** The key of the signatures of entries. */
  readonly secret: string;
  /** About as many entries of a stream are kept in the store. */
  readonly retain: number;
  /** Most bytes of entries that wait for the store. */
  readonly bufferBytes: number;
  /** Pause after a read that gave entries; it bounds the number of reads. */
  readonly batchMs: number;
  readonly heartbeatMs: number;
  /** How long the store may take to respond. */
  readonly timeoutMs: number;
  readonly limits: SharedLimits;
  /** The directory of what a node must not forget, absolute. */
  readonly statePath: string;
  /** The gateway is not ready without the store. */
  readonly required: boolean;
}

const STATUS_BYTES = 256 * 1024;

/** The shared memory with the status of the node, and the seat of the worker that runs it. */
export function clusterZone({ name }: Pick<ClusterPlan, 'name'>): SharedTextDeclaration {
  return { name: `cluster ${name}`, kind: 'shared text', bytes: STATUS_BYTES };
}

/** Tells streams of one name apart that are in different stores or namespaces: 48 bits, from 1. */
export function storeNumber({ backend, namespace }: ClusterPlan): number {
  const digest = createHash('sha256')
    .update(`${backendLabel(backend)} ${namespace}`)
    .digest();
  return digest.readUIntBE(0, 6) + 1;
}
