/** Why a pool gave nothing: line full, waited too long, peer not reachable, pool closed, caller gone. */
export type RefusalReason = 'full' | 'late' | 'unreachable' | 'closed' | 'abandoned';

/** Why no resource was given; `cause` is the peer's own error when it is unreachable. */
export class PoolRefusal extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, cause?: Error) {
    super(cause?.message ?? `pool: ${reason}`, { cause });
    this.reason = reason;
  }
}
