import { Option } from 'commander';
import type { Command } from 'commander';
import type { DumpOptions } from './dump.ts';
import type { ImportOptions } from './import.ts';
import type { ApiOptions, RestOptions } from './dump-rest.ts';

type Finish = (code: number) => void;

/** The commands that print what gw makes of a configuration. */
export function addDumps(gw: Command, finish: Finish): void {
  const dump = gw.command('dump').description('print what gw makes of a configuration, secrets masked');
  ofConfig(dump.command('config'))
    .description('the configuration as one text, with what is included in its place')
    .option('--json', 'what holds in each block, inheritance done')
    .action(async (options: DumpOptions) => {
      finish((await import('./dump.ts')).dumpConfig(options));
    });
  ofConfig(dump.command('routes'))
    .description('servers and locations, what answers each, and where that is written')
    .option('--json', 'as JSON, for programs')
    .action(async (options: DumpOptions) => {
      finish((await import('./dump.ts')).dumpRoutes(options));
    });
  addRestDumps(dump, finish);
  addImport(gw, finish);
}

/** Those that ask a database. */
function addRestDumps(dump: Command, finish: Finish): void {
  ofRest(dump.command('schema'))
    .description('what a dbrest location knows of its database, as JSON; connects to it')
    .option('--json', 'as always')
    .action(async (options: RestOptions) => {
      finish(await (await import('./dump-rest.ts')).printSchema(options));
    });
  ofRest(dump.command('openapi'))
    .description('the OpenAPI document of a dbrest location as a role sees it; connects to its database')
    .option('--role <name>', 'as this role (default: the anonymous one)')
    .option('--schema <name>', 'of this schema (default: the first that is served)')
    .option('--json', 'as always')
    .action(async (options: ApiOptions) => {
      finish(await (await import('./dump-rest.ts')).printApi(options));
    });
}

function addImport(gw: Command, finish: Finish): void {
  gw.command('import <file>')
    .description(
      'print a gateway.conf that does what a configuration of PostgREST or Webdis does; "-": standard input',
    )
    .addOption(
      new Option('--from <program>', 'whose it is (default: by its content)').choices([
        'postgrest',
        'webdis',
      ]),
    )
    .option('--inline-secrets', 'leave secrets where they are instead of taking them from the environment')
    .action(async (file: string, options: ImportOptions) => {
      finish((await import('./import.ts')).importConfig(file, options));
    });
}

function ofRest(command: Command): Command {
  return ofConfig(command).option('--location <path>', 'the location, where several serve a database');
}

function ofConfig(command: Command): Command {
  return command
    .option('-c, --config <file>', 'the configuration (default: as a start finds it)')
    .option('-p, --prefix <directory>', 'directory that relative paths start from');
}
