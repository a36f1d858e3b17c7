import { type Options, parseOptions, usage } from './options.ts';
import { VERSION } from '../src/version.ts';

/**
 * Runs nginx's command line if the first word is an option or missing, else a command. Returns the exit code. Each
 * command is imported when it is needed, so that `gw -v` does not wait for a parser or a driver.
 */
export async function main(args: readonly string[]): Promise<number> {
  if (args[0] !== undefined && !args[0].startsWith('-')) {
    const { runCommand } = await import('./commands.ts');
    endWithReader();
    return runCommand(args);
  }
  const options = parseOptions(args);
  // A gateway goes on without a reader.
  if (typeof options === 'string' || !runsGateway(options)) endWithReader();
  if (typeof options === 'string') return fail(options);
  if (options.help) say(usage(VERSION, (await import('./commands.ts')).commandList()));
  else if (options.version !== undefined) say(await versionText(options));
  if (runsGateway(options)) return (await import('./run.ts')).run(options);
  // As in nginx, `-v` together with `-t` still runs the test.
  if (options.test !== undefined) return (await import('./option-actions.ts')).test(options);
  if (options.help || options.version !== undefined) return 0;
  return (await import('./option-actions.ts')).sendSignal(options);
}

function runsGateway({ help, version, test, signal }: Options): boolean {
  return !help && version === undefined && test === undefined && signal === undefined;
}

async function versionText(options: Options): Promise<string> {
  const first = `gw version: gw/${VERSION}\n`;
  if (options.version === 'short') return first;
  const { otherVersions } = await import('./running-gateway.ts');
  const { chosenSource } = await import('./chosen-config.ts');
  return first + otherVersions(chosenSource(options)) + (await import('./version.ts')).buildFacts();
}

/** From now on, the process ends silently if the reader of the output has ended, as `head` does. */
function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit(0);
    });
  }
}

function say(text: string): void {
  process.stderr.write(text);
}

function fail(message: string): number {
  process.stderr.write(`gw: ${message}\n`);
  return 1;
}
