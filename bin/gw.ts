#!/usr/bin/env node
import { parseOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { VERSION } from '../src/version.ts';

/**
 * nginx's command line where the first word is an option or missing, else a command of our own.
 * Each command is imported when it is asked for: `gw -v` must not wait for a parser or a driver.
 */
async function main(args: readonly string[]): Promise<number> {
  if (args[0] !== undefined && !args[0].startsWith('-')) {
    const { runCommand } = await import('./commands/index.ts');
    return runCommand(args);
  }
  const options = parseOptions(args);
  if (typeof options === 'string') return fail(options);
  if (options.help) return say(usage(VERSION));
  if (options.version !== undefined) return say(await versionText(options.version));
  return act(options);
}

async function act(options: Options): Promise<number> {
  if (options.test !== undefined) return (await import('./test.ts')).test(options);
  if (options.signal !== undefined) return (await import('./signal.ts')).sendSignal(options);
  return (await import('./run.ts')).run(options);
}

async function versionText(detail: 'short' | 'long'): Promise<string> {
  const first = `gw version: gw/${VERSION}\n`;
  return detail === 'short' ? first : first + (await import('./build-facts.ts')).buildFacts();
}

function say(text: string): number {
  process.stderr.write(text);
  return 0;
}

function fail(message: string): number {
  process.stderr.write(`gw: ${message}\n`);
  return 1;
}

process.exitCode = await main(process.argv.slice(2));
