import type { BlockView } from '../../config/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../contract/index.ts';
import type { HealthModuleConfig } from './directives.ts';

type HealthRule = ModuleRule<HealthModuleConfig>;

const TWO = 'server 127.0.0.1:8001; server 127.0.0.1:8002;';

const overlappingProbes: HealthRule = {
  id: 'GW920',
  slug: 'probe-outlasts-interval',
  severity: 'warning',
  summary: 'a health check whose timeout is longer than its interval',
  why: 'A server gets one probe at a time. While a probe hangs, the next one is delayed, so the server is considered unhealthy later than "fails" and "interval" say.',
  fix: 'Make the timeout shorter than the interval.',
  bad: { in: 'http', text: `upstream app { ${TWO} health_check interval=1s timeout=5s; }` },
  good: { in: 'http', text: `upstream app { ${TWO} health_check interval=5s timeout=1s; }` },
  *check(config): Iterable<Problem> {
    for (const block of config.blocksWith('health_check')) {
      const nodes = config.nodesIn(block, 'checks');
      for (const [index, { timeoutMs = 0, intervalMs }] of (config.configIn(block).checks ?? []).entries()) {
        const at = nodes[index];
        if (!at || timeoutMs <= intervalMs) continue;
        yield {
          at,
          message: `a probe may take ${timeoutMs} ms, but the next one is due after ${intervalMs} ms`,
        };
      }
    }
  },
};

/** Tells whether the group has one server with one address. A name may have several. */
function hasOneServer(block: BlockView): boolean {
  const [server, ...others] = block.own('server');
  const address = server?.args[0]?.value ?? '';
  return others.length === 0 && /^(?:unix:|\[|[\d.]+(?::\d+)?$)/.test(address);
}

const slowStartAlone: HealthRule = {
  id: 'GW921',
  slug: 'slow-start-alone',
  severity: 'warning',
  summary: '"slow_start" with only one server',
  why: 'No other server could take the requests meanwhile, so the parameter has no effect.',
  fix: 'Remove "slow_start", or add a server.',
  bad: { in: 'http', text: 'upstream app { server 127.0.0.1:8001 slow_start=30s; }' },
  good: {
    in: 'http',
    text: 'upstream app { server 127.0.0.1:8001 slow_start=30s; server 127.0.0.1:8002 slow_start=30s; }',
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('upstream')) {
      if (!hasOneServer(block)) continue;
      for (const at of [...block.own('server'), ...block.own('health_check')]) {
        const word = at.args.find(({ value }) => value.startsWith('slow_start='));
        if (word) yield { at: word.span, message: `"${word.value}" has no effect with one server` };
      }
    }
  },
};

const halfEvents: HealthRule = {
  id: 'GW922',
  slug: 'health-events-nowhere',
  severity: 'warning',
  summary: 'only one of the zone and the channel for changes of health is set',
  why: 'Events are published only if both are set.',
  fix: 'Set both: "health_worker_events_zone NAME;" and "health_worker_events_channel NAME;".',
  bad: {
    text: 'location = /health { health_status; health_worker_events_channel health; allow 127.0.0.1; deny all; }',
  },
  good: {
    text: `location = /events { worker_events_api; worker_events_zone bus; worker_events_channel health; allow 127.0.0.1; deny all; }
location = /health {
  health_status;
  health_worker_events_zone bus;
  health_worker_events_channel health;
  allow 127.0.0.1;
  deny all;
}`,
  },
  *check(config: CheckedModule<HealthModuleConfig>): Iterable<Problem> {
    for (const block of config.blocksWith('health_worker_events_channel', 'health_worker_events_zone')) {
      const { eventsZone, eventsChannel } = config.configIn(block);
      if ((eventsZone === undefined) === (eventsChannel === undefined)) continue;
      const [set, missing] = eventsZone === undefined ? ['channel', 'zone'] : ['zone', 'channel'];
      const [at] = config.nodesIn(block, eventsZone === undefined ? 'eventsChannel' : 'eventsZone');
      if (!at) continue;
      const message = `"health_worker_events_${set}" publishes nothing without "health_worker_events_${missing}"`;
      yield { at, message, hint: `health_worker_events_${missing} NAME` };
    }
  },
};

/** The rules about active checks. */
export const rules: readonly HealthRule[] = [overlappingProbes, slowStartAlone, halfEvents];
