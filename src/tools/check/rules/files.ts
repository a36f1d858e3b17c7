import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { lengthened, lineBehind, namesText, shown } from '../../../../grammar/index.ts';
import { type BlockView, constantText, serverOf } from '../../../config/index.ts';
import {
  type CheckedConfig,
  configOf,
  type LocationMatch,
  matchOf,
  type Problem,
  type Rule,
  targetOf,
  type Use,
} from '../../../contract/index.ts';
import { analysisOf } from '../analysis.ts';
import { socketsOf } from '../servers.ts';
import type { Patterns } from '../regex/index.ts';

const tryFilesProxy: Rule = {
  id: 'GW212',
  slug: 'try-files-proxy',
  severity: 'warning',
  summary: '"try_files" and "proxy_pass" in one location',
  why: '"try_files" only chooses the URI. If a file exists, it is not sent: the request goes to the upstream. If none exists, the request goes to the last parameter of "try_files", not to "proxy_pass".',
  fix: 'Move "proxy_pass" to a named location, and make that the last parameter of "try_files".',
  bad: { in: 'location', text: 'try_files $uri /index.html;\nproxy_pass http://127.0.0.1:9000;' },
  good: {
    text: 'location / { try_files $uri @app; }\nlocation @app { proxy_pass http://127.0.0.1:9000; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('proxy_pass')) {
      const [files] = block.context === 'location' ? block.own('try_files') : [];
      // With a status as the last word, `try_files` is a filter: only existing files reach the upstream.
      if (!files || files.args.at(-1)?.value.startsWith('=')) continue;
      yield {
        at: node,
        message: '"proxy_pass" gets the requests for files that "try_files" finds: no file is ever sent',
        related: [{ span: files.span, label: 'only chooses the URI' }],
      };
    }
  },
};

const aliasTraversal: Rule = {
  id: 'GW301',
  slug: 'alias-traversal',
  severity: 'error',
  summary: 'a location without a trailing slash whose "alias" has one',
  why: 'The prefix "/img" also matches "/img../", which nginx maps to the directory above the alias: clients can read everything there.',
  fix: 'End the location with a slash, like the alias.',
  bad: { text: 'location /img { alias /srv/img/; }' },
  good: { text: 'location /img/ { alias /srv/img/; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const use of config.uses('alias')) {
      const match = matchOf(use.block);
      const problem =
        match?.kind === 'prefix'
          ? problemOfPrefix(use, match.path)
          : match?.kind === 'regex' && problemOfRegex(use, match.regex.pattern);
      if (problem) yield problem;
    }
  },
};

function problemOfPrefix({ node, block }: Use, prefix: string): Problem | undefined {
  const [path] = node.args;
  const word = block.node?.args.at(-1);
  if (prefix.endsWith('/') || !path?.value.endsWith('/') || !word) return undefined;
  return {
    at: node,
    message: `location "${prefix}" + alias "${shown(path, path.value)}" also serves "${prefix}../"`,
    label: 'alias has one',
    related: [{ span: word.span, label: 'prefix has no trailing slash' }],
    fix: {
      title: `end the location with "/": requests for "${prefix}" itself then go elsewhere`,
      safe: false,
      edits: [lengthened(word, '/')],
    },
  };
}

/** A group for any text after a character other than a slash: `^/img(.*)$`. */
const ANY_REST = /(?:[^/\\([|]|\\.)\((?:\?P?<(\w+)>)?\.[*+]\??\)\$?$/;

function problemOfRegex({ node, block }: Use, pattern: string): Problem | undefined {
  const [path] = node.args;
  const word = block.node?.args.at(-1);
  const group = ANY_REST.exec(pattern);
  const used = /\/\$(?:\{?(\w+)\}?)$/.exec(path?.value ?? '')?.[1];
  const last = String(pattern.match(/\((?!\?[:=!])/g)?.length);
  if (!group || !path || !word || (used !== group[1] && used !== last)) return undefined;
  return {
    at: node,
    message: `alias "${shown(path, path.value)}" also serves the directory above: $${used} can begin with "../"`,
    hint: 'put a slash before the group: "^/img/(.*)$"',
    related: [{ span: word.span, label: 'matches any text after the prefix' }],
  };
}

/** System directories, in which no site is stored directly. */
const SYSTEM = new Set(
  '/ /bin /boot /dev /etc /etc/nginx /etc/ssh /etc/ssl /home /lib /lib64 /proc /root /run /sbin /sys /usr /usr/local /var /var/lib /var/log /var/run'.split(
    ' ',
  ),
);
/** System directories of which all subdirectories belong to the system, too. */
const BELOW = /^\/(?:boot|etc\/(?:ssh|ssl)|proc|root\/\.ssh|sys)\//;

const rootExposure: Rule = {
  id: 'GW302',
  slug: 'root-exposure',
  severity: 'error',
  summary: 'a system directory is served',
  why: 'Clients can read all files that the gateway can read: configuration, keys, password hashes, logs.',
  fix: 'Name a directory that contains only the site.',
  bad: { text: 'root /;' },
  good: { text: 'root /srv/www;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const { patterns } = analysisOf(config);
    for (const use of config.uses('root', 'alias')) {
      const path = servedBy(use, patterns);
      if (path === undefined || !(SYSTEM.has(path) || BELOW.test(`${path}/`))) continue;
      const [word] = use.node.args;
      const what = path === '/' ? 'the whole file system' : `the system directory "${path}"`;
      yield {
        at: use.node,
        message: `"${use.node.name.value} ${shown(word, word?.value ?? '')}" serves ${what}`,
      };
    }
  },
};

/** The directory that a location serves; `undefined` if it is not known, or if it is a single file. */
function servedBy({ node, block }: Use, patterns: Patterns): string | undefined {
  const value = node.args[0]?.value;
  if (!value?.startsWith('/') || value.includes('$')) return undefined;
  const match = matchOf(block);
  if (node.name.value === 'alias') return match?.kind === 'prefix' ? withoutSlash(value) : undefined;
  if (match?.kind === 'exact') return undefined;
  return withoutSlash(value + pathTo(block, patterns));
}

/** The common beginning of the paths of all requests to a block. */
function pathTo(block: BlockView, patterns: Patterns): string {
  const match = matchOf(block);
  if (match?.kind === 'prefix') return match.path;
  const start = match?.kind === 'regex' ? patterns.read(match.regex, match.caseless).start : '';
  return start !== '' || !block.outer ? start : pathTo(block.outer, patterns);
}

function withoutSlash(path: string): string {
  const normal = posix.normalize(path);
  return normal === '/' ? normal : normal.replace(/\/$/, '');
}

/** Files that tools leave next to those of a site: sources, passwords, keys. */
const LEFT_BEHIND = ['.git', '.svn', '.hg', '.env', '.htpasswd', '.aws', '.ssh', '.npmrc'] as const;

const dotfilesServed: Rule = {
  id: 'GW316',
  slug: 'dotfiles-served',
  severity: 'warning',
  summary: 'hidden files below a root can be downloaded',
  why: 'Bots request "/.git/config" and "/.env" on every address to find sources and passwords.',
  fix: 'Refuse them: "location ~ /\\\\.(?!well-known/) { return 404; }", and keep the repository out of the root.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 80;\n    root site;\n}',
    files: { 'site/.env': 'PASSWORD=1234' },
  },
  good: {
    in: 'http',
    text: 'server {\n    listen 80;\n    root site;\n    location ~ /\\.(?!well-known/) { return 404; }\n}',
    files: { 'site/.env': 'PASSWORD=1234' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('root')) {
      const { documentRoot } = configOf(block.level, 'core');
      const path = documentRoot && constantText(documentRoot.path);
      const server = serverOf(block);
      if (path === undefined || !server || !isWhole(block) || !config.isOpen(server)) continue;
      if (isProxied(block)) continue;
      const found = LEFT_BEHIND.filter(
        (name) => existsSync(join(path, name)) && !isRefused(server, `/${name}`),
      );
      if (found.length === 0) continue;
      yield {
        at: node,
        message: `${namesText(found)} below this root can be downloaded by anyone`,
        ...(block.context === 'server' && {
          fix: {
            title: 'refuse hidden files, except those of "/.well-known/"',
            safe: false,
            edits: [lineBehind(node, REFUSAL)],
          },
        }),
      };
    }
  },
};

const REFUSAL = 'location ~ /\\.(?!well-known/) { return 404; }';

/** True if the root itself is served, not only a folder below it. */
function isWhole(block: BlockView): boolean {
  const match = matchOf(block);
  return block.context === 'server' || (match?.kind === 'prefix' && match.path === '/');
}

/** True if all requests go to an upstream, so that no file is served. */
function isProxied(block: BlockView): boolean {
  return [block, ...block.inner].some(
    (one) => (one === block || isWhole(one)) && (targetOf(one) !== undefined || one.own('return').length > 0),
  );
}

/** True if a location matches the path and serves no file for it. */
function isRefused(block: BlockView, path: string): boolean {
  return block.inner.some((inner) => {
    if (!matches(matchOf(inner), path)) return false;
    const refuses = inner
      .own('return', 'deny')
      .some(({ args }) => /^(?:all|4\d\d)$/.test(args[0]?.value ?? ''));
    return refuses || configOf(inner.level, 'core').internal === true || isRefused(inner, path);
  });
}

/** Returns whether a location matches a path or a file below it, such as "/.git/config". */
function matches(match: LocationMatch | undefined, path: string): boolean {
  if (match?.kind === 'regex') {
    const regex = new RegExp(match.regex.source);
    return regex.test(path) || regex.test(`${path}/`) || regex.test(`${path}/config`);
  }
  return match?.kind === 'prefix' && match.path !== '/' && path.startsWith(match.path.replace(/\/$/, ''));
}

const tmpPathShared: Rule = {
  id: 'GW910',
  slug: 'tmp-path-shared',
  severity: 'warning',
  summary: 'request data is stored in a directory that all users share',
  why: 'Other users can see the files and occupy their names beforehand, and cleanup jobs delete files in use.',
  fix: 'Name a directory that only the user of the gateway can access.',
  bad: { text: 'client_body_temp_path /tmp;' },
  good: { text: 'client_body_temp_path /var/lib/gw/bodies;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('client_body_temp_path', 'proxy_temp_path')) {
      const path = node.args[0]?.value.replace(/(?<=.)\/+$/, '') ?? '';
      if (!/^\/(?:tmp|var\/tmp|dev\/shm)$/.test(path)) continue;
      yield { at: node, message: `"${node.name.value} ${path}" is a directory that all users share` };
    }
  },
};

/** Variables that clients can choose freely, whatever names the server has. */
const CHOSEN = /\$\{?(host|http_\w+|arg_\w+|cookie_\w+)\b/i;

const logNameChosen: Rule = {
  id: 'GW912',
  slug: 'log-name-chosen',
  severity: 'warning',
  summary: 'an access log whose name clients can choose',
  why: 'The default server of an address gets requests with any "Host": a client that sends a thousand names creates a thousand files.',
  fix: 'Use "$server_name" in the name of the log, or a "map" that lists the names.',
  bad: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; access_log logs/$host.log; return 204; }',
  },
  good: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; access_log logs/$server_name.log; return 204; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const anyHost = new Set(socketsOf(config).flatMap(defaultOf));
    for (const { node, block } of config.uses('access_log')) {
      const [name] = node.args;
      const chosen = CHOSEN.exec(name?.value ?? '')?.[1]?.toLowerCase();
      const isLimited = node.args.some(({ value }) => value.startsWith('if='));
      if (!name || chosen === undefined || isLimited || name.value.startsWith('syslog:')) continue;
      if (chosen === 'host' && !loggedBy(config, { node, block }).some((server) => anyHost.has(server)))
        continue;
      yield { at: name.span, message: `clients can choose the name of this log by "$${chosen}"` };
    }
  },
};

/** The servers whose requests an `access_log` writes. */
function loggedBy(config: CheckedConfig, { node, block }: Use): readonly BlockView[] {
  const server = serverOf(block);
  if (server) return [server];
  return config.blocks('server').filter((each) => each.effective('access_log').includes(node));
}

/** The server that gets all hosts that no other server of the socket has. */
function defaultOf({ listeners }: ReturnType<typeof socketsOf>[number]): readonly BlockView[] {
  const taking = listeners.find(({ listen }) => listen.defaultServer) ?? listeners[0];
  return taking ? [taking.server] : [];
}

/** The rules about files: those that `root`, `alias` and `try_files` serve, temporary files of bodies, and logs. */
export const FILE_RULES: readonly Rule[] = [
  tryFilesProxy,
  aliasTraversal,
  rootExposure,
  dotfilesServed,
  tmpPathShared,
  logNameChosen,
];
