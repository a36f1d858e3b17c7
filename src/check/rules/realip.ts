import type { BlockView } from '../../config/index.ts';
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
    const { httpEngine } = configOf(config.main.level, 'core');
    for (const { address, listeners } of socketsOf(config)) {
      if (listeners.some(readsPreface)) continue;
      const asked = listeners.find(({ listen }) => listen.engine !== undefined)?.listen.engine;
      if ((asked ?? httpEngine) === 'node') continue;
      const behind = listeners.find(({ server }) => uses.some(({ block }) => isAround(block, server)));
      if (behind)
        yield {
          at: behind.node,
          message: `"${address}" is behind another proxy and served by uWebSockets.js`,
        };
    }
  },
};

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

/** The rules about requests through another proxy. */
export const REALIP_RULES: readonly Rule[] = [frontProxyEngine];
