import {
  type DirectiveNode,
  lineBehind,
  reworded,
  type TextEdit,
  type Word,
} from '../../../../grammar/index.ts';
import {
  type CheckedConfig,
  configOf,
  type CoreConfig,
  type Problem,
  type Rule,
  type Use,
} from '../../../contract/index.ts';
import { serverOf } from '../../../config/index.ts';
import { serverNameText } from '../../../plan/index.ts';
import { type Listener, socketsOf, speaksTls, sslOf } from '../servers.ts';

const duplicateServerName: Rule = {
  id: 'GW206',
  slug: 'duplicate-server-name',
  severity: 'warning',
  summary: 'two servers of one port with the same name',
  why: 'The first server gets all requests for the name, the second one gets none.',
  fix: 'Delete one of the names.',
  bad: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; return 204; }\nserver { listen 8080 default_server; server_name b.example a.example; return 404; }',
  },
  good: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; return 204; }\nserver { listen 8080 default_server; server_name b.example; return 404; }',
  },
};

const noDefaultServer: Rule = {
  id: 'GW207',
  slug: 'no-default-server',
  severity: 'warning',
  summary: 'servers share a socket without a default server',
  why: 'A request with an unknown name, or without a name, goes to the first server. Which server is the first may change when files are renamed.',
  fix: 'Add "default_server" to the server that should get them, or add a server that refuses them: "return 444;".',
  bad: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; return 204; }\nserver { listen 8080; server_name b.example; return 204; }',
  },
  good: {
    in: 'http',
    text: 'server { listen 8080 default_server; return 444; }\nserver { listen 8080; server_name a.example; return 204; }\nserver { listen 8080; server_name b.example; return 204; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<Listener['server']>();
    for (const { address, listeners } of socketsOf(config)) {
      const [first] = listeners;
      if (!first || listeners.length < 2 || listeners.some(({ listen }) => listen.defaultServer)) continue;
      if (isCatchAll(first) || told.has(first.server)) continue;
      told.add(first.server);
      const last = first.node.args.at(-1)?.span;
      yield {
        at: first.node,
        message: `${listeners.length} servers share ${address}, but none is "default_server"`,
        label: 'the first gets unknown names',
        fix: last && {
          title: 'mark the first as "default_server", as it is now',
          safe: false,
          edits: [{ span: { ...last, start: last.end }, text: ' default_server' }],
        },
      };
    }
  },
};

/** True if the first server is meant as default: it has no name, or one that no client requests. */
function isCatchAll({ server }: Listener): boolean {
  const { serverNames } = configOf(server.level, 'core');
  const names = serverNames?.flat().map(serverNameText) ?? [''];
  return names.some((name) => /^$|^_$|^""$|^localhost$|^~\^?\.[*+]\$?$/.test(name));
}

const serverIfHost: Rule = {
  id: 'GW214',
  slug: 'server-if-host',
  severity: 'info',
  summary: 'an "if" that tests the host in a server',
  why: 'It is evaluated for each request, and the server gets requests for names that it does not list. A server with that name would be found at no cost.',
  fix: 'Write a server for that host.',
  bad: { text: 'if ($host = www.example.com) { return 301 https://example.com$request_uri; }' },
  good: {
    in: 'http',
    text: 'server { listen 8080; server_name www.example.com; return 301 https://example.com$request_uri; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.blocks('server if')) {
      const variable = /^\(?\$\{?(host|http_host|server_name)\}?$/i.exec(
        node?.args.find(({ value }) => value !== '(')?.value ?? '',
      )?.[1];
      if (!node || variable === undefined || node.args.length < 2) continue;
      yield {
        at: node.name.span,
        message: `"if ($${variable} ...)" in a server: write a server for that host`,
      };
    }
  },
};

const listenConflict: Rule = {
  id: 'GW216',
  slug: 'listen-conflict',
  severity: 'error',
  summary: 'two "listen" with different settings for one socket',
  why: 'A socket is opened once: it uses TLS for all clients or for none, and has one default server.',
  fix: 'Write the same settings in each of them, or give one of the servers another port.',
  bad: { text: 'listen 127.0.0.1:8080;' },
  good: { text: 'listen 127.0.0.1:8081;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { address, listeners } of socketsOf(config)) {
      const secure = listeners.find(speaksTls);
      if (!secure) continue;
      for (const { node, server } of listeners.filter(isPlain)) {
        yield {
          at: node,
          message: `"listen" without "ssl" on ${address}, which uses TLS`,
          hint: 'the server has no certificate: move it to a port of its own',
          label: 'means plain HTTP',
          related: [
            { span: secure.node.span, label: 'TLS for all servers of the socket' },
            ...(server.node ? [{ span: server.node.name.span, label: 'without "ssl_certificate"' }] : []),
          ],
        };
      }
    }
  },
};

/** False for a server with a certificate, which relies on the `ssl` of the other one. */
function isPlain(listener: Listener): boolean {
  const { certificates, rejectHandshake } = sslOf(listener.server);
  return !speaksTls(listener) && certificates === undefined && !rejectHandshake;
}

const suspiciousServerName: Rule = {
  id: 'GW219',
  slug: 'suspicious-server-name',
  severity: 'warning',
  summary: 'a server name with a scheme, a path, a port or a comma',
  why: 'Names are compared only with the host of a request. Such a name never matches, and the default server gets the requests.',
  fix: 'Write only the host; separate names by blanks.',
  bad: { text: 'server_name http://www.example.com;' },
  good: { text: 'server_name www.example.com;' },
  /** Names with slashes are reported by the load, as by nginx. */
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('server_name')) {
      for (const word of node.args) {
        const [, host, port, comma] = /^([^~/,:][^/,:]*)?(:\d+)?(,)?$/.exec(word.value) ?? [];
        if (host !== undefined && (port !== undefined || comma !== undefined))
          yield nameProblem(word, host, port === undefined ? 'a comma' : 'a port');
      }
    }
  },
};

const http2WithoutEffect: Rule = {
  id: 'GW220',
  slug: 'http2-without-effect',
  severity: 'warning',
  summary: '"http2 on" has no effect on a port without TLS',
  why: 'Without TLS, the server of a connection is unknown before the first request, so the default server of the port decides for all servers. If a "listen" chooses uWebSockets.js, the port only supports HTTP/1.1.',
  fix: 'Write "http2 on" in the default server of the port, and remove "engine=uws".',
  bad: {
    in: 'http',
    text: 'server { listen 8080 default_server; return 204; }\nserver { listen 8080; server_name a.example; http2 on; return 200; }',
  },
  good: {
    in: 'http',
    text: 'server { listen 8080 default_server; http2 on; return 204; }\nserver { listen 8080; server_name a.example; return 200; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { address, listeners } of socketsOf(config)) {
      if (listeners.some((listener) => speaksTls(listener) || listener.listen.http2)) continue;
      const first = listeners.find(({ listen }) => listen.defaultServer) ?? listeners[0];
      const slow = listeners.find(({ listen }) => listen.engine === 'uws');
      for (const { server } of listeners) {
        const [node] = server.own('http2');
        if (!node || !coreOf(server).http2) continue;
        if (slow) {
          const related = [{ span: slow.node.span, label: 'chooses uWebSockets.js' }];
          yield {
            at: node,
            message: `"http2 on" has no effect on ${address}: it is served by uWebSockets.js`,
            related,
          };
        } else if (first && !coreOf(first.server).http2) {
          const related = [{ span: first.node.span, label: 'the default server' }];
          yield {
            at: node,
            message: `"http2 on" has no effect on ${address}: its default server decides, and has no "http2 on"`,
            related,
          };
        }
      }
    }
  },
};

function coreOf(server: Listener['server']): CoreConfig {
  return configOf(server.level, 'core');
}

function nameProblem(word: Word, host: string, what: string): Problem {
  return {
    at: word.span,
    message: `server name "${word.value}" has ${what}, which no host of a request has`,
    fix: { title: `write "${host}"`, safe: false, edits: [reworded(word, host)] },
  };
}

const deprecated: Rule = {
  id: 'GW116',
  slug: 'deprecated',
  severity: 'warning',
  summary: 'a deprecated form of a directive',
  why: 'It still works in gw. New versions of nginx warn about it, and later ones may refuse it.',
  fix: 'Write the new form: "http2 on", "listen ... ssl", "listen ... default_server".',
  bad: { text: 'listen 127.0.0.1:8443 default;' },
  good: { text: 'listen 127.0.0.1:8443 default_server;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const servers = config.blocks('server');
    for (const block of servers) yield* http2Problems(block, servers.length === 1);
    for (const { node } of config.uses('listen')) {
      const word = node.args.find(({ value }, index) => index > 0 && value === 'default');
      if (word) yield defaultProblem(word);
    }
  },
};

/**
 * One problem for all `listen` directives of a server, because a single `http2 on` replaces them. Unlike it, a `listen`
 * speaks for all servers of its address.
 */
function* http2Problems(block: Use['block'], isAlone: boolean): Iterable<Problem> {
  const found = block.own('listen').flatMap((node) => {
    const index = node.args.findIndex(({ value }, at) => at > 0 && value.toLowerCase() === 'http2');
    return index < 0 ? [] : [{ node, word: node.args[index] as Word, before: node.args[index - 1] as Word }];
  });
  const [first, ...others] = found;
  if (!first) return;
  const takenOut = found.map(({ word: { span }, before }): TextEdit => ({
    span: { ...span, start: before.span.end },
    text: '',
  }));
  const isSaid = block.effective('http2').length > 0;
  yield {
    at: first.word.span,
    message: '"listen ... http2" is deprecated, use "http2 on"',
    related: others.map(({ word: { span } }) => ({ span, label: 'here too' })),
    fix: {
      title: 'write "http2 on"',
      safe: isAlone,
      edits: isSaid ? takenOut : [...takenOut, lineBehind((found.at(-1) ?? first).node, 'http2 on;')],
    },
  };
}

function defaultProblem(word: Word): Problem {
  return {
    at: word.span,
    message: '"listen ... default" is deprecated, use "default_server"',
    fix: { title: 'write "default_server"', safe: true, edits: [reworded(word, 'default_server')] },
  };
}

const serverNameNoHost: Rule = {
  id: 'GW224',
  slug: 'server-name-no-host',
  severity: 'warning',
  summary: '"$server_name" in a redirect of a server whose first name is not a host',
  why: '"$server_name" is the first name as written (a pattern, "_" or nothing), not the host of the request. Clients are redirected to a host that does not exist.',
  fix: 'Use "$host" or the intended name.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 8080 default_server;\n    server_name _;\n    return 301 https://$server_name$request_uri;\n}',
  },
  good: {
    in: 'http',
    text: 'server {\n    listen 8080 default_server;\n    server_name _;\n    return 301 https://$host$request_uri;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('return', 'rewrite')) {
      const server = serverOf(block);
      const word = node.args.find(({ value }) =>
        /^(?:https?|\$\{?scheme\}?):\/\/\$\{?server_name\b/i.test(value),
      );
      if (!server || !word) continue;
      const [first] = coreOf(server).serverNames?.flat() ?? [];
      const name = first ? serverNameText(first) : '';
      if (first?.kind === 'exact' && name !== '' && name !== '_') continue;
      const [named] = server.own('server_name');
      yield {
        at: word.span,
        message: `"$server_name" is "${name}" here, which is not a host`,
        related: named && [{ span: named.span, label: 'its first name' }],
      };
    }
  },
};

const shadowedNames: Rule = {
  id: 'GW225',
  slug: 'shadowed-names',
  severity: 'warning',
  summary: 'a "listen" with an address takes requests from servers that listen on all addresses',
  why: 'The socket is chosen first. For a request to that address, only servers that name the address are considered, and their default server gets requests for all other names.',
  fix: 'Use the same "listen" in both servers.',
  bad: {
    in: 'http',
    text: 'server { listen 10.0.0.1:8080; server_name a.example; return 204; }\nserver { listen 8080; server_name b.example; return 204; }',
  },
  good: {
    in: 'http',
    text: 'server { listen 8080 default_server; server_name a.example; return 204; }\nserver { listen 8080; server_name b.example; return 204; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const sockets = socketsOf(config);
    for (const { address, listeners } of sockets) {
      const [first] = listeners;
      const wide = first && sockets.find((other) => isAround(other.listeners[0], first));
      if (!first || !wide) continue;
      const own = new Set(listeners.flatMap(hostsOf));
      const lost = wide.listeners.find((each) => hostsOf(each).some((name) => !own.has(name)));
      const name = lost && hostsOf(lost).find((each) => !own.has(each));
      if (!lost || name === undefined) continue;
      yield {
        at: first.node,
        message: `requests for "${name}" to ${address} do not reach its server, which listens on ${wide.address}`,
        // Programs of this machine may have a server of their own.
        ...(isLoopback(first) && { severity: 'info' }),
        related: [{ span: lost.node.span, label: 'not considered there' }],
      };
    }
  },
};

/** True if the first socket has all addresses of the port, and the other one of them. */
function isAround(wide: Listener | undefined, narrow: Listener): boolean {
  const [outer, inner] = [wide?.listen.address, narrow.listen.address];
  if (outer?.kind !== 'inet' || inner.kind !== 'inet' || outer.port !== inner.port) return false;
  return outer.host === (inner.host.includes(':') ? '::' : '0.0.0.0') && inner.host !== outer.host;
}

function isLoopback({ listen: { address } }: Listener): boolean {
  return address.kind === 'inet' && /^127\.|^::1$/.test(address.host);
}

/** The names of a server that clients may request. */
function hostsOf({ server }: Listener): readonly string[] {
  const names = coreOf(server).serverNames?.flat() ?? [];
  return names.flatMap((name) => {
    const text = serverNameText(name);
    return name.kind === 'regex' || !text.includes('.') ? [] : [text];
  });
}

const redirectPort: Rule = {
  id: 'GW227',
  slug: 'redirect-port',
  severity: 'info',
  summary: 'redirects behind another proxy contain the port of this server',
  why: 'A redirect to a path is sent as a URL with the port that the server listens on. Clients of the proxy may not be able to reach that port.',
  fix: 'Write "absolute_redirect off", or "port_in_redirect off" if scheme and host are right.',
  bad: {
    in: 'http',
    text: 'set_real_ip_from 10.0.0.0/8;\nserver {\n    listen 8080 engine=node;\n    location = /old { return 301 /new; }\n}',
  },
  good: {
    in: 'http',
    text: 'set_real_ip_from 10.0.0.0/8;\nabsolute_redirect off;\nserver {\n    listen 8080 engine=node;\n    location = /old { return 301 /new; }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('return', 'rewrite')) {
      const server = serverOf(block);
      const path = redirectedPath(node);
      const { absoluteRedirect, portInRedirect } = configOf(block.level, 'core');
      if (!server || !path || !absoluteRedirect || !portInRedirect) continue;
      const [proxy] = server.effective('set_real_ip_from');
      const ports = (coreOf(server).listens ?? []).flatMap(({ address }) =>
        address.kind === 'inet' && address.port !== 80 && address.port !== 443 ? [address.port] : [],
      );
      if (!proxy || ports[0] === undefined) continue;
      yield {
        at: path.span,
        message: `the redirect contains port ${ports[0]}, which may not be the port of the proxy`,
        related: [{ span: proxy.span, label: 'behind a proxy' }],
      };
    }
  },
};

/** The target of a redirect to a path of the same server. */
function redirectedPath({ name, args }: DirectiveNode): Word | undefined {
  const redirects =
    name.value === 'return'
      ? /^30[12378]$/.test(args[0]?.value ?? '')
      : /^(?:redirect|permanent)$/.test(args[2]?.value ?? '');
  return redirects && args[1]?.value.startsWith('/') === true ? args[1] : undefined;
}

/** The rules about `listen` and `server_name`. */
export const SERVER_RULES: readonly Rule[] = [
  deprecated,
  duplicateServerName,
  noDefaultServer,
  shadowedNames,
  redirectPort,
  serverIfHost,
  listenConflict,
  suspiciousServerName,
  http2WithoutEffect,
  serverNameNoHost,
];
