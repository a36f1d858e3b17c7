import { type StateHolder, stateKey } from './request-state.ts';

/** What the directives of the rewrite phase did to a request. */
export interface RewritePhase {
  /** The rest of the phase is skipped (`break`, `last`). */
  isEnded: boolean;
  /** This phase has replaced `uri` already: from then on captures are taken as they are (nginx). */
  hasReplacedUri: boolean;
  /** `uri` changed: behind the phase the location is searched again. */
  relocates: boolean;
  /** `rewrite … break` changed `uri` inside its location, whose prefix says nothing of it any more. */
  hasLeftLocation: boolean;
}

const PHASE = stateKey<RewritePhase>('rewrite phase');

/** `undefined` as long as no directive did anything. */
export function rewritePhaseOf(x: StateHolder): RewritePhase | undefined {
  return x.state(PHASE);
}

/** For a directive that does something. */
export function changeRewritePhase(x: StateHolder, change: Partial<RewritePhase>): void {
  const phase = x.state(PHASE);
  if (phase) Object.assign(phase, change);
  else x.setState(PHASE, { ...UNCHANGED, ...change });
}

/** At the begin of the phase, on each level. */
export function beginRewritePhase(x: StateHolder): void {
  const phase = x.state(PHASE);
  if (phase) phase.isEnded = phase.hasReplacedUri = false;
}

/** Before a location is searched. */
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
