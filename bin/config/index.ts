import { isIP } from 'node:net';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { collect, type Finish } from '../command-definition.ts';
import type { ImportOptions } from '../import/index.ts';
import type { BuildCommandOptions, JsonOptions, ParseCommandOptions } from './crossplane.ts';
import type { FmtOptions } from './fmt.ts';
import type { RestOptions } from '../load-config.ts';
import type { ApiOptions, DumpOptions, ExplainOptions, ListOptions } from './show.ts';
import type { TypesOptions } from './types.ts';

const MOST_BLANKS = 16;

function blanks(value: string): number {
  if (!/^\d{1,2}$/.test(value) || Number(value) > MOST_BLANKS)
    throw new InvalidArgumentError(`expected 0 to ${MOST_BLANKS}.`);
  return Number(value);
}

/** Adds the commands for the text of configurations. */
export function addConfigTools(gw: Command, finish: Finish): void {
  gw.command('fmt [files...]')
    .description('format configurations; without a file, standard input')
    .option('-w, --write', 'write the files in place')
    .option('-d, --diff', 'show what would change')
    .option('--check', 'name the files that are not formatted')
    .option('-i, --indent <blanks>', 'number of blanks of one level', blanks, 4)
    .option('--tabs', 'indent by tabs')
    .action(async (files: string[], options: FmtOptions) => {
      finish((await import('./fmt.ts')).fmt(files, options));
    });
  addParse(gw, finish);
  addBuild(gw, finish);
  addLexing(gw, finish);
  addLookups(gw, finish);
}

/** Adds the commands of crossplane, with its options and JSON. */
function addParse(gw: Command, finish: Finish): void {
  gw.command('parse <file>')
    .description("print a configuration as crossplane's JSON")
    .option('-o, --out <file>', 'write to this file')
    .option('-i, --indent <blanks>', 'indent the JSON', blanks)
    .option('--ignore <directives>', 'leave these out, separated by commas')
    .option('--no-catch', 'stop at the first fault')
    .option('--tb-onerror', 'add hints to the faults')
    .option('--combine', 'put everything into one file')
    .option('--single-file', 'do not read included files')
    .option('--include-comments', 'keep comments')
    .option('--strict', 'report everything that a start would refuse')
    .action(async (file: string, options: ParseCommandOptions) => {
      finish((await import('./crossplane.ts')).parse(file, options));
    });
}

function addBuild(gw: Command, finish: Finish): void {
  gw.command('build <file>')
    .description("write the files of crossplane's JSON")
    .option('-v, --verbose', 'name the files')
    .option('-d, --dir <directory>', 'where relative names start from')
    .option('-f, --force', 'replace files')
    .option('-i, --indent <blanks>', 'number of blanks of one level', blanks, 4)
    .option('-t, --tabs', 'indent by tabs')
    .option('--no-headers', 'leave out the first line, which says where the files come from')
    .option('--stdout', 'print to standard output')
    .action(async (file: string, options: BuildCommandOptions) => {
      finish((await import('./crossplane.ts')).build(file, options));
    });
}

function addLexing(gw: Command, finish: Finish): void {
  gw.command('lex <file>')
    .description('print the words and marks of a file as JSON')
    .option('-o, --out <file>', 'write to this file')
    .option('-i, --indent <blanks>', 'indent the JSON', blanks)
    .option('-n, --line-numbers', 'add the numbers of their lines')
    .action(async (file: string, options: JsonOptions & { lineNumbers?: boolean }) => {
      finish((await import('./crossplane.ts')).lex(file, options));
    });
  gw.command('minify <file>')
    .description('print the shortest text of the same meaning')
    .option('-o, --out <file>', 'write to this file')
    .action(async (file: string, options: JsonOptions) => {
      finish((await import('./crossplane.ts')).minify(file, options));
    });
}

/** Adds the lists of modules, directives and variables. */
function addLookups(gw: Command, finish: Finish): void {
  for (const what of ['modules', 'directives', 'variables'] as const) {
    gw.command(`list-${what}`)
      .description(`list all ${what}`)
      .option('--json', 'as JSON, with all that is known of them')
      .option('-m, --module <name>', 'list those of one module')
      .action(async (options: ListOptions) => {
        finish((await import('./show.ts')).list(what, options));
      });
  }
}

/** Adds `gw explain`. */
export function addExplaining(gw: Command, finish: Finish): void {
  ofConfig(gw.command('explain <method> <url>'))
    .description('explain what would happen to a request: server, location, rewrites, access, response')
    .option('-H, --header <line>', 'a header of the request; may be repeated', collect)
    .option('--from <address>', 'address of the client', address, '127.0.0.1')
    .option('-d, --data <text>', 'body of the request')
    .option('--live', 'open databases to read their schemas')
    .option('--json', 'as JSON')
    .action(async (method: string, url: string, options: ExplainOptions) => {
      finish(await (await import('./show.ts')).explain(method, url, options));
    });
}

function address(value: string): string {
  if (isIP(value) === 0) throw new InvalidArgumentError('expected an IP address.');
  return value;
}

/** Adds `gw dump`. */
export function addDumps(gw: Command, finish: Finish): void {
  const dump = gw.command('dump').description('print what gw makes of a configuration, secrets masked');
  ofConfig(dump.command('config'))
    .description('the configuration as one text, with what is included in its place')
    .option('--json', 'as JSON: the directives of each block, inherited ones included')
    .action(async (options: DumpOptions) => {
      finish((await import('./show.ts')).dumpConfig(options));
    });
  ofConfig(dump.command('routes'))
    .description('servers and locations, what serves each of them, and where that is written')
    .option('--json', 'as JSON, for programs')
    .action(async (options: DumpOptions) => {
      finish((await import('./show.ts')).dumpRoutes(options));
    });
  addRestDumps(dump, finish);
  addImport(gw, finish);
}

/** Adds the dumps that connect to a database. */
function addRestDumps(dump: Command, finish: Finish): void {
  ofRest(dump.command('schema'))
    .description('what a dbrest location knows of its database, as JSON; connects to it')
    .option('--json', 'accepted: the output is always JSON')
    .action(async (options: RestOptions) => {
      finish(await (await import('./show.ts')).printSchema(options));
    });
  ofRest(dump.command('openapi'))
    .description('the OpenAPI document of a dbrest location as a role sees it; connects to its database')
    .option('--role <name>', 'as this role sees it (default: the anonymous one)')
    .option('--schema <name>', 'of this schema (default: the first that is served)')
    .option('--json', 'accepted: the output is always JSON')
    .action(async (options: ApiOptions) => {
      finish(await (await import('./show.ts')).printApi(options));
    });
}

function addImport(gw: Command, finish: Finish): void {
  gw.command('import <file>')
    .description(
      'print a gateway.conf that does what a configuration of PostgREST, Webdis or nginz does; "-": standard input',
    )
    .addOption(
      new Option('--from <program>', 'the program that it is for (default: told by its content)').choices([
        'postgrest',
        'webdis',
        'nginz',
      ]),
    )
    .option('--inline-secrets', 'leave secrets where they are instead of taking them from the environment')
    .action(async (file: string, options: ImportOptions) => {
      finish((await import('../import/index.ts')).importConfig(file, options));
    });
}

/** Adds `gw types`. */
export function addTypes(gw: Command, finish: Finish): void {
  const command = gw
    .command('types [dsn]')
    .description(
      'print the TypeScript types of schemas for supabase-js: of a database, of a dbrest location or of a running gateway',
    );
  ofRest(command)
    .option('--url <url>', 'a location of a running gateway, such as http://127.0.0.1:8080/rest/v1/')
    .option(
      '--token <jwt>',
      'for --url: as its role sees them; other users of this machine may see the token',
    )
    .option('--token-file <file>', 'read it from this file, "-" for standard input (default: $GW_TOKEN)')
    .option(
      '--schema <name>',
      'a schema; may be repeated (default: those of the location, else public)',
      collect,
    )
    .option('--role <name>', 'only what this role of the database may use (default: everything)')
    .option('-o, --output <file>', 'write to this file, if something has changed')
    .option('--check', 'write nothing; the exit code tells whether the file is up to date')
    .option('--watch', 'write again whenever the schema changes')
    .option(
      '--interval <time>',
      'how often --watch reads without a notification (default: 5s for a gateway, 1m for a database)',
      interval,
    )
    .action(async (dsn: string | undefined, options: TypesOptions) => {
      finish(await (await import('./types.ts')).types(dsn, options));
    });
}

function interval(value: string): number {
  const [, number, unit] = /^(\d{1,6})(ms|s|m)$/.exec(value) ?? [];
  const ms = Number(number) * { ms: 1, s: 1_000, m: 60_000 }[unit as 'ms' | 's' | 'm'];
  if (!(ms >= 100 && ms <= 86_400_000)) throw new InvalidArgumentError('expected a time such as 5s.');
  return ms;
}

function ofRest(command: Command): Command {
  return ofConfig(command).option('--location <path>', 'the location, where several serve a database');
}

function ofConfig(command: Command): Command {
  return command
    .option('-c, --config <file>', 'the configuration (default: as a start finds it)')
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .addOption(
      new Option('--compat <how>', 'leave out the directives of modules that gw does not have').choices([
        'ignore',
        'skip',
      ]),
    );
}
