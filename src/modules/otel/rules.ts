import { hostOf, isLocal } from '../../config/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../contract/index.ts';
import type { OtelConfig } from './directives.ts';

type Checked = CheckedModule<OtelConfig>;

const secretInClear: ModuleRule<OtelConfig> = {
  id: 'GW931',
  slug: 'otel-header-in-clear',
  severity: 'warning',
  summary: 'a header for the collector that crosses the network in clear text',
  why: 'Headers for a collector are mostly credentials: everybody on the way can read them, and send records of their own.',
  fix: 'Write the endpoint with "https://", or run a collector on the same machine that sends the records on.',
  bad: {
    in: 'http',
    text: 'otel_exporter {\n    endpoint http://otel.example.com:4318;\n    header X-Scope-OrgID "${file:tenant}";\n}\notel_trace on;',
    files: { tenant: 'one' },
  },
  good: {
    in: 'http',
    text: 'otel_exporter {\n    endpoint https://otel.example.com:4318;\n    header X-Scope-OrgID "${file:tenant}";\n}\notel_trace on;',
    files: { tenant: 'one' },
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('otel_exporter')) {
      const [header] = block.own('header');
      const [endpoint] = block.own('endpoint');
      const address = endpoint?.args[0]?.value ?? '';
      if (!header || /^(https:|unix:)/i.test(address)) continue;
      if (isLocal(hostOf(address.replace(/^http:\/\//i, '')))) continue;
      yield { at: header, message: `"header" is sent to "${address}" in clear text` };
    }
  },
};

/** True if something is exported in a block. */
function exports({ trace, metrics, logs }: OtelConfig): boolean {
  return trace !== undefined || metrics || logs !== 'off';
}

const unusedExporter: ModuleRule<OtelConfig> = {
  id: 'GW932',
  slug: 'otel-exporter-unused',
  severity: 'info',
  summary: 'an exporter that nothing is sent to',
  why: 'No span, metric or log line reaches the collector: traces seem to be configured, and there are none.',
  fix: 'Add "otel_trace", "otel_metrics" or "otel_logs", or remove the exporter.',
  bad: { in: 'http', text: 'otel_exporter {\n    endpoint 127.0.0.1:4317;\n}' },
  good: { in: 'http', text: 'otel_exporter {\n    endpoint 127.0.0.1:4317;\n}\notel_trace on;' },
  *check(config: Checked): Iterable<Problem> {
    const [exporter] = config.blocks('otel_exporter');
    if (!exporter?.node) return;
    if (config.blocks('http', 'server', 'location').some((block) => exports(config.configIn(block)))) return;
    yield { at: exporter.node.name.span, message: 'nothing is sent to "otel_exporter"' };
  },
};

const collectorUnreachable: ModuleRule<OtelConfig> = {
  id: 'GW933',
  slug: 'otel-collector-unreachable',
  severity: 'warning',
  live: true,
  summary: 'a collector that cannot be reached, or refuses records',
  why: 'Requests are served as usual, but their spans are dropped when the queue is full. Nobody sees that before somebody looks for a trace.',
  fix: 'Check that the collector runs, that "endpoint" and "protocol" belong together (port 4317: grpc, 4318: http), and that "header" has the credentials that it asks for.',
  bad: {
    in: 'http',
    text: '# nothing listens there\notel_exporter {\n    endpoint 127.0.0.1:4319;\n}\notel_trace on;',
  },
  good: {
    in: 'http',
    text: '# a collector listens there\notel_exporter {\n    endpoint 127.0.0.1:4317;\n}\notel_trace on;',
  },
};

/** The rules about traces. */
export const rules: readonly ModuleRule<OtelConfig>[] = [secretInClear, unusedExporter, collectorUnreachable];
