import { statusLine } from '../http/index.ts';
import type { Exchange, LogStep } from '../http/index.ts';
import type { Counter, Counters, Distribution, Metric } from '../zone/index.ts';

const REQUESTS: Metric = { name: 'gw_http_requests_total', help: 'Requests that were answered or given up.' };
const DURATION: Distribution = {
  name: 'gw_http_request_duration_seconds',
  help: 'Time from the head of a request to the end of its answer.',
  scale: 'seconds',
};
const SIZE: Distribution = {
  name: 'gw_http_response_size_bytes',
  help: 'Bytes of answers without their heads.',
  scale: 'bytes',
};

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A server and a location by what the configuration calls them. */
export interface CountedPlace {
  readonly server: string;
  readonly location: string;
}

type ByStatus = (Counter | undefined)[];

/** Counts the requests of one location: one series per method and status that occurs, and two histograms. */
export function compileRequestCounter(counters: Counters, { server, location }: CountedPlace): LogStep {
  const place = { server, location };
  const duration = counters.histogram(DURATION, place);
  const size = counters.histogram(SIZE, place);
  const byMethod = new Map<string, ByStatus>();
  const open = (method: string, status: number): Counter =>
    counters.counter(REQUESTS, { ...place, method, code: codeLabel(status) });
  const statusesOf = (method: string): ByStatus => {
    const name = METHODS.has(method) ? method : 'other';
    const known = byMethod.get(name) ?? [];
    byMethod.set(name, known);
    return known;
  };
  const gets = statusesOf('GET');

  return (x: Exchange) => {
    const { requestMethod: method, status } = x;
    const statuses = method === 'GET' ? gets : statusesOf(method);
    (statuses[status] ??= open(METHODS.has(method) ? method : 'other', status)).add();
    duration.observe((Date.now() - x.startedMs) / 1000);
    size.observe(x.bodyBytesSent);
  };
}

/** A status that HTTP or nginx knows, else its class. */
function codeLabel(status: number): string {
  const isKnown = status === 444 || status === 499 || !statusLine(status).endsWith(' ');
  return isKnown ? String(status) : `${Math.floor(status / 100)}xx`;
}
