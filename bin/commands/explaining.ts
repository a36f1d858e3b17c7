import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { isIP } from 'node:net';
import type { ExplainOptions } from './explain.ts';

/** The command that tells what would become of a request. */
export function addExplaining(gw: Command, finish: (code: number) => void): void {
  gw.command('explain <method> <url>')
    .description('tell what would become of a request: server, location, rewrites, access, answer')
    .option('-c, --config <file>', 'configuration file')
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .option('-H, --header <line>', 'a header of the request; may be repeated', collect)
    .option('--from <address>', 'address of the client', address, '127.0.0.1')
    .option('-d, --data <text>', 'body of the request')
    .option('--live', 'open databases to read their schemas')
    .option('--json', 'as JSON')
    .action(async (method: string, url: string, options: ExplainOptions) => {
      finish(await (await import('./explain.ts')).explain(method, url, options));
    });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function address(value: string): string {
  if (isIP(value) === 0) throw new InvalidArgumentError('expected an IP address.');
  return value;
}
