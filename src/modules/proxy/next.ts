import type { UpstreamFault } from './client/fault.ts';
import type { NextCondition, ProxyConfig } from './config.ts';

/** Statuses of answers that may make the gateway ask another peer. */
const STATUS_CONDITIONS: Readonly<Record<number, NextCondition>> = {
  403: 'http_403',
  404: 'http_404',
  429: 'http_429',
  500: 'http_500',
  502: 'http_502',
  503: 'http_503',
  504: 'http_504',
};

/** What nginx holds for not repeatable once it was sent (RFC 9110, 9.2.2, without PUT and DELETE, which are idempotent). */
const NOT_IDEMPOTENT: ReadonlySet<string> = new Set(['POST', 'LOCK', 'PATCH']);

/** How far one request has come. */
export interface Progress {
  readonly method: string;
  /** Some of it has been written to the peer. */
  readonly isSent: boolean;
  /** Its body was passed on as it came: it is gone. */
  readonly isSpent: boolean;
  readonly startedMs: number;
  readonly triesLeft: number;
}

/** `proxy_next_upstream` of one location: when another peer may be asked. */
export class NextRules {
  private readonly conditions: ReadonlySet<NextCondition>;
  private readonly timeoutMs: number;
  readonly maxTries: number;

  constructor({ nextUpstream, nextUpstreamTimeoutMs, nextUpstreamTries }: ProxyConfig) {
    const conditions = new Set<NextCondition>(nextUpstream?.flat() ?? ['error', 'timeout']);
    if (conditions.has('off')) conditions.clear();
    this.conditions = conditions;
    this.timeoutMs = nextUpstreamTimeoutMs;
    this.maxTries = nextUpstreamTries || Infinity;
  }

  afterFault({ kind }: UpstreamFault, progress: Progress): boolean {
    return this.mayRepeat(kind, progress);
  }

  afterStatus(status: number, progress: Progress): boolean {
    const condition = STATUS_CONDITIONS[status];
    return condition !== undefined && this.mayRepeat(condition, progress);
  }

  private mayRepeat(condition: NextCondition, progress: Progress): boolean {
    const { method, isSent, isSpent, startedMs, triesLeft } = progress;
    if (triesLeft <= 0 || !this.conditions.has(condition) || isSpent) return false;
    if (isSent && NOT_IDEMPOTENT.has(method) && !this.conditions.has('non_idempotent')) return false;
    return this.timeoutMs === 0 || performance.now() - startedMs < this.timeoutMs;
  }
}
