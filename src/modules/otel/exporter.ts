import type { WorkerScope } from '../../contract/index.ts';
import type { Span, SpanRecorder } from '../../http/index.ts';
import type { Counters, Metric } from '../../zone/index.ts';
import { VERSION } from '../../version.ts';
import { Collector } from './collector.ts';
import type { ExporterConfig, OtelConfig } from './directives.ts';
import { JsonEncoding } from './json-encoding.ts';
import type { Attribute, Encoding, LogRecord, Origin } from './records.ts';
import type { Signal } from './endpoint.ts';
import { ExportQueue, type RecordCounters } from './export-queue.ts';
import { followErrorLogs } from './log-records.ts';
import { newSpanId } from './trace-context.ts';

const EXPORTED: Metric = {
  name: 'gw_otel_exported_total',
  help: 'Records that the collector has taken, by signal: traces (spans), metrics, logs.',
};
const DROPPED: Metric = {
  name: 'gw_otel_dropped_total',
  help: 'Records that were dropped because too many waited for the collector, by signal.',
};
const FAILED: Metric = {
  name: 'gw_otel_failed_total',
  help: 'Records that the collector has not taken, by signal.',
};

/** Metrics are not sent more often. */
const LEAST_METRICS_MS = 10_000;
/** Time for what waits when the gateway stops. */
const GRACE_MS = 5_000;

/** The config that all locations of an exporter share. */
type ExporterSettings = Pick<OtelConfig, 'serviceName' | 'resourceAttributes' | 'logs' | 'metrics'> & {
  readonly exporter: ExporterConfig;
};

/** What is sent to the collector by one worker: a queue for each signal that it has. */
export class Exporter implements SpanRecorder {
  readonly #collector: Collector;
  readonly #encoding: Encoding;
  readonly #queueOf: (signal: Signal) => ExportQueue;
  readonly #spans: ExportQueue;
  readonly #endings: (() => void)[] = [];
  #logs: ExportQueue | undefined;
  #metrics: ExportQueue | undefined;

  constructor(settings: ExporterSettings, encoding: Encoding, worker: WorkerScope) {
    const { exporter, logs: lines } = settings;
    const { log, metrics } = worker;
    this.#encoding = encoding;
    this.#collector = new Collector(exporter, VERSION);
    this.#queueOf = (signal) => {
      const counters: RecordCounters = {
        exported: metrics.counter(EXPORTED, { signal }),
        dropped: metrics.counter(DROPPED, { signal }),
        failed: metrics.counter(FAILED, { signal }),
      };
      return new ExportQueue({
        signal,
        limits: exporter,
        encoding,
        collector: this.#collector,
        counters,
        log,
      });
    };
    this.#spans = this.#queueOf('traces');
    if (lines === 'error' || lines === 'both')
      this.#endings.push(followErrorLogs(worker, (record) => this.log(record)));
    if (settings.metrics && worker.isFirst) this.#sendMetrics(metrics, exporter.intervalMs);
  }

  /** Sends all metrics regularly, and once more at the end. */
  #sendMetrics(metrics: Counters, intervalMs: number): void {
    const queue = (this.#metrics = this.#queueOf('metrics'));
    // The counters of the process begin with it.
    const sinceMs = Date.now() - process.uptime() * 1_000;
    const collect = (): void => {
      const period = { sinceMs, untilMs: Date.now() };
      for (const family of metrics.read({ exemplars: true })) {
        if (!queue.hasRoom) queue.drop();
        else queue.add((batch) => this.#encoding.metric(family, period, batch));
      }
      queue.flush();
    };
    const timer = setInterval(collect, Math.max(intervalMs, LEAST_METRICS_MS)).unref();
    this.#endings.push(() => {
      clearInterval(timer);
      collect();
    });
  }

  newSpanId(): string {
    return newSpanId();
  }

  record(span: Span): void {
    if (!this.#spans.hasRoom) return this.#spans.drop();
    this.#spans.add((batch) => this.#encoding.span(span, batch));
  }

  /** Tells whether there is room for a span, which need not be made otherwise. Without room, it is counted as dropped. */
  takesSpan(): boolean {
    if (this.#spans.hasRoom) return true;
    this.#spans.drop();
    return false;
  }

  log(record: LogRecord): void {
    const logs = (this.#logs ??= this.#queueOf('logs'));
    if (logs.hasRoom) logs.add((batch) => this.#encoding.log(record, batch));
    else logs.drop();
  }

  /** Sends what waits, for five seconds at most, then closes the connections. */
  async close(): Promise<void> {
    for (const end of this.#endings) end();
    const queues = [this.#spans, this.#logs, this.#metrics].flatMap((queue) => queue ?? []);
    await Promise.all(queues.map((queue) => queue.close(GRACE_MS)));
    this.#collector.close();
  }
}

/** Opens the exporter of a worker. Exporters of equal settings are one, also after a reload. */
export async function openExporter(settings: ExporterSettings, worker: WorkerScope): Promise<Exporter> {
  const encoding = await encodingOf(settings);
  return worker.share(
    `otel ${JSON.stringify(settings)}`,
    () => new Exporter(settings, encoding, worker),
    (exporter) => exporter.close(),
  );
}

/** Returns the encoding of an exporter's protocol. */
export async function encodingOf(
  settings: Pick<ExporterSettings, 'exporter' | 'serviceName' | 'resourceAttributes'>,
): Promise<Encoding> {
  const origin: Origin = { resource: resourceOf(settings), version: VERSION };
  if (settings.exporter.protocol === 'http/json') return new JsonEncoding(origin);
  const { ProtobufEncoding } = await import('./protobuf-encoding.ts');
  return new ProtobufEncoding(origin);
}

/** The last of several attributes of a name counts. */
function resourceOf({
  serviceName,
  resourceAttributes = [],
}: Pick<ExporterSettings, 'serviceName' | 'resourceAttributes'>): readonly Attribute[] {
  return [...new Map([...resourceAttributes, ['service.name', serviceName] as const])];
}
