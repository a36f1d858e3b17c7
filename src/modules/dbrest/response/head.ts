import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives.ts';
import { malformedResponseHeaders, malformedResponseStatus, offsetBeyond } from '../fault/index.ts';
import { isObject, parseJson } from '../json.ts';
import { appliedPreferences, type Media, type RowRange } from '../request/index.ts';
import type { Results, RowSink, Verdict } from '../session/index.ts';
import type { RunPlan, Statements } from '../sql/index.ts';
import type { ResponseStart } from './body.ts';

/** A response that is under way while its statements run. */
export interface OpenResponse {
  /** Takes the rows of the main statement. */
  readonly sink?: RowSink;
  /** Throws what makes the results a fault, and undoes what gave them. */
  readonly verdict?: Verdict;
  /** Sends what is not sent yet. Throws as the verdict does. */
  end(results: Results): void | Promise<void>;
}

/** What every response is made with. */
export interface ResponseParts {
  readonly config: DbrestConfig;
  readonly statements: Statements;
  readonly watch: Stopwatch | undefined;
}

/** What the head of a response says. */
interface ResponseHead {
  readonly status: number;
  /** Headers of this response alone; one without a value is left out. */
  readonly own: readonly (readonly [name: string, value: string | undefined])[];
  /** What the database chose itself goes before. */
  readonly chosen: ResponseSettings;
}

/** Sets the headers of a response and gives its beginning. */
export function setHead(
  x: Exchange,
  { status, own, chosen }: ResponseHead,
  { plan, config, watch }: Omit<ResponseParts, 'statements'> & { readonly plan: RunPlan },
): ResponseStart {
  const taken = new Set(chosen.headers.map(([name]) => name.toLowerCase()));
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined && !taken.has(name.toLowerCase())) x.response.setHeader(name, value);
  };
  let contentType: string | undefined;
  for (const [name, value] of chosen.headers) {
    if (name.toLowerCase() === 'content-type') contentType = value;
    else x.response.setHeader(name, value);
  }
  for (const [name, value] of own) set(name, value);
  if (config.schemas.length > 1) set('Content-Profile', plan.request.head.schema);
  set('Preference-Applied', appliedPreferences(plan.preferences));
  set('Server-Timing', watch?.toString());
  return { status: chosen.status ?? status, contentType };
}

/** `Content-Range`: `first-last/total`, `*` for what there is none of or is not known. */
export function contentRange({ offset }: RowRange, rows: number, total: number | undefined): string {
  const range = rows === 0 ? '*' : `${offset}-${offset + rows - 1}`;
  return `${range}/${total ?? '*'}`;
}

/** `Content-Range` and its unit; a query plan has none. */
export function rangeHeaders({ format }: Media, range: string): [string, string][] {
  if (format === 'plan') return [];
  return [
    ['Content-Range', range],
    ['Range-Unit', 'items'],
  ];
}

/** 206 when rows are missing from a counted response. Throws PGRST103 when it starts behind the last one. */
export function rangeStatus({ offset }: RowRange, rows: number, total: number | undefined): 200 | 206 {
  if (total === undefined) return 200;
  if (offset > total) throw offsetBeyond(offset, total);
  return rows < total ? 206 : 200;
}

/** What the statements left in the two settings. Throws PGRST111 and PGRST112. */
export function settingsOf({ response }: Statements, results: Results): ResponseSettings {
  const [headers = null, status = null] = response === undefined ? [] : (results[response] ?? []).slice(-2);
  return responseSettings(headers, status);
}

/** What the database decided about a response: `response.headers` and `response.status`. */
interface ResponseSettings {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status?: number;
}

/** The two settings as they were left, '' or null when nothing was set. Throws PGRST111 and PGRST112. */
export function responseSettings(headers: string | null, status: string | null): ResponseSettings {
  return {
    headers: headers ? readHeaders(headers) : [],
    ...(status && { status: readStatus(status) }),
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

/** Not 1xx, which would not be the response, and nothing that HTTP has no room for. */
function readStatus(text: string): number {
  if (!/^[2-5]\d\d$/.test(text)) throw malformedResponseStatus();
  return Number(text);
}

/** The parts of a request, in their order; names as in PostgREST's `Server-Timing`. */
export type Phase = 'jwt' | 'parse' | 'plan' | 'transaction';

/** How long the parts of one request took. */
export class Stopwatch {
  #last = performance.now();
  #parts: string[] = [];

  /** A part ends here. */
  lap(phase: Phase): void {
    const now = performance.now();
    this.#parts.push(`${phase};dur=${(now - this.#last).toFixed(1)}`);
    this.#last = now;
  }

  /** The value of `Server-Timing`. */
  toString(): string {
    return this.#parts.join(', ');
  }
}
