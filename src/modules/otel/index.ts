import { moduleFor, type VariableDefinition } from '../../contract/index.ts';
import type { Exchange, RequestTrace } from '../../http/index.ts';
import { directives, type OtelConfig } from './directives.ts';
import { type Exporter, openExporter } from './exporter.ts';
import { compileAccessRecord } from './log-records.ts';
import { probeCollector } from './probe.ts';
import { compileServerSpan } from './server-span.ts';
import { compileDecide, compileReadTrace } from './tracing.ts';

/** The variables about a request's trace, with what they show of it. */
const VARIABLES: Readonly<
  Record<string, { summary: string; show: (trace: RequestTrace) => string | undefined }>
> = {
  otel_trace_id: { summary: 'The id of the trace: 32 hexadecimal digits.', show: ({ traceId }) => traceId },
  otel_span_id: {
    summary: 'The id of the span of the request: 16 hexadecimal digits.',
    show: ({ spanId }) => spanId,
  },
  otel_parent_id: {
    summary: 'The id of the span of the client, where `otel_trace_context` extracts it.',
    show: ({ parentId }) => parentId || undefined,
  },
  otel_parent_sampled: {
    summary: '`1` if the client exports its own span, else `0`.',
    show: ({ parentSampled }) => (parentSampled ? '1' : '0'),
  },
};

/** Other names of the first two. */
const SYNONYMS: Readonly<Record<string, string>> = { trace_id: 'otel_trace_id', span_id: 'otel_span_id' };

const ALL_NAMES: readonly (readonly [name: string, variable: (typeof VARIABLES)[string]])[] = [
  ...Object.entries(VARIABLES),
  ...Object.entries(SYNONYMS).map(([name, synonym]) => [name, VARIABLES[synonym]!] as const),
];

/** The definitions of all variables; `read` returns the trace of a request. */
function variablesOf(
  compile: (show: (trace: RequestTrace) => string | undefined) => VariableDefinition['compile'],
): Readonly<Record<string, VariableDefinition>> {
  return Object.fromEntries(
    ALL_NAMES.map(([name, { summary, show }]) => [
      name,
      { summary, live: 'even empty', compile: compile(show) },
    ]),
  );
}

/** Where nothing is configured, a request has the trace that another location has given it. */
const keptVariables = variablesOf((show) => () => ({ main: { trace } }) => {
  return trace && trace.traceId !== '' ? show(trace) : undefined;
});

/** Traces of requests, and records for an OpenTelemetry collector (nginx's ngx_otel_module). */
export const otel = moduleFor<OtelConfig>()<Exporter | undefined>({
  name: 'otel',
  summary: 'Traces, metrics and log lines for OpenTelemetry.',
  directives,
  variables: keptVariables,
  enabled: ({ exporters, trace, contextUse }) =>
    exporters !== undefined || trace !== undefined || contextUse !== 'ignore',

  validate({ exporters = [], trace, metrics, logs }, report) {
    if (exporters.length > 1)
      report.phrase('exporters', '"otel_exporter" directive is duplicate', {
        index: 1,
        rule: 'duplicate-directive',
      });
    if (exporters.length > 0) return;
    const missing = '"otel_exporter" block is missing';
    if (trace) report.phrase('trace', missing);
    if (metrics) report.phrase('metrics', missing);
    if (logs !== 'off') report.phrase('logs', missing);
  },

  showsRequestCounts: ({ metrics }) => metrics,

  provision: ({ exporters: [exporter] = [], serviceName, resourceAttributes, logs, metrics }, worker) =>
    exporter &&
    openExporter(
      { exporter, serviceName, logs, metrics, ...(resourceAttributes && { resourceAttributes }) },
      worker,
    ),

  defines: (config) =>
    variablesOf((show) => (build) => {
      const read = compileReadTrace(config, build);
      return (x) => {
        const trace = read(x);
        return trace && show(trace);
      };
    }),

  compile(config, exporter, build) {
    const decide = compileDecide(config, build, config.childSpans ? exporter : undefined);
    if (!exporter) return { entering: decide };
    const spanOf = compileServerSpan(config, build);
    const sendsLines = config.logs === 'access' || config.logs === 'both';
    const recordOf = sendsLines ? compileAccessRecord(build) : undefined;
    const log = (x: Exchange): void => {
      if (x.main !== x) return;
      // A request that ended before a location was found.
      decide(x);
      if (x.trace?.sampled && exporter.takesSpan()) exporter.record(spanOf(x));
      if (recordOf) exporter.log(recordOf(x));
    };
    return { entering: decide, log };
  },
  explanation: { provision: () => undefined, runs: true },
  rules: () => import('./rules.ts'),
  probe: probeCollector,
});
