/** How a connection ends whose client may still be sending. */
export interface LingeringRules {
  /** `on`: when there is something to wait for; `always`: in any case. */
  readonly mode: 'off' | 'on' | 'always';
  readonly timeMs: number;
  /** Longest silence. */
  readonly silenceMs: number;
}

/** What tells one browser from another. */
export interface Client {
  readonly requestMethod: string;
  header(name: string): string | undefined;
}

/** What an answer means for the connection it goes out on. */
export interface ConnectionRules {
  /** False: every answer closes it (`keepalive_timeout 0`, `keepalive_requests 0`). */
  readonly keepalive: boolean;
  readonly idleMs: number;
  readonly maxRequests: number;
  /** Longest life of a connection that carries requests. */
  readonly lifeMs: number;
  /** Value of the header `Keep-Alive` in answers that leave the connection open. */
  readonly keepaliveHeader: string | undefined;
  /** Whether this client's connection closes (`keepalive_disable`); absent: nobody's does. */
  readonly closesFor: ((client: Client) => boolean) | undefined;
  readonly lingering: LingeringRules;
  /** A connection that timed out is reset, not closed. */
  readonly resetsTimedOut: boolean;
}
