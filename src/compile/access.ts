import { setTimeout as sleep } from 'node:timers/promises';
import type { CoreConfig } from '../contract/index.ts';
import {
  type AccessCheck,
  type Denial,
  type Exchange,
  type Handler,
  logContext,
  sendDenial,
  type Verdict,
} from '../http/index.ts';
import type { ErrorLog } from '../log/index.ts';

/** The core settings of the access phase. */
type AccessRules = Pick<CoreConfig, 'satisfy' | 'authDelayMs'>;

/** A check, and the module that makes it. */
interface NamedCheck {
  readonly module: string;
  readonly check: AccessCheck;
}

interface Phase {
  readonly checks: readonly NamedCheck[];
  readonly rules: AccessRules;
  readonly log: ErrorLog;
}

/** The index of the next check, and the denial that applies if no further check decides. */
interface Progress {
  readonly index: number;
  readonly denied: Denial | undefined;
  /** The module whose denial it is. */
  readonly by: string;
}

const START: Progress = { index: 0, denied: undefined, by: '' };

/**
 * Compiles the access phase of one location (nginx ngx_http_core_access_phase). `satisfy all`: the first denial is
 * sent. `satisfy any`: the first check that allows ends the phase; if none does, a 401 wins over a 403, so that the
 * client can send a password, and a redirect to a login over both.
 */
export function compileAccess(
  checks: readonly NamedCheck[],
  rules: AccessRules,
  log: ErrorLog,
): Handler | undefined {
  if (checks.length === 0) return undefined;
  const phase: Phase = { checks, rules, log };
  const [only] = checks;
  // Subrequests are not checked: their parent was.
  if (!only || checks.length > 1) return (x) => (x.main === x ? runChecks(phase, START, x) : undefined);
  return (x) => {
    if (x.main !== x) return undefined;
    const verdict = only.check(x);
    if (verdict === undefined || verdict === 'allowed') return undefined;
    return verdict instanceof Promise
      ? verdict.then((settled) => decide(phase, settled, x))
      : decide(phase, verdict, x);
  };
}

/** Acts on the verdict of the only check. */
function decide(phase: Phase, verdict: Verdict, x: Exchange): void | Promise<void> {
  return x.done ? undefined : deny(phase, weigh(phase, START, verdict), x);
}

function runChecks(phase: Phase, from: Progress, x: Exchange): void | Promise<void> {
  let at = from;
  while (at.index < phase.checks.length) {
    const verdict = (phase.checks[at.index] as NamedCheck).check(x);
    if (verdict instanceof Promise) {
      const here = at;
      return verdict.then((settled) =>
        x.done ? undefined : runChecks(phase, weigh(phase, here, settled), x),
      );
    }
    if (x.done) return undefined;
    at = weigh(phase, at, verdict);
  }
  return deny(phase, at, x);
}

function weigh(
  { checks, rules: { satisfy } }: Phase,
  { index, denied, by }: Progress,
  verdict: Verdict,
): Progress {
  const next = index + 1;
  const over = checks.length;
  if (verdict === undefined) return { index: next, denied, by };
  if (verdict === 'allowed') return { ...START, index: satisfy === 'any' ? over : next };
  const own = (checks[index] as NamedCheck).module;
  if (satisfy === 'all' || !isOpinion(verdict)) return { index: over, denied: verdict, by: own };
  const difference = rankOf(verdict) - rankOf(denied);
  if (!denied || difference > 0) return { index: next, denied: verdict, by: own };
  if (difference < 0 || verdict.status !== 401) return { index: next, denied, by };
  // Both responses may name an authentication scheme.
  return { index: next, denied: { status: 401, headers: [...headersOf(denied), ...headersOf(verdict)] }, by };
}

/**
 * Tells whether a denial is a decision about access. Other statuses are failures, which no other check can make up for.
 */
function isOpinion(denial: Denial): boolean {
  return rankOf(denial) > 0;
}

/** With `satisfy any`, a redirect to a login wins over a 401, and that over a 403. */
function rankOf(denial: Denial | undefined): number {
  return [403, 401, 302].indexOf(denial?.status ?? 0) + 1;
}

function headersOf({ headers = [] }: Denial): readonly string[] {
  return headers;
}

function deny({ rules, log }: Phase, { denied, by }: Progress, x: Exchange): void | Promise<void> {
  if (!denied) return undefined;
  // A failure is none of the client's doing.
  if (isOpinion(denied)) x.refusedBy = by;
  if (rules.satisfy === 'any' && denied.status === 403) {
    log.write('error', 'access forbidden by rule', logContext(x));
  }
  if (denied.status !== 401 || rules.authDelayMs === 0) return sendDenial(denied, x);
  log.write('info', 'delaying unauthorized request', logContext(x));
  return delay(rules.authDelayMs, x).then(() => sendDenial(denied, x));
}

/** Delays a 401 by a fixed time (`auth_delay`), so that response times do not help to guess passwords. */
async function delay(delayMs: number, x: Exchange): Promise<void> {
  const gone = new AbortController();
  x.onAbort(() => gone.abort());
  await sleep(delayMs, undefined, { signal: gone.signal }).catch(() => undefined);
}
