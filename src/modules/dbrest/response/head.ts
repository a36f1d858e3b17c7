import {
  type Exchange,
  type HeaderFilter,
  isSafeHeaderValue,
  type RequestPhases,
  stateKey,
  usualReason,
} from '../../../http/index.ts';
import type { CorsOrigins, DbrestConfig } from '../directives/index.ts';
import { malformedResponseHeaders, malformedResponseStatus, offsetBeyond } from '../fault/index.ts';
import { isObject, parseJson } from '../../../json.ts';
import { appliedPreferences, type Media, type RowRange } from '../request/index.ts';
import type { Results, RowSink, Verdict } from '../session/index.ts';
import type { RunPlan, Statements } from '../sql/index.ts';
import type { StatementRuns } from '../statement-runs.ts';
import { notesOf } from '../variables.ts';
import type { ResponseStart } from './body.ts';
import type { Tagging } from './tagging.ts';

/** A response that has been opened before its statements run. */
export interface OpenResponse {
  /** Receives the rows of the main statement. */
  readonly sink?: RowSink;
  /** Throws a fault if the results are not acceptable, which rolls the transaction back. */
  readonly verdict?: Verdict;
  /** Sends the rest of the response. Throws as the verdict does. */
  end(results: Results): void | Promise<void>;
}

/** The parameters of every response. */
export interface ResponseParts {
  readonly config: DbrestConfig;
  readonly statements: Statements;
  readonly stopwatch: Stopwatch | undefined;
  /** The tag of the rows. */
  readonly tagging: Tagging | undefined;
  /** Nothing is sent before the transaction has ended, also of a read. */
  readonly held?: boolean | undefined;
  /** Its rows are added there. */
  readonly runs?: StatementRuns | undefined;
}

/** The status and headers of a response. */
interface ResponseHead {
  readonly status: number;
  readonly rows?: number;
  /** Headers of this response; those without a value are omitted. */
  readonly own: readonly (readonly [name: string, value: string | undefined])[];
  /** Settings of the database, which take precedence. */
  readonly chosen: ResponseSettings;
}

/** Sets the headers of a response and returns its start. */
export function setHead(
  x: Exchange,
  { status, rows, own, chosen }: ResponseHead,
  {
    plan,
    config,
    stopwatch,
    runs,
  }: Omit<ResponseParts, 'statements' | 'tagging'> & { readonly plan: RunPlan },
): ResponseStart {
  const notes = notesOf(x);
  if (rows !== undefined) {
    if (notes) notes.rows = rows;
    runs?.addRows(rows);
    stopwatch?.noteRows(rows);
  }
  const taken = namesOf(chosen);
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined && !taken?.has(name.toLowerCase())) x.response.setHeader(name, value);
  };
  let contentType: string | undefined;
  for (const [name, value] of chosen.headers) {
    const isType = name.toLowerCase() === 'content-type' && isSafeHeaderValue(value);
    if (isType) contentType = value;
    else x.response.setHeader(name, value);
  }
  if (taken?.has('vary')) keepChosenVary(x);
  for (const [name, value] of own) set(name, value);
  if (config.schemas.length > 1) set('Content-Profile', plan.request.head.schema);
  set('Warning', plan.warning);
  set('Preference-Applied', appliedPreferences(plan.preferences));
  if (chosen.status !== undefined) setUsualReason(x, chosen.status);
  if (!taken?.has('server-timing')) setTiming(x, stopwatch);
  return { status: chosen.status ?? status, contentType };
}

/** The names, in lower case, of the headers that the database has set; `undefined` if it has set none, as usual. */
function namesOf({ headers }: ResponseSettings): ReadonlySet<string> | undefined {
  return headers.length === 0 ? undefined : new Set(headers.map(([name]) => name.toLowerCase()));
}

/** Sets the usual reason phrase, so that a status which the database has chosen has one, too. */
export function setUsualReason(x: Exchange, status: number): void {
  const reason = usualReason(status);
  if (reason !== undefined) x.response.setReason(reason);
}

/** The value of `Content-Range`: `first-last/total`, with `*` for an empty range or an unknown total. */
export function contentRange({ offset }: RowRange, rows: number, total: number | undefined): string {
  const range = rows === 0 ? '*' : `${offset}-${offset + rows - 1}`;
  return `${range}/${total ?? '*'}`;
}

/** The headers `Content-Range` and `Range-Unit`; a query plan has none. */
export function rangeHeaders({ format }: Media, range: string): [string, string][] {
  if (format === 'plan') return [];
  return [
    ['Content-Range', range],
    ['Range-Unit', 'items'],
  ];
}

/** 206 if a counted response does not have all rows. Throws PGRST103 if the offset exceeds the total. */
export function rangeStatus({ offset }: RowRange, rows: number, total: number | undefined): 200 | 206 {
  if (total === undefined) return 200;
  if (offset > total) throw offsetBeyond(offset, total);
  return rows < total ? 206 : 200;
}

/** The response settings in the results. Throws PGRST111 and PGRST112. */
export function settingsOf({ response }: Statements, results: Results): ResponseSettings {
  const [headers = null, status = null] = response === undefined ? [] : (results[response] ?? []).slice(-2);
  return responseSettings(headers, status);
}

/** The response settings `response.headers` and `response.status`. */
interface ResponseSettings {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status: number | undefined;
}

/** Parses the response settings, which are '' or null if unset. Throws PGRST111 and PGRST112. */
export function responseSettings(headers: string | null, status: string | null): ResponseSettings {
  return {
    headers: headers ? readHeaders(headers) : [],
    status: status ? readStatus(status) : undefined,
  };
}

function readHeaders(json: string): [name: string, value: string][] {
  const list = parseJson(json);
  if (!Array.isArray(list)) throw malformedResponseHeaders();
  return list.map((item: unknown) => {
    const [pair, ...others] = isObject(item) ? Object.entries(item) : [];
    if (!pair || others.length > 0 || typeof pair[1] !== 'string') throw malformedResponseHeaders();
    return [pair[0], pair[1]];
  });
}

/** 1xx is not a final status, and a status has three digits. */
function readStatus(text: string): number {
  if (!/^[2-5]\d\d$/.test(text)) throw malformedResponseStatus();
  return Number(text);
}

/** Ends the last phase, and sets `Server-Timing`. */
export function setTiming(x: Exchange, stopwatch: Stopwatch | undefined): void {
  if (!stopwatch) return;
  stopwatch.lap('response');
  if (stopwatch.isShown) x.response.setHeader('Server-Timing', stopwatch.toString());
}

/** The phases of a request, named as in PostgREST's `Server-Timing`. */
type Phase = 'jwt' | 'parse' | 'plan' | 'transaction' | 'response';

/** The phases of the slow log that begin with these. */
const SLOW_PHASES: Readonly<Partial<Record<Phase, 'parse' | 'plan'>>> = {
  jwt: 'parse',
  parse: 'parse',
  plan: 'plan',
};

/** Measures the phases of a request, for `Server-Timing` if `isShown`, and for the slow log. */
export class Stopwatch {
  readonly isShown: boolean;
  readonly #phases: RequestPhases | undefined;
  #last = performance.now();
  #parts: string[] = [];

  constructor(isShown: boolean, phases?: RequestPhases) {
    this.isShown = isShown;
    this.#phases = phases;
  }

  /** Ends a phase. */
  lap(phase: Phase): void {
    const now = performance.now();
    const ms = now - this.#last;
    if (this.isShown) this.#parts.push(`${phase};dur=${ms.toFixed(1)}`);
    const slowPhase = SLOW_PHASES[phase];
    if (slowPhase) this.#phases?.add(slowPhase, ms);
    this.#last = now;
  }

  noteRows(rows: number): void {
    if (this.#phases) this.#phases.rows = rows;
  }

  /** The value of `Server-Timing`. */
  toString(): string {
    return this.#parts.join(', ');
  }
}

/** The request headers that every response depends on, as PostgREST lists them. */
const ALWAYS = 'Accept, Prefer, Range';

/** True if the database has set `Vary`, which is then kept. */
const CHOSEN = stateKey<boolean>('Vary of the database');

function keepChosenVary(x: Exchange): void {
  x.setState(CHOSEN, true);
}

/**
 * Adds the request headers that a response depends on to its `Vary`; errors do not depend on them. Called when the
 * response is sent: stored with it, `Vary` would separate requests that have the same key.
 */
function addVary(x: Exchange, dependsOnOrigin: boolean): void {
  const own = x.status < 400 && x.state(CHOSEN) !== true ? ALWAYS : '';
  const names = dependsOnOrigin ? `${own}${own && ', '}Origin` : own;
  if (names === '') return;
  const { response } = x;
  const others = response.joinedHeader('vary');
  if (others === undefined) response.setKnownHeader('Vary', names);
  else response.replaceHeader('Vary', union(others, names));
}

function union(lists: string, more: string): string {
  const names = [...lists.split(','), ...more.split(',')].map((name) => name.trim()).filter(Boolean);
  if (names.includes('*')) return '*';
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()].join(', ');
}

/** The values that PostgREST sends (its CORS middleware), QUERY and ETag; clients and proxies may compare them. */
const METHODS = 'GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD, QUERY';
const EXPOSED =
  'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit, ETag';
const ALWAYS_ALLOWED = ['Accept', 'Accept-Language', 'Content-Language'];
const MAX_AGE_S = '86400';
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS.split(', '));

/** Cross-origin handling of one location (Fetch standard, CORS protocol). */
interface Cors {
  /** Adds the CORS headers to every response, including errors. */
  readonly filter: HeaderFilter;
  /** Sets the headers for a preflight request. Returns false for other requests, and if the origin is not allowed. */
  preflight(x: Exchange): boolean;
}

/** Compiles the CORS handling. Headers that the database or another filter has set take precedence. */
export function compileCors(origins: CorsOrigins): Cors {
  const listed = origins === '*' ? undefined : new Set(origins);
  const allows = (origin: string | undefined): origin is string =>
    origin !== undefined && (!listed || listed.has(origin));
  const open = (x: Exchange, origin: string): void => {
    x.response.setHeader('Access-Control-Allow-Origin', listed ? origin : '*');
    if (listed) x.response.setHeader('Access-Control-Allow-Credentials', 'true');
  };

  return {
    filter(x) {
      const isDecided = isOpened(x);
      // A cache must not use the response for one origin for another origin, or for a request without one.
      addVary(x, !isDecided && listed !== undefined && listed.size > 0);
      if (isDecided) return;
      const origin = x.header('origin');
      if (!allows(origin)) return;
      open(x, origin);
      x.response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    },

    preflight(x) {
      const origin = x.header('origin');
      const method = x.header('access-control-request-method');
      if (!allows(origin) || method === undefined || !KNOWN_METHODS.has(method)) return false;
      open(x, origin);
      if (listed) x.response.setHeader('Vary', 'Origin');
      x.response.setHeader('Access-Control-Allow-Methods', METHODS);
      x.response.setHeader(
        'Access-Control-Allow-Headers',
        allowedHeaders(x.header('access-control-request-headers')),
      );
      x.response.setHeader('Access-Control-Max-Age', MAX_AGE_S);
      return true;
    },
  };
}

function isOpened({ response: { headers = [] } }: Exchange): boolean {
  return headers.some((word, i) => i % 2 === 0 && word.toLowerCase() === 'access-control-allow-origin');
}

/** Allows every header that the preflight lists. */
function allowedHeaders(asked: string | undefined): string {
  const names = asked?.split(',').map((name) => name.trim()) ?? [];
  return ['Authorization', ...names.filter(Boolean), ...ALWAYS_ALLOWED].join(', ');
}
