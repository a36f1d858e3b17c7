import type { Command } from 'commander';
import type { EnvironOptions } from './environ.ts';

type Finish = (code: number) => void;

/** The commands that show what is installed here. */
export function addInstallation(gw: Command, finish: Finish): void {
  gw.command('environ')
    .description('show versions, and what is read of the environment; secrets are masked')
    .option('-c, --config <file>', 'with what this configuration reads of it')
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .option('--json', 'as JSON, for programs')
    .action(async (options: EnvironOptions) => {
      finish((await import('./environ.ts')).environ(options));
    });
  gw.command('example [name]')
    .description('print a configuration to start from; without a name, list them')
    .option('--json', 'the list as JSON')
    .action(async (name: string | undefined, options: { json?: boolean }) => {
      finish((await import('./example.ts')).example(name, options));
    });
}
