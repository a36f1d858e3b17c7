import type { Command } from 'commander';
import { collect, type Finish } from '../command-definition.ts';
import type { CheckCommandOptions } from './settings.ts';
import type { WhyOptions } from './why.ts';

/** Adds the commands that check configurations. */
export function addChecking(gw: Command, finish: Finish): void {
  const check = gw
    .command('check [files...]')
    .description(
      'report everything that is wrong with configurations: files, directories, dumps of -T, - for standard input',
    )
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .option(
      '-f, --format <format>',
      'human, concise, json, sarif, github, gitlab, junit; sarif:FILE writes to a file',
      collect,
    )
    .option('-o, --output <file>', 'write to this file')
    .option('--select <rules>', 'only these rules: ids, slugs, prefixes such as GW3', collect)
    .option('--ignore <rules>', 'all rules but these', collect)
    .option('--severity <least>', 'show findings of at least this severity: error, warning, info')
    .option(
      '--fail-on <least>',
      'exit with 1 for findings of at least this severity: error, warning, info, never (default: warning)',
    )
    .option('--strict', 'apply the rules that are off by default too, and fail at every finding')
    .option('--live', 'also ask the databases and stores that are configured')
    .option('--compat <how>', 'ignore, skip: leave out the directives of modules that gw does not have');
  addFixing(check);
  check.action(async (files: string[], options: CheckCommandOptions) => {
    finish(await (await import('./check.ts')).check(files, options));
  });
  addWhy(gw, finish);
}

function addWhy(gw: Command, finish: Finish): void {
  gw.command('why [name]')
    .description('explain a rule of check, a directive or a variable')
    .option('--list', 'all rules')
    .option('-f, --format <format>', 'json')
    .option('--json', 'as JSON')
    .action(async (name: string | undefined, options: WhyOptions) => {
      finish(await (await import('./why.ts')).why(name, options));
    });
}

function addFixing(check: Command): void {
  check
    .option('--context <blocks>', 'the blocks that the files are included in: http,server')
    .option('--stdin-filename <file>', 'the name of the file that standard input has')
    .option('--fix', 'mend what can be mended without changing a response')
    .option('--unsafe-fixes', 'also mend what changes responses')
    .option('--diff', 'show what would be mended; exit with 1 if anything')
    .option('--baseline <file>', 'leave out the findings of this file')
    .option(
      '--write-baseline [file]',
      'write the findings of today to this file (default: gw-baseline.json)',
    );
}
