import type { HealthCheck, MatchBlock, MatchRule, UrlProbe } from '../health/index.ts';

/** The part of the health module's config from which the plan makes the checks of groups. */
export interface HealthConfig {
  /** `health_check` of an `upstream` or a location. */
  readonly checks?: readonly HealthCheck[];
  /** `match` blocks. */
  readonly matches?: readonly MatchBlock[];
  /** If fewer peers of an `upstream` are healthy, the results of checks are ignored; 0: never. */
  readonly panicPercent: number;

  /** `health_probe` of a location, `health_upstream_probe` of an `upstream`, and the settings of both. */
  readonly probeUrl?: UrlProbe;
  readonly probeIntervalMs: number;
  readonly probeTimeoutMs: number;
  readonly probeFails: number;
  readonly probePasses: number;
  readonly probeSlowStartMs: number;
  readonly probeRules?: readonly MatchRule[];
  /** `health_upstream_peer_probe`. */
  readonly peerProbes?: readonly { readonly address: string; readonly probe: UrlProbe }[];

  /** The zone and the channel of transitions, which are published if both are set. */
  readonly eventsZone?: string;
  readonly eventsChannel?: string;
}
