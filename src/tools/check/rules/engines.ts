import { type BlockView, readers } from '../../../config/index.ts';
import {
  type CheckedConfig,
  configOf,
  literalPasses,
  type LiteralTarget,
  type Problem,
  type Rule,
} from '../../../contract/index.ts';
import { socketsOf } from '../servers.ts';

const frontProxyEngine: Rule = {
  id: 'GW330',
  slug: 'front-proxy-engine',
  severity: 'info',
  summary: 'a port behind another proxy is served by uWebSockets.js',
  why: 'uWebSockets.js refuses HTTP/1.0 with 505, and gw never sees the request. nginx sends HTTP/1.0 to its upstreams unless "proxy_http_version 1.1" is set there, and so do some health checks of load balancers. uWebSockets.js also treats bytes from 0x80 on as blanks around header values: "Content-Length: 3\\xa0" counts as 3, but the proxy in front may read it differently. If two servers disagree on where a request ends, a client can smuggle a request past the proxy.',
  fix: 'Serve that port with the node engine, which serves HTTP/1.0 and refuses such values.',
  bad: {
    in: 'http',
    text: 'set_real_ip_from 10.0.0.0/8;\nserver {\n    listen 127.0.0.1:8080;\n    return 204;\n}',
  },
  good: {
    in: 'http',
    text: 'set_real_ip_from 10.0.0.0/8;\nserver {\n    listen 127.0.0.1:8080 engine=node;\n    return 204;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const uses = config.uses('set_real_ip_from', 'real_ip_header');
    if (uses.length === 0) return;
    for (const { address, listeners } of uwsSockets(config)) {
      const behind = listeners.find(({ server }) => uses.some(({ block }) => isAround(block, server)));
      if (behind)
        yield {
          at: behind.node,
          message: `"${address}" is behind another proxy and served by uWebSockets.js`,
        };
    }
  },
};

/** The names of this machine in targets. */
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const WILDCARDS = ['0.0.0.0', '[::]'];

const oldProtocol: Rule = {
  id: 'GW331',
  slug: 'http10-to-uws',
  severity: 'error',
  summary: 'HTTP/1.0 to a port of this configuration that uWebSockets.js serves',
  why: 'uWebSockets.js refuses HTTP/1.0 with 505 before gw sees the request, so no forwarded request is served there, and active checks fail.',
  fix: 'Remove "proxy_http_version 1.0", or serve that port with the node engine.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 127.0.0.1:8080;\n    return 204;\n}\nserver {\n    listen 127.0.0.1:8081 engine=node;\n    proxy_http_version 1.0;\n    location / {\n        proxy_pass http://127.0.0.1:8080;\n    }\n}',
  },
  good: {
    in: 'http',
    text: 'server {\n    listen 127.0.0.1:8080 engine=node;\n    return 204;\n}\nserver {\n    listen 127.0.0.1:8081 engine=node;\n    proxy_http_version 1.0;\n    location / {\n        proxy_pass http://127.0.0.1:8080;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const old = literalPasses(config).filter(
      ({ block, target }) => target.scheme === 'http' && configOf(block.level, 'proxy').httpVersion === '1.0',
    );
    if (old.length === 0) return;
    const addresses = uwsSockets(config).map(({ address }) => address);
    for (const { node, target } of old) {
      const address = peersOf(config, target).flatMap((peer) =>
        addresses.filter((each) => isReachedAs(each, peer)),
      )[0];
      if (address !== undefined)
        yield { at: node, message: `sends HTTP/1.0 to "${address}", which uWebSockets.js refuses with 505` };
    }
  },
};

/** The addresses of a target as written, including those of a group. */
function peersOf(config: CheckedConfig, { host, port = 80 }: LiteralTarget): readonly string[] {
  const group = config.upstream(host)?.own('server');
  return group ? group.map(({ args }) => args[0]?.value ?? '') : [`${host}:${port}`];
}

/** Returns whether a peer is certainly this socket. */
function isReachedAs(address: string, peer: string): boolean {
  if (address === peer) return true;
  const [, host = '', port = '80'] = /^(.*?)(?::(\d+))?$/.exec(peer) ?? [];
  if (!LOOPBACK.test(host)) return false;
  return [...WILDCARDS, ...(host === 'localhost' ? ['127.0.0.1'] : [])].some(
    (each) => address === `${each}:${port}`,
  );
}

const lostHeaderBytes: Rule = {
  id: 'GW332',
  slug: 'lost-header-bytes',
  severity: 'info',
  off: true,
  summary: 'headers are passed on from a port that may drop bytes of their values',
  why: 'uWebSockets.js drops bytes from 0x80 on at both ends of header values before gw sees them, except on Linux on ARM: "X-Name: José" arrives as "Jos". The loss cannot be detected. HTTP allows such bytes but gives them no meaning (RFC 9110, 5.5), so most clients escape them. Mostly names of people and files in custom headers are affected.',
  fix: 'Serve that port with the node engine, or have clients escape such values.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 127.0.0.1:8080;\n    location / {\n        proxy_pass http://127.0.0.1:9000;\n    }\n}',
  },
  good: {
    in: 'http',
    text: 'server {\n    listen 127.0.0.1:8080 engine=node;\n    location / {\n        proxy_pass http://127.0.0.1:9000;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const uses = config.uses(...PASSING_HEADERS);
    for (const { address, listeners } of uwsSockets(config)) {
      for (const { server, node } of listeners) {
        const use = uses.find(({ block }) => isAround(block, server));
        if (!use) continue;
        yield {
          at: node,
          message: `"${address}" is served by uWebSockets.js, which drops bytes from 0x80 on at the ends of header values that "${use.node.name.value}" passes on`,
        };
        break;
      }
    }
  },
};

/** The directives that pass all headers of a request on. */
const PASSING_HEADERS = [
  'proxy_pass',
  'fastcgi_pass',
  'uwsgi_pass',
  'scgi_pass',
  'grpc_pass',
  'dbrest_pass',
  'auth_request',
  'mirror',
];

/** The behaviour of uWebSockets.js in place of a directive. */
const NODE_ONLY: ReadonlyMap<string, string> = new Map([
  ['add_trailer', 'sends no trailers'],
  ['early_hints', 'sends no 103'],
  ['client_header_timeout', 'waits 10 seconds'],
  ['client_body_timeout', 'waits 10 seconds'],
  ['keepalive_timeout', 'waits 10 seconds'],
]);
const UWS_TIMEOUT_MS = 10_000;

const nodeEngineOnly: Rule = {
  id: 'GW221',
  slug: 'node-engine-only',
  severity: 'info',
  summary: 'a directive that only the node engine supports, on a port of uWebSockets.js',
  why: 'uWebSockets.js is faster and does less: its timeouts are fixed, and it sends neither trailers nor early hints. The page "Two engines" of the guide lists what differs.',
  fix: 'Serve that port with the node engine ("listen ... engine=node"), or remove the directive.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 127.0.0.1:8080;\n    add_trailer X-Checksum $request_id;\n    return 204;\n}',
  },
  good: {
    in: 'http',
    text: 'server {\n    listen 127.0.0.1:8080 engine=node;\n    add_trailer X-Checksum $request_id;\n    return 204;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const servers = uwsSockets(config).flatMap(({ listeners }) => listeners.map(({ server }) => server));
    if (servers.length === 0) return;
    for (const { node, block } of config.uses(...NODE_ONLY.keys())) {
      const { value: name } = node.name;
      const given = node.args[0]?.value ?? '';
      const timeoutMs = name.endsWith('_timeout') ? readers.parseTimeMs(given) : undefined;
      const isSame = timeoutMs === UWS_TIMEOUT_MS;
      const isOff = name === 'early_hints' && (given === '' || given === '0');
      if (isSame || isOff || !servers.some((server) => isAround(block, server))) continue;
      yield {
        at: node,
        // Uploads break off that the file admits. Who cuts clients later than it says breaks nothing.
        ...(name === 'client_body_timeout' && (timeoutMs ?? 0) > UWS_TIMEOUT_MS && { severity: 'warning' }),
        message: `"${name}" has no effect on ports of uWebSockets.js, which ${NODE_ONLY.get(name)}`,
      };
    }
  },
};

/** The sockets that uWebSockets.js serves. */
function uwsSockets(config: CheckedConfig): ReturnType<typeof socketsOf> {
  return socketsOf(config).filter(({ address }) => config.uwsPorts.has(address));
}

/** Returns whether a directive of the block applies to requests to the server. */
function isAround(block: BlockView, server: BlockView): boolean {
  const isIn = (inner: BlockView, outer: BlockView): boolean => {
    for (let at: BlockView | undefined = inner; at; at = at.outer) if (at === outer) return true;
    return false;
  };
  return isIn(server, block) || isIn(block, server);
}

/** The rules about differences between the engines. */
export const ENGINE_RULES: readonly Rule[] = [frontProxyEngine, oldProtocol, lostHeaderBytes, nodeEngineOnly];
