import { Argument, type Command } from 'commander';
import type { Finish } from '../command-definition.ts';
import type { ManpageOptions } from './manual.ts';

/** Adds the commands that generate shell completion and manual pages from the commands themselves. */
export function addShell(gw: Command, finish: Finish): void {
  gw.command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .description('print the script with which a shell completes command lines')
    .action(async (shell: string) => {
      finish(await (await import('./completion.ts')).completion(shell, gw));
    });
  gw.command('manpage [name]')
    .description('print a page of the manual, such as gw-check or gw.conf (default: gw)')
    .option('-o, --out <directory>', 'write all pages to this directory')
    .option('--json', 'instead of a page, all commands with their options, as JSON')
    .action(async (name: string | undefined, options: ManpageOptions) => {
      finish((await import('./manual.ts')).manpage(name, options, gw));
    });
}
