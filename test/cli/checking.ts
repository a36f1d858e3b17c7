import { spawnSync } from 'node:child_process';
import { GW } from '../harness/gateway.ts';
import type { Said } from './command.ts';
import { firstAsProgram } from './in-process.ts';

/** A location that has a fault, with a fix that is not safe. */
export const ALIAS = 'location /img { alias /srv/img/; }';
/** A whole configuration around the content of a server. */
export const whole = (server: string): string =>
  `events {}\nhttp {\n    server {\n        listen 127.0.0.1:8080;\n        ${server}\n    }\n}\n`;

/**
 * Runs `gw check` in a directory, in an environment without variables of continuous integration: the first time as a
 * program.
 */
export function checks(): (dir: string, args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Said> {
  const run = firstAsProgram();
  return (dir, args, env = {}) => run(dir, ['check', ...args], { GITHUB_ACTIONS: '', ...env });
}

/** Runs `gw check` with a text on standard input. */
export function checkText(
  dir: string,
  text: string,
  args: readonly string[],
): { code: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, [GW, 'check', ...args], {
    cwd: dir,
    input: text,
    encoding: 'utf8',
    env: { ...process.env, GITHUB_ACTIONS: '' },
  });
  return { code: status, stdout };
}
