import { Command, CommanderError } from 'commander';
import { addChecking } from './check/index.ts';
import { type Finish, spelledOut } from './command-definition.ts';
import { addConfigTools, addDumps, addExplaining, addTypes } from './config/index.ts';
import { addCertificates } from './certificates/index.ts';
import { addCredentials, addDatabase } from './credentials/index.ts';
import type { EnvironOptions } from './environ.ts';
import { DEMO_DATA } from './options.ts';
import { addRunning } from './running/index.ts';
import { addShell } from './shell/index.ts';

/** Adds the command for editors. */
function addEditing(gw: Command): void {
  gw.command('lsp')
    .description('serve editors: the language server protocol on standard input and output')
    .option('--stdio', 'accepted because some editors pass it; gw lsp uses standard input and output anyway')
    .action(async () => {
      await (await import('../src/tools/lsp/index.ts')).serveLanguage();
    });
}

/** Adds the commands about the installation. */
function addInstallation(gw: Command, finish: Finish): void {
  gw.command('environ')
    .description('show versions, and the environment variables that gw reads; secrets are masked')
    .option('-c, --config <file>', 'also show the variables that this configuration reads')
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .option('--json', 'as JSON, for programs')
    .action(async (options: EnvironOptions) => {
      finish((await import('./environ.ts')).environ(options));
    });
  gw.command('example [name]')
    .description('print a configuration to start from; without a name, list them')
    .option('--json', 'the list as JSON')
    .action(async (name: string | undefined, options: { json?: boolean }) => {
      finish((await import('./examples.ts')).example(name, options));
    });
}

/** The functions that write help and the faults of a command line. */
export interface HelpOutput {
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}

/** Runs a command by name. Returns the exit code: 2 for a wrong command line. */
export async function runCommand(args: readonly string[], output?: HelpOutput): Promise<number> {
  let exitCode = 0;
  const finish = (code: number): void => {
    exitCode = code;
  };
  try {
    await program(finish, output).parseAsync(spelledOut(args), { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    const { failureText } = await import('./terminal.ts');
    process.stderr.write(`gw: ${failureText(error)}\n`);
    return 1;
  }
}

/** Returns all commands with their summaries. */
export function commandList(): readonly { readonly name: string; readonly summary: string }[] {
  return program(() => undefined).commands.map((command) => ({
    name: command.name(),
    summary: command.description(),
  }));
}

/** Rewrites commander's messages in the form of configuration faults. */
function inOurWords(text: string): string {
  return text
    .replace(/^error: /, 'gw: ')
    .replaceAll("'", '"')
    .replace(/\(Did you mean (.*)\?\)/, '  did you mean "$1"?')
    .replace(
      / (.*) argument (".*") is invalid\. Allowed choices are (.*)\.$/m,
      ' invalid value $2 of $1\n  expected $3',
    )
    .replace(/ (.*) argument (".*") is invalid\. (.*)\.$/m, ' invalid value $2 of $1\n  $3')
    .replace(
      / command-argument value (".*") is invalid for (.*)\. Allowed choices are (.*)\.$/m,
      ' invalid value $1 of $2\n  expected $3',
    )
    .replace(/\. (Expected .* but got .*)\.$/m, (_, rest: string) => `\n  ${rest.toLowerCase()}`);
}

function program(finish: (code: number) => void, output?: HelpOutput): Command {
  const gw = new Command('gw')
    .description("A config-driven HTTP gateway. nginx's own options work too: see gw -h.")
    .exitOverride()
    .helpCommand(false)
    .showSuggestionAfterError()
    .configureOutput({ ...output, outputError: (text, write) => write(inOurWords(text)) });
  addChecking(gw, finish);
  gw.command('demo')
    .description('run the demo: gateway, embedded PostgreSQL and embedded key-value store')
    .option('--port <number>', 'port to listen on', '8080')
    .option('--data <directory>', 'directory for its data', DEMO_DATA)
    .action(async (options: { port: string; data: string }) => {
      finish(await (await import('./demo.ts')).demo(options));
    });
  addConfigTools(gw, finish);
  addExplaining(gw, finish);
  addRunning(gw, finish);
  addEditing(gw);
  addCredentials(gw, finish);
  addCertificates(gw, finish);
  addDumps(gw, finish);
  addTypes(gw, finish);
  addDatabase(gw, finish);
  addInstallation(gw, finish);
  addShell(gw, finish);
  addOwnFacts(gw);
  return gw;
}

/** What gw says about itself. */
function addOwnFacts(gw: Command): void {
  gw.command('reference')
    .description('print the directive reference as Markdown')
    .action(async () => {
      const { reference } = await import('../src/tools/lookups.ts');
      process.stdout.write(reference());
    });
  gw.command('version')
    .description('print the version')
    .option('--json', 'also what gw was built from, how it was installed and what it runs on')
    .action(async (options: { json?: boolean }) => (await import('./version.ts')).version(options));
  gw.command('help [command...]')
    .description('show the help of a command')
    .action((names: string[]) => showHelp(gw, names));
}

async function showHelp(command: Command, [name, ...rest]: readonly string[]): Promise<void> {
  if (name === undefined) return command.outputHelp();
  const inner = command.commands.find((each) => each.name() === name);
  if (inner) return showHelp(inner, rest);
  // Commander reports an unknown command and suggests a near one.
  if (command.commands.length > 0) await command.parseAsync([name], { from: 'user' });
  command.error(`error: unknown command '${name}'`);
}
