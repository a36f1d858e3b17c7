import { type StateHolder, stateKey } from './request-state.ts';

/** The effects of the rewrite directives on a request. */
interface RewritePhase {
  /** The remaining steps of the phase are skipped (`break`, `last`). */
  isEnded: boolean;
  /** `uri` has been replaced in this phase: captures are inserted unescaped from then on (nginx). */
  hasReplacedUri: boolean;
  /** `uri` has changed: a location is searched again after the phase. */
  relocates: boolean;
  /** `rewrite … break` has changed `uri` within its location. The location's prefix may no longer match it. */
  hasLeftLocation: boolean;
}

const PHASE = stateKey<RewritePhase>('rewrite phase');

/** Returns the effects so far; `undefined` if there are none. */
export function rewritePhaseOf(x: StateHolder): RewritePhase | undefined {
  return x.state(PHASE);
}

/** Records an effect of a directive. */
export function changeRewritePhase(x: StateHolder, change: Partial<RewritePhase>): void {
  const phase = x.state(PHASE);
  if (phase) Object.assign(phase, change);
  else x.setState(PHASE, { ...UNCHANGED, ...change });
}

/** Called at the start of the phase, on each level. */
export function beginRewritePhase(x: StateHolder): void {
  const phase = x.state(PHASE);
  if (phase) phase.isEnded = phase.hasReplacedUri = false;
}

/** Called before a location is searched. */
export function settleRewritePhase(x: StateHolder): void {
  const phase = x.state(PHASE);
  if (phase) phase.relocates = phase.hasLeftLocation = false;
}

const UNCHANGED: RewritePhase = {
  isEnded: false,
  hasReplacedUri: false,
  relocates: false,
  hasLeftLocation: false,
};
