import { type BlockView, readers } from '../../config/index.ts';
import { type CheckedConfig, configOf, type Problem, type Rule } from '../../contract/index.ts';
import { type Listener, socketsOf, speaksTls } from '../servers.ts';

const frontProxyEngine: Rule = {
  id: 'GW330',
  slug: 'front-proxy-engine',
  severity: 'info',
  summary: 'a port behind another proxy is served by uWebSockets.js',
  why: 'uWebSockets.js takes bytes from 0x80 on for blanks around header values: "Content-Length: 3\\xa0" counts as 3, where the proxy in front may read something else. Two readers that disagree on where a request ends let a client smuggle one in.',
  fix: 'Serve that port with the node engine, which refuses such values.',
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

/** What uWebSockets.js does in place of a directive. */
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
  summary: 'a directive that only the node engine carries out, on a port of uWebSockets.js',
  why: 'uWebSockets.js is faster and does less: its timeouts are fixed, and it sends neither trailers nor early hints. The page "Two engines" of the guide lists what differs.',
  fix: 'Serve that port with the node engine ("listen ... engine=node"), or leave the directive out.',
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
      const isSame = name.endsWith('_timeout') && readers.parseTimeMs(given) === UWS_TIMEOUT_MS;
      const isOff = name === 'early_hints' && (given === '' || given === '0');
      if (isSame || isOff || !servers.some((server) => isAround(block, server))) continue;
      yield {
        at: node,
        message: `"${name}" has no effect where uWebSockets.js serves: it ${NODE_ONLY.get(name)}`,
      };
    }
  },
};

/** The sockets that uWebSockets.js serves. */
function uwsSockets(config: CheckedConfig): ReturnType<typeof socketsOf> {
  const { httpEngine } = configOf(config.main.level, 'core');
  return socketsOf(config).filter(({ listeners }) => {
    const asked = listeners.find(({ listen }) => listen.engine !== undefined)?.listen.engine;
    return !listeners.some(readsPreface) && (asked ?? httpEngine) !== 'node';
  });
}

/** Whether the node engine serves the port of a `listen` because it begins with more than HTTP/1.1. */
function readsPreface(listener: Listener): boolean {
  const { listen, server } = listener;
  const speaksHttp2 = listen.http2 ?? configOf(server.level, 'core').http2;
  return speaksTls(listener) || listen.proxyProtocol === true || (speaksHttp2 && listen.engine !== 'uws');
}

/** Whether a directive of the block applies to requests to the server. */
function isAround(block: BlockView, server: BlockView): boolean {
  const isIn = (inner: BlockView, outer: BlockView): boolean => {
    for (let at: BlockView | undefined = inner; at; at = at.outer) if (at === outer) return true;
    return false;
  };
  return isIn(server, block) || isIn(block, server);
}

/** The rules about what the engines do differently. */
export const ENGINE_RULES: readonly Rule[] = [frontProxyEngine, nodeEngineOnly];
