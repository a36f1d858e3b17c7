/** nginx's command line options. */
export interface Options {
  readonly help?: true;
  readonly version?: 'short' | 'long';
  /** `-t`, or `-T` with the dump. */
  readonly test?: 'check' | 'dump';
  /** `--tree`: test, and print where requests go. */
  readonly tree?: true;
  /** `--strict`: a test fails at warnings, those of the rules of `gw check` too. */
  readonly strict?: true;
  readonly quiet?: true;
  readonly signal?: Signal;
  readonly confFile?: string;
  readonly prefix?: string;
  readonly globals?: string;
  readonly errorLog?: string;
}

/** What `-s` can send. */
export type Signal = 'stop' | 'quit' | 'reopen' | 'reload';

const SIGNALS: readonly string[] = ['stop', 'quit', 'reopen', 'reload'];

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

/** Options that nginx does not have, spelled out. */
const LONG: Readonly<Record<string, Options>> = {
  '--help': { help: true },
  '--version': { version: 'short' },
  '--tree': { test: 'check', tree: true },
  '--strict': { test: 'check', strict: true },
};

/** Options with a value: the rest of the word, or the next word. What nginx says when there is none. */
const VALUES: Readonly<Record<string, readonly [field: keyof Options, missing: string]>> = {
  c: ['confFile', 'file name'],
  p: ['prefix', 'directory name'],
  g: ['globals', 'parameter'],
  e: ['errorLog', 'file name'],
  s: ['signal', 'parameter'],
};

/** Reads options as nginx does, short flags joined at will (`-tq`, `-cfile`). Gives a message when they are wrong. */
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
  return options;
}

/** The text of `-h`. */
export function usage(version: string): string {
  return `gw version: gw/${version}
Usage: gw [-?hvVtTq] [-s signal] [-p prefix] [-e filename] [-c filename] [-g directives]
       gw COMMAND [...]

Options:
  -?,-h         : this help
  -v            : show version and exit
  -V            : show version and what it runs on, then exit
  -t            : test configuration and exit
  -T            : test configuration, dump it and exit (secrets are masked)
  --tree        : test configuration, print its servers and locations in the order of matching, and exit
  --strict      : test configuration with all rules of gw check, fail at warnings, and exit
  -q            : suppress non-error messages during configuration testing
  -s signal     : send signal to the running gateway: stop, quit, reopen, reload
  -p prefix     : set prefix path (default: the current directory)
  -e filename   : set error log file (default: stderr)
  -c filename   : set configuration file (default: gateway.conf, conf/gateway.conf,
                  /etc/gw/gateway.conf, /etc/nginx/nginx.conf)
  -g directives : set global directives out of configuration file

Commands:
  check [FILE]  : report everything that is wrong with a configuration
  fmt [FILE]    : format configurations
  why NAME      : explain a rule of check, a directive or a variable
  explain METHOD URL: tell what would become of a request
  parse, build, lex, minify: crossplane's commands, with its JSON
  list-modules, list-directives, list-variables: what gw has
  demo          : run the demo with embedded PostgreSQL and key-value store
  live, ready   : ask the running gateway whether it lives, or is ready
  status        : show what the running gateway does
  flag          : list, set and unset feature flags of the running gateway
  events        : watch and publish events of the running gateway
  reference     : print the directive reference
  help          : show all commands
`;
}
