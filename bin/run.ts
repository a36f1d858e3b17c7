import { readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { commandName, runMaster, supervise } from '../src/master/index.ts';
import type { ConfigSource } from '../src/pipeline.ts';
import { adviceWithout, tellChoice } from './chosen-config.ts';
import { type Options, sourceOf } from './options.ts';

/**
 * Runs the gateway: under the supervisor, in this process (`master_process off`), or in the background (`daemon on`,
 * the default of a program that is called `nginx`).
 */
export async function run(options: Options): Promise<number> {
  const source = sourceOf(options);
  const wanted = processModeOf(source);
  if (wanted.daemon && process.env['GW_DAEMON'] === undefined) return detach();
  if (!wanted.daemon) tellChoice(source, options.confFile);
  const advice = adviceWithout(source, options.confFile);
  const events = { onReady: tellStarter };
  const code = await (wanted.alone ? runMaster(source, events) : supervise([JSON.stringify(source)], events));
  process.stderr.write(advice);
  return code;
}

interface ProcessMode {
  readonly daemon: boolean;
  readonly alone: boolean;
}

/**
 * Finds `daemon` and `master_process`, which decide the process that reads the configuration. They are searched for in
 * the text of the main file and in `-g`, not in included files, so that the supervisor stays small without the parser.
 */
function processModeOf({ confFile, globals = '' }: ConfigSource): ProcessMode {
  const text = `${readText(confFile)}\n;${globals}`;
  // Units and init scripts that start a program called nginx wait until it is in the background, as nginx is by default.
  const isNginx = commandName(process.argv[1] ?? '') === 'nginx';
  const daemon = isNginx ? !isSet(text, 'daemon', 'off') : isSet(text, 'daemon', 'on');
  return { daemon, alone: isSet(text, 'master_process', 'off') };
}

function isSet(text: string, directive: string, value: string): boolean {
  return new RegExp(`(^|[;}])\\s*${directive}\\s+${value}\\s*;`, 'mi').test(text);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The load reports the fault.
    return '';
  }
}

/** Starts this command in a new session, and waits until it serves or fails. */
function detach(): Promise<number> {
  // A pipe of the caller must not stay open while the gateway runs; a terminal may.
  const stderr = process.stderr.isTTY ? 'inherit' : 'pipe';
  const child = spawn(process.execPath, process.argv.slice(1), {
    detached: true,
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
    env: { ...process.env, GW_DAEMON: '1' },
  });
  child.stderr?.pipe(process.stderr, { end: false });
  return new Promise((resolve) => {
    child.once('close', (code) => resolve(code ?? 1));
    child.once('message', () => {
      child.disconnect();
      child.stderr?.destroy();
      child.unref();
      resolve(0);
    });
  });
}

/** Tells who started this command that the gateway serves: the one that is in the foreground, or systemd. */
function tellStarter(): void {
  if (process.env['GW_DAEMON'] !== undefined && process.connected) {
    // The launcher may have ended already.
    process.send?.('ready', undefined, undefined, () => undefined);
  }
  if (process.env['NOTIFY_SOCKET'] === undefined) return;
  // Node.js has no datagrams over Unix sockets.
  const notify = spawn('/usr/bin/systemd-notify', ['--ready'], { stdio: 'ignore' });
  notify.once('error', ({ message }) => {
    process.stderr.write(`gw: [alert] systemd cannot be told that gw serves: ${message}\n`);
  });
  notify.unref();
}
