import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { heldBy, tlsServers } from '../../tls-servers.ts';
import { SHOP } from './shop.ts';

const WEAK = /^(?:SSLv[23]|TLSv1(?:\.1)?)$/i;

export const weakProtocols: Rule = {
  id: 'GW501',
  slug: 'weak-protocols',
  severity: 'error',
  summary: 'a server speaks TLS older than 1.2',
  why: 'SSL and TLS 1.0 and 1.1 are broken and forbidden (RFC 8996); every client of the last ten years speaks TLS 1.2.',
  fix: 'Say "ssl_protocols TLSv1.2 TLSv1.3;".',
  bad: { text: `${SHOP.text}\nssl_protocols TLSv1.1 TLSv1.2 TLSv1.3;`, files: SHOP.files },
  good: { text: `${SHOP.text}\nssl_protocols TLSv1.2 TLSv1.3;`, files: SHOP.files },
  *check(config: CheckedConfig): Iterable<Problem> {
    // A default for all servers is of no effect where none speaks TLS.
    for (const node of heldBy(tlsServers(config), 'ssl_protocols')) yield* problemsOf(node);
    for (const { node } of config.uses('proxy_ssl_protocols')) yield* problemsOf(node);
  },
};

function* problemsOf(node: DirectiveNode): Generator<Problem> {
  const weak = node.args.filter(({ value }) => WEAK.test(value));
  const [first, last] = [node.args[0], node.args.at(-1)];
  if (weak.length === 0 || !first || !last) return;
  const strong = node.args.filter((word) => !weak.includes(word)).map(({ value }) => value);
  const text = (strong.length > 0 ? strong : ['TLSv1.2', 'TLSv1.3']).join(' ');
  yield {
    at: node,
    message: `"${node.name.value}" allows ${weak.map(({ value }) => value).join(', ')}`,
    fix: {
      title: `say "${text}": old clients are refused then`,
      safe: false,
      edits: [{ span: { ...first.span, end: last.span.end }, text }],
    },
  };
}
