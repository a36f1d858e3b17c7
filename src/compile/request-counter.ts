import { statusLine } from '../http/index.ts';
import type { Exchange, LogStep } from '../http/index.ts';
import type { Counter, Counters, Distribution, Histogram, Metric } from '../zone/index.ts';

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

const METHODS: ReadonlySet<string> = new Set(['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A server and a location by what the configuration calls them. */
export interface CountedPlace {
  readonly server: string;
  readonly location: string;
}

type ByStatus = (Counter | undefined)[];

/**
 * Counts the requests of one location: one series per method and status that occurs, and two histograms. All of them are
 * made by the first request that needs them, so that locations that nobody asks for take no room.
 */
export function compileRequestCounter(counters: Counters, place: CountedPlace): LogStep {
  const labels = { server: place.server, location: place.location };
  const open = (method: string, status: number): Counter =>
    counters.counter(REQUESTS, { ...labels, method, code: codeLabel(status) });
  const gets: ByStatus = [];
  const others = new Map<string, ByStatus>();
  const statusesOf = (method: string): ByStatus => {
    const known = others.get(method) ?? [];
    others.set(method, known);
    return known;
  };
  let duration: Histogram | undefined;
  let size: Histogram | undefined;

  return (x: Exchange) => {
    const { status } = x;
    const method = x.requestMethod === 'GET' ? 'GET' : methodLabel(x.requestMethod);
    const statuses = method === 'GET' ? gets : statusesOf(method);
    (statuses[status] ??= open(method, status)).add();
    duration ??= counters.histogram(DURATION, labels);
    // The clock may be set back, the sum must not.
    duration.observe(Math.max(0, Date.now() - x.startedMs) / 1000);
    size ??= counters.histogram(SIZE, labels);
    size.observe(x.bodyBytesSent);
  };
}

function methodLabel(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

/** A status that HTTP or nginx knows, else its class. */
function codeLabel(status: number): string {
  const isKnown = status === 444 || status === 499 || !statusLine(status).endsWith(' ');
  return isKnown ? String(status) : `${Math.floor(status / 100)}xx`;
}
