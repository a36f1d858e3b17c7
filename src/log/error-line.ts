import { cutForJson, jsonString } from './json-text.ts';
import { escapeDefault } from './log-text.ts';
import { redact } from './secrets.ts';
import { errorLogTime, timeUtc } from './time.ts';

/** nginx's levels, least severe first. */
export const LEVELS = ['debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'] as const;
export type Level = (typeof LEVELS)[number];

/** A name and a value of `error_log_tag`. */
export type LogTag = readonly [name: string, value: string];

/** What a line tells of its request beyond nginx's fields. It is computed when a line is written, at the earliest. */
export interface LoggedRequest {
  /** The id that counts for the request: that of `request_id_header`, else `$request_id`. */
  readonly requestId: string;
  /** 32 and 16 hexadecimal digits, if the request is traced. */
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly tags: readonly LogTag[];
}

/** The fields of a log line besides its message, printed as in nginx: `, client: …, server: …, request: "…"`. */
export interface LogContext {
  /** Serial number of the connection: printed as `*7 ` before the message. */
  readonly connection?: number;
  readonly client?: string;
  readonly server?: string;
  readonly request?: string;
  /** URI of the subrequest that logs. */
  readonly subrequest?: string;
  readonly upstream?: string;
  /** As the client sent it. */
  readonly host?: string;
  readonly referrer?: string;
  /** The code of an error of PostgreSQL; in JSON only. */
  readonly sqlstate?: string | undefined;
  readonly about?: LoggedRequest;
}

/** A line of an error log before it is written in one of the formats. */
export interface ErrorLine {
  readonly level: Level;
  readonly message: string;
  readonly context: LogContext | undefined;
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  readonly tid: number;
}

/** Largest atomic write to a pipe (PIPE_BUF), the line end included. Longer lines are cut. */
export const MAX_LINE_BYTES = 4096;

/** Returns a line as nginx writes it, without its line end: time, level and `errorText`. */
export function textLine(line: ErrorLine, text: string): string {
  return `${errorLogTime(line.timeMs)} [${line.level}] ${text}`;
}

/** Returns a message with its author and fields, as in nginx: one line, without controls that a terminal would interpret. */
export function errorText({ message, context, tid }: ErrorLine): string {
  const connection = context?.connection === undefined ? '' : `*${context.connection} `;
  return `${process.pid}#${tid}: ${printable(connection + begin(redact(message)) + describe(context))}${tagsOf(context)}`;
}

/** Returns the fields in nginx's order: `, client: …, server: …, request: "…"`. Secrets in the query are masked. */
function describe(context: LogContext | undefined): string {
  if (!context) return '';
  const { client, server, request, subrequest, upstream, host, referrer } = context;
  return [
    client && `, client: ${client}`,
    server !== undefined && `, server: ${server}`,
    request && `, request: "${begin(redact(request))}"`,
    subrequest && `, subrequest: "${begin(redact(subrequest))}"`,
    upstream && `, upstream: "${begin(redact(upstream))}"`,
    host && `, host: "${begin(redact(host))}"`,
    referrer && `, referrer: "${begin(redact(referrer))}"`,
  ]
    .filter(Boolean)
    .join('');
}

function tagsOf(context: LogContext | undefined): string {
  const tags = context?.about?.tags ?? [];
  return tags.map(([name, value]) => `, ${name}: "${escapeDefault(value)}"`).join('');
}

// eslint-disable-next-line no-control-regex -- it looks for control bytes
const CONTROL = /[\0-\x1f\x7f-\x9f]/g;

function printable(text: string): string {
  return text.replace(
    CONTROL,
    (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/**
 * `call() "path" failed (2: No such file or directory)`: the number and the text of an error of the system. The last one
 * counts: a path may have the look of another one.
 */
const SYSTEM_ERROR = / \((\d{1,4}): ([^()]+)\)/g;

type Member = [name: string, value: string | number | undefined];

/**
 * Returns a line as one object of JSON, with the names of the commercial nginx, at most 4,095 bytes long: what is too
 * long is cut, the message first, then the request, and `"truncated":1` says so.
 */
export function jsonLine(line: ErrorLine): string {
  const members = membersOf(line)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]): Member => [name, typeof value === 'string' ? begin(value) : value]);
  const text = joined(members);
  return Buffer.byteLength(text) < MAX_LINE_BYTES ? text : shortened([...members, ['truncated', 1]]);
}

function membersOf({ level, message, context = {}, timeMs, tid }: ErrorLine): Member[] {
  const { connection, client, server, request, subrequest, upstream, host, referrer, about } = context;
  const failure = [...message.matchAll(SYSTEM_ERROR)].at(-1);
  const [found = '', errno, errtext] = failure ?? [];
  const text = failure
    ? message.slice(0, failure.index) + message.slice(failure.index + found.length)
    : message;
  return [
    ['timestamp', timeUtc(timeMs)],
    ['level', level],
    ['pid', process.pid],
    ['tid', tid],
    ['cnum', connection],
    ['msg', redact(text)],
    ['errno', errno === undefined ? undefined : Number(errno)],
    ['errtext', errtext],
    ['client', client],
    ['server', server],
    ['request', request && redact(request)],
    ['subrequest', subrequest && redact(subrequest)],
    ['upstream', upstream && redact(upstream)],
    ['host', host && redact(host)],
    ['referrer', referrer && redact(referrer)],
    ['request_id', about?.requestId],
    ['trace_id', about?.traceId],
    ['sqlstate', context.sqlstate],
    ...(about?.tags ?? []).map(([name, value]): Member => [memberName(name), value]),
  ];
}

const OWN_NAMES: ReadonlySet<string> = new Set(
  `timestamp level pid tid cnum msg errno errtext client server request subrequest upstream host referrer request_id
  trace_id sqlstate truncated`.split(/\s+/),
);

function memberName(tag: string): string {
  return OWN_NAMES.has(tag) ? `tag_${tag}` : tag;
}

function joined(members: readonly Member[]): string {
  const texts = members.map(
    ([name, value]) => `${jsonString(name)}:${typeof value === 'string' ? jsonString(value) : value}`,
  );
  return `{${texts.join(',')}}`;
}

/** A cut value keeps so many bytes while another one can still be cut. */
const KEPT_BYTES = 256;
const CUT_FIRST = ['msg', 'request'];

function shortened(members: readonly Member[]): string {
  const line = members.map((member): Member => [...member]);
  const texts = line.filter(([, value]) => typeof value === 'string');
  const first = CUT_FIRST.flatMap((name) => texts.filter((member) => member[0] === name));
  const order = [...first, ...texts.filter((member) => !first.includes(member))];
  let excess = Buffer.byteLength(joined(line)) - (MAX_LINE_BYTES - 1);
  for (const [kept, cut] of [[KEPT_BYTES, order] as const, [0, [...order].reverse()] as const]) {
    for (const member of cut) {
      if (excess <= 0) return joined(line);
      const text = String(member[1]);
      const bytes = bytesInLine(text);
      if (bytes <= kept) continue;
      const shorter = cutForJson(text, Math.max(kept, bytes - excess));
      member[1] = shorter;
      excess -= bytes - bytesInLine(shorter);
    }
  }
  return joined(line);
}

function bytesInLine(text: string): number {
  return Buffer.byteLength(jsonString(text));
}

/** Returns as much of a value as fits into a line: what a client has sent may be many times as long. */
function begin(value: string): string {
  return value.length > MAX_LINE_BYTES ? value.slice(0, MAX_LINE_BYTES) : value;
}
