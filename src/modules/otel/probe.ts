import type { LiveProblem, LiveScope } from '../../contract/index.ts';
import { VERSION } from '../../version.ts';
import { Collector } from './collector.ts';
import type { OtelConfig } from './directives.ts';
import { encodingOf } from './exporter.ts';
import { RecordBatch } from './record-batch.ts';

/** Sends the collector a request without records: it must be reachable, and take it. */
export async function probeCollector(
  { exporters: [exporter] = [], serviceName, resourceAttributes = [] }: OtelConfig,
  live: LiveScope,
): Promise<readonly LiveProblem<OtelConfig>[]> {
  if (!exporter) return [];
  const outcome = await live.once(`otel ${JSON.stringify(exporter)}`, async () => {
    const encoding = await encodingOf({ exporter, serviceName, resourceAttributes });
    const collector = new Collector(exporter, VERSION);
    const timer = setTimeout(() => collector.close('the check ended'), live.timeoutMs);
    const sent = await collector.send(
      'traces',
      encoding.contentType,
      encoding.message('traces', new RecordBatch()),
    );
    clearTimeout(timer);
    collector.close();
    return sent;
  });
  if (outcome.kind === 'taken') return [];
  const message = `the collector at ${exporter.endpoint.address} does not take records: ${outcome.reason}`;
  return [{ rule: 'otel-collector-unreachable', field: 'exporters', message }];
}
