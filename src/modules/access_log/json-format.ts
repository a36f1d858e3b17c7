import { type Build, loggedVariable } from '../../contract/index.ts';
import { type Try, upstreamFacts } from '../../forwarding/index.ts';
import { elapsedMs, type Exchange, type Getter, requestId, tracedBy } from '../../http/index.ts';
import { cutText, jsonString, redact, timeUtc } from '../../log/index.ts';

/** The predefined formats whose lines are objects of JSON. A `log_format` of the same name replaces them. */
export const JSON_FORMATS = ['json', 'json_full'] as const;
type JsonFormat = (typeof JSON_FORMATS)[number];

export function isJsonFormat(name: string): name is JsonFormat {
  return (JSON_FORMATS as readonly string[]).includes(name);
}

/** Variables that modules keep only where the configuration has them. */
export const KEPT_VARIABLES: Readonly<Record<JsonFormat, readonly string[]>> = {
  json: [],
  json_full: ['jwt_claim_sub', 'oidc_claim_sub', 'api_key_id', 'dbrest_code', 'upstream_cache_status'],
};

/** Longer values are cut. */
const MAX_VALUE_BYTES = 8192;
/** With a bound for a line, no value of a line that exceeds it may take more bytes. Twenty-seven of them fit into 4 KB. */
const SHORT_VALUE_BYTES = 100;

/** How a line is written: the largest value, and whether one was larger. */
interface Writing {
  readonly maxValueBytes: number;
  isCut: boolean;
}

/** Returns the JSON of a member's value. */
type Render = (x: Exchange, writing: Writing) => string;

/**
 * Compiles a predefined format. Absent values are `null`, numbers are numbers, and several upstreams are a list. Strings
 * have at most 8 KB; `"truncated":true` tells that some were longer. A line longer than `maxLineBytes` is written
 * again with short values.
 */
export function compileJsonFormat(
  format: JsonFormat,
  build: Build,
  maxLineBytes = Infinity,
): (x: Exchange) => string {
  const members = [...usualMembers(build), ...(format === 'json_full' ? moreMembers(build) : [])];
  const parts = members.map(([name, render], index) => ({
    start: `${index === 0 ? '{' : ','}"${name}":`,
    render,
  }));
  const lineOf = (x: Exchange, maxValueBytes: number): string => {
    const writing: Writing = { maxValueBytes, isCut: false };
    let line = '';
    for (const { start, render } of parts) line += start + render(x, writing);
    return line + (writing.isCut ? ',"truncated":true}' : '}');
  };
  if (maxLineBytes === Infinity) return (x) => lineOf(x, MAX_VALUE_BYTES);
  return (x) => {
    const line = lineOf(x, MAX_VALUE_BYTES);
    return Buffer.byteLength(line) <= maxLineBytes ? line : lineOf(x, SHORT_VALUE_BYTES);
  };
}

type Member = readonly [name: string, render: Render];

function usualMembers(build: Build): readonly Member[] {
  const variable = (name: string): Render => text(loggedVariable(name, build));
  return [
    ['time', () => `"${timeUtc(Date.now())}"`],
    ['remote_addr', variable('remote_addr')],
    ['remote_user', variable('remote_user')],
    ['method', text(({ main }) => main.request.method)],
    ['uri', text(({ main }) => redact(pathOf(main.request.requestUri)))],
    ['query', text(({ main }) => queryOf(main.request.requestUri))],
    ['protocol', text((x) => `HTTP/${x.request.httpVersion}`)],
    ['host', variable('host')],
    ['status', (x) => String(x.status || x.errorStatus)],
    ['bytes', (x) => String(x.bodyBytesSent)],
    ['request_time', (x) => seconds(elapsedMs(x))],
    ['referer', variable('http_referer')],
    ['user_agent', variable('http_user_agent')],
    ['request_id', text(requestId)],
    ['trace_id', text((x) => tracedBy(x)?.traceId)],
  ];
}

function moreMembers(build: Build): readonly Member[] {
  const variable = (name: string): Getter => loggedVariable(name, build);
  const [ofToken, ofLogin, code] = ['jwt_claim_sub', 'oidc_claim_sub', 'dbrest_code'].map(variable) as [
    Getter,
    Getter,
    Getter,
  ];
  const { path } = build.location;
  return [
    ['server', text((x) => x.serverName)],
    ['location', text(() => path)],
    ['upstream_addr', ofTries(({ address }, writing) => written(address, writing))],
    ['upstream_status', ofTries(({ status }) => (status === 0 ? 'null' : String(status)))],
    ['upstream_response_time', ofTries(({ responseMs }) => (responseMs < 0 ? 'null' : seconds(responseMs)))],
    ['cache_status', text(variable('upstream_cache_status'))],
    ['sub', text((x) => ofToken(x) || ofLogin(x))],
    ['api_key_id', text(variable('api_key_id'))],
    ['tls', text(variable('ssl_protocol'))],
    ['refused_by', text((x) => x.refusedBy || x.main.refusedBy)],
    ['sqlstate', text((x) => sqlstate(code(x)))],
  ];
}

function text(read: Getter): Render {
  return (x, writing) => {
    const value = read(x);
    return value === undefined || value === '' ? 'null' : written(value, writing);
  };
}

function written(value: string, writing: Writing): string {
  const cut = cutText(value, writing.maxValueBytes);
  if (cut.length < value.length) writing.isCut = true;
  return jsonString(cut);
}

/** Values of the upstreams that were tried: one is a value, several are a list. */
function ofTries(show: (tried: Try, writing: Writing) => string): Render {
  return (x, writing) => {
    const tries = upstreamFacts(x)?.rounds.flat() ?? [];
    const [first] = tries;
    if (!first) return 'null';
    if (tries.length === 1) return show(first, writing);
    return `[${tries.map((tried) => show(tried, writing)).join(',')}]`;
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? target : target.slice(0, mark);
}

function queryOf(target: string): string | undefined {
  const mark = target.indexOf('?');
  return mark < 0 ? undefined : redact(target.slice(mark + 1));
}

/** A code of PostgreSQL; other codes of `dbrest_code` are gw's own. */
function sqlstate(code: string | undefined): string | undefined {
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
