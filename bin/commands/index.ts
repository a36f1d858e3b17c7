import { Command, CommanderError } from 'commander';
import { VERSION } from '../../src/version.ts';
import type { ProbeOptions } from './probe.ts';
import type { StatusOptions } from './status.ts';

/** Runs a command by name. Gives the exit code: 2 for a command line that is wrong. */
export async function runCommand(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const finish = (code: number): void => {
    exitCode = code;
  };
  try {
    await program(finish).parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

/** Messages of the command line read like those of a configuration. */
function inOurWords(text: string): string {
  return text
    .replace(/^error: /, 'gw: ')
    .replaceAll("'", '"')
    .replace(/\(Did you mean (.*)\?\)/, '  did you mean "$1"?');
}

const ENDPOINTS = {
  live: 'ask the running gateway whether it lives',
  ready: 'ask the running gateway whether requests are welcome',
};

/** A command that talks to a running gateway. */
function running(command: Command): Command {
  return command
    .option('-c, --config <file>', 'its configuration, which says where it listens')
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .option('--address <url>', 'its control surface, such as http://127.0.0.1:9001/runtime/');
}

/** The commands that talk to a running gateway. */
function addRunning(gw: Command, finish: (code: number) => void): void {
  for (const endpoint of ['live', 'ready'] as const) {
    running(gw.command(endpoint))
      .description(ENDPOINTS[endpoint])
      .option('-q, --quiet', 'say nothing when all is well')
      .action(async (options: ProbeOptions) => {
        finish(await (await import('./probe.ts')).probe(endpoint, options));
      });
  }
  running(gw.command('status'))
    .description('show what the running gateway does')
    .option('--json', 'as JSON, for programs')
    .option('--watch', 'again every two seconds')
    .action(async (options: StatusOptions) => {
      finish(await (await import('./status.ts')).status(options));
    });
}

function program(finish: (code: number) => void): Command {
  const gw = new Command('gw')
    .description("A config-driven HTTP gateway. nginx's own options work too: see gw -h.")
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(inOurWords(text)) });
  gw.command('check [files...]')
    .description('report everything that is wrong with a configuration')
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .action(async (files: string[], { prefix }: { prefix?: string }) => {
      finish((await import('./check.ts')).check(files, prefix));
    });
  gw.command('demo')
    .description('run the demo: gateway, embedded PostgreSQL and embedded key-value store')
    .option('--port <number>', 'port to listen on', '8080')
    .option('--data <directory>', 'where its data is kept', '.gw')
    .action(async (options: { port: string; data: string }) => {
      finish(await (await import('./demo.ts')).demo(options));
    });
  addRunning(gw, finish);
  gw.command('reference')
    .description('print the directive reference as Markdown')
    .action(async () => {
      const { reference } = await import('../../src/pipeline.ts');
      process.stdout.write(reference());
    });
  gw.command('version')
    .description('print the version')
    .action(() => void process.stdout.write(`gw/${VERSION}\n`));
  return gw;
}
