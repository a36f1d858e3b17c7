import { type Build, loggedVariable, type WorkerScope } from '../../contract/index.ts';
import { elapsedMs, type Exchange, requestId } from '../../http/index.ts';
import { type Level, redact } from '../../log/index.ts';
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

/** Lines about exports, which are not exported: one about a failure would cause the next failure. */
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
const VARIABLES: readonly (readonly [name: string, variable: string])[] = [
  ['remote_addr', 'remote_addr'],
  ['remote_user', 'remote_user'],
  ['protocol', 'server_protocol'],
  ['host', 'host'],
  ['referer', 'http_referer'],
  ['user_agent', 'http_user_agent'],
];

/** Compiles the record of a request that has ended. A value that is absent is null; secrets are masked. */
export function compileAccessRecord(build: Build): (x: Exchange) => LogRecord {
  const getters = VARIABLES.map(([name, variable]) => ({ name, read: loggedVariable(variable, build) }));
  return (x) => {
    const nowMs = Date.now();
    const { traceId = '', spanId = '' } = x.trace ?? {};
    const body: (readonly [name: string, value: BodyValue])[] = [['time', new Date(nowMs).toISOString()]];
    for (const { name, read } of getters) body.push([name, read(x) || null]);
    const { method, requestUri } = x.main.request;
    const target = redact(requestUri);
    const mark = target.indexOf('?');
    body.push(
      ['method', method || null],
      ['uri', (mark < 0 ? target : target.slice(0, mark)) || null],
      ['query', mark < 0 ? null : target.slice(mark + 1) || null],
      ['status', x.status],
      ['bytes', x.bodyBytesSent],
      ['request_time', Math.round(elapsedMs(x)) / 1_000],
      ['request_id', requestId(x)],
      ['trace_id', traceId === '' ? null : traceId],
    );
    return { timeMs: nowMs, severity: SEVERITIES.info, level: 'info', body, traceId, spanId };
  };
}
