import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { ModuleRule, Problem } from '../../../contract/index.ts';
import { CONNECTION_FIELDS } from '../../../http/index.ts';
import type { ProxyConfig } from '../config.ts';

const connectionHeaderInHttp2: ModuleRule<ProxyConfig> = {
  id: 'GW436',
  slug: 'connection-header-in-http2',
  severity: 'warning',
  summary: 'a header of HTTP/1 connections beside "proxy_http_version 2"',
  why: 'HTTP/2 has no "Connection" and no "Upgrade": gw does not send them, so WebSockets fail in this location.',
  fix: 'Remove the header. For WebSockets, write "proxy_http_version 1.1".',
  bad: {
    text: 'location / {\n    proxy_http_version 2;\n    proxy_set_header Upgrade $http_upgrade;\n    proxy_set_header Connection upgrade;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  good: {
    text: 'location / {\n    proxy_http_version 2;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { block } of config.uses('proxy_pass')) {
      if (config.configIn(block).httpVersion !== '2') continue;
      for (const node of block.effective('proxy_set_header').filter(isOfConnection)) {
        if (told.has(node)) continue;
        told.add(node);
        const name = node.args[0]?.value ?? '';
        yield {
          at: node,
          message: `"${name}" is never sent over HTTP/2`,
          hint: 'remove it, or write "proxy_http_version 1.1" if connections are upgraded',
        };
      }
    }
  },
};

/** Tells whether the header concerns a connection. One with an empty value is removed in any case. */
function isOfConnection({ args: [name, value] }: DirectiveNode): boolean {
  return CONNECTION_FIELDS.has(name?.value.toLowerCase() ?? '') && value?.value !== '';
}

const upgradeToHttp2: ModuleRule<ProxyConfig> = {
  id: 'GW438',
  slug: 'upgrade-to-http2',
  severity: 'warning',
  summary: 'clients can upgrade connections to an upstream to HTTP/2',
  why: 'After the upgrade, requests no longer pass the locations: a client that may open "/" also gets "/admin/" of the upstream, despite a "deny all" there.',
  fix: 'Remove "h2c". For upstreams with HTTP/2, use "proxy_http_version 2" or "grpc_pass".',
  bad: {
    text: 'location / {\n    proxy_upgrade_protocols websocket h2c;\n    proxy_set_header Upgrade $http_upgrade;\n    proxy_set_header Connection upgrade;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  good: {
    text: 'location / {\n    proxy_upgrade_protocols websocket;\n    proxy_set_header Upgrade $http_upgrade;\n    proxy_set_header Connection upgrade;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.uses('proxy_upgrade_protocols')) {
      const word = node.args.find(({ value }) => /^(?:h2c?|http\/2(?:\.0)?)$/i.test(value));
      if (word) yield { at: word.span, message: `"${word.value}" lets clients bypass the locations` };
    }
  },
};

/** The rules about HTTP/2 to upstreams. */
export const PROXY_HTTP2_RULES: readonly ModuleRule<ProxyConfig>[] = [
  connectionHeaderInHttp2,
  upgradeToHttp2,
];
