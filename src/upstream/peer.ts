/** One server of an `upstream` block; plain data. */
export interface PeerConfig {
  /** `host:port` or `unix:/path`. */
  readonly address: string;
}

/** An `upstream` block. */
export interface UpstreamPlan {
  readonly name: string;
  readonly peers: readonly PeerConfig[];
}
