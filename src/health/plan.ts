import type { ConnectorSettings } from '../client/index.ts';
import type { ReadRegex } from '../config/index.ts';

/** `health_check` as written; plain data. */
export interface HealthCheck {
  readonly intervalMs: number;
  /** Each probe is delayed by a random time up to this. */
  readonly jitterMs: number;
  /** Longest duration of a probe. Absent in a location: its `proxy_*_timeout` apply. */
  readonly timeoutMs?: number;
  /** Number of failed probes in a row after which the peer is unhealthy. */
  readonly fails: number;
  /** Number of successful probes in a row after which the peer is healthy again. */
  readonly passes: number;
  readonly uri: string;
  /** The port for probes, if it is not the one for requests. */
  readonly port?: number;
  /** The name of a `match` block. */
  readonly match?: string;
  readonly slowStartMs: number;
  /** A peer takes no requests before its first probe. */
  readonly mandatory: boolean;
  /** `mandatory` does not apply to a peer that was healthy before a reload. */
  readonly persistent: boolean;
  /** The time for which a connection is used for probes; 0: for one probe. */
  readonly keepaliveMs: number;
}

/** A condition of a `match` block. */
export type MatchRule =
  | { readonly kind: 'status'; readonly not: boolean; readonly ranges: readonly StatusRange[] }
  | { readonly kind: 'has header'; readonly not: boolean; readonly name: string }
  | { readonly kind: 'header is'; readonly not: boolean; readonly name: string; readonly value: string }
  | { readonly kind: 'header like'; readonly not: boolean; readonly name: string; readonly regex: ReadRegex }
  | { readonly kind: 'body like'; readonly not: boolean; readonly regex: ReadRegex }
  | { readonly kind: 'body has'; readonly text: string }
  /** Variables of the response that must be neither empty nor `0`. */
  | { readonly kind: 'require'; readonly variables: readonly string[] };

/** The lowest and the highest status. */
export type StatusRange = readonly [from: number, to: number];

/** A `match` block: all rules must apply. */
export interface MatchBlock {
  readonly name: string;
  readonly rules: readonly MatchRule[];
}

/** The request of a probe; plain data. */
export interface ProbeRequest {
  readonly uri: string;
  /** Name, value: in the order in which they are sent, `Host` included. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly version: '1.0' | '1.1';
  /** Longest duration of the probe. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly keepaliveMs: number;
  readonly socket: ConnectorSettings;
  /** The name that the certificate of the peer must have, and whether it is sent. */
  readonly tlsName: string;
  readonly sendsName: boolean;
}

/**
 * The subject of a check: the peers of an upstream; or an upstream or the whole service, whose probes do not affect
 * requests.
 */
type CheckScope = 'peer' | 'upstream' | 'service';

/** One active check of the peers of a group; plain data. */
export interface CheckPlan extends Pick<
  HealthCheck,
  'intervalMs' | 'jitterMs' | 'fails' | 'passes' | 'mandatory' | 'persistent'
> {
  /** The key of the group (`UpstreamPlan.key`). */
  readonly upstream: string;
  readonly scope: CheckScope;
  /** The upstream; for `service` the URL. */
  readonly name: string;
  /** The URI or URL in messages. */
  readonly what: string;
  /** The address of the peer if the check is for one peer only. */
  readonly only?: string;
  /** The target of the probes if it is not the peer: `host:port`. */
  readonly address?: string;
  readonly slowStartMs: number;
  readonly request: ProbeRequest;
  /** The port for probes, if not that of the peer. */
  readonly port?: number;
  readonly rules: readonly MatchRule[];
}

/** A ring and a channel that transitions are published to. */
export interface EventTarget {
  readonly zone: string;
  readonly channel: string;
}

/** The active checks of a configuration; plain data. */
export interface HealthPlan {
  readonly checks: readonly CheckPlan[];
  readonly events: readonly EventTarget[];
}

/** The rules without a `match` block. Redirects are not followed. */
export const DEFAULT_RULES: readonly MatchRule[] = [{ kind: 'status', not: false, ranges: [[200, 399]] }];

/** `health_probe` and `health_upstream_probe` with their settings, and `health_upstream_peer_probe`; plain data. */
export interface UrlProbe {
  readonly url: string;
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
  readonly uri: string;
}
