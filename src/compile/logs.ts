import {
  type Build,
  countLostLines,
  type ErrorLogTag,
  loggedValue,
  type WorkerScope,
} from '../contract/index.ts';
import { elapsedMs, type Exchange, latencyMs, type LogStep, statusLine } from '../http/index.ts';
import { type ErrorLog, type ErrorLogTarget, type LogTag, openErrorLogs, redact } from '../log/index.ts';
import {
  type Counter,
  type Counters,
  type Distribution,
  type Histogram,
  keepRequestLine,
  type Metric,
  type Ring,
} from '../zone/index.ts';

/**
 * Opens the error logs of locations: the worker's own log, unless the configuration sets others below its main level.
 */
export class ErrorLogs {
  readonly #worker: WorkerScope;
  readonly #main: readonly ErrorLogTarget[] | undefined;
  readonly #opened = new Map<readonly ErrorLogTarget[], ErrorLog>();

  constructor(worker: WorkerScope, main: readonly ErrorLogTarget[] | undefined) {
    this.#worker = worker;
    this.#main = main;
  }

  /** Levels that inherit their logs have the same list object, so they share the open logs. */
  of(targets: readonly ErrorLogTarget[] | undefined): ErrorLog {
    if (!targets || targets === this.#main) return this.#worker.log;
    const known = this.#opened.get(targets) ?? this.#open(targets);
    this.#opened.set(targets, known);
    return known;
  }

  #open(targets: readonly ErrorLogTarget[]): ErrorLog {
    const {
      metrics,
      prefix,
      workerId: tid,
      logListeners: listeners,
      logOpener: opener,
      log: main,
    } = this.#worker;
    const tell = (trouble: string): void => main.write('emerg', trouble);
    const log = this.#worker.share(
      `error_log ${JSON.stringify(targets)}`,
      () =>
        openErrorLogs(targets, { prefix, tid, listeners, opener, tell, dropped: countLostLines(metrics) }),
      (opened) => opened.close(),
    );
    this.#worker.onReopen(() => log.reopen());
    return log;
  }
}

/** No line of the error log is longer. */
const MAX_TAG_LENGTH = 4096;

/**
 * Compiles `error_log_tag`. A tag whose value is empty, or cannot be evaluated, is left out; so are all tags of a line
 * that is written because of such a value.
 */
export function compileLogTags(
  tags: readonly ErrorLogTag[] | undefined,
  build: Build,
): ((x: Exchange) => readonly LogTag[]) | undefined {
  if (!tags) return undefined;
  const compiled = tags.map(({ name, value }) => ({ name, render: loggedValue(value, build) }));
  let isEvaluating = false;
  const evaluate = (render: (x: Exchange) => string, x: Exchange): string => {
    try {
      return render(x).slice(0, MAX_TAG_LENGTH);
    } catch {
      return '';
    }
  };
  return (x) => {
    if (isEvaluating) return [];
    isEvaluating = true;
    const all = compiled.map(({ name, render }): LogTag => [name, evaluate(render, x)]);
    isEvaluating = false;
    return all.filter(([, value]) => value !== '');
  };
}

const REQUESTS: Metric = {
  name: 'gw_http_requests_total',
  help: 'Requests that got a response or were aborted.',
};
const DURATION: Distribution = {
  name: 'gw_http_request_duration_seconds',
  help: 'Time from the head of a request to the end of its response, or to the head of a stream.',
  scale: 'seconds',
};
const SIZE: Distribution = {
  name: 'gw_http_response_size_bytes',
  help: 'Bytes of responses without their heads.',
  scale: 'bytes',
};

const REFUSED: Metric = {
  name: 'gw_http_refused_total',
  help: 'Requests that a module did not let through, or whose head could not be read, by what refused them.',
};

const METHODS: ReadonlySet<string> = new Set(['HEAD', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The labels of a location in metrics. */
interface CountedLocation {
  readonly server: string;
  readonly location: string;
}

/** Tells whether the requests of a location are counted by location (`metrics_location`). */
export function isCounted(counted: {
  readonly server: string;
  readonly location: string | false;
}): counted is CountedLocation {
  return counted.location !== false;
}

type ByStatus = (Counter | undefined)[];

/**
 * Counts the requests of one location: one series per method and status that occurs, and two histograms. They are
 * created on first use, so that unused locations take no memory.
 */
export function compileRequestCounter(counters: Counters, counted: CountedLocation): LogStep {
  const labels = { server: counted.server, location: counted.location };
  const open = (method: string, status: number): Counter =>
    counters.counter(REQUESTS, { ...labels, method, code: codeLabel(status) });
  const gets: ByStatus = [];
  const others = new Map<string, ByStatus>();
  const statusesOf = (method: string): ByStatus => {
    const known = others.get(method) ?? [];
    others.set(method, known);
    return known;
  };
  const refusals = new Map<string, Counter>();
  const refused = (by: string): Counter => {
    const known = refusals.get(by) ?? counters.counter(REFUSED, { location: counted.location, by });
    refusals.set(by, known);
    return known;
  };
  let duration: Histogram | undefined;
  let size: Histogram | undefined;

  return (x: Exchange) => {
    const { status } = x;
    const method = x.request.method === 'GET' ? 'GET' : methodLabel(x.request.method);
    const statuses = method === 'GET' ? gets : statusesOf(method);
    (statuses[status] ??= open(method, status)).add();
    if (x.refusedBy !== '') refused(x.refusedBy).add();
    duration ??= counters.histogram(DURATION, labels);
    duration.observe(latencyMs(x) / 1000, x.main.trace);
    size ??= counters.histogram(SIZE, labels);
    size.observe(x.bodyBytesSent);
  };
}

function methodLabel(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

/** Returns a status that HTTP or nginx defines unchanged, and the class of any other. */
function codeLabel(status: number): string {
  const isKnown = status === 444 || status === 499 || !statusLine(status).endsWith(' ');
  return isKnown ? String(status) : `${Math.floor(status / 100)}xx`;
}

/** Limit of one worker. Nobody could read more lines, and writing them would slow down the requests. */
const LINES_PER_SECOND = 20;
const FIRST_FAILURE = 500;

/**
 * Compiles the step that writes requests to the log tail: `method milliseconds bytes host uri`. Requests beyond the
 * limit are only counted; failures have a limit of their own, so that a busy second does not hide them.
 */
export function compileRequestTail(tail: Ring): LogStep {
  let second = 0;
  let shown = 0;
  let failures = 0;
  let skipped = 0;
  return (x: Exchange) => {
    const nowMs = Date.now();
    const now = Math.floor(nowMs / 1000);
    if (now !== second) {
      if (skipped > 0) keepRequestLine(tail, 0, String(skipped));
      [second, shown, failures, skipped] = [now, 0, 0, 0];
    }
    const { request, bodyBytesSent, status } = x;
    const nth = status >= FIRST_FAILURE ? ++failures : ++shown;
    if (nth > LINES_PER_SECOND) return void skipped++;
    const { method, host, requestUri } = request;
    const uri = redact(requestUri);
    keepRequestLine(
      tail,
      status,
      `${method} ${Math.trunc(elapsedMs(x))} ${bodyBytesSent} ${host || '-'} ${uri}`,
    );
  };
}
