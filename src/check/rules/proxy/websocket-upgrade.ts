import type { DirectiveNode } from '../../../../grammar/index.ts';
import { lineBehind } from '../../edits.ts';
import { headersSent, passes } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { textsOf, UNKNOWN } from '../../variable-texts.ts';

export const websocketUpgrade: Rule = {
  id: 'GW412',
  slug: 'websocket-upgrade',
  severity: 'warning',
  summary: 'an upgrade is passed on by half: "Upgrade" without "Connection", or the other way round',
  why: 'Both headers end at each hop. An upstream that gets only one of them answers with ordinary HTTP: WebSockets do not open.',
  fix: 'Send both: "Upgrade $http_upgrade" and "Connection $connection_upgrade" with a "map" from "$http_upgrade".',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Upgrade $http_upgrade;',
  },
  good: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection upgrade;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { block } of passes(config)) {
      const headers = headersSent(block);
      const [upgrade, connection] = ['upgrade', 'connection'].map((name) => headers.get(name));
      const problem = faultOf({ upgrade: sent(upgrade), connection }, config);
      if (!problem || told.has(problem.at)) continue;
      told.add(problem.at);
      yield problem;
    }
  },
};

function sent(node: DirectiveNode | undefined): DirectiveNode | undefined {
  return node?.args[1]?.value === '' ? undefined : node;
}

interface Headers {
  readonly upgrade: DirectiveNode | undefined;
  readonly connection: DirectiveNode | undefined;
}

function faultOf(
  { upgrade, connection }: Headers,
  config: CheckedConfig,
): (Problem & { readonly at: DirectiveNode }) | undefined {
  const value = connection?.args[1]?.value ?? '';
  const texts = textsOf(config, value);
  // What only the request knows may well be "upgrade".
  const asks = texts.some((text) => text.includes(UNKNOWN) || /\bupgrade\b/i.test(text));
  if (upgrade && !asks) {
    if (connection) {
      const message = `"Upgrade" goes to the upstream with "Connection: ${value}"`;
      return { at: upgrade, message, related: [{ span: connection.span, label: 'set here' }] };
    }
    const message = '"Upgrade" goes to the upstream without "Connection: upgrade"';
    const edits = [lineBehind(upgrade, 'proxy_set_header Connection upgrade;')];
    return { at: upgrade, message, fix: { title: 'send "Connection: upgrade"', safe: false, edits } };
  }
  if (upgrade || !connection || !texts.every((text) => /^upgrade$/i.test(text))) return undefined;
  const edits = [lineBehind(connection, 'proxy_set_header Upgrade $http_upgrade;')];
  const fix = { title: 'send "Upgrade" too', safe: false, edits };
  return { at: connection, message: '"Connection: upgrade" goes to the upstream without "Upgrade"', fix };
}
