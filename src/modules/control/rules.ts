import { type BlockView, isLocal, serverOf } from '../../config/index.ts';
import {
  authIn,
  type CheckedConfig,
  configOf,
  KEEP_OUT,
  type ModuleRule,
  type Problem,
} from '../../contract/index.ts';
import type { ControlConfig } from './resources.ts';

const controlPublic: ModuleRule<ControlConfig> = {
  id: 'GW811',
  slug: 'control-public',
  severity: 'error',
  summary: 'the control surface or the console without access control',
  why: 'Anyone who finds the address can switch feature flags and read internals of the gateway. Access control is left to the configuration.',
  fix: 'Restrict access with "allow" and "deny", "auth_basic" or "auth_request", or listen on a loopback address or a Unix socket.',
  bad: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 80; location /runtime/ { control_api; } }`,
  },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 127.0.0.1:80; location /runtime/ { control_api; } }`,
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.exposed('control-public')) {
      yield { at: node, message: `"${node.name.value}" can be called by anyone`, hint: KEEP_OUT };
    }
  },
};

const controlNoTls: ModuleRule<ControlConfig> = {
  id: 'GW812',
  slug: 'control-no-tls',
  severity: 'warning',
  summary: 'the control surface can be used over plain HTTP from other machines',
  why: 'Passwords and internals of the gateway can be read on the network path, and responses can be changed.',
  fix: 'Add "ssl" to "listen", or listen on a loopback address and connect through SSH.',
  bad: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 80; location /runtime/ { allow 10.0.0.0/8; deny all; control_api; } }`,
  },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 80; location /runtime/ { allow 127.0.0.1; deny all; control_api; } }`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('control_api', 'control_console')) {
      if (!config.sensitiveIn(block) || isGuardedTo(block) !== 'others') continue;
      const plain = plainListen(config, block);
      if (!plain) continue;
      yield {
        at: node,
        message: `"${node.name.value}" is used over plain HTTP from other machines`,
        hint: 'add "ssl" to the listen directive',
      };
    }
  },
};

/** Returns the clients that a guard admits. A missing guard is reported by another rule. */
function isGuardedTo(block: BlockView): 'others' | 'here' | undefined {
  const asked = authIn(block);
  const allowed = block.effective('allow').map(({ args }) => args[0]?.value ?? '');
  if (allowed.length > 0) return allowed.every((who) => who === 'unix:' || isLocal(who)) ? 'here' : 'others';
  return asked.length > 0 ? 'others' : undefined;
}

function plainListen(config: CheckedConfig, block: BlockView): boolean {
  const server = serverOf(block);
  if (!server || !config.isPublic(block)) return false;
  const { listens = [] } = configOf(server.level, 'core');
  return (
    listens.length === 0 ||
    listens.some(({ address, ssl }) => !ssl && address.kind === 'inet' && !isLocal(address.host))
  );
}

const flagUndefined: ModuleRule<ControlConfig> = {
  id: 'GW814',
  slug: 'flag-undefined',
  severity: 'error',
  summary: 'a feature flag whose variable is not declared',
  why: 'The configuration does not load.',
  fix: 'Declare it in the "http" block: "feature_flag $flag_new_shop new_shop;".',
  bad: { text: 'location / { return 200 $flag_new_shop; }' },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
feature_flag $flag_new_shop new_shop;
server { listen 127.0.0.1:8080; location / { return 200 $flag_new_shop; } }`,
  },
};

const flagUnused: ModuleRule<ControlConfig> = {
  id: 'GW815',
  slug: 'flag-unused',
  severity: 'info',
  summary: 'a feature flag whose variable is not used',
  why: 'Switching the flag changes nothing. Usually, a name is misspelt.',
  fix: 'Use the variable, or remove the directive.',
  bad: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
feature_flag $new_shop new_shop;
server { listen 127.0.0.1:8080; location / { return 204; } }`,
  },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
feature_flag $new_shop new_shop;
server { listen 127.0.0.1:8080; location / { return 200 $new_shop; } }`,
  },
  *check(config): Iterable<Problem> {
    const used = new Set(config.bound.uses.map(({ name }) => name));
    for (const { node } of config.uses('feature_flag')) {
      const variable = node.args[0]?.value ?? '';
      if (!/^\$\w+$/.test(variable) || used.has(variable.slice(1).toLowerCase())) continue;
      yield { at: node, message: `"${variable}" is not used anywhere` };
    }
  },
};

const probeTargetMissing: ModuleRule<ControlConfig> = {
  id: 'GW816',
  slug: 'probe-target-missing',
  severity: 'error',
  summary: 'a probe of dictionaries without a dictionary',
  why: 'Every response reports that the dictionary is unreachable, so monitoring considers the gateway broken.',
  fix: 'Declare the dictionary ("shared_dict_zone zone=cache:1m;"), or remove the probe.',
  bad: { text: 'location = /probe { control_api cache_probe; }' },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=cache:1m;
server { listen 127.0.0.1:8080; location = /probe { control_api cache_probe; } }`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('control_api')) {
      if (!/^(?:cache|session)_probe$/.test(node.args[0]?.value ?? '')) continue;
      if (config.configIn(block).dictionaries) continue;
      yield {
        at: node,
        message: `there is no dictionary for "${node.args[0]?.value}"`,
        hint: 'declare one: shared_dict_zone zone=cache:1m',
      };
    }
  },
};

const PROBES = /^(?:health|live|ready)$/;

const healthInAccessLog: ModuleRule<ControlConfig> = {
  id: 'GW818',
  slug: 'health-in-access-log',
  severity: 'info',
  summary: 'probes in the access log',
  why: 'A load balancer probes about once per second: the requests of users are hard to find among the probes, and request counts mean little.',
  fix: 'Add "access_log off;" to the location.',
  bad: {
    in: 'http',
    text: 'access_log /dev/stdout; server { listen 127.0.0.1:8080; location = /live { control_api live; } }',
  },
  good: {
    in: 'http',
    text: `access_log /dev/stdout;
server { listen 127.0.0.1:8080; location = /live { control_api live; access_log off; } }`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('control_api')) {
      const endpoint = node.args[0]?.value ?? '';
      const logs = block.effective('access_log').filter(({ args }) => args[0]?.value !== 'off');
      if (!PROBES.test(endpoint) || logs.length === 0) continue;
      yield {
        at: node,
        message: `each request for "${endpoint}" is logged in the access log`,
        hint: 'add "access_log off" to the location',
      };
    }
  },
};

/** The rules about the control surface. */
export const rules: readonly ModuleRule<ControlConfig>[] = [
  controlPublic,
  controlNoTls,
  flagUndefined,
  flagUnused,
  probeTargetMissing,
  healthInAccessLog,
];
