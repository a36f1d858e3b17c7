import type { Build, WorkerScope } from '../../contract/index.ts';
import { elapsedMs, type Exchange, requestId } from '../../http/index.ts';
import { type Level, redactQuery } from '../../log/index.ts';
import type { BodyValue, LogRecord } from './records.ts';

/** OpenTelemetry's numbers of gw's levels. */
const SEVERITIES: Readonly<Record<Level, number>> = {
  debug: 5,
  info: 9,
  notice: 10,
  warn: 13,
  error: 17,
  crit: 18,
  alert: 19,
  emerg: 21,
};

/** What exporters say of themselves: to send it would lead to the next failure. */
const OWN_LINES = /^\d+#\d+: OTel /;

/** Passes the lines of this thread's error logs on as records. Returns the function that ends it. */
export function followErrorLogs(
  { logListeners }: Pick<WorkerScope, 'logListeners'>,
  take: (record: LogRecord) => void,
): () => void {
  return logListeners.add((level, text, { context, timeMs }) => {
    if (OWN_LINES.test(text)) return;
    const { traceId = '', spanId = '' } = context?.about ?? {};
    take({ timeMs, severity: SEVERITIES[level], level, body: text, traceId, spanId });
  });
}

/** The variables that a record of a request has, by their names in it. */
const SHOWN: readonly (readonly [name: string, variable: string])[] = [
  ['remote_addr', 'remote_addr'],
  ['remote_user', 'remote_user'],
  ['method', 'request_method'],
  ['uri', 'uri'],
  ['protocol', 'server_protocol'],
  ['host', 'host'],
  ['referer', 'http_referer'],
  ['user_agent', 'http_user_agent'],
];

/** Compiles the record of a request that has ended. A value that is absent is null; secrets in queries are masked. */
export function compileAccessRecord(build: Build): (x: Exchange) => LogRecord {
  const getters = SHOWN.map(([name, variable]) => ({ name, read: build.variable(variable) }));
  return (x) => {
    const nowMs = Date.now();
    const { traceId = '', spanId = '' } = x.trace ?? {};
    const body: (readonly [name: string, value: BodyValue])[] = [['time', new Date(nowMs).toISOString()]];
    for (const { name, read } of getters) body.push([name, maskedValue(name, read(x))]);
    body.push(
      ['query', x.args === '' ? null : redactQuery(`?${x.args}`).slice(1)],
      ['status', x.status],
      ['bytes', x.bodyBytesSent],
      ['request_time', Math.round(elapsedMs(x)) / 1_000],
      ['request_id', requestId(x)],
      ['trace_id', traceId === '' ? null : traceId],
    );
    return { timeMs: nowMs, severity: SEVERITIES.info, level: 'info', body, traceId, spanId };
  };
}

function maskedValue(name: string, value: string | undefined): BodyValue {
  if (value === undefined || value === '') return null;
  return name === 'referer' ? redactQuery(value) : value;
}
