import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { ConfigSource } from '../src/pipeline.ts';

/** nginx's command line options. */
export interface Options {
  readonly help?: true;
  readonly version?: 'short' | 'long';
  /** `-t`, or `-T` with the dump. */
  readonly test?: 'check' | 'dump';
  /** `--tree`: test, and print the tree of servers and locations. */
  readonly tree?: true;
  /** `--strict`: a test fails at warnings, including those of the rules of `gw check`. */
  readonly strict?: true;
  readonly quiet?: true;
  readonly signal?: Signal;
  /** `--wait`: with `-s reload`, wait until the new configuration serves or is refused. */
  readonly wait?: true;
  readonly confFile?: string;
  readonly prefix?: string;
  readonly globals?: string;
  readonly errorLog?: string;
  /** `--compat=skip`: unsupported directives are left out, and locations that depend on them are not served. */
  readonly compat?: 'skip';
}

/** The values of `-s`. */
export type Signal = 'stop' | 'quit' | 'reopen' | 'reload';

/** The values of `-s`. */
export const SIGNALS: readonly string[] = ['stop', 'quit', 'reopen', 'reload'];

/** Options without a value. */
const FLAGS: Readonly<Record<string, Options>> = {
  '?': { help: true },
  h: { help: true },
  v: { version: 'short' },
  V: { version: 'long' },
  t: { test: 'check' },
  T: { test: 'dump' },
  q: { quiet: true },
};

/** Long options, which nginx does not have. */
const LONG: Readonly<Record<string, Options>> = {
  '--help': { help: true },
  '--version': { version: 'short' },
  '--tree': { test: 'check', tree: true },
  '--strict': { test: 'check', strict: true },
  '--wait': { wait: true },
  '--compat=skip': { compat: 'skip' },
};

/** Options with a value, which is the rest of the word or the next word, and nginx's name for a missing value. */
const VALUES: Readonly<Record<string, readonly [field: keyof Options, missing: string]>> = {
  c: ['confFile', 'file name'],
  p: ['prefix', 'directory name'],
  g: ['globals', 'parameter'],
  e: ['errorLog', 'file name'],
  s: ['signal', 'parameter'],
};

/**
 * Reads options as nginx does, with joined short flags (`-tq`, `-cfile`). A string is the message about a wrong command
 * line.
 */
export function parseOptions(args: readonly string[]): Options | string {
  let options: Options = {};
  const words = [...args];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const long = LONG[word];
    if (long) options = { ...options, ...long };
    else if (!word.startsWith('-')) return `invalid option: "${word}"`;
    let rest = long ? '' : word.slice(1);
    while (rest !== '') {
      const letter = rest[0] as string;
      rest = rest.slice(1);
      const flag = FLAGS[letter];
      if (flag) {
        options = { ...options, ...flag };
        continue;
      }
      const taken = VALUES[letter];
      if (!taken) return `invalid option: "${letter}"`;
      const value = rest === '' ? words.shift() : rest;
      if (value === undefined) return `option "-${letter}" requires ${taken[1]}`;
      if (letter === 's' && !SIGNALS.includes(value)) return `invalid option: "-s ${value}"`;
      options = { ...options, [taken[0]]: value };
      rest = '';
    }
  }
  if (options.wait && options.signal !== 'reload') return 'option "--wait" needs "-s reload"';
  return options;
}

/** An option for `-h`, the manual and shell completion. */
interface OptionLine {
  readonly names: readonly string[];
  readonly value?: string;
  readonly summary: string;
}

/** The options of gw without a command. */
export const NGINX_OPTIONS: readonly OptionLine[] = [
  { names: ['-?', '-h'], summary: 'this help' },
  { names: ['-v'], summary: 'show version and exit' },
  { names: ['-V'], summary: 'show version and what it runs on, then exit' },
  { names: ['-t'], summary: 'test configuration and exit' },
  { names: ['-T'], summary: 'test configuration, dump it and exit (secrets are masked)' },
  {
    names: ['--tree'],
    summary: 'test configuration, print its servers and locations in the order of matching, and exit',
  },
  {
    names: ['--strict'],
    summary: 'test configuration with all rules of gw check, fail at warnings, and exit',
  },
  {
    names: ['--compat=skip'],
    summary: 'serve what can be served: 501 where a directive is not supported, instead of refusing the file',
  },
  { names: ['-q'], summary: 'suppress non-error messages during configuration testing' },
  {
    names: ['-s'],
    value: 'signal',
    summary: 'send signal to the running gateway: stop, quit, reopen, reload',
  },
  {
    names: ['--wait'],
    summary: 'with -s reload: wait until the new configuration serves; exit code 1 if it is refused',
  },
  { names: ['-p'], value: 'prefix', summary: 'set prefix path (default: the current directory)' },
  {
    names: ['-e'],
    value: 'filename',
    summary: 'set error log file (default: logs/error.log below the prefix if there is logs, else stderr)',
  },
  {
    names: ['-c'],
    value: 'filename',
    summary:
      'set configuration file, below the prefix or else the current directory (default: gateway.conf, conf/gateway.conf, /etc/gw/gateway.conf, /etc/nginx/nginx.conf)',
  },
  { names: ['-g'], value: 'directives', summary: 'set global directives out of configuration file' },
];

/** Returns the text of `-h`, with all commands. */
export function usage(
  version: string,
  commands: readonly { readonly name: string; readonly summary: string }[],
): string {
  const options = NGINX_OPTIONS.map(({ names, value, summary }) => {
    return [names.join(',') + (value === undefined ? '' : ` ${value}`), summary] as const;
  });
  return `gw version: gw/${version}
Usage: gw [-?hvVtTq] [-s signal] [-p prefix] [-e filename] [-c filename] [-g directives]
       gw COMMAND [...]

Options:
${lines(options)}
Commands (gw help COMMAND tells more):
${lines(commands.map(({ name, summary }) => [name, summary]))}`;
}

function lines(pairs: readonly (readonly [name: string, summary: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, summary]) => `  ${name.padEnd(width)} : ${summary}\n`).join('');
}

/** The options that say where the configuration is. */
type SourceOptions = {
  readonly [K in 'confFile' | 'prefix' | 'globals' | 'errorLog' | 'compat']?: Options[K] | undefined;
};

/**
 * Returns the source of the configuration, the same one for all commands: a relative file is below the prefix, as in nginx, or
 * below the current directory if the prefix has none.
 */
export function sourceOf({ confFile, prefix = '.', globals, errorLog, compat }: SourceOptions): ConfigSource {
  const directory = resolve(prefix);
  const name = confFile ?? defaultName(directory);
  const below = resolve(directory, name);
  const path = existsSync(below) || !existsSync(name) ? below : resolve(name);
  return { prefix: directory, confFile: path, name, globals, errorLog, compat };
}

/** The file of nginx, by which nginx itself may run on this machine. */
export const NGINX_CONF = '/etc/nginx/nginx.conf';
/** The default files. A service without options uses the last ones: gw's own, or that of the nginx it replaces. */
export const DEFAULT_NAMES = ['gateway.conf', 'conf/gateway.conf', '/etc/gw/gateway.conf', NGINX_CONF];

function defaultName(prefix: string): string {
  return DEFAULT_NAMES.find((name) => existsSync(resolve(prefix, name))) ?? 'gateway.conf';
}

/** The data directory of `gw demo` by default. */
export const DEMO_DATA = '.gw';

/** Tells whether a start in this directory takes a file of it. */
export function hasOwnConfig(prefix: string): boolean {
  return DEFAULT_NAMES.some((name) => !isAbsolute(name) && existsSync(resolve(prefix, name)));
}
