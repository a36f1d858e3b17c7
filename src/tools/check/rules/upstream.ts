import { type DirectiveNode, reworded } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import {
  type CheckedConfig,
  headersSent,
  literalPasses,
  type Problem,
  type Rule,
} from '../../../contract/index.ts';

const keepaliveHeaders: Rule = {
  id: 'GW411',
  slug: 'keepalive-headers',
  severity: 'warning',
  summary: '"keepalive" in an upstream, but its requests close connections',
  why: 'Connections are kept only with HTTP/1.1 and without "Connection: close". Otherwise, "keepalive" has no effect.',
  fix: 'Write "proxy_http_version 1.1;" and "proxy_set_header Connection \\"\\";", or remove both: these are the defaults of gw.',
  bad: {
    in: 'http',
    text: 'upstream app {\n    server 127.0.0.1:9000;\n    keepalive 16;\n}\nserver {\n    listen 127.0.0.1:8080;\n    location / {\n        proxy_pass http://app;\n        proxy_http_version 1.0;\n        proxy_set_header Host $host;\n    }\n}',
  },
  good: {
    in: 'http',
    text: 'upstream app {\n    server 127.0.0.1:9000;\n    keepalive 16;\n}\nserver {\n    listen 127.0.0.1:8080;\n    location / {\n        proxy_pass http://app;\n        proxy_http_version 1.1;\n        proxy_set_header Connection "";\n        proxy_set_header Host $host;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { block, target } of literalPasses(config)) {
      const [keepalive] = config.upstream(target.host)?.own('keepalive') ?? [];
      if (!keepalive || keepalive.args[0]?.value === '0') continue;
      for (const problem of endings(config, block)) {
        if (told.has(problem.at)) continue;
        told.add(problem.at);
        const span = keepalive.span;
        yield { ...problem, related: [{ span, label: `upstream "${target.host}" has "keepalive"` }] };
      }
    }
  },
};

/** The headers that end the connection after each request of a block. */
function* endings(
  config: CheckedConfig,
  block: BlockView,
): Generator<Problem & { readonly at: DirectiveNode }> {
  const [version] = block.effective('proxy_http_version');
  const number = version?.args[0];
  if (version && number?.value === '1.0') {
    const fix = { title: 'write "1.1"', safe: false, edits: [reworded(number, '1.1')] };
    yield {
      at: version,
      message: '"proxy_http_version 1.0" closes the connection to the upstream after each request',
      fix,
    };
  }
  const connection = headersSent(block).get('connection');
  const value = connection?.args[1];
  if (!connection || !value) return;
  const texts = config.textsOf(value.value).map((text) => text.toLowerCase());
  // Where a variable may be empty, connections are kept for most requests.
  if (!texts.includes('close') || texts.includes('')) return;
  const isConstant = !value.value.includes('$');
  const fix = { title: 'write ""', safe: false, edits: [{ span: value.span, text: '""' }] };
  yield {
    at: connection,
    message: `"Connection ${value.value}" ${isConstant ? 'closes the connection to the upstream after each request' : 'closes connections to the upstream'}`,
    ...(isConstant ? { fix } : { hint: `give "${value.value}" the value "" instead of "close"` }),
  };
}

/** The rules about the upstream module. */
export const UPSTREAM_RULES: readonly Rule[] = [keepaliveHeaders];
