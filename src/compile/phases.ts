import { failRequest, type Exchange, type Handler, type ResponseRules, stateKey } from '../http/index.ts';

/** Applies the rules of a location or server to a request. */
export function enter(x: Exchange, rules: ResponseRules): void {
  x.rules = rules;
  rules.watch?.enters(x);
}

/** Runs handlers in order until one of them sends a response. Waits only if a handler waits. */
export function sequence(handlers: readonly Handler[]): Handler {
  const [only] = handlers;
  if (only && handlers.length === 1) return only;
  return (x) => runFrom(handlers, 0, x);
}

function runFrom(handlers: readonly Handler[], start: number, x: Exchange): void | Promise<void> {
  const round = x.internalRedirects;
  for (let index = start; index < handlers.length; index++) {
    const waiting = (handlers[index] as Handler)(x);
    if (waiting) return waiting.then(() => (isOver(x, round) ? undefined : runFrom(handlers, index + 1, x)));
    if (isOver(x, round)) return undefined;
  }
  return undefined;
}

/** Tells whether the request has a response or was redirected internally, so that the current phases must stop. */
export function isOver(x: Exchange, round: number): boolean {
  return x.done || x.internalRedirects !== round;
}

/** Runs the rewrite steps until one of them sends a response or ends the phase. */
export function rewriteSequence(steps: readonly Handler[]): Handler {
  const [only] = steps;
  return only && steps.length === 1 ? only : (x) => rewriteFrom(steps, 0, x);
}

function rewriteFrom(steps: readonly Handler[], start: number, x: Exchange): void | Promise<void> {
  const round = x.internalRedirects;
  for (let index = start; index < steps.length; index++) {
    const waiting = (steps[index] as Handler)(x);
    if (waiting) {
      return waiting.then(() =>
        isOver(x, round) || x.rewritePhase?.isEnded ? undefined : rewriteFrom(steps, index + 1, x),
      );
    }
    if (isOver(x, round) || x.rewritePhase?.isEnded) return undefined;
  }
  return undefined;
}

/** Called at the beginning of the server's rewrite phase, and of each location's. */
export function beginRewritePhase({ rewritePhase }: Exchange): void {
  if (rewritePhase) rewritePhase.isEnded = rewritePhase.hasReplacedUri = false;
}

/** Called before the location of a URI is looked up. */
export function settleRewritePhase({ rewritePhase }: Exchange): void {
  if (rewritePhase) rewritePhase.relocates = rewritePhase.hasLeftLocation = false;
}

/** What an `if` block puts in place of the location's own phases after the rewrite phase. */
export interface AfterRewrite {
  /** The block has a content handler of its own. */
  readonly passes: boolean;
  readonly respond: Handler;
  /** The module of the content handler. */
  readonly servedBy: string | undefined;
}

export const AFTER_REWRITE = stateKey<AfterRewrite | undefined>('after rewrite');

/** Begins the rewrite phase of a location. */
export function beginLocationRewrite(x: Exchange): void {
  beginRewritePhase(x);
  if (x.state(AFTER_REWRITE)) x.setState(AFTER_REWRITE, undefined);
}

/** Wraps a handler so that a failure becomes a response: 500, or the status of an `HttpFault`. Never rejects. */
export function respondingToFailures(handler: Handler): Handler {
  return (x) => {
    try {
      const waiting = handler(x);
      return waiting?.catch((error: unknown) => failRequest(x, error));
    } catch (error) {
      return failRequest(x, error);
    }
  };
}
