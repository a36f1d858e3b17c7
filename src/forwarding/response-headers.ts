import type { ResponseHead } from '../client/index.ts';
import { type Exchange, isSafeHeaderName, isSafeHeaderValue, KEPT_TYPE, statusLine } from '../http/index.ts';
import { connectionOptions, HOP_BY_HOP } from '../http1/index.ts';
import type { ForwardingConfig, IgnoredHeader } from './config.ts';
import type { HeaderRewrite, ResponseProtocol } from './protocol.ts';

/** Instructions of a response to the gateway (`X-Accel-*`). */
export interface Accel {
  redirect: string | undefined;
  buffering: boolean | undefined;
  /** Bytes per second; `undefined` if it is not given. */
  limitRate: number | undefined;
  /** '' if it is not given. */
  charset: string;
}

/** The treatment of a response header, by name. `check`: the name is not a token, so it is not passed on. */
type Treatment = 'pass' | 'check' | 'drop' | 'type' | 'connection' | 'upgrade' | 'rewrite' | 'once';

/** Headers that nginx hides in every protocol. */
const HIDDEN: readonly string[] =
  'X-Accel-Expires X-Accel-Redirect X-Accel-Limit-Rate X-Accel-Buffering X-Accel-Charset'.split(' ');
/**
 * Headers that end with this hop or that gw writes itself. `Connection` is evaluated first, `Trailer` is passed on with
 * its fields. `Upgrade` is passed on as well: a 426 requires the protocol, other responses offer it.
 */
const HOPS = [
  ...HOP_BY_HOP.filter((name) => !['connection', 'trailer', 'upgrade'].includes(name)),
  'content-length',
];
/** Headers of which the first one counts (nginx ngx_http_upstream_process_header_line). */
const ONCE: readonly string[] = ['server', 'date', 'expires', 'last-modified', 'etag', 'location'];
const MAX_NAMES = 1_000;

/** Copies the headers of a response into the exchange, in the order in which they were received. */
export class ResponseHeaders {
  readonly #fixed: ReadonlyMap<string, Treatment>;
  readonly #ignored: ReadonlySet<IgnoredHeader>;
  readonly #rewrites: ReadonlyMap<string, HeaderRewrite>;
  /** Headers that the client gets from the upstream or not at all. */
  readonly #upstreamOnly: readonly ('server' | 'date')[];
  /** Treatments by name as upstreams write it. The same few names recur, so lower-casing each is avoided. */
  readonly #known = new Map<string, Treatment>();

  constructor(config: ForwardingConfig, { hiddenHeaders, rewrites }: ResponseProtocol) {
    this.#ignored = new Set(config.ignoreHeaders?.flat());
    this.#rewrites = rewrites;
    this.#fixed = this.#treatments(config, hiddenHeaders);
    this.#upstreamOnly = (['server', 'date'] as const).filter(
      (name) =>
        this.#fixed.get(name) !== 'drop' && hiddenHeaders.some((hidden) => hidden.toLowerCase() === name),
    );
  }

  /** Sets the headers of the response. Returns its content type, '' if it has none. */
  apply(x: Exchange, { headers, status, reason, isPlain }: ResponseHead): string {
    let type = x.state(KEPT_TYPE) ?? '';
    let hops: readonly string[] | undefined;
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      const value = headers[index + 1] as string;
      const treatment = this.#known.get(name) ?? this.#learn(name);
      if (treatment === 'pass' && isPlain) x.response.setKnownHeader(name, value);
      else if (treatment === 'pass' || treatment === 'check') x.response.setHeader(name, value);
      else if (treatment === 'type') type = isPlain ? value : safeType(x, name, value);
      else if (treatment === 'connection') {
        if (!KEPT.has(value)) hops = connectionOptions(value);
      } else if (treatment === 'upgrade') {
        // A 101 gets the protocol for which its client has asked.
        if (status !== 101) x.response.setHeader(name, value);
      } else if (treatment !== 'drop') this.#rewrite(x, { name, value, treatment });
    }
    for (const name of this.#upstreamOnly) x.response.omit(name);
    for (const hop of hops ?? []) if (!KEPT.has(hop)) x.response.removeHeader(hop);
    if (status !== 200 || reason !== 'OK') setReason(x, status, reason);
    return type;
  }

  /** Sets the content type and the headers that survive an X-Accel-Redirect. */
  keep(x: Exchange, { headers }: ResponseHead): void {
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      const value = headers[index + 1] as string;
      if (!REDIRECTED.has(name.toLowerCase())) continue;
      // nginx keeps them even if they are hidden.
      const treatment = this.#known.get(name) ?? this.#learn(name);
      if (treatment === 'type') x.setState(KEPT_TYPE, safeType(x, name, value));
      else if (treatment === 'rewrite') this.#rewrite(x, { name, value, treatment });
      else x.response.setHeader(name, value);
    }
  }

  /** Returns the headers of a 103 that are passed on. */
  hints({ headers }: ResponseHead): readonly string[] {
    const fields: string[] = [];
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      const value = headers[index + 1] as string;
      const treatment = this.#known.get(name) ?? this.#learn(name);
      if (!UNHINTED.has(treatment) && isSafeHeaderValue(value)) fields.push(name, value);
    }
    return fields;
  }

  /** Returns the instructions of the response, without those that `proxy_ignore_headers` names. */
  accel({ headers }: ResponseHead): Accel {
    let accel: Accel = NO_ACCEL;
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      if (name.length < 14 || !/^x-accel-/i.test(name)) continue;
      if (accel === NO_ACCEL) accel = { ...NO_ACCEL };
      this.#listen(accel, name.toLowerCase(), headers[index + 1] as string);
    }
    return accel;
  }

  #listen(accel: Accel, name: string, value: string): void {
    if ([...this.#ignored].some((ignored) => ignored.toLowerCase() === name)) return;
    if (name === 'x-accel-redirect') accel.redirect ??= value;
    else if (name === 'x-accel-buffering')
      accel.buffering = /^no$/i.test(value) ? false : /^yes$/i.test(value) || accel.buffering;
    else if (name === 'x-accel-limit-rate' && /^\d{1,15}$/.test(value)) accel.limitRate ??= Number(value);
    else if (name === 'x-accel-charset') accel.charset ||= value;
  }

  #learn(name: string): Treatment {
    const treatment = this.#fixed.get(name.toLowerCase()) ?? (isSafeHeaderName(name) ? 'pass' : 'check');
    if (this.#known.size < MAX_NAMES) this.#known.set(name, treatment);
    return treatment;
  }

  #rewrite(
    x: Exchange,
    { name, value, treatment }: { name: string; value: string; treatment: Treatment },
  ): void {
    const key = name.toLowerCase();
    const before = treatment === 'once' || key === 'location' ? x.response.header(key) : undefined;
    if (before !== undefined) return x.writeLog(duplicateLine(name, value, before), 'warn');
    x.response.setHeader(name, this.#rewrites.get(key)?.(x, value) ?? value);
  }

  #treatments(
    { hideHeaders = [], passHeaders = [] }: ForwardingConfig,
    hiddenHeaders: readonly string[],
  ): ReadonlyMap<string, Treatment> {
    const shown = new Set(passHeaders.map((name) => name.toLowerCase()));
    const hidden = [...HIDDEN, ...hiddenHeaders, ...hideHeaders]
      .map((name) => name.toLowerCase())
      .filter((name) => !shown.has(name));
    return new Map<string, Treatment>([
      ['content-type', 'type'],
      ['connection', 'connection'],
      ['upgrade', 'upgrade'],
      ...ONCE.map((name) => [name, 'once'] as const),
      ...[...this.#rewrites.keys()].map((name) => [name, 'rewrite'] as const),
      ...hidden.map((name) => [name, 'drop'] as const),
      ...HOPS.map((name) => [name, 'drop'] as const),
    ]);
  }
}

/** Treatments of headers that are not passed on with a 103. */
const UNHINTED: ReadonlySet<Treatment> = new Set(['drop', 'connection', 'upgrade', 'check']);

function duplicateLine(name: string, value: string, before: string): string {
  return `upstream sent duplicate header line: "${name}: ${value}", previous value: "${name}: ${before}", ignored`;
}

const NO_ACCEL: Accel = {
  redirect: undefined,
  buffering: undefined,
  limitRate: undefined,
  charset: '',
};
/** nginx: ngx_http_upstream_headers_in */
const REDIRECTED: ReadonlySet<string> = new Set([
  'content-type',
  'set-cookie',
  'content-disposition',
  'cache-control',
  'expires',
  'accept-ranges',
]);
const KEPT: ReadonlySet<string> = new Set(['close', 'keep-alive', 'upgrade', 'content-type', 'set-cookie']);

/** Checks the content type as `setHeader` checks other headers, because it is not set by `setHeader`. */
function safeType(x: Exchange, name: string, value: string): string {
  if (isSafeHeaderValue(value)) return value;
  x.writeLog(`header "${name}" is dropped: control character in its value`);
  return '';
}

function setReason(x: Exchange, status: number, reason: string): void {
  if (statusLine(status) !== `${status} ${reason}`) x.response.setReason(reason);
}
