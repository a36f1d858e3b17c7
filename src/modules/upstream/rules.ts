import type { BlockView } from '../../config/index.ts';
import type { ModuleRule, Problem, UpstreamConfig } from '../../contract/index.ts';

type UpstreamRule = ModuleRule<UpstreamConfig>;

const ipHash24: UpstreamRule = {
  id: 'GW908',
  slug: 'ip-hash-24',
  severity: 'info',
  summary: '"ip_hash", which treats 256 neighbouring addresses as one client',
  why: 'It uses the first three octets of an IPv4 address, so all clients of an office or a proxy use the same server.',
  fix: 'Hash the whole address: "hash $remote_addr consistent;".',
  bad: {
    in: 'http',
    text: 'upstream app { ip_hash; server 127.0.0.1:8001; server 127.0.0.1:8002; }',
  },
  good: {
    in: 'http',
    text: 'upstream app { hash $remote_addr consistent; server 127.0.0.1:8001; server 127.0.0.1:8002; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.uses('ip_hash')) {
      yield {
        at: node,
        message: '"ip_hash" sends all clients of a /24 network to one server',
        hint: 'use "hash $remote_addr consistent"',
      };
    }
  },
};

const nobodyServes: UpstreamRule = {
  id: 'GW941',
  slug: 'nobody-serves',
  severity: 'warning',
  summary: 'an upstream without a server that takes new requests',
  why: 'A server with "down" gets no requests, and one with "drain" only those of sessions bound to it. All other requests get 502.',
  fix: 'Remove "down" and "drain" from at least one server or backup.',
  bad: {
    in: 'http',
    text: 'upstream app { server 127.0.0.1:8001 drain; server 127.0.0.1:8002 down; server 127.0.0.1:8003 backup down; }',
  },
  good: {
    in: 'http',
    text: 'upstream app { server 127.0.0.1:8001 drain; server 127.0.0.1:8002 down; server 127.0.0.1:8003 backup; }',
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('upstream')) {
      const { servers = [], managed } = config.configIn(block);
      // The servers of a managed group may be replaced at run time.
      if (managed || servers.length === 0 || servers.some(({ down, drain }) => !down && !drain)) continue;
      const at = config.nodesIn(block, 'servers')[0];
      if (at) yield { at, message: `no server of upstream "${nameOf(block)}" takes new requests` };
    }
  },
};

const stickyAlone: UpstreamRule = {
  id: 'GW942',
  slug: 'sticky-alone',
  severity: 'info',
  summary: 'sessions are bound to the only server',
  why: 'There is only one server, so the cookie or the zone has no effect.',
  fix: 'Remove "sticky", or add a server.',
  bad: { in: 'http', text: 'upstream app { server 127.0.0.1:8001; sticky cookie srv; }' },
  good: {
    in: 'http',
    text: 'upstream app { server 127.0.0.1:8001; server 127.0.0.1:8002; sticky cookie srv; }',
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('upstream')) {
      const { servers = [], managed } = config.configIn(block);
      const [server, ...others] = servers;
      // A name may have several addresses.
      if (managed || !server || others.length > 0 || server.target.kind === 'name') continue;
      for (const at of block.own(...STICKY))
        yield { at, message: `"${at.name.value}" has no effect with only one server` };
    }
  },
};

const STICKY = ['sticky', 'upstream_balancer_sticky_cookie', 'upstream_balancer_sticky_header'] as const;

const hashConstant: UpstreamRule = {
  id: 'GW943',
  slug: 'hash-constant',
  severity: 'warning',
  summary: 'the key of "hash" is the same for every request',
  why: 'All requests go to one server; the others get none unless it fails.',
  fix: 'Hash a value that differs between clients: "hash $remote_addr consistent;".',
  bad: {
    in: 'http',
    text: 'upstream app { hash remote_addr consistent; server 127.0.0.1:8001; server 127.0.0.1:8002; }',
  },
  good: {
    in: 'http',
    text: 'upstream app { hash $remote_addr consistent; server 127.0.0.1:8001; server 127.0.0.1:8002; }',
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('upstream')) {
      const balancing = config.configIn(block).balancing?.at(-1);
      if (balancing?.kind !== 'hash' || balancing.key.parts.some((part) => typeof part !== 'string'))
        continue;
      const at = config.nodesIn(block, 'balancing').at(-1);
      if (at) yield { at, message: 'the key has no variable: all requests go to one server' };
    }
  },
};

const slowStartNever: UpstreamRule = {
  id: 'GW944',
  slug: 'slow-start-never',
  severity: 'warning',
  summary: '"slow_start" of a server that never fails',
  why: '"slow_start" takes effect when a server comes back after failures. With "max_fails=0", failures are not counted, and there is no health check.',
  fix: 'Set "max_fails" to 1 or more, or add a "health_check".',
  bad: {
    in: 'http',
    text: 'upstream app { server 127.0.0.1:8001 slow_start=30s max_fails=0; server 127.0.0.1:8002; }',
  },
  good: {
    in: 'http',
    text: 'upstream app { server 127.0.0.1:8001 slow_start=30s max_fails=2; server 127.0.0.1:8002; }',
  },
  *check(config): Iterable<Problem> {
    // A check may be in a location, or name the server.
    if (config.uses('health_check', 'health_upstream_peer_probe').length > 0) return;
    for (const block of config.blocks('upstream')) {
      const { servers = [] } = config.configIn(block);
      const nodes = config.nodesIn(block, 'servers');
      if (servers.length < 2) continue;
      for (const [nth, { slowStartMs, maxFails }] of servers.entries()) {
        const at = nodes[nth];
        if (at && slowStartMs > 0 && maxFails === 0)
          yield { at, message: '"slow_start" has no effect with "max_fails=0"' };
      }
    }
  },
};

/** Options with the directives that use them: `upstream_balancer_sticky_cookie` alone, or `…_header` as well. */
const KEY_OPTIONS = {
  upstream_balancer_fallback: ['cookie', 'header'],
  upstream_balancer_issue_cookie: ['cookie'],
  upstream_balancer_cookie_attrs: ['cookie'],
} as const;

const stickyOptionUnused: UpstreamRule = {
  id: 'GW945',
  slug: 'sticky-option-unused',
  severity: 'warning',
  summary: 'a setting of sticky sessions without sticky sessions',
  why: '"upstream_balancer_fallback" and the settings of cookies apply only to "upstream_balancer_sticky_cookie"; the first one also to "…_header". "sticky" has parameters of its own.',
  fix: 'Add "upstream_balancer_sticky_cookie", or remove the setting.',
  bad: {
    in: 'http',
    text: `upstream app {
  server 127.0.0.1:8001;
  server 127.0.0.1:8002;
  upstream_balancer_sticky_header X-User;
  upstream_balancer_issue_cookie on;
}`,
  },
  good: {
    in: 'http',
    text: `upstream app {
  server 127.0.0.1:8001;
  server 127.0.0.1:8002;
  upstream_balancer_sticky_cookie srv;
  upstream_balancer_issue_cookie on;
}`,
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('upstream')) {
      const from = config.configIn(block).stickyKey?.from;
      for (const [name, users] of Object.entries(KEY_OPTIONS)) {
        if (users.some((user) => user === from)) continue;
        const needed = users.map((user) => `"upstream_balancer_sticky_${user}"`).join(' or ');
        for (const at of block.own(name)) yield { at, message: `"${name}" has no effect without ${needed}` };
      }
    }
  },
};

const managedNoRoom: UpstreamRule = {
  id: 'GW946',
  slug: 'managed-no-room',
  severity: 'warning',
  summary: 'a managed upstream whose zone is too small for its servers',
  why: 'Sets of peers that exceed the zone are refused, also any change that keeps these servers. There is room for 256 peers or, with "zone", for one per 512 bytes.',
  fix: 'Give the block a larger zone: "zone NAME 1m;" has room for 2,048 peers.',
  bad: {
    in: 'http',
    text: blockOf(70, 'zone app 32k;'),
  },
  good: {
    in: 'http',
    text: blockOf(70, 'zone app 64k;'),
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocks('upstream')) {
      const { servers = [], managed, zoneBytes = 0 } = config.configIn(block);
      const room = zoneBytes > 0 ? Math.floor(zoneBytes / ROOM_BYTES) : DEFAULT_ROOM;
      const [at] = config.nodesIn(block, 'managed');
      if (!managed || !at || servers.length <= room) continue;
      const message = `${servers.length} servers exceed the room for ${room} peers: changes that keep them are refused`;
      yield { at, message, hint: `use "zone ${nameOf(block)} SIZE" with 512 bytes for each peer` };
    }
  },
};

/** Maximum number of peers without a size of `zone`, and the bytes of the zone that a peer takes. */
const DEFAULT_ROOM = 256;
const ROOM_BYTES = 512;

/** Returns an example with a managed upstream with many servers, and the API that changes them. */
function blockOf(servers: number, zone: string): string {
  const lines = Array.from({ length: servers }, (_, nth) => `  server 10.0.0.${nth + 1}:80;`);
  return `upstream app {
  ${zone}
  dynamic_upstreams_managed;
${lines.join('\n')}
}
server {
  listen 127.0.0.1:8080;
  location = /app { dynamic_upstreams_api; dynamic_upstreams_target app; }
}`;
}

function nameOf({ args }: BlockView): string {
  return typeof args === 'string' ? args : '';
}

/** The rules about `upstream` blocks. */
export const rules: readonly UpstreamRule[] = [
  ipHash24,
  nobodyServes,
  stickyAlone,
  hashConstant,
  slowStartNever,
  stickyOptionUnused,
  managedNoRoom,
];
