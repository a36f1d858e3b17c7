import type { AccessCheck, Denial, Exchange, Handler, Verdict } from '../http/index.ts';

/** `satisfy`: whether all checks of the access phase must let a request in, or one of them is enough. */
export type Satisfy = 'all' | 'any';

/**
 * The access phase of one location (nginx ngx_http_core_access_phase). `all`: the first denial answers. `any`: the first
 * check that allows ends the phase; when none does, a 401 wins over other denials, so that the client may try a password.
 */
export function compileAccess(checks: readonly AccessCheck[], satisfy: Satisfy): Handler | undefined {
  if (checks.length === 0) return undefined;
  const decide = satisfy === 'all' || checks.length === 1 ? answerFirst : new AnyOf(checks).decide;
  return (x) => {
    // What a subrequest asks has been let in with the request it is for.
    if (x.main !== x) return undefined;
    return runChecks(checks, { index: 0, x, decide });
  };
}

/** Takes one verdict; true: the phase is over. */
type Decide = (x: Exchange, verdict: Verdict, index: number) => boolean;

interface Running {
  readonly index: number;
  readonly x: Exchange;
  readonly decide: Decide;
}

function runChecks(
  checks: readonly AccessCheck[],
  { index: start, x, decide }: Running,
): void | Promise<void> {
  for (let index = start; index < checks.length; index++) {
    const verdict = (checks[index] as AccessCheck)(x);
    if (verdict instanceof Promise) {
      return verdict.then((settled) =>
        x.done || decide(x, settled, index) ? undefined : runChecks(checks, { index: index + 1, x, decide }),
      );
    }
    if (x.done || decide(x, verdict, index)) return undefined;
  }
  return undefined;
}

function answerFirst(x: Exchange, verdict: Verdict): boolean {
  if (verdict === undefined || verdict === 'allowed') return false;
  deny(x, verdict);
  return true;
}

const DENIED = Symbol('denied');

/** `satisfy any`: remembers the denial that counts until the last check has spoken. */
class AnyOf {
  readonly #last: number;

  constructor(checks: readonly AccessCheck[]) {
    this.#last = checks.length - 1;
  }

  readonly decide: Decide = (x, verdict, index) => {
    if (verdict === 'allowed') return true;
    const before = x.state<Denial>(DENIED);
    const counts = verdict !== undefined && before?.status !== 401 ? verdict : before;
    if (counts) x.setState(DENIED, counts);
    if (index < this.#last || !counts) return false;
    x.setState(DENIED, undefined);
    deny(x, counts);
    return true;
  };
}

function deny(x: Exchange, { status, headers = [] }: Denial): void {
  for (let index = 0; index < headers.length; index += 2) {
    x.setHeader(headers[index] as string, headers[index + 1] as string);
  }
  x.end(status);
}
