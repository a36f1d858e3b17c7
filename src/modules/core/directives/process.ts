import { placeOf, type Word } from '../../../../grammar/index.ts';
import { type ArgReader, directivesFor, pathFrom, readers, type ReadScope } from '../../../config/index.ts';
import type {
  CoreConfig,
  EnvironmentVariable,
  ErrorLogTag,
  HttpEngine,
  UserConfig,
} from '../../../contract/index.ts';
import { type ErrorLogTarget, type Level, LEVELS, parseSyslog } from '../../../log/index.ts';
import { workerCount } from './readers.ts';

/** `user user [group]`. Their existence is checked when gw switches to them: `gw -t` may run on another machine. */
const user: ArgReader<UserConfig> = readers.words(
  { syntax: 'user [group]', min: 1, max: 2 },
  ([name, group]) => ({
    name: (name as Word).value,
    ...(group && { group: group.value }),
    place: placeOf((name as Word).span),
  }),
);

/** `env NAME[=value]`. */
const environmentVariable: ArgReader<EnvironmentVariable> = readers.oneWord(
  'NAME[=value]',
  ({ value: word, span }, { report }) => {
    const equals = word.indexOf('=');
    const name = equals < 0 ? word : word.slice(0, equals);
    if (name === '' || name.includes('\0')) {
      report.emerg(`invalid value "${word}"`, span, 'expected NAME or NAME=value');
      return undefined;
    }
    return equals < 0 ? { name } : { name, value: word.slice(equals + 1) };
  },
);

const ENGINES = ['auto', 'uws', 'node'] as const;

/** `http_engine auto|uws|node [tls]`. */
const httpEngine: ArgReader<HttpEngine> = readers.words(
  { syntax: 'auto [tls] | uws [tls] | node', min: 1, max: 2 },
  ([engine, tls], { report }) => {
    const word = engine as Word;
    const known = ENGINES.find((name) => name === word.value);
    if (known === undefined) {
      report.emerg(`invalid value "${word.value}"`, word.span, readers.expectedNames(word, ENGINES));
      return undefined;
    }
    if (tls && (tls.value !== 'tls' || known === 'node')) {
      const hint = known === 'node' ? 'the node engine serves TLS without it' : undefined;
      report.emerg(`invalid parameter "${tls.value}"`, tls.span, hint);
      return undefined;
    }
    return { engine: known, tls: tls !== undefined };
  },
);
const SYNTAX =
  'file | stderr | syslog:server=address[,parameter=value] [debug | info | notice | warn | error | crit | alert | emerg] [json | format=json]';
/** The parts of nginx that can be debugged individually. */
const DEBUG = /^debug_(core|alloc|mutex|event|http|mail|stream)$/;

/** How the commercial nginx and gw ask for lines of JSON. */
const JSON_WORDS: ReadonlySet<string> = new Set(['json', 'format=json']);

/** `error_log target [level] [json]`. */
const errorLog: ArgReader<ErrorLogTarget> = readers.words(
  { syntax: SYNTAX, min: 1, max: Infinity },
  ([target, ...words], scope) => {
    const isJson = words.length > 0 && JSON_WORDS.has((words.at(-1) as Word).value);
    const level = readLevel(isJson ? words.slice(0, -1) : words, scope);
    const place = readDestination(target as Word, scope);
    return place && level && { ...place, level, ...(isJson && { format: 'json' as const }) };
  },
);

const TAG_NAME = /^[\w.-]{1,64}$/;

/** `error_log_tag name value`. */
const errorLogTag: ArgReader<ErrorLogTag> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    if (TAG_NAME.test(name.value)) return { name: name.value, value: scope.complexValue(value) };
    const hint = 'expected at most 64 letters, digits, "_", "-" and "."';
    scope.report.emerg(`invalid tag name "${name.value}"`, name.span, hint);
    return undefined;
  },
);

function readLevel([first, ...more]: readonly Word[], { report }: ReadScope): Level | undefined {
  if (!first) return 'error';
  const isDebug = DEBUG.test(first.value);
  const level = isDebug ? 'debug' : LEVELS.find((name) => name === first.value);
  const wrong = more.find(({ value }) => !DEBUG.test(value));
  if (!level)
    report.emerg(`invalid log level "${first.value}"`, first.span, readers.expectedNames(first, LEVELS));
  else if (more.length > 0 && (!isDebug || wrong)) {
    const { value, span } = wrong ?? (more[0] as Word);
    report.emerg(`duplicate log level "${value}"`, span, { rule: 'duplicate-directive' });
    return undefined;
  }
  return level;
}

function readDestination({ value, span }: Word, { report }: ReadScope): LogDestination | undefined {
  if (value.startsWith('memory:')) {
    report.emerg('"error_log" cannot write to memory', span, 'log to a file or to stderr');
    return undefined;
  }
  if (!value.startsWith('syslog:')) return { path: value };
  const syslog = parseSyslog(value);
  if (typeof syslog !== 'string') return { syslog };
  report.emerg(syslog, span);
  return undefined;
}

type LogDestination = { path: string } | { syslog: Exclude<ReturnType<typeof parseSyslog>, string> };

const { flag, integer, oneOf, text, time } = readers;

/** Directives about the process: workers, files, stopping. */
export const processes = directivesFor<CoreConfig>()({
  daemon: {
    contexts: ['main'],
    args: flag,
    into: 'daemon',
    default: false,
    summary:
      'Runs in the background; gw stays in the foreground by default, unless it is started by a link called "nginx".',
    source: 'nginx ngx_core_module#daemon',
  },
  master_process: {
    contexts: ['main'],
    args: flag,
    into: 'masterProcess',
    default: true,
    summary:
      'Starts the supervisor, which restarts the process if it dies; off leaves that to systemd or a container.',
    source: 'nginx ngx_core_module#master_process',
  },
  compat: {
    contexts: ['main'],
    args: oneOf('refuse', 'skip'),
    into: 'compat',
    default: 'refuse',
    summary:
      'What happens to directives of nginx that gw does not support: they refuse the configuration, or what depends on them ' +
      'is not served (501) and the rest is. `--compat=skip` on the command line does the same.',
    source: 'gw',
  },
  ssl_object_cache_inheritable: {
    contexts: ['main'],
    args: flag,
    into: 'inheritsCertificates',
    default: false,
    summary:
      'Whether a reload takes certificates, keys and their kin from the load before, where their files have the same index and time of change in seconds. nginx does so by default.',
    source: 'nginx ngx_core_module#ssl_object_cache_inheritable',
  },
  user: {
    contexts: ['main'],
    args: user,
    into: 'user',
    defaultText: 'nobody',
    summary:
      'The user that gw switches to if it is started by root. Root opens what only root can open (ports, keys, logs); after that no thread has its rights any more. Without a group, the group of the same name is used, else the primary group of the user. `user root` keeps the rights of root. Without effect if gw is not started by root.',
    source: 'nginx ngx_core_module#user',
  },
  env: {
    contexts: ['main'],
    args: environmentVariable,
    into: 'environment',
    repeat: 'append',
    summary:
      'Sets an environment variable for gw and the programs that it starts. Unlike nginx, gw removes none: `env NAME` has no effect. Changes take effect after a restart.',
    source: 'nginx ngx_core_module#env',
  },
  worker_processes: {
    contexts: ['main'],
    args: workerCount,
    into: 'workerProcesses',
    default: 1,
    summary: 'Number of worker threads; auto starts one per available core.',
    source: 'nginx ngx_core_module#worker_processes',
  },
  worker_connections: {
    contexts: ['events'],
    args: integer({ min: 1 }),
    into: 'workerConnections',
    defaultText: 'as many as open files allow',
    summary:
      'Maximum number of client connections of a worker; connections to upstreams do not count. At the limit, the node engine closes idle connections, and uWebSockets.js refuses new ones. All clients together get at most half of the files that the process may open, so that some are left for upstreams and files.',
    source: 'nginx ngx_core_module#worker_connections',
  },
  worker_rlimit_nofile: {
    contexts: ['main'],
    args: integer({ min: 1 }),
    into: 'openFiles',
    summary:
      'The least number of files, connections included, that the process may open. Started by root, gw raises the limit by the program prlimit; otherwise, and where that fails, a start warns: set it for the process (LimitNOFILE= of systemd, ulimit -n). It is never lowered, and changes take effect after a restart.',
    source: 'nginx ngx_core_module#worker_rlimit_nofile',
  },
  http_engine: {
    contexts: ['main'],
    args: httpEngine,
    into: 'httpEngine',
    defaultText: 'auto',
    summary:
      'The engine of ports without `engine=`: uws is uWebSockets.js; node accepts HTTP/1.0, bare line feeds, absolute targets and pipelined requests as nginx does; auto is uws if it can be loaded. Ports with TLS use it only with `tls`, and as far as it can serve them; HTTP/2 and the PROXY protocol always use node. Where it is not set, a start says which ports lose bytes of headers with uws.',
    source: 'gw',
  },
  worker_shutdown_timeout: {
    contexts: ['main'],
    args: time,
    into: 'shutdownTimeoutMs',
    default: 30_000,
    defaultText: '30s',
    summary: 'Timeout for the graceful stop of a worker; connections that are still open are closed then.',
    source: 'nginx ngx_core_module#worker_shutdown_timeout',
  },
  shutdown_delay: {
    contexts: ['main'],
    args: time,
    into: 'shutdownDelayMs',
    default: 0,
    defaultText: '0s',
    summary:
      'How long the gateway goes on serving in a graceful stop while the readiness probe already responds with 503.',
    source: 'gw',
  },
  pid: {
    contexts: ['main'],
    args: text,
    into: 'pidFile',
    default: 'gw.pid',
    summary: 'File for the process id of the process that takes signals, relative to the prefix.',
    roles: pathFrom('prefix'),
    source: 'nginx ngx_core_module#pid',
  },
  error_log: {
    contexts: ['main', 'http', 'server', 'location'],
    args: errorLog,
    into: 'errorLogs',
    repeat: 'append',
    defaultText: 'logs/error.log error where that directory exists, else stderr',
    summary: 'Where errors are logged, and from which level on; with "json" each line is an object of JSON.',
    roles: pathFrom('prefix'),
    source: 'nginx ngx_core_module#error_log',
  },
  error_log_tag: {
    contexts: ['http', 'server', 'location'],
    args: errorLogTag,
    into: 'errorLogTags',
    repeat: 'append',
    summary:
      'A name and a value that are added to the lines of the error log about a request: at the end of a line of text, as a member in JSON. At most 16; a level that has some of its own inherits none. Secrets in variables are masked.',
    source: 'nginx ngx_core_module#error_log_tag',
  },
});
