import {
  type DirectiveNode,
  lineBefore,
  lineBehind,
  namesText,
  reworded,
  shown,
  writtenText,
} from '../../../../grammar/index.ts';
import { droppedIn, groupBy, headerOf, secretSpans, serverOf } from '../../../config/index.ts';
import {
  type CheckedConfig,
  forwards,
  headersSent,
  type LiteralTarget,
  literalPasses,
  type Pass,
  passes,
  type Problem,
  type Rule,
  UNKNOWN,
} from '../../../contract/index.ts';

const proxyHeaderRedefinition: Rule = {
  id: 'GW404',
  slug: 'proxy-header-redefinition',
  severity: 'warning',
  summary: '"proxy_set_header" on an inner level drops the headers of the outer level',
  why: 'A level with a "proxy_set_header" of its own inherits none: the upstream no longer gets the host or the address of the client.',
  fix: 'Repeat the headers of the level above.',
  bad: {
    text: 'proxy_set_header Host $host;\nlocation / {\n    proxy_set_header X-Request-ID $request_id;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  good: {
    text: 'proxy_set_header Host $host;\nlocation / {\n    proxy_set_header Host $host;\n    proxy_set_header X-Request-ID $request_id;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocksWith('proxy_set_header')) {
      const dropping = forwards(block) ? droppedIn(block, 'proxy_set_header') : undefined;
      const dropped = dropping?.dropped.filter((node) => !isDefaultHeader(node)) ?? [];
      if (!dropping || dropped.length === 0) continue;
      const { at } = dropping;
      yield {
        at,
        message: `"proxy_set_header" here drops ${namesText(dropped.map(headerOf))} of the outer level`,
        label: 'from here on only the headers of this level apply',
        related: dropped.map(({ span }) => ({ span, label: 'dropped' })),
        // A secret must not be repeated in the file or shown in a patch.
        ...(secretSpans({ directives: dropped, sources: [] }, config.registry).length === 0 && {
          fix: {
            title: 'repeat the headers of the outer level',
            safe: false,
            edits: dropped.map((node) => lineBefore(at, writtenText(node))),
          },
        }),
      };
    }
  },
};

/** Tells whether upstreams get the header by default. */
function isDefaultHeader({ args }: DirectiveNode): boolean {
  const [name, value] = args.map((word) => word.value.toLowerCase());
  return (name === 'connection' && value === '') || (name === 'host' && value === '$proxy_host');
}

const hostSpoofing: Rule = {
  id: 'GW405',
  slug: 'host-spoofing',
  severity: 'warning',
  summary: 'the upstream gets the Host header as the client sent it',
  why: 'If the request line contains another host, that one selects the server, but the upstream uses the header for links, mails and cached pages: this allows cache poisoning and forged password resets.',
  fix: 'Send "$host", with ":$server_port" if the upstream needs the port.',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Host $http_host;',
  },
  good: { in: 'location', text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Host $host;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('proxy_set_header')) {
      const [name, value] = node.args;
      if (name?.value.toLowerCase() !== 'host' || !value) continue;
      if (!/^\$(?:http_host|\{http_host\})$/i.test(value.value)) continue;
      yield {
        at: node,
        message: `"Host ${value.value}" passes on what the client sent`,
        fix: {
          title: 'send "$host": in lower case, without a port',
          safe: false,
          edits: [reworded(value, '$host')],
        },
      };
    }
  },
};

const missingHostHeader: Rule = {
  id: 'GW406',
  slug: 'missing-host-header',
  severity: 'info',
  summary: 'the upstream gets the name of an "upstream" block as Host',
  why: 'Without "proxy_set_header Host", the header is "$proxy_host", a name that only exists in this configuration. The upstream may select the wrong site and build wrong links.',
  fix: 'Add "proxy_set_header Host $host;".',
  bad: {
    in: 'http',
    text: 'upstream backend { server 127.0.0.1:9000; }\nserver {\n    listen 127.0.0.1:8080;\n    location / { proxy_pass http://backend; }\n}',
  },
  good: {
    in: 'http',
    text: 'upstream backend { server 127.0.0.1:9000; }\nserver {\n    listen 127.0.0.1:8080;\n    proxy_set_header Host $host;\n    location / { proxy_pass http://backend; }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const byServer = groupBy(literalPasses(config).filter(sendsGroup(config)), ({ block }) =>
      serverOf(block),
    );
    for (const [first, ...others] of byServer.values()) if (first) yield groupProblem(first, others);
  },
};

/** Tells whether a `proxy_pass` sends the name of its group. A group that is named like a real host may be meant to. */
const sendsGroup =
  (config: CheckedConfig) =>
  ({ block, target }: Pass<LiteralTarget>): boolean =>
    !target.host.includes('.') &&
    config.upstream(target.host) !== undefined &&
    !headersSent(block).has('host');

/** Returns one problem for a server: a single `proxy_set_header` at its level mends all places. */
function groupProblem(first: Pass<LiteralTarget>, others: readonly Pass<LiteralTarget>[]): Problem {
  const places = others.length === 1 ? '1 other place' : `${others.length} other places`;
  const edits = [first, ...others].flatMap(({ node, block }) => {
    const isDropping = headersSent(block).size > 0 && block.own('proxy_set_header').length === 0;
    const isHere = !isDropping && block.context === 'location';
    return isHere ? [lineBehind(node, 'proxy_set_header Host $host;')] : [];
  });
  return {
    at: first.node,
    message: `the upstream gets "Host: ${shown(first.node.args[0], first.target.host)}"${others.length > 0 ? `, and the name of its group in ${places} of this server` : ''}`,
    related: others.map(({ node }) => ({ span: node.span, label: 'here, too' })),
    ...(edits.length > 0 && {
      fix: { title: 'send the host that the client addressed', safe: false, edits },
    }),
  };
}

const websocketUpgrade: Rule = {
  id: 'GW412',
  slug: 'websocket-upgrade',
  severity: 'warning',
  summary: 'only one of "Upgrade" and "Connection" is passed on',
  why: 'Both headers are hop-by-hop. An upstream that gets only one of them responds with ordinary HTTP, and WebSockets cannot be opened.',
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
      const finding = upgradeFinding({ upgrade: sent(upgrade), connection }, config);
      if (!finding || told.has(finding.at)) continue;
      told.add(finding.at);
      yield finding;
    }
  },
};

function sent(node: DirectiveNode | undefined): DirectiveNode | undefined {
  return node?.args[1]?.value === '' ? undefined : node;
}

interface UpgradeHeaders {
  readonly upgrade: DirectiveNode | undefined;
  readonly connection: DirectiveNode | undefined;
}

function upgradeFinding(
  { upgrade, connection }: UpgradeHeaders,
  config: CheckedConfig,
): (Problem & { readonly at: DirectiveNode }) | undefined {
  const value = connection?.args[1]?.value ?? '';
  const texts = config.textsOf(value);
  // A value that depends on the request may be "upgrade".
  const asks = texts.some((text) => text.includes(UNKNOWN) || /\bupgrade\b/i.test(text));
  if (upgrade && !asks) {
    if (connection) {
      const message = `"Upgrade" is sent to the upstream with "Connection: ${value}"`;
      return { at: upgrade, message, related: [{ span: connection.span, label: 'set here' }] };
    }
    const message = '"Upgrade" is sent to the upstream without "Connection: upgrade"';
    const edits = [lineBehind(upgrade, 'proxy_set_header Connection upgrade;')];
    return { at: upgrade, message, fix: { title: 'send "Connection: upgrade"', safe: false, edits } };
  }
  if (upgrade || !connection || !texts.every((text) => /^upgrade$/i.test(text))) return undefined;
  const edits = [lineBehind(connection, 'proxy_set_header Upgrade $http_upgrade;')];
  const fix = { title: 'also send "Upgrade"', safe: false, edits };
  return { at: connection, message: '"Connection: upgrade" is sent to the upstream without "Upgrade"', fix };
}

/** Headers in which upstreams look for the client's address, and values that the client controls. */
const ADDRESS = /^(?:x-forwarded-for|x-real-ip|x-client-ip|true-client-ip|forwarded)$/i;
const CLIENT_SAYS = /^\$\{?http_(?:x_forwarded_for|x_real_ip|x_client_ip|true_client_ip|forwarded)\}?$/i;

const xffAppend: Rule = {
  id: 'GW414',
  slug: 'xff-append',
  severity: 'info',
  summary: 'the upstream gets the address that the client claims to have',
  why: 'The header is passed on as it was received, without the address of the connection: upstreams log and trust whatever the client sent.',
  fix: 'Send "$remote_addr", or "$proxy_add_x_forwarded_for", which ends in it.',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header X-Forwarded-For $http_x_forwarded_for;',
  },
  good: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('proxy_set_header')) {
      const [name, value] = node.args;
      if (!name || !value || !ADDRESS.test(name.value) || !CLIENT_SAYS.test(value.value)) continue;
      yield {
        at: node,
        message: `"${name.value} ${value.value}" is an address that the client can forge`,
      };
    }
  },
};

/** Rules about headers of requests to upstreams. */
export const PROXY_HEADER_RULES: readonly Rule[] = [
  proxyHeaderRedefinition,
  hostSpoofing,
  missingHostHeader,
  websocketUpgrade,
  xffAppend,
];
